"""A semaphore that serves waiting threads in order of arrival, but short tasks before long ones.

``threading.Semaphore`` is not fair. If a thread releases a slot and takes one again at once, it overtakes the waiting
threads. So a tenant that embedded 32 texts in a row delayed the recalls of other tenants until all texts were embedded.

Short tasks go first, because queries waited for seconds behind long texts of another tenant. At most ``_MAX_OVERTAKING``
tasks in a row overtake a task that arrived earlier. If there are at least two slots, long tasks of low priority leave one
slot free, so that a query need not wait for the end of a long text.
"""

import itertools
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

__all__ = ["FairSlots", "TaskKind"]

TaskKind: TypeAlias = Literal["short", "long", "low"]
"""Kind of a task: short, long, or long with low priority."""

_MAX_OVERTAKING = 8
"""Number of tasks in a row that may overtake tasks that arrived earlier."""


class FairSlots:
    """A semaphore with ``size`` slots. Threads that get no slot wait in line.

    If there are at least two slots, tasks of the kind "low" leave one slot free for tasks of other kinds. If there is only
    one slot, tasks of every kind can take it.
    """

    def __init__(self, size: int) -> None:
        self._guard = threading.Lock()
        self._free = size
        self._free_for_low = max(size - 1, 1)
        self._lines: dict[TaskKind, deque[tuple[int, threading.Event]]] = {"short": deque(), "long": deque(), "low": deque()}
        self._arrivals = itertools.count()
        self._overtakings = 0

    @contextmanager
    def slot(self, kind: TaskKind = "short") -> Iterator[None]:
        """Context manager: wait for a slot, and hold it while the ``with`` block runs.

        Of the waiting tasks, those of the kind "short" are served first, but at most ``_MAX_OVERTAKING`` in a row before an
        older task.
        """
        self._take(kind)
        try:
            yield
        finally:
            with self._guard:
                self._release(kind)

    @property
    def waiting(self) -> int:
        """Number of threads that wait for a slot."""
        return sum(map(len, self._lines.values()))

    def _take(self, kind: TaskKind) -> None:
        with self._guard:
            if self._free and (kind != "low" or self._free_for_low):
                self._grant(kind)
                return
            mine = next(self._arrivals), threading.Event()
            self._lines[kind].append(mine)
        try:
            mine[1].wait()
        except BaseException:  # such as KeyboardInterrupt: leave the line, or pass the slot on
            with self._guard:
                if mine[1].is_set():
                    self._release(kind)
                else:
                    self._lines[kind].remove(mine)
            raise

    def _grant(self, kind: TaskKind) -> None:
        self._free -= 1
        self._free_for_low -= kind == "low"

    def _release(self, kind: TaskKind) -> None:
        """Give the released slot directly to the next thread in line, so that no other thread can take it in between."""
        self._free += 1
        self._free_for_low += kind == "low"
        ready = [name for name, line in self._lines.items() if line and (name != "low" or self._free_for_low)]
        if not ready:
            return
        oldest = min(ready, key=lambda name: self._lines[name][0][0])
        chosen = ready[0] if self._overtakings < _MAX_OVERTAKING else oldest
        self._overtakings = self._overtakings + 1 if chosen != oldest else 0
        self._grant(chosen)
        self._lines[chosen].popleft()[1].set()
