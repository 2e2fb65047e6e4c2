"""How much and how fast: the size and pace of a body, and how many requests one caller may make."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.server.api.problem import AsgiMessage, Problem, Receive, problem_response

_MAX_CALLERS = 10_000
"""So many callers are remembered; one who comes back after that has a full bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Requests a second over a longer time, and how many may come at once."""

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """A bucket of tokens for each caller: a request takes one, and time puts them back."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, rate: Rate) -> float:
        """Take a token; returns 0, or the seconds until there is one again."""
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(float(rate.burst), now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(rate.burst, bucket.tokens + (now - bucket.at) * rate.per_second)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / rate.per_second
        bucket.tokens -= 1
        return 0.0


def too_large(limit: int) -> Problem:
    """Return the answer to a body over the limit."""
    return problem_response(413, "too_large", f"The body has more than {limit:,} bytes.")


class LimitedBody:
    """A request's body, cut off where it gets too large or takes too long.

    An application then sees a client that went away. ``problem`` is what the client is to be told instead of whatever
    the application makes of that.
    """

    def __init__(self, receive: Receive, *, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._until: float | None = None
        self._size = 0
        self._whole = False
        self.problem: Problem | None = None

    async def receive(self) -> AsgiMessage:
        """Return the next message, as ASGI's ``receive``."""
        if self.problem is not None:
            return {"type": "http.disconnect"}
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._left())
        except TimeoutError:
            self.problem = problem_response(408, "timeout", f"The body was not there after {self._seconds:g} seconds.")
            return {"type": "http.disconnect"}
        if message["type"] != "http.request":
            self._whole = True
            return message
        self._size += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._size > self._limit:
            self.problem = too_large(self._limit)
            return {"type": "http.disconnect"}
        return message

    def _left(self) -> float:
        """Return the seconds that are left, from when it was first asked for."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        return max(0.001, self._until - now)


async def discard_body(receive: Receive, *, seconds: float = 1.0, max_bytes: int = 1 << 26) -> None:
    """Read what a refused client still sends, for a moment: closing before that would take the answer from it."""
    size = 0
    until = time.monotonic() + seconds
    while size < max_bytes and (left := until - time.monotonic()) > 0:
        try:
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            return
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
        size += len(message.get("body", b""))
