"""A lock that decides in which order the threads of a process write to one file.

SQLite allows one writer at a time. Tenants that share a file take turns: after each write, the next tenant in line writes, even
if another tenant has many writes waiting. So a tenant waits for at most one write of each other tenant.
"""

import threading
import time
import weakref
from collections import OrderedDict, deque
from pathlib import Path

from holdfast.runtime import forks

__all__ = ["WriteTurns", "turns_of"]

_REMEMBERED = 64
"""Number of the latest requests for the lock that are remembered. They show whether other tenants are writing."""


class WriteTurns:
    """A reentrant lock with one queue of waiting threads per tenant.

    The tenants take turns. Within a queue, threads get the lock in the order in which they arrived.
    """

    def __init__(self) -> None:
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Free the lock in a forked child. The parent's threads that held the lock or waited for it do not exist there."""
        self._guard = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._queues: OrderedDict[str, deque[tuple[int, threading.Event]]] = OrderedDict()
        """The waiting threads of each tenant. The first tenant is served next."""
        self._latest: deque[tuple[float, str]] = deque(maxlen=_REMEMBERED)
        """Time and tenant of the latest requests for the lock."""

    def acquire(self, tenant: str, *, blocking: bool = True) -> bool:
        """Take the lock for this thread. Without ``blocking``, return False if another thread holds the lock or waits for it."""
        me = threading.get_ident()
        with self._guard:
            self._latest.append((time.monotonic(), tenant))
            if self._owner in (None, me):
                self._owner = me
                self._depth += 1
                return True
            if not blocking:
                return False
            mine = threading.Event()
            self._queues.setdefault(tenant, deque()).append((me, mine))
        try:
            mine.wait()
        except BaseException:  # such as KeyboardInterrupt: leave the queue, or pass the lock on
            self._give_up(tenant, me, mine)
            raise
        return True

    def release(self) -> None:
        """Release the lock. The first waiting thread of the next tenant gets it.

        If this thread does not hold the lock, do nothing. This happens in a forked child if the parent held the lock.
        """
        with self._guard:
            if self._owner != threading.get_ident():
                return
            self._depth -= 1
            if self._depth == 0:
                self._hand_over()

    def waiting(self) -> int:
        """Return the number of waiting threads."""
        with self._guard:
            return sum(map(len, self._queues.values()))

    def recent_turns_of_others(self, tenant: str, seconds: float) -> int:
        """Count how often other tenants requested the lock in the last ``seconds``. At most the latest 64 requests are known."""
        since = time.monotonic() - seconds
        with self._guard:
            return sum(at >= since and whose != tenant for at, whose in self._latest)

    def _hand_over(self) -> None:
        if not self._queues:
            self._owner = None
            return
        tenant, queue = self._queues.popitem(last=False)
        self._owner, granted = queue.popleft()
        self._depth = 1
        if queue:
            self._queues[tenant] = queue  # at the end of the line
        granted.set()

    def _give_up(self, tenant: str, me: int, mine: threading.Event) -> None:
        with self._guard:
            if mine.is_set():
                self._depth = 0
                self._hand_over()
                return
            queue = self._queues[tenant]
            queue.remove((me, mine))
            if not queue:
                del self._queues[tenant]


_guard = threading.Lock()
_by_path: "weakref.WeakValueDictionary[str, WriteTurns]" = weakref.WeakValueDictionary()


def turns_of(path: Path) -> WriteTurns:
    """Return the write lock of a file. All connections of this process to the file share the lock."""
    with _guard:
        name = str(path.resolve())
        turns = _by_path.get(name)
        if turns is None:
            turns = _by_path[name] = WriteTurns()
        return turns
