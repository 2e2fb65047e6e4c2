"""Calling again when that may help, within a number of calls and a time, and what it all cost.

The providers' packages have their own loops; those are switched off, because two loops multiply.
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
    """How often to call, and how long to wait between: the waits double and vary, so that clients do not march in step."""

    max_calls: int = 3
    first_wait: float = 0.5
    max_wait: float = 8.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait(self, call: int) -> float:
        """Return the seconds to wait after the call of that number, when the server named none."""
        full = min(self.max_wait, self.first_wait * 2.0 ** (call - 1))
        return full * (0.5 + self.chance() / 2)


class Fault(Exception):
    """One call that failed: the error it comes to, whether another call may help, and what the server said.

    It never leaves the models: :class:`CallBudget` turns it into its error.
    """

    def __init__(
        self, error: ModelError, *, again: bool = False, retry_after: float | None = None, status: int = 0, said: str = ""
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.retry_after = retry_after
        self.status = status
        self.said = said


class CallBudget:
    """The calls and the time one question may take, and what they have cost so far."""

    def __init__(self, patience: RetryPolicy, *, timeout: float, price: Price | None) -> None:
        """Start the clock."""
        self.patience = patience
        self._price = price
        self._began = patience.clock()
        self.deadline = self._began + timeout
        self._calls = self._input = self._output = 0
        self._uncounted = False

    @property
    def remaining(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.deadline - self.patience.clock())

    @property
    def usage(self) -> Usage:
        """What was spent until now."""
        known = self._price is not None and (not self._uncounted or self._price == FREE)
        return Usage(
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            seconds=self.patience.clock() - self._began,
            cost=self._price.of(self._input, self._output) if self._price is not None and known else None,
        )

    def call(self) -> float:
        """Count a call, and return the seconds it may take."""
        if self.remaining <= 0:
            self.fail(ModelUnavailable("There was no time left to ask the model; give it a longer timeout."))
        self._calls += 1
        return self.remaining

    def spend(self, tokens: tuple[int, int] | None) -> None:
        """Count the tokens of an answer; None when the server did not say."""
        if tokens is None:
            self._uncounted = True
        else:
            self._input += tokens[0]
            self._output += tokens[1]

    def call_again(self, fault: Fault) -> None:
        """Return when the next call may be made at once, or raise the fault's error when none is left."""
        if self._calls >= self.patience.max_calls:
            self.fail(fault.error, fault)

    def wait_and_call_again(self, fault: Fault) -> None:
        """Return when the next call may be made, or raise the fault's error."""
        if not fault.again or self._calls >= self.patience.max_calls:
            self.fail(fault.error, fault)
        wait = self.patience.wait(self._calls) if fault.retry_after is None else fault.retry_after
        if wait >= self.remaining:
            if fault.retry_after is not None and not isinstance(fault.error, ModelBusy):
                self.fail(ModelBusy(str(fault.error), retry_after=fault.retry_after), fault)
            self.fail(fault.error, fault)
        self.patience.sleep(wait)

    def fail(self, error: ModelError, cause: Fault | None = None) -> NoReturn:
        """Raise an error that carries what was spent."""
        error.usage = self.usage
        raise error from (cause.__cause__ if cause else error.__cause__)


def read_retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds a server asks to wait, which it says in milliseconds, in seconds or as a date."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(header, "").strip()
        seconds = _number(value)
        if seconds is not None:
            return seconds * unit
        if header == "retry-after" and value:
            moment = _moment(value)
            if moment is not None:
                # The server's own clock, where it tells, makes ours not matter.
                since = _moment(headers.get("date", ""))
                return max(0.0, moment - (now() if since is None else since))
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _moment(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
