"""A second look at what was found: something that reads question and text together puts the best in a new order.

It is slower than all of recall, so it is left out unless it is asked for. What it says is one voice beside the score: it
moves a hit up or down by its likelihood. Whatever goes wrong with it, the hits stay as they were.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.chat import Usage, spend_of, usage_of
from holdfast.errors import ModelError, ModelUnavailable, StoreError
from holdfast.models.chat_budget import BudgetedChat
from holdfast.protocols import Candidate, Clock, Reranker, Store
from holdfast.recall.rating_prompt import rate
from holdfast.types import Hit, Reason

__all__ = ["ChatReranker", "Reranking"]

log = logging.getLogger("holdfast")

_RERANK_DEPTH = 30
"""Hits that are looked at again, however few or many are wanted."""
_RATING_WEIGHT = 6.0
"""What the step from a rating of 0 to one of 1 adds to a hit's logit."""
_FAILURE_PAUSE_SECONDS = 30.0
"""Seconds for which a reranker that has failed is left alone: recall must not wait for it every time."""
_TIMEOUT_SECONDS = 20.0
_MIN_PROBABILITY = 1e-4


class ChatReranker:
    """Lets the engine's chat model rate, and counts what it costs."""

    name = "chat"

    def __init__(self, store: Store, clock: Clock, chat: BudgetedChat) -> None:
        self._store = store
        self._clock = clock
        self._chat = chat

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        """Ask the model; an error where there is none, or where it may not be asked any more today."""
        model, problem = self._chat.model()
        if model is None:
            raise ModelUnavailable(f"{problem or 'the reranker is the chat model, and none is configured: set `chat`'}.")
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
            log.warning("What a second look cost could not be noted: %s", error)


class Reranking:
    """Looks again at the best hits of a recall, where there is something to look with."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._not_before = 0.0

    @property
    def active(self) -> bool:
        """Whether there is something to look with."""
        return self._reranker is not None

    @property
    def waits(self) -> bool:
        """Whether it may wait for an answer from elsewhere; one that does not says that it ``computes``."""
        return self.active and not getattr(self._reranker, "computes", False)

    def depth(self, limit: int) -> int:
        """Return how many hits are wanted to choose from."""
        return limit if self._reranker is None or limit < 1 else max(limit, _RERANK_DEPTH)

    def rank(self, question: str, hits: Sequence[Hit], *, now: datetime) -> list[Hit]:
        """Return the hits in the order that their scores and a second look give them together."""
        if self._reranker is None or not question.strip() or len(hits) < 2 or time.monotonic() < self._not_before:
            return list(hits)
        ratings = self._ratings(self._reranker, question, hits[:_RERANK_DEPTH], now)
        given = [rating for rating in ratings if rating is not None]
        if not given:
            return list(hits)
        # What stood behind all that was looked at is taken to be no better than the least of it.
        ratings = [*ratings, *[min(given)] * (len(hits) - len(ratings))]
        places = sorted(range(len(hits)), key=lambda place: -(ratings[place] or 0.0))
        ranks = {place: rank for rank, place in enumerate(places, 1)}
        moved = [
            hit if rating is None else _moved(hit, self._reranker.name, ranks[place], rating)
            for place, (hit, rating) in enumerate(zip(hits, ratings, strict=True))
        ]
        return sorted(moved, key=lambda hit: -hit.score)

    def _ratings(self, reranker: Reranker, question: str, hits: Sequence[Hit], now: datetime) -> Sequence[float | None]:
        """Return the ratings; what was found without any is an answer, too."""
        notes = [Candidate(text=_said(hit), at=hit.at) for hit in hits]
        try:
            return _checked(reranker, question, notes, now)
        except ModelError as error:
            self._not_before = time.monotonic() + _FAILURE_PAUSE_SECONDS
            log.warning("Hits were not looked at again, and will not be for %g s: %s", _FAILURE_PAUSE_SECONDS, error)
            return [None] * len(notes)


def _checked(reranker: Reranker, question: str, notes: Sequence[Candidate], now: datetime) -> Sequence[float | None]:
    """Ask, and hold the answer to what was agreed: an object of a user's own may raise anything."""
    try:
        ratings = reranker.rate(question, notes, asked_at=now)
        sound = len(ratings) == len(notes) and all(each is None or 0 <= each <= 1 for each in ratings)
    except ModelError:
        raise
    except Exception as error:  # the edge to foreign code
        raise ModelUnavailable(f"{reranker.name} failed: {type(error).__name__}: {error}"[:300]) from error
    if not sound:
        raise ModelUnavailable(f"{reranker.name} must give one rating from 0 to 1, or None, for each of {len(notes)} notes.")
    return ratings


def _said(hit: Hit) -> str:
    """Return what a hit says, and of a message who said it."""
    return str(hit) if hit.message is None else f"{hit.message.speaker or hit.message.role}: {hit.text}"


def _moved(hit: Hit, name: str, rank: int, rating: float) -> Hit:
    """Return a hit with what a second look says of it."""
    sure = min(max(hit.score, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    logit = math.log(sure / (1 - sure)) + _RATING_WEIGHT * (float(rating) - 0.5)
    reason = Reason(arm=f"rerank:{name}", rank=rank, score=round(float(rating), 4))
    return replace(hit, score=round(1 / (1 + math.exp(-logit)), 4), why=(*hit.why, reason))
