"""The chat model of one engine. It is loaded on first use. Once the daily budget is spent, the model is unavailable."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from holdfast.chat import ChatModel, Reply, Schema, Tool, Turn, Usage
from holdfast.errors import ModelBusy, ModelError, ModelUnavailable
from holdfast.protocols import Clock, Store
from holdfast.runtime import forks
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.deadline import Deadline, Overdue

_RETRY_SECONDS = 30.0
"""Seconds to wait after a failed attempt to load a model before the next attempt."""
_GRACE_SECONDS = 5.0
"""Seconds to wait after a call's timeout before the call is given up. Most models end the call at the timeout themselves."""
_SLOW_FAILURE_SECONDS = 5.0
"""If a failed call took at least this many seconds, no call is made for a while, so that jobs do not wait for the model."""
_JOBS_BY_RULES = 2
"""Maximum number of jobs that run at the same time while the model fails."""
_FIRST_ABSENCE_SECONDS = 30.0
_MAX_ABSENCE_SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSource:
    """The name of a chat model, and a function that creates it on first use."""

    name: str
    load: Callable[[], ChatModel]
    shared: bool = False
    """True if several engines use the same model. In that case, no engine may close it."""
    timeout: float | None = None
    """Maximum duration of one call, in seconds. None means that each caller sets the timeout."""
    max_calls: int = 1
    """Maximum number of jobs that ask the model at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBudget:
    """Daily limits for chat models, in US dollars and in calls. None means no limit."""

    daily_cost: float | None = None
    daily_calls: int | None = None


class CheckedChat:
    """Wraps a chat model so that every failure raises a ``ModelError``. The exceptions of custom models are converted."""

    def __init__(self, model: ChatModel, *, timeout: float | None = None, presence: "Presence | None" = None) -> None:
        self._model = model
        self._timeout = timeout
        self._presence = presence or Presence()
        self._deadline = Deadline()
        self.name = model.name

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Call the model. Raise an error if the model does not return in time."""
        seconds = self._timeout or timeout
        call = partial(self._model.chat, turns, schema=schema, tools=tools, max_tokens=max_tokens, timeout=seconds)
        with self._presence.watch():
            try:
                return self._deadline.run(call, seconds + _GRACE_SECONDS)
            except ModelError:
                raise
            except Overdue as error:
                raise _uncounted(ModelUnavailable(f"{self.name} did not answer: {error}.")) from error
            except Exception as error:  # a custom model may raise anything
                raise ModelUnavailable(f"{self.name} failed: {type(error).__name__}: {error}"[:300]) from error

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Call the model and yield its reply in pieces."""
        try:
            yield from self._model.stream(turns, tools=tools, max_tokens=max_tokens, timeout=timeout)
        except ModelError:
            raise
        except Exception as error:  # as above
            raise ModelUnavailable(f"{self.name} failed: {type(error).__name__}: {error}"[:300]) from error

    def connect(self) -> None:
        """Create the model's client, if it has one. No request is sent."""
        connect = getattr(self._model, "connect", None)
        if connect is not None:
            connect()

    def close(self) -> None:
        """Close the model's connections, if it has any."""
        close = getattr(self._model, "close", None)
        if close is not None:
            close()


def _uncounted(error: ModelError) -> ModelError:
    """Return the error after setting its usage to one call of unknown cost."""
    error.usage = Usage(calls=1, cost=None)
    return error


class Presence:
    """Keeps track of whether a chat model answers, and pauses its use after failures.

    There are two pauses. After a slow failure, no call is made for a while, so that a model that does not answer cannot delay
    every job. After any failure, ``redo`` jobs are postponed for a while. These jobs use the model to digest messages again,
    after rules have digested them because the model failed.
    """

    def __init__(self) -> None:
        self.silence = CircuitBreaker()
        self.absence = CircuitBreaker(first_pause=_FIRST_ABSENCE_SECONDS, max_pause=_MAX_ABSENCE_SECONDS)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Context manager for one call of the model.

        If the model is unavailable or busy, ``redo`` jobs are postponed for a while. If the failed call was also slow, no calls
        are made for a while. A successful call ends both pauses.
        """
        started = time.monotonic()
        try:
            yield
        except (ModelUnavailable, ModelBusy) as error:
            self.absence.fail(str(error))
            if time.monotonic() - started >= _SLOW_FAILURE_SECONDS:
                self.silence.fail(str(error))
            raise
        self.absence.succeed()
        self.silence.succeed()

    def end_pauses(self) -> None:
        """End the pauses after failures, so that the next call is made at once."""
        self.absence.end_pause()
        self.silence.end_pause()


class BudgetedChat:
    """Loads the chat model of an engine, and enforces the model's daily limits."""

    def __init__(self, store: Store, source: ChatSource | None, clock: Clock, limits: ChatBudget | None = None) -> None:
        self._store = store
        self._source = source
        self._clock = clock
        self._limits = limits or ChatBudget()
        self.presence = Presence()
        self._model: CheckedChat | None = None
        self._not_before = 0.0
        self._problem: str | None = None
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock, and drop the model, because its connections belong to the parent process."""
        self._lock = threading.Lock()
        self._model = None

    @property
    def name(self) -> str | None:
        """The configured model's name, or None."""
        return self._source.name if self._source else None

    def model(self) -> tuple[ChatModel | None, str | None]:
        """Return the model and None. If the configured model cannot be used now, return None and the reason.

        If no model is configured, both values are None.
        """
        if self._source is None:
            return None, None
        exceeded = self._exceeded_limit()
        if exceeded is not None:
            return None, exceeded
        if self.presence.silence.is_open:
            return None, f"{self.name} is not asked for a moment: {(self.presence.silence.problem or '').rstrip('.')}"
        with self._lock:
            if self._model is None and time.monotonic() >= self._not_before:
                try:
                    self._model = CheckedChat(self._source.load(), timeout=self._source.timeout, presence=self.presence)
                    self._problem = None
                except ModelError as error:
                    self._not_before = time.monotonic() + _RETRY_SECONDS
                    self._problem = str(error).rstrip(".")
        return self._model, self._problem

    def connect(self) -> None:
        """Create the client of a remote model now, instead of with the first request. No request is sent."""
        model, _problem = self.model()
        if isinstance(model, CheckedChat):
            model.connect()

    @property
    def max_calls(self) -> int:
        """Maximum number of jobs that may call the model at the same time; 1 without a model."""
        return self._source.max_calls if self._source else 1

    def parallel_jobs(self) -> int:
        """Return the maximum number of jobs to run at the same time.

        Normally, the number is ``max_calls``. After a failure of the model, rules do its work on the processor, and more
        threads would slow down requests. Therefore the number is at most 2 while ``redo`` jobs are postponed, and 1 while no
        call is made at all (see :class:`Presence`).
        """
        if self.presence.silence.is_open:
            return 1
        return min(self.max_calls, _JOBS_BY_RULES) if self.presence.absence.is_open else self.max_calls

    @property
    def has_returned(self) -> bool:
        """True if the model can be tried again: it is configured, within its limits, and has not just failed."""
        return not self.presence.absence.is_open and self.model()[0] is not None

    def close(self) -> None:
        """Drop the model. Its connections are closed unless other engines share the model."""
        with self._lock:
            model, self._model = self._model, None
        if model is not None and not (self._source and self._source.shared):
            model.close()

    def _exceeded_limit(self) -> str | None:
        limits = self._limits
        if limits.daily_cost is None and limits.daily_calls is None:
            return None
        today = self._store.spend(since=self._clock.now().date().isoformat())
        cost, calls = sum(spend.cost for spend in today), sum(spend.calls for spend in today)
        if limits.daily_cost is not None and cost >= limits.daily_cost:
            return f"today's limit of ${limits.daily_cost:g} for chat models is reached"
        if limits.daily_calls is not None and calls >= limits.daily_calls:
            return f"today's limit of {limits.daily_calls} calls to chat models is reached"
        return None
