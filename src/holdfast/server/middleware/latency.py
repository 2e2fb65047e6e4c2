"""Durations of the most recent recalls in this process."""

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_CAPACITY = 2048
"""Maximum number of durations in the buffer."""


class Latency:
    """A thread-safe ring buffer of durations."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_CAPACITY)
        self._lock = threading.Lock()
        self.count = 0
        """Number of durations recorded since the process started."""

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Context manager that records the duration of its block. If the block raises, nothing is recorded."""
        started = time.perf_counter()
        yield
        self.note(time.perf_counter() - started)

    def note(self, seconds: float) -> None:
        """Record one duration in seconds."""
        with self._lock:
            self._seconds.append(seconds)
            self.count += 1

    def quantile(self, fraction: float) -> float | None:
        """Return a quantile of the recorded durations in milliseconds, or None if there are none."""
        with self._lock:
            ordered = sorted(self._seconds)
        return round(1000 * ordered[max(0, math.ceil(fraction * len(ordered)) - 1)], 3) if ordered else None
