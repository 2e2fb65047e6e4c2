"""The background thread: jobs, vectors and clean-up, whenever there is something to do."""

import logging
import threading
import weakref
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, StoreClosed

if TYPE_CHECKING:
    from holdfast.engine import Engine

log = logging.getLogger("holdfast")
_PAUSE = 1.0


class WorkerThread:
    """Runs an engine's queued work on a daemon thread, started when there first is some."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = weakref.ref(engine)
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Say that there is work; a forked child starts a thread of its own."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
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
            engine = self._engine()
            if engine is None:
                return
            try:
                while not self._stopping.is_set() and engine.work_once():
                    pass
            except StoreClosed:
                return
            except HoldfastError:
                log.exception("The background worker could not go on; it tries again")
            del engine
