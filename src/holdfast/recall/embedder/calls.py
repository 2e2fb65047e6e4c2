"""Calls of one embedder, with a time limit, and with pauses after failures."""

from collections.abc import Callable
from typing import TypeVar

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.protocols import Role
from holdfast.runtime.bounded_calls import BoundedCalls, NotAnswered
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.wait_budget import WaitBudget, current_budget

T = TypeVar("T")
_BACKGROUND_SECONDS = 30.0
"""Maximum time in seconds that background work waits for an embedder outside this process.

After this time, other background work continues. The call goes on, and its vectors are stored when it returns.
"""


class EmbedderCalls:
    """Calls one embedder. All engines with this embedder share this object, so an outage pauses the calls of all engines.

    Queries and documents have separate circuit breakers. A batch of documents takes longer than a query and can exceed the
    time limit of a recall. Such a timeout pauses only the calls for documents, not the queries.
    """

    def __init__(self, *, background_seconds: float = _BACKGROUND_SECONDS) -> None:
        self._background_seconds = background_seconds
        self._queries = BoundedCalls()
        self._documents = BoundedCalls()
        self._background = CircuitBreaker()
        self._background_calls = BoundedCalls(CircuitBreaker(first_pause=0.0, max_pause=0.0))
        """Limits the time of background calls. It never pauses them: ``_background`` decides about pauses."""

    @property
    def problem(self) -> str | None:
        """The reason why the last query or the last background call failed, as a message for people.

        None if both calls succeeded.
        """
        return self._queries.problem or self._background.problem

    @property
    def is_paused(self) -> bool:
        """True if background work must not call the embedder now."""
        return self._background.is_open

    @property
    def is_query_failing(self) -> bool:
        """True if the embedder failed when a recall last asked it for the vector of a query."""
        return self._queries.problem is not None

    def run(self, work: Callable[[], T], role: Role, *, service: str, computes: bool) -> T:
        """Call the embedder by running ``work``, and return the result.

        Raise ``ModelError`` if the embedder fails, is paused after a failure, or does not answer in time. During a recall,
        the time limit is the time that the recall may still wait. If ``computes`` is True, the embedder runs in this process
        and has no time limit. A time limit would make scores depend on the load of the machine. ``service`` is the embedder's
        name in messages.
        """
        budget = current_budget()
        if budget is None and not computes:
            return self._directly(lambda: self._within_limit(work, service), in_background=True)
        if budget is None or computes:
            return self._directly(work, in_background=budget is None)
        try:
            result = (self._queries if role == "query" else self._documents).run(work, budget, service=service)
        except NotAnswered as error:
            raise ModelUnavailable(str(error)) from error
        self._background.succeed()
        return result

    def _within_limit(self, work: Callable[[], T], service: str) -> T:
        """Call the embedder in another thread and wait for a limited time, so that a hanging call stops nothing else."""
        try:
            return self._background_calls.run(work, WaitBudget(self._background_seconds), service=service)
        except NotAnswered as error:
            raise ModelUnavailable(f"{service} did not answer within {self._background_seconds:g} s.") from error

    def end_pauses(self) -> None:
        """End the pauses after failures, so that the next call is made at once."""
        self._background.end_pause()
        self._queries.breaker.end_pause()
        self._documents.breaker.end_pause()

    def _directly(self, work: Callable[[], T], *, in_background: bool) -> T:
        """Call the embedder by running ``work``, without the time limit of a recall. Return the result.

        A failure pauses background work, but not recalls. With ``in_background``, the call belongs to background work, and
        raises ``ModelUnavailable`` during a pause.
        """
        problem = self._background.problem
        if in_background and problem is not None and self._background.is_open:
            raise ModelUnavailable(problem)
        try:
            result = work()
        except ModelError as error:
            self._background.fail(str(error))
            raise
        if problem is not None:  # the service is back
            self._background.succeed()
            self._queries.breaker.end_pause()
        return result
