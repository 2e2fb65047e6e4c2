"""Reranking: a model reads the query together with each of the best hits and rates the hit.

Reranking is slower than the rest of recall, so it is off by default. The rating is added to the logit of the hit's
score. So it moves the hit up or down, but does not replace the score. If the reranker fails or is too slow, the hits
keep their order.
"""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.chat import Usage, spend_of, usage_of
from holdfast.errors import ModelError, ModelUnavailable, StoreError
from holdfast.models.chat_budget import BudgetedChat
from holdfast.protocols import Candidate, Clock, Reranker, Store
from holdfast.recall.notices import not_reranked
from holdfast.recall.rating_prompt import rate
from holdfast.runtime.bounded_calls import BoundedCalls, NotAnswered
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.wait_budget import current_budget, note
from holdfast.types import Hit, Reason

__all__ = ["ChatReranker", "Reranking"]

log = logging.getLogger("holdfast")

_RERANK_DEPTH = 30
"""Number of best hits to rerank. It does not depend on the limit of the recall."""
_RATING_WEIGHT = 11.4
"""How much a rating of 1 raises the logit of a score, compared with a rating of 0."""
_TIMEOUT_SECONDS = 20.0
_MIN_PROBABILITY = 1e-4


class ChatReranker:
    """Rates candidates with the engine's chat model, and records the cost."""

    name = "chat"

    def __init__(self, store: Store, clock: Clock, chat: BudgetedChat) -> None:
        self._store = store
        self._clock = clock
        self._chat = chat

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        """Rate candidates. Raise ``ModelUnavailable`` if there is no chat model or its budget is used up."""
        model, problem = self._chat.model()
        if model is None:
            raise ModelUnavailable(f"{problem or 'the reranker needs a chat model, and none is configured: set `chat`'}.")
        try:
            ratings = rate(model, question, candidates, asked_at=asked_at, timeout=_TIMEOUT_SECONDS)
        except ModelError as error:
            self._count(model.name, usage_of(error))
            raise
        self._count(model.name, ratings.usage)
        return ratings.values

    def _count(self, model: str, usage: Usage) -> None:
        try:
            with self._store.write(durable=False) as tx:
                tx.add_spend(spend_of(usage, day=self._clock.now(), purpose="rerank", model=model))
        except StoreError as error:
            log.warning("The cost of a rerank could not be stored: %s", error)


class Reranking:
    """Reranks the best hits of a recall, if a reranker is configured."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._calls = BoundedCalls()
        self._failures = CircuitBreaker()

    @property
    def active(self) -> bool:
        """True if a reranker is configured."""
        return self._reranker is not None

    @property
    def name(self) -> str | None:
        """The reranker's name, or None."""
        return self._reranker.name if self._reranker is not None else None

    @property
    def waits(self) -> bool:
        """True if the reranker may wait for a server. A reranker that never waits has the attribute ``computes`` set to True."""
        return self.active and not getattr(self._reranker, "computes", False)

    @property
    def problem(self) -> str | None:
        """The reason why the last recall was not reranked, as a message for people. None if it was reranked."""
        return self._calls.problem or self._failures.problem

    def load(self) -> None:
        """Load the weights of the reranker now, if it has weights. Raise ``ModelError`` if it cannot be loaded."""
        load = getattr(self._reranker, "load", None)
        if callable(load) and not self.waits:
            load()

    def depth(self, limit: int) -> int:
        """Return the number of hits to find before reranking, if ``limit`` hits are to be returned.

        Without a reranker, this is ``limit``.
        """
        return limit if self._reranker is None or limit < 1 else max(limit, _RERANK_DEPTH)

    def rate(self, question: str, candidates: Sequence[Candidate], *, now: datetime) -> Sequence[float | None]:
        """Return the reranker's ratings of candidates. Raise ``ModelError`` if the reranker fails. Used to test the reranker."""
        assert self._reranker is not None
        return _checked(self._reranker, question, candidates, now)

    def rank(self, question: str, hits: Sequence[Hit], *, now: datetime) -> list[Hit]:
        """Return the hits with scores adjusted by the reranker, best first."""
        if self._reranker is None or not question.strip() or len(hits) < 2:
            return list(hits)
        ratings = self._ratings(self._reranker, question, hits[:_RERANK_DEPTH], now)
        rated = [rating for rating in ratings if rating is not None]
        if not rated:
            return list(hits)
        # Hits beyond the rerank depth get the lowest rating.
        ratings = [*ratings, *[min(rated)] * (len(hits) - len(ratings))]
        positions = sorted(range(len(hits)), key=lambda position: -(ratings[position] or 0.0))
        ranks = {position: rank for rank, position in enumerate(positions, 1)}
        reranked = [
            hit if rating is None else _rescored(hit, self._reranker.name, ranks[position], rating)
            for position, (hit, rating) in enumerate(zip(hits, ratings, strict=True))
        ]
        return sorted(reranked, key=lambda hit: -hit.score)

    def _ratings(self, reranker: Reranker, question: str, hits: Sequence[Hit], now: datetime) -> Sequence[float | None]:
        """Return one rating per hit. All ratings are None if the reranker fails."""
        candidates = [Candidate(text=_candidate_text(hit), at=hit.at) for hit in hits]
        was_failing = self.problem is not None
        try:
            return self._call(reranker.name, lambda: _checked(reranker, question, candidates, now))
        except (ModelError, NotAnswered) as error:
            if not was_failing:
                log.warning("Reranking failed and is paused. Hits keep their order: %s", error)
            note(not_reranked(str(error)))
            return [None] * len(candidates)

    def _call(self, name: str, rate: Callable[[], Sequence[float | None]]) -> Sequence[float | None]:
        """Call the reranker by running ``rate``, and return the ratings. ``name`` is the reranker's name in messages.

        If the reranker can wait for a server, the time limit of the current recall applies. Raise ``NotAnswered`` after this
        time, and during the pause after a failure.
        """
        budget = current_budget()
        if budget is not None and self.waits:
            return self._calls.run(rate, budget, service=f"The reranker {name}")
        if self._failures.is_open:
            raise NotAnswered(self._failures.problem or "")
        try:
            ratings = rate()
        except ModelError as error:
            self._failures.fail(str(error))
            raise
        self._failures.succeed()
        return ratings


def _checked(reranker: Reranker, question: str, candidates: Sequence[Candidate], now: datetime) -> Sequence[float | None]:
    """Call a custom reranker and validate its ratings. Raise ``ModelUnavailable`` if it fails or a rating is invalid."""
    try:
        ratings = reranker.rate(question, candidates, asked_at=now)
        is_valid = len(ratings) == len(candidates) and all(rating is None or 0 <= rating <= 1 for rating in ratings)
    except ModelError:
        raise
    except Exception as error:  # a custom reranker may raise anything
        raise ModelUnavailable(f"{reranker.name} failed: {type(error).__name__}: {error}"[:300]) from error
    if not is_valid:
        raise ModelUnavailable(
            f"{reranker.name} must return one rating from 0 to 1, or None, for each of {len(candidates)} candidates."
        )
    return ratings


def _candidate_text(hit: Hit) -> str:
    """Return the text of a hit. The text of a message includes its speaker, and the question that the message answers."""
    if hit.message is None:
        return str(hit)
    asked = f"{hit.asked} " if hit.asked else ""
    return f"{asked}{hit.message.speaker or hit.message.role}: {hit.text}"


def _rescored(hit: Hit, name: str, rank: int, rating: float) -> Hit:
    """Return a hit with its score adjusted by the reranker's rating.

    The rating is added to the hit's reasons, with the reranker's ``name`` and the hit's ``rank`` by rating.
    """
    probability = min(max(hit.score, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    logit = math.log(probability / (1 - probability)) + _RATING_WEIGHT * (float(rating) - 0.5)
    reason = Reason(arm=f"rerank:{name}", rank=rank, score=round(float(rating), 4))
    return replace(hit, score=round(1 / (1 + math.exp(-logit)), 4), why=(*hit.why, reason))
