"""A semaphore that serves waiting threads in order of arrival, short tasks before long ones.

``threading.Semaphore`` is not fair. A thread that releases a slot and at once takes one again is faster than the waiting
threads. With it, a tenant that embedded 32 texts in a row delayed the recalls of other tenants until the last text. Short tasks
go first, because queries waited for seconds behind long texts of another tenant.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FairSlots"]

_MAX_SHORT_IN_A_ROW = 8
"""Number of short tasks that may overtake a waiting long one."""


class FairSlots:
    """At most ``size`` threads have a slot at a time. The others wait in line."""

    def __init__(self, size: int) -> None:
        self._guard = threading.Lock()
        self._free = size
        self._short: deque[threading.Event] = deque()
        self._long: deque[threading.Event] = deque()
        self._overtaken = 0

    @contextmanager
    def slot(self, *, short: bool = True) -> Iterator[None]:
        """Context manager: wait for a slot, and hold it while the ``with`` block runs. Short tasks are served before long ones."""
        self._take(self._short if short else self._long)
        try:
            yield
        finally:
            with self._guard:
                self._hand_over()

    @property
    def waiting(self) -> int:
        """Number of threads that wait."""
        return len(self._short) + len(self._long)

    def _take(self, line: deque[threading.Event]) -> None:
        with self._guard:
            if self._free:
                self._free -= 1
                return
            mine = threading.Event()
            line.append(mine)
        try:
            mine.wait()
        except BaseException:  # such as KeyboardInterrupt: leave the line, or pass the slot on
            with self._guard:
                if mine.is_set():
                    self._hand_over()
                else:
                    line.remove(mine)
            raise

    def _hand_over(self) -> None:
        """Give the released slot directly to the next thread in line, so that no other thread can take it in between."""
        overtakes = self._short and (not self._long or self._overtaken < _MAX_SHORT_IN_A_ROW)
        line = self._short if overtakes else self._long
        if not line:
            self._free += 1
            return
        self._overtaken = self._overtaken + 1 if overtakes and self._long else 0
        line.popleft().set()
