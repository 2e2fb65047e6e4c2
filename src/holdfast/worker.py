"""The background thread: jobs, vectors and clean-up, whenever there is something to do."""

import logging
import threading
import weakref
from collections.abc import Callable

from holdfast import forks
from holdfast.errors import StoreClosed

log = logging.getLogger("holdfast")
_PAUSE = 1.0


class WorkerThread:
    """Calls a method until it says there is nothing left to do, then waits to be woken.

    The thread is a daemon, starts when there first is work, and ends with the object whose method it is.
    """

    def __init__(self, work: Callable[[], bool]) -> None:
        self._work = weakref.WeakMethod(work)
        self._start()
        forks.watch(self)

    def _start(self) -> None:
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def before_fork(self) -> None:
        """Nothing: the thread goes on in the parent."""

    def after_fork(self) -> None:
        """Start a thread of the child's own when there is work."""
        self._start()

    def wake(self) -> None:
        """Say that there is work."""
        with self._lock:
            if not self._stopping.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="holdfast-worker", daemon=True)
                self._thread.start()
        self._wanted.set()

    def stop(self) -> None:
        """Finish the step under way and end."""
        self._stopping.set()
        self._wanted.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.wait(timeout=_PAUSE)
            self._wanted.clear()
            work = self._work()
            if work is None:
                return
            try:
                while not self._stopping.is_set() and work():
                    pass
            except StoreClosed:
                return
            except Exception:  # the worker's edge: an embedder of a user's own may raise anything
                log.exception("The background worker could not go on; it tries again")
            del work
