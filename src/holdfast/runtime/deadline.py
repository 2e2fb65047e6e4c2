"""Run a call that may never return, and stop waiting after some seconds."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Final, Generic, TypeVar

from holdfast.runtime import forks

T = TypeVar("T")

_MAX_OVERDUE: Final = 8
"""Maximum number of overdue calls that still run in the background. While there are that many, no further call starts."""


class Overdue(Exception):
    """A call did not return in time, or too many earlier calls have not returned yet."""


class Deadline:
    """Runs calls with a time limit. Each call runs in its own thread.

    A call that exceeds the limit continues in the background, and its result is dropped.
    """

    def __init__(self) -> None:
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Forget the calls of the parent process, whose threads do not exist in the child."""
        self._lock = threading.Lock()
        self._overdue = 0

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Run ``work`` in a new thread. Return its result, or raise its error.

        Raise ``Overdue`` if ``work`` does not return within ``seconds``, or if too many earlier calls are still running.
        """
        with self._lock:
            if self._overdue >= _MAX_OVERDUE:
                raise Overdue(f"{self._overdue} earlier calls have not returned yet")
        call = _Call(work)
        threading.Thread(
            target=copy_context().run, args=(call.execute, self._returned), name="holdfast-model-call", daemon=True
        ).start()
        if not call.done.wait(seconds):
            with self._lock:
                if not call.done.is_set():
                    call.is_overdue = True
                    self._overdue += 1
                    raise Overdue(f"no answer within {seconds:g} seconds")
        if call.error is not None:
            raise call.error
        return call.results[0]

    def _returned(self, call: "_Call[T]") -> None:
        with self._lock:
            self._overdue -= call.is_overdue
            call.done.set()


class _Call(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self.done = threading.Event()
        self.is_overdue = False
        self.error: BaseException | None = None
        self.results: list[T] = []
        self._work = work

    def execute(self, returned: "Callable[[_Call[T]], None]") -> None:
        """Do the work, keep its result or error, and report that the call returned."""
        try:
            self.results.append(self._work())
        except BaseException as error:  # noqa: BLE001  (raised again in the thread of the caller)
            self.error = error
        finally:
            returned(self)
