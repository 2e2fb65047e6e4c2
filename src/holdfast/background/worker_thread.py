"""The thread that runs background work."""

import logging
import threading
import weakref
from collections.abc import Callable

from holdfast.errors import StoreClosed
from holdfast.runtime import forks
from holdfast.runtime.priority import lower_priority

log = logging.getLogger("holdfast")
_POLL_SECONDS = 1.0
"""Time between two checks for work while idle, in seconds."""
_STOP_TIMEOUT_SECONDS = 20
"""Maximum time to wait for the current step when the thread is stopped, in seconds."""


class WorkerThread:
    """A thread that calls a method until it returns False, then waits to be woken.

    The thread is a daemon. It starts when there is work for the first time, and ends when the method's object is garbage
    collected.
    """

    def __init__(self, work: Callable[[], bool], *, stop_timeout: float = _STOP_TIMEOUT_SECONDS) -> None:
        self._work = weakref.WeakMethod(work)
        self._stop_timeout = stop_timeout
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def after_fork(self) -> None:
        """Reset the state in a child process. A new thread starts when there is work."""
        self._start()

    def wake(self) -> None:
        """Wake the thread, starting it if needed."""
        with self._lock:
            if not self._stopping.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="holdfast-worker", daemon=True)
                self._thread.start()
        self._wanted.set()

    def stop(self) -> None:
        """Let the thread finish its current step, then end. Wait for it, but only for a limited time.

        A step that takes longer, such as a model call, is abandoned. Its work is done again later.
        """
        self._stopping.set()
        self._wanted.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(self._stop_timeout)
            if thread.is_alive():
                log.warning("A background job is still running after %d s. It is abandoned and redone later.", self._stop_timeout)

    def _run(self) -> None:
        lower_priority()
        while not self._stopping.is_set():
            self._wanted.wait(timeout=_POLL_SECONDS)
            self._wanted.clear()
            work = self._work()
            if work is None:
                return
            try:
                while not self._stopping.is_set() and work():
                    pass
            except StoreClosed:
                return
            except Exception:  # custom embedders and callbacks may raise anything
                log.exception("A step of the background worker failed. It is tried again")
            del work
