"""How long recalls take, by the last few thousand of this process."""

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

_KEPT = 2048


class Latency:
    """A ring of durations, safe to use from several threads."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()
        self.count = 0
        """How many were measured in all."""

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure what happens inside; what fails is not counted."""
        began = time.perf_counter()
        yield
        self.note(time.perf_counter() - began)

    def note(self, seconds: float) -> None:
        """Take in one duration."""
        with self._lock:
            self._seconds.append(seconds)
            self.count += 1

    def quantile(self, part: float) -> float | None:
        """Return the milliseconds within which this part of the recalls were done; None before the first."""
        with self._lock:
            ordered = sorted(self._seconds)
        return round(1000 * ordered[max(0, math.ceil(part * len(ordered)) - 1)], 3) if ordered else None
