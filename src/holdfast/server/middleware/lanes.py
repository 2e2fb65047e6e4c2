"""Fair queues for requests: tenants take turns, and slow requests do not delay quick ones.

A lane is a queue with its own concurrency limit. There is one lane for quick requests, one for large requests, one for long
requests and one for chats. A lane runs a limited number of requests at a time, and a limited number per tenant. Its other
requests wait in one queue per tenant. When a request ends, the next tenant in line is served. A tenant that sends a
thousand requests therefore delays its neighbors no more than a tenant that sends two.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holdfast.runtime.priority import lower_priority, urgent

__all__ = ["Lane", "LaneName", "Lanes", "QueueFull", "Turn", "lane_of"]

LaneName: TypeAlias = Literal["quick", "large", "long", "chat"]
Priority: TypeAlias = Literal["urgent", "usual", "low"]
"""Priority of a request: work of low priority pauses while urgent requests run."""

_LARGE_BYTES = 16 << 10
"""Bodies from this size on use the lane for large requests."""
_MAX_WAITING = 256
"""Maximum number of waiting requests per tenant and lane."""
_LONG_PATHS = ("/v1/backups", "/v1/erase", "/v1/export", "/v1/import", "/v1/memories/bulk", "/v1/work")
_CHAT_PATHS = ("/chat/text", "/chat/audio")


class QueueFull(Exception):
    """Too many requests of a tenant are waiting."""


@dataclass(slots=True)
class _Waiting:
    """One tenant's requests in a lane (queue): the number of running requests, and the waiting requests in order of arrival."""

    running: int = 0
    queue: "deque[asyncio.Future[None]]" = field(default_factory=deque)


class Lane:
    """A queue that runs at most ``capacity`` requests at a time, and at most ``per_tenant`` requests of one tenant.

    Must be used on one event loop only.
    """

    def __init__(self, *, capacity: int, per_tenant: int, max_waiting: int = _MAX_WAITING) -> None:
        self._capacity = capacity
        self._per_tenant = per_tenant
        self._max_waiting = max_waiting
        self._running = 0
        self._tenants: OrderedDict[str, _Waiting] = OrderedDict()
        """The tenants with requests, the one that was served longest ago first."""

    async def enter(self, tenant: str) -> None:
        """Wait until a request of this tenant may run. Raise ``QueueFull`` if too many of its requests are waiting."""
        mine = self._tenants.setdefault(tenant, _Waiting())
        if len(mine.queue) >= self._max_waiting:
            raise QueueFull
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        mine.queue.append(turn)
        self._start_next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled() or not turn.done():
                mine.queue.remove(turn)
                self._forget_idle(tenant, mine)
            else:  # cancelled after the turn was granted
                self.leave(tenant)
            raise

    def leave(self, tenant: str) -> None:
        """End a request, and start the next one."""
        mine = self._tenants[tenant]
        mine.running -= 1
        self._running -= 1
        self._tenants.move_to_end(tenant)
        self._forget_idle(tenant, mine)
        self._start_next()

    def _forget_idle(self, tenant: str, mine: _Waiting) -> None:
        if not mine.running and not mine.queue:
            self._tenants.pop(tenant, None)

    def _start_next(self) -> None:
        while self._running < self._capacity:
            ready = ((name, each) for name, each in self._tenants.items() if each.queue and each.running < self._per_tenant)
            found = next(ready, None)
            if found is None:
                return
            tenant, mine = found
            mine.running += 1
            self._running += 1
            self._tenants.move_to_end(tenant)
            mine.queue.popleft().set_result(None)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a server process: queues with separate concurrency limits, such as one for chats."""

    lanes: Mapping[LaneName, Lane]
    computes: bool = True
    """True if this process does the work of its requests itself, so that large requests must give way to quick ones."""

    @classmethod
    def of(cls, *, computes: bool) -> "Lanes":
        """Return the lanes (queues with separate concurrency limits) of a server process.

        If ``computes`` is True, this process computes recalls itself, so only three quick requests run at a time. Two large
        requests run at a time, but only one per tenant, so that a tenant waits only for its own ones. Several long requests
        and many chats run at a time, because they mostly wait.
        """
        quick = Lane(capacity=3, per_tenant=2) if computes else Lane(capacity=40, per_tenant=20)
        lanes: dict[LaneName, Lane] = {
            "quick": quick,
            "large": Lane(capacity=2, per_tenant=1),
            "long": Lane(capacity=4, per_tenant=1),
            "chat": Lane(capacity=64, per_tenant=16),
        }
        return cls(lanes, computes)

    def turn(self, name: LaneName, tenant: str) -> "Turn":
        """Return the place of a request in the lane (queue) with this name."""
        priority: Priority = "usual"
        if self.computes and name != "chat":
            priority = "urgent" if name == "quick" else "low"
        return Turn(self.lanes[name], tenant, priority=priority)


def lane_of(method: str, path: str, size: int) -> LaneName:
    """Return the lane (the queue with its own concurrency limit) for a request, by its method, path and body size in bytes."""
    if path in _CHAT_PATHS or (path.startswith("/v1/sessions/") and path.endswith("/chat")):
        return "chat"
    if path.startswith(_LONG_PATHS) or method == "DELETE":
        return "long"
    return "large" if size >= _LARGE_BYTES else "quick"


class Turn:
    """The place of one request in a lane (queue). The request waits for it with ``enter`` and gives it back with ``leave``."""

    def __init__(self, lane: Lane, tenant: str, *, priority: Priority = "usual") -> None:
        self._lane = lane
        self._tenant = tenant
        self._priority = priority
        self._entered = False

    async def enter(self) -> None:
        """Wait until the request may run. With low priority, lower the priority of the calling task."""
        await self._lane.enter(self._tenant)
        self._entered = True
        if self._priority == "urgent":
            urgent.enter()
        elif self._priority == "low":
            lower_priority()

    def leave(self) -> None:
        """Let the next request run. Further calls do nothing."""
        if self._entered:
            self._entered = False
            self._lane.leave(self._tenant)
            if self._priority == "urgent":
                urgent.leave()
