"""A semaphore that serves waiting threads in order of arrival.

With ``threading.Semaphore``, a thread that takes a slot again right after it released one is faster than the threads that wait
for it. A tenant whose recall embedded 32 texts in a row so delayed the recalls of other tenants until the last text.
"""

import threading
from collections import deque
from types import TracebackType

__all__ = ["FairSlots"]


class FairSlots:
    """A context manager that at most ``size`` threads are inside of at a time. The others wait in line."""

    def __init__(self, size: int) -> None:
        self._guard = threading.Lock()
        self._free = size
        self._waiting: deque[threading.Event] = deque()

    def __enter__(self) -> None:
        with self._guard:
            if self._free:
                self._free -= 1
                return
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            mine.wait()
        except BaseException:  # such as KeyboardInterrupt: leave the line, or pass the slot on
            with self._guard:
                if mine.is_set():
                    self._hand_over()
                else:
                    self._waiting.remove(mine)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._guard:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give a slot to the first thread in line. It never becomes free in between, so that no other thread can take it."""
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1
