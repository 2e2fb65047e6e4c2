"""The background thread: jobs, vectors and clean-up, whenever there is something to do."""

import logging
import threading
import weakref
from collections.abc import Callable

from holdfast.errors import StoreClosed
from holdfast.runtime import forks

log = logging.getLogger("holdfast")
_PAUSE_SECONDS = 1.0
_STOP_TIMEOUT_SECONDS = 20
"""Seconds that a step under way has to come to its end when everything stops."""


class WorkerThread:
    """Calls a method until it says there is nothing left to do, then waits to be woken.

    The thread is a daemon, starts when there first is work, and ends with the object whose method it is.
    """

    def __init__(self, work: Callable[[], bool], *, patience: float = _STOP_TIMEOUT_SECONDS) -> None:
        self._work = weakref.WeakMethod(work)
        self._patience = patience
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

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
        """Finish the step under way and end; a step that hangs, say on a model, is left to whoever comes next."""
        self._stopping.set()
        self._wanted.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(self._patience)
            if thread.is_alive():
                log.warning("A background job is still at work after %d s; it is done again later.", self._patience)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.wait(timeout=_PAUSE_SECONDS)
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
