"""Calls of C++ libraries from daemon threads.

When the interpreter exits, it ends a daemon thread as soon as the thread needs the interpreter again. If this happens
inside a call of a C++ library, the whole process aborts. So the exit waits for running calls, and daemon threads start no
new ones.
"""

import atexit
import threading
from types import TracebackType
from typing import Final

from holdfast.runtime import forks

__all__ = ["native_calls"]

_MAX_WAIT_SECONDS: Final = 10.0
"""Maximum time that the exit of the interpreter waits for running calls, in seconds. A call takes less than one second."""


class NativeCalls:
    """Context manager for a call of a C++ library. It ends the current daemon thread if the interpreter is exiting."""

    def __init__(self) -> None:
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Reset the state in a child process, which does not have the threads of its parent."""
        self._changed = threading.Condition()
        self._running = 0
        self._exiting = False

    def __enter__(self) -> None:
        with self._changed:
            if self._exiting and threading.current_thread().daemon:
                raise SystemExit
            self._running += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait for running calls. From now on, daemon threads start no new ones."""
        with self._changed:
            self._exiting = True
            self._changed.wait_for(lambda: not self._running, _MAX_WAIT_SECONDS)


native_calls: Final = NativeCalls()
"""All calls of C++ libraries in this process."""
atexit.register(native_calls.finish)
