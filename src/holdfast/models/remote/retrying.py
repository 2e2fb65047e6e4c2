"""Retry failed calls, within limits on the number of calls and on time, and add up their cost.

The retry loops of the providers' packages are turned off, because nested loops would multiply the calls.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import NoReturn

from holdfast.chat import Usage
from holdfast.errors import ModelBusy, ModelError, ModelUnavailable
from holdfast.models.remote.prices import FREE, Price

__all__ = ["CallBudget", "Fault", "RetryPolicy", "read_retry_after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Maximum number of calls, and the waits between them.

    Each wait is twice as long as the previous wait. Random jitter keeps clients from retrying at the same moment.
    """

    max_calls: int = 3
    first_wait: float = 0.5
    max_wait: float = 8.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def wait(self, call: int) -> float:
        """Return the seconds to wait after call number ``call``, counted from 1.

        Used if the server does not state a waiting time.
        """
        full = min(self.max_wait, self.first_wait * 2.0 ** (call - 1))
        return full * (0.5 + self.jitter() / 2)


class Fault(Exception):
    """A failed call: the resulting error, whether a retry may help, and the server's message.

    Callers never see this exception: :class:`CallBudget` raises the ``error`` of the fault instead.
    """

    def __init__(
        self,
        error: ModelError,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int = 0,
        server_message: str = "",
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.server_message = server_message


class CallBudget:
    """Limits the number of calls and the time of one request, and adds up the tokens and cost of its calls."""

    def __init__(self, retry_policy: RetryPolicy, *, timeout: float, price: Price | None) -> None:
        """Start measuring the time of the request."""
        self.retry_policy = retry_policy
        self._price = price
        self._started = retry_policy.clock()
        self.deadline = self._started + timeout
        self._calls = self._input = self._output = 0
        self._uncounted = False

    @property
    def remaining(self) -> float:
        """Seconds left until the deadline."""
        return max(0.0, self.deadline - self.retry_policy.clock())

    @property
    def usage(self) -> Usage:
        """Calls, tokens, time and cost of the request so far."""
        known = self._price is not None and (not self._uncounted or self._price == FREE)
        return Usage(
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            seconds=self.retry_policy.clock() - self._started,
            cost=self._price.cost(self._input, self._output) if self._price is not None and known else None,
        )

    def call(self) -> float:
        """Count a call and return the seconds that it may take. Raise an error if no time is left."""
        if self.remaining <= 0:
            self.fail(ModelUnavailable("The timeout passed before the model could be called. Use a longer timeout."))
        self._calls += 1
        return self.remaining

    def spend(self, tokens: tuple[int, int] | None) -> None:
        """Count the tokens of a reply. ``tokens`` is None if the server did not report them."""
        if tokens is None:
            self._uncounted = True
        else:
            self._input += tokens[0]
            self._output += tokens[1]

    def allow_retry(self, fault: Fault) -> None:
        """Allow an immediate retry, or raise the fault's error if no calls are left."""
        if self._calls >= self.retry_policy.max_calls:
            self.fail(fault.error, fault)

    def wait_before_retry(self, fault: Fault) -> None:
        """Wait before the next call. Raise the fault's error if a retry cannot help, or if calls or time are used up."""
        if not fault.retryable or self._calls >= self.retry_policy.max_calls:
            self.fail(fault.error, fault)
        wait = self.retry_policy.wait(self._calls) if fault.retry_after is None else fault.retry_after
        if wait >= self.remaining:
            if fault.retry_after is not None and not isinstance(fault.error, ModelBusy):
                self.fail(ModelBusy(str(fault.error), retry_after=fault.retry_after), fault)
            self.fail(fault.error, fault)
        self.retry_policy.sleep(wait)

    def fail(self, error: ModelError, cause: Fault | None = None) -> NoReturn:
        """Raise an error, with the usage so far stored in its ``usage`` attribute."""
        error.usage = self.usage
        raise error from (cause.__cause__ if cause else error.__cause__)


def read_retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a server asks the client to wait, or None. The header contains milliseconds, seconds or a date."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(header, "").strip()
        seconds = _number(value)
        if seconds is not None:
            return seconds * unit
        if header == "retry-after" and value:
            moment = _timestamp(value)
            if moment is not None:
                # Prefer the server's clock, if it sends a date: the local one may be wrong.
                server_now = _timestamp(headers.get("date", ""))
                return max(0.0, moment - (now() if server_now is None else server_now))
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _timestamp(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
