"""The strength of a candidate from several arms, its adjustment by context, and the probability that follows from it.

    strength   = bias + meaning * (cosine - low) / (high - low) + words * match
    background = mean of n candidates at their median, and of a few unrelated ones
    likelihood = sigmoid(a * strength + b * background + c * log(1 + n) + d)

A strength is a logit: meaning and words add up, on a scale that means the same for every embedder. A message gains from a
strong session, from a strong neighbor, from a speaker whom the question names and from a time that it names. Between a user
and an assistant, the user's messages count more, and a fitting answer speaks for the message that it answers.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from holdfast.text.clean import fold
from holdfast.text.periods import Period

# Strength
MEANING: Final = 6.0
"""Gain of a cosine that goes from ``low``, of unrelated texts, to ``high``, of matching ones (the embedder's calibration)."""
WORDS: Final = 6.0
"""Gain of a full match of words."""
_BIAS: Final = -3.0

# Gains and losses of a message from its context
_SESSION: Final = 0.4
"""Share of what the best message of its session exceeds the mean of all sessions by."""
_FROM_PREVIOUS: Final = 0.3
"""Share of the strength of the message before, between people who talk with each other."""
_FROM_NEXT: Final = 0.2
"""Share of the strength of the message after, between people who talk with each other."""
_FROM_ANSWER: Final = 0.2
"""Share of the strength of an assistant's answer, for the user's message that it answers."""
_NAMED_SPEAKER: Final = 1.0
"""Gain of a message by a speaker whom the question names."""
_BY_USER: Final = 1.0
"""Gain of the user's messages, and loss of the assistant's."""
_MAX_GAP: Final = 2
"""Numbers apart that neighbors of a conversation may be: a memory may have come between."""

# Gains from the time that a question names
_IN_DAYS: Final = 2.0
"""Gain of what was said within the named days."""
_IN_MONTHS: Final = 0.4 * _IN_DAYS
"""Gain of what was said within a longer period: people also speak of it later."""
_TIME_ONLY: Final = 10.0
"""Gain where the question names nothing but a time: more than any similarity."""
SHORT: Final = timedelta(days=22)
"""A period shorter than this counts as days."""

# Likelihood, fitted to questions with and without an answer in the store, see docs/project/benchmarks.md.
_STRENGTH: Final = 0.30
_BACKGROUND: Final = -0.41
_COUNT: Final = -0.80
_INTERCEPT: Final = -1.26
_MAX_LOGIT: Final = 30.0
"""Bound that keeps the exponential in range."""
_WORDS_ONLY_SCALE: Final = 2.5
"""Stretch of strengths that come from words alone, which span less."""

# Background
_BACKGROUND_SIZE: Final = 32
"""Best candidates that make up the background."""
_PRIOR_STRENGTH: Final = -4.0
"""Strength of an unrelated item."""
_PRIOR_COUNT: Final = 6
"""Unrelated items that the background assumes in addition."""
_MAX_MEDIAN: Final = 4.0
"""Cap on the median: candidates above it answer the question too, and make no hit less likely."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a message stands."""

    session: str
    role: str = "user"
    speaker: str | None = None
    at: datetime | None = None

    @property
    def by_user(self) -> bool:
        """Whether the one user said it, and not one of several people who are told apart by name."""
        return self.role == "user" and self.speaker is None

    @property
    def weight(self) -> float:
        """Score adjustment for the speaker."""
        return 0.0 if self.speaker else _BY_USER if self.role == "user" else -_BY_USER


def strength(cosine: float | None, words: float, calibration: tuple[float, float] | None) -> float:
    """Return how strongly the arms vote for an item, as a logit; without a cosine, by words alone."""
    if calibration is None or cosine is None:
        return _BIAS + WORDS * words
    low, high = calibration
    return _BIAS + MEANING * (cosine - low) / (high - low) + WORDS * words


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The other candidates. With many, the best one may be strong by chance."""

    strength: float
    count: int
    scale: float

    @classmethod
    def of(cls, strengths: Sequence[float], *, words_alone: bool = False) -> "Background":
        """Describe the candidates, given best first."""
        scale = _WORDS_ONLY_SCALE if words_alone else 1.0
        best = strengths[:_BACKGROUND_SIZE]
        count = len(best)
        median = min(_scaled(best[count // 2], scale), _MAX_MEDIAN) if best else _PRIOR_STRENGTH
        mean = (count * median + _PRIOR_COUNT * _PRIOR_STRENGTH) / (count + _PRIOR_COUNT)
        return cls(strength=mean, count=count, scale=scale)


def likelihood(strength: float, background: Background) -> float:
    """Return the probability that an item of this strength answers the question."""
    scaled, n = _scaled(strength, background.scale), background.count
    logit = _STRENGTH * scaled + _BACKGROUND * background.strength + _COUNT * math.log1p(n) + _INTERCEPT
    return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))))


def _scaled(strength: float, scale: float) -> float:
    """Stretch a strength around the bias."""
    return _BIAS + scale * (strength - _BIAS)


def in_company(
    strengths: Mapping[int, float],
    places: Mapping[int, Place],
    question: str,
    *,
    periods: Sequence[Period] = (),
    answers: float = 1.0,
) -> dict[int, float]:
    """Return strengths with what their company adds; what has no place among messages keeps its own.

    ``answers`` is the share of its usual weight that an assistant's answer has for what it answers.
    """
    found = {seq: strengths[seq] + in_time(place.at, periods) for seq, place in places.items() if seq in strengths}
    if len(found) < 2:
        return {**strengths, **found}
    found = _named(found, places, question)
    found = {seq: value + places[seq].weight for seq, value in found.items()}
    found = _among_sessions(found, places)
    return {**strengths, **_beside(found, places, answers)}


def in_time(said: datetime | None, periods: Sequence[Period]) -> float:
    """Return what it is worth to have been said in one of the stretches of time that a question names."""
    if said is None or not periods:
        return 0.0
    return max((_worth_of(period) for period in periods if period.holds(said)), default=0.0)


def most_in_time(periods: Sequence[Period]) -> float:
    """Return the most that time can be worth to a question."""
    return max(map(_worth_of, periods), default=0.0)


def _worth_of(period: Period) -> float:
    if period.alone:
        return _TIME_ONLY
    return _IN_DAYS if period.end - period.start < SHORT else _IN_MONTHS


def _named(found: Mapping[int, float], places: Mapping[int, Place], question: str) -> dict[int, float]:
    """Favour what was said by a speaker the question names."""
    asked = set(_WORD.findall(fold(question)))
    speakers = {place.speaker for place in places.values() if place.speaker}
    named = {speaker for speaker in speakers if asked & set(_WORD.findall(fold(speaker)))}
    if not named or len(named) == len(speakers) > 1:
        return dict(found)
    return {seq: value + _NAMED_SPEAKER * (places[seq].speaker in named) for seq, value in found.items()}


def _among_sessions(found: Mapping[int, float], places: Mapping[int, Place]) -> dict[int, float]:
    """Favour conversations whose best message is better than that of most."""
    best: dict[str, float] = {}
    for seq, value in found.items():
        session = places[seq].session
        best[session] = max(best.get(session, value), value)
    mean = sum(best.values()) / len(best)
    return {seq: value + _SESSION * (best[places[seq].session] - mean) for seq, value in found.items()}


def _beside(found: Mapping[int, float], places: Mapping[int, Place], answers: float) -> dict[int, float]:
    """Favour what was said right after, or right before, something that matters."""
    mean = sum(found.values()) / len(found)
    order: Sequence[int] = sorted(found)
    raised = dict(found)
    for one, other in itertools.pairwise(order):
        if other - one > _MAX_GAP or places[one].session != places[other].session:
            continue
        before, after = _worth(places[one], places[other], answers)
        raised[other] += before * max(found[one] - mean, 0.0)
        raised[one] += after * max(found[other] - mean, 0.0)
    return raised


def _worth(one: Place, other: Place, answers: float) -> tuple[float, float]:
    """Return what two neighbours are worth to each other: the first to the second, the second to the first."""
    if one.speaker or other.speaker:
        return _FROM_PREVIOUS, _FROM_NEXT
    return 0.0, answers * _FROM_ANSWER if one.by_user else 0.0
