"""Limits on the size of a request body, on the time it takes to arrive, and on the request rate per caller."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from holdfast.server.api.problem import AsgiMessage, Problem, Receive, problem_response
from holdfast.types.translatable import translatable

_MAX_CALLERS = 10_000
"""Maximum number of callers whose token bucket (remaining requests) is kept.

If the bucket of a caller was evicted, the caller starts again with a full bucket.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate limit: the sustained number of requests per second, and the maximum number of requests in a burst."""

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """Limits the request rate with one token bucket per caller."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, rate: Rate, amount: float = 1) -> float:
        """Take ``amount`` tokens from the caller's bucket, and return 0.

        If the bucket has too few tokens, take none, and return the number of seconds until it has enough. An ``amount`` larger
        than the bucket counts as a full bucket.
        """
        amount = min(amount, rate.burst)
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(float(rate.burst), now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(rate.burst, bucket.tokens + (now - bucket.at) * rate.per_second)
        bucket.at = now
        if bucket.tokens < amount:
            return (amount - bucket.tokens) / rate.per_second
        bucket.tokens -= amount
        return 0.0


def too_large(limit: int) -> Problem:
    """Return the error response for a body that exceeds the limit."""
    return problem_response(
        413,
        "too_large",
        translatable("body.large", "The body has more than {n:,} bytes. Nothing was changed. Send less at a time.", n=limit),
    )


def rate_limited(wait: float, detail: str) -> Problem:
    """Return the error response for a request beyond a rate limit. ``wait`` is the number of seconds until a retry."""
    seconds = math.ceil(wait)
    return problem_response(429, "rate_limited", f"{detail} Retry in {seconds} s.", headers={"retry-after": str(seconds)})


class LimitedBody:
    """A request body that is cut off when it is too large or arrives too slowly.

    To the application, a cut-off body looks like a disconnected client. ``problem`` is then the error response, which
    is sent instead of the application's response. ``when_complete`` is called with the size of a complete body, and may
    delay or reject the request.
    """

    def __init__(
        self, receive: Receive, *, limit: int, seconds: float, when_complete: Callable[[int], Awaitable[Problem | None]]
    ) -> None:
        self._receive = receive
        self._when_complete = when_complete
        self._limit = limit
        self._seconds = seconds
        self._until: float | None = None
        self._size = 0
        self._complete = False
        self.problem: Problem | None = None

    async def receive(self) -> AsgiMessage:
        """Return the next ASGI message of the request. When the body is cut off, the message is ``http.disconnect``."""
        if self.problem is not None:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._left())
        except TimeoutError:
            self.problem = problem_response(
                408,
                "timeout",
                f"The body did not arrive within {self._seconds:g} seconds. Nothing was changed. Retry the request.",
            )
            return {"type": "http.disconnect"}
        if message["type"] != "http.request":
            self._complete = True
            return message
        self._size += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._size > self._limit:
            self.problem = too_large(self._limit)
        elif self._complete:
            self.problem = await self._when_complete(self._size)
        return message if self.problem is None else {"type": "http.disconnect"}

    def _left(self) -> float:
        """Return the seconds left to receive the body. The time limit starts with the first call of this method."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        return max(0.001, self._until - now)


async def discard_body(receive: Receive, *, seconds: float = 1.0, max_bytes: int = 1 << 26) -> None:
    """Read and discard the rest of a rejected request, up to ``seconds`` and ``max_bytes``.

    If the connection were closed at once, it would be reset, and the client would not receive the response.
    """
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
