"""Threads that run several jobs at once. If a model does not answer, only the jobs that wait for it are delayed."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from holdfast.errors import StoreClosed
from holdfast.runtime import forks
from holdfast.runtime.priority import give_way, lower_priority

log = logging.getLogger("holdfast")

_STEP_SECONDS: Final = 0.2
"""Maximum time that a step waits for a running job, in seconds. After that, other background work continues."""


class JobThreads:
    """Runs a function in several threads. Each thread calls the function until it returns False.

    ``run_one`` is the function, and ``size`` is a function that returns the maximum number of threads.
    """

    def __init__(self, run_one: Callable[[], bool], size: Callable[[], int]) -> None:
        self._run_one = run_one
        self._size = size
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Reset the state in a child process, which does not have the threads of its parent."""
        self._changed = threading.Condition()
        self._running = 0
        self._done = 0
        self._is_dry = False
        self._stopping = False

    def step(self) -> bool:
        """Start another thread if there is possibly a job for it. Then wait briefly until a job finishes.

        Return True if a job finished or is still running.
        """
        with self._changed:
            done = self._done
            if not self._is_dry or not self._running:
                self._is_dry = False
                if self._running < self._size() and not self._stopping:
                    self._running += 1
                    threading.Thread(target=self._run, name="holdfast-job", daemon=True).start()
            self._changed.wait_for(lambda: self._done > done or not self._running, _STEP_SECONDS)
            return self._done > done or self._running > 0

    def stop(self, seconds: float) -> bool:
        """Let the threads end after their jobs. Return False if a job is still running after ``seconds``."""
        with self._changed:
            self._stopping = True
            return self._changed.wait_for(lambda: not self._running, seconds)

    def _run(self) -> None:
        lower_priority()
        try:
            while not self._stopping and self._running <= self._size() and self._run_one():
                with self._changed:
                    self._done += 1
                    self._is_dry = False
                    self._changed.notify_all()
                give_way()
        except StoreClosed:
            pass
        except Exception:  # custom embedders and callbacks may raise anything
            log.exception("A job thread failed. Its job is tried again")
        finally:
            with self._changed:
                self._running -= 1
                self._is_dry = True
                self._changed.notify_all()
