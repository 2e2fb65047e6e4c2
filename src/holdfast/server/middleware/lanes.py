"""Fair queues for requests: tenants take turns, and slow requests do not delay quick ones.

A lane is a queue with its own concurrency limit. There is one lane for quick requests, one for large requests, one for long
requests and one for chats. A lane runs a limited number of requests at a time, and a limited number per tenant. Its other
requests wait in one queue per tenant. When a request ends, the next tenant in line is served. A tenant that sends a thousand
requests therefore delays its neighbors no more than a tenant that sends two.

If this process computes recalls itself, the lane for quick requests also counts the time of requests, even of running ones.
The next tenant is then the one that used the least time recently. A tenant that used much more than its share runs one request
at a time, and with low priority. So a tenant with slow recalls, such as recalls of very long messages, does not slow down
other tenants.

A quick request that takes long is set aside: it goes on, but another request takes its place in the lane. The number of
requests that are set aside is limited, too.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holdfast.runtime.priority import Pace, start_pace, urgent

__all__ = ["Lane", "LaneName", "Lanes", "QueueFull", "Turn", "lane_of"]

LaneName: TypeAlias = Literal["quick", "large", "long", "chat"]
Priority: TypeAlias = Literal["urgent", "usual", "low"]
"""Priority of a request: work of low priority pauses while urgent requests run."""

_LARGE_BYTES = 16 << 10
"""Bodies from this size on use the lane for large requests."""
_MAX_WAITING = 256
"""Maximum number of waiting requests per tenant and lane."""
_MEMORY_SECONDS = 2.0
"""Half-life, in seconds: time that a tenant used this long ago counts half."""
_TOO_MUCH = 1.5
"""A tenant that used more than this multiple of its fair share of a lane runs only one request at a time."""
_QUICK_SECONDS = 0.25
"""Time after which a request in the lane for quick requests counts as slow, in seconds.

An ordinary recall takes 10 to 30 ms, and up to 150 ms on a busy machine with two cores.
"""
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

    With ``by_time``, tenants that used little time recently are served first. Must be used on one event loop only.
    """

    def __init__(self, *, capacity: int, per_tenant: int, max_waiting: int = _MAX_WAITING, by_time: bool = False) -> None:
        self._capacity = capacity
        self._per_tenant = per_tenant
        self._max_waiting = max_waiting
        self._used = UsedTime() if by_time else None
        self._running = 0
        self._aside = 0
        self._tenants: OrderedDict[str, _Waiting] = OrderedDict()
        """The tenants with requests, the least recently served first."""

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

    def set_aside(self) -> bool:
        """Set a slow request aside: the request goes on, but another request can start in its place.

        The slow request still counts for the limit of its tenant. Return False, and set nothing aside, if ``capacity``
        requests are aside already.
        """
        if self._aside >= self._capacity:
            return False
        self._aside += 1
        self._running -= 1
        self._start_next()
        return True

    def count(self, tenant: str, seconds: float) -> None:
        """Count seconds that a running request of a tenant took."""
        if self._used is not None:
            self._used.add(tenant, seconds)

    def leave(self, tenant: str, seconds: float = 0.0, *, aside: bool = False) -> None:
        """End a request, and start the next one. ``seconds`` is the part of the request's running time that is not counted yet.

        ``aside`` is True if the request was set aside.
        """
        self.count(tenant, seconds)
        mine = self._tenants[tenant]
        mine.running -= 1
        if aside:
            self._aside -= 1
        else:
            self._running -= 1
        self._tenants.move_to_end(tenant)
        self._forget_idle(tenant, mine)
        self._start_next()

    def _forget_idle(self, tenant: str, mine: _Waiting) -> None:
        if not mine.running and not mine.queue:
            self._tenants.pop(tenant, None)

    def _start_next(self) -> None:
        while self._running < self._capacity:
            ready = [name for name, each in self._tenants.items() if each.queue and each.running < self._limit(name)]
            if not ready:
                return
            tenant = ready[0] if self._used is None else min(ready, key=self._used.seconds)
            mine = self._tenants[tenant]
            mine.running += 1
            self._running += 1
            self._tenants.move_to_end(tenant)
            mine.queue.popleft().set_result(None)

    def is_over_share(self, tenant: str) -> bool:
        """Return True if a tenant has recently used much more time of this lane than its share."""
        return self._used is not None and self._used.is_too_much(tenant)

    def _limit(self, tenant: str) -> int:
        return 1 if self.is_over_share(tenant) else self._per_tenant


class UsedTime:
    """The time that each tenant's requests took recently. Older times count less."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._at = time.monotonic()

    def add(self, tenant: str, seconds: float) -> None:
        """Count a request that took ``seconds``."""
        now = time.monotonic()
        faded = 0.5 ** ((now - self._at) / _MEMORY_SECONDS)
        self._seconds = {name: left for name, used in self._seconds.items() if (left := used * faded) > 0.001}
        self._at = now
        self._seconds[tenant] = self._seconds.get(tenant, 0.0) + seconds

    def seconds(self, tenant: str) -> float:
        """Return the time that a tenant used recently. It is only meaningful in comparison with the times of other tenants."""
        return self._seconds.get(tenant, 0.0)

    def is_too_much(self, tenant: str) -> bool:
        """Return True if a tenant has recently used much more time than the average of all active tenants.

        If only one tenant is active, the result is False.
        """
        active = len(self._seconds)
        return active > 1 and self.seconds(tenant) > _TOO_MUCH * sum(self._seconds.values()) / active


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a server process: queues with separate concurrency limits, such as one for chats."""

    lanes: Mapping[LaneName, Lane]
    computes: bool = True
    """True if this process does the work of its requests itself, so that large requests must give way to quick ones."""

    @classmethod
    def of(cls, *, computes: bool) -> "Lanes":
        """Return the lanes (queues with separate concurrency limits) of a server process.

        ``computes`` is True if this process computes recalls itself. Then only three quick requests run at a time. Otherwise
        quick requests mostly wait for other servers, and many run at a time.

        Two large requests run at a time, but only one per tenant. So the large requests of one tenant do not delay those of
        another tenant. Several long requests and many chats run at a time, because they mostly wait.
        """
        quick = Lane(capacity=3, per_tenant=2, by_time=True) if computes else Lane(capacity=40, per_tenant=20)
        lanes: dict[LaneName, Lane] = {
            "quick": quick,
            "large": Lane(capacity=2, per_tenant=1),
            "long": Lane(capacity=4, per_tenant=1),
            "chat": Lane(capacity=64, per_tenant=16),
        }
        return cls(lanes, computes)

    def turn(self, name: LaneName, tenant: str) -> "Turn":
        """Return a new place in the lane (queue) with this name, for one request of the tenant."""
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
    """The place of one request in a lane (queue).

    ``enter`` waits until the request may run. ``leave`` ends the request, so that the next request can run.
    """

    def __init__(self, lane: Lane, tenant: str, *, priority: Priority = "usual") -> None:
        self._lane = lane
        self._tenant = tenant
        self._priority = priority
        self._pace: Pace | None = None
        self._since: float | None = None
        """Start of the part of the running time that is not counted yet. None if the request is not running."""
        self._aside = False
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self) -> None:
        """Wait until the request may run. If its priority is low, also lower the priority of the calling task.

        The priority of an urgent request becomes low as soon as its tenant has used much more than its share of the lane.
        """
        await self._lane.enter(self._tenant)
        self._since = time.monotonic()
        if self._priority == "usual":
            return
        self._pace = start_pace()
        if self._priority == "urgent":
            urgent.enter()
            self._check_share()
            self._wait()
        else:
            self._pace.lower()

    def leave(self) -> None:
        """Let the next request run. Further calls do nothing."""
        if self._since is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        seconds, self._since = time.monotonic() - self._since, None
        self._lane.leave(self._tenant, seconds, aside=self._aside)
        if self._priority == "urgent":
            urgent.leave()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_QUICK_SECONDS, self._set_aside)

    def _set_aside(self) -> None:
        """Give the place of a slow request to another one, and count the time that the slow request took so far."""
        if self._since is None:
            return
        now = time.monotonic()
        self._lane.count(self._tenant, now - self._since)
        self._since = now
        self._check_share()
        self._aside = self._aside or self._lane.set_aside()
        self._wait()

    def _check_share(self) -> None:
        if self._priority == "urgent" and self._pace is not None and self._lane.is_over_share(self._tenant):
            self._priority = "low"
            urgent.leave()
            self._pace.lower()
