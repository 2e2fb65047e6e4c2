"""A circuit breaker. After a failure, no calls are made for a while.

The pause gets longer with each further failure. After a success, there is no pause.
"""

import threading
import time
from collections.abc import Callable

from holdfast.runtime import forks

_FIRST_PAUSE_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 60.0


class CircuitBreaker:
    """Pauses the calls of a service after a failure. Remembers the last failure and the time of the next allowed call.

    The first pause lasts one second. If the next call after a pause fails too, the new pause is twice as long, up to one
    minute. Safe to use from several threads.
    """

    def __init__(
        self,
        *,
        first_pause: float = _FIRST_PAUSE_SECONDS,
        max_pause: float = _MAX_PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_pause = first_pause
        self._max_pause = max_pause
        self._clock = clock
        self._problem: str | None = None
        self._pause = 0.0
        self._retry_at = 0.0
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process."""
        self._lock = threading.Lock()

    @property
    def problem(self) -> str | None:
        """The last failure, as a message for people. None after a success."""
        return self._problem

    @property
    def is_open(self) -> bool:
        """True during a pause. No call should be made then."""
        return self._problem is not None and self._clock() < self._retry_at

    def fail(self, problem: str) -> None:
        """Record a failure and start a pause. A failure during a pause does not extend the pause."""
        with self._lock:
            now = self._clock()
            is_new = self._problem is None
            self._problem = problem
            if is_new or now >= self._retry_at:
                self._pause = self._first_pause if is_new else min(2 * self._pause, self._max_pause)
                self._retry_at = now + self._pause

    def succeed(self) -> None:
        """Record a success and end the pause."""
        with self._lock:
            self._problem, self._retry_at = None, 0.0

    def end_pause(self) -> None:
        """Allow the next call now. The recorded problem stays until a call succeeds."""
        with self._lock:
            self._retry_at = 0.0
