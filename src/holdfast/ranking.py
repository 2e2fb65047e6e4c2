"""One strength for what several arms have found, and what its company adds to it.

A strength is a logit: meaning and words add up, on a scale that means the same for every embedder. A message is
worth more in a conversation that has more to say to the question, next to a message that matters, and when it was
said by someone the question names, or at a time it names. Between a user and an assistant, what the user said is what a memory is for: an
answer that fits speaks for what it answers.
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

MEANING: Final = 6.0
"""What a cosine is worth as it goes from that of unrelated texts to that of matching ones."""
WORDS: Final = 6.0
"""What a full match of words is worth."""
_EVEN: Final = -3.0
_SAME_TALK: Final = 0.4
_BEFORE: Final = 0.3
_AFTER: Final = 0.2
"""Between people who talk with each other: what comes from the message before, and from the one after."""
_ANSWERED: Final = 0.2
"""Between a user and an assistant: what a user's message has from its answer."""
_NAMED: Final = 1.0
_THE_USERS: Final = 1.0
"""Between a user and an assistant: what the user's words gain, and the assistant's lose."""
_IN_TIME: Final = 2.0
"""What it is worth to have been said in the days that a question names; less where it names months, of which people also
speak later."""
SHORT: Final = timedelta(days=22)
"""A stretch of time shorter than this is one of days."""
_LONG: Final = 0.4
_ONLY_TIME: Final = 10.0
"""What it is worth where the question names nothing but a time: more than any likeness of words."""
_FARTHEST: Final = 2
"""Numbers apart that two messages of a conversation may be and still be neighbours: a memory may have come between."""
_WORD: Final = re.compile(r"\w+")
_OTHERS: Final = 32
"""How many of the best make the background that a hit is judged against."""
_UNRELATED: Final = (-4.0, 6)
"""The strength of what has nothing to do with a question, and how many of the others it stands in for where there are few."""
_ALL_GOOD: Final = 4.0
"""Others stronger than this are taken to answer as well: where much is to the point, each hit is no less so."""
_LIKELY: Final = (0.30, -0.41, -0.80, -1.26)
"""What a hit's strength, that of the others, the logarithm of how many they are, and nothing at all say of its likelihood:
fitted to answers that were there and answers that were not, see ``docs/benchmarks.md``."""
_WORDS_ALONE: Final = 2.5
"""How much more strengths tell where they come from words alone, and so span less."""


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
        """What it is worth who said it."""
        return 0.0 if self.speaker else _THE_USERS if self.role == "user" else -_THE_USERS


def strength(cosine: float | None, words: float, calibration: tuple[float, float] | None) -> float:
    """Return how strongly the arms speak for something; without an embedder, words have to do."""
    if calibration is None or cosine is None:
        return _EVEN + WORDS * words
    low, high = calibration
    return _EVEN + MEANING * (cosine - low) / (high - low) + WORDS * words


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What else was found: the best of many stands out by chance alone, the only one does not."""

    strength: float
    count: int
    scale: float

    @classmethod
    def of(cls, strengths: Sequence[float], *, words_alone: bool = False) -> "Background":
        """Describe what was found, given best first."""
        others, scale = strengths[:_OTHERS], _WORDS_ALONE if words_alone else 1.0
        level, weight = _UNRELATED
        middle = min(_scaled(others[len(others) // 2], scale), _ALL_GOOD) if others else level
        return cls(strength=(len(others) * middle + weight * level) / (len(others) + weight), count=len(others), scale=scale)


def likelihood(strength: float, background: Background) -> float:
    """Return how likely it is, 0 to 1, that something of this strength is what was asked for."""
    own, others, count, always = _LIKELY
    said = own * _scaled(strength, background.scale) + others * background.strength
    logit = said + count * math.log1p(background.count) + always
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def _scaled(strength: float, scale: float) -> float:
    return _EVEN + scale * (strength - _EVEN)


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
        return _ONLY_TIME
    return _IN_TIME if period.end - period.start < SHORT else _IN_TIME * _LONG


def _named(found: Mapping[int, float], places: Mapping[int, Place], question: str) -> dict[int, float]:
    """Favour what was said by a speaker the question names."""
    asked = set(_WORD.findall(fold(question)))
    speakers = {place.speaker for place in places.values() if place.speaker}
    named = {speaker for speaker in speakers if asked & set(_WORD.findall(fold(speaker)))}
    if not named or len(named) == len(speakers) > 1:
        return dict(found)
    return {seq: value + _NAMED * (places[seq].speaker in named) for seq, value in found.items()}


def _among_sessions(found: Mapping[int, float], places: Mapping[int, Place]) -> dict[int, float]:
    """Favour conversations whose best message is better than that of most."""
    best: dict[str, float] = {}
    for seq, value in found.items():
        session = places[seq].session
        best[session] = max(best.get(session, value), value)
    mean = sum(best.values()) / len(best)
    return {seq: value + _SAME_TALK * (best[places[seq].session] - mean) for seq, value in found.items()}


def _beside(found: Mapping[int, float], places: Mapping[int, Place], answers: float) -> dict[int, float]:
    """Favour what was said right after, or right before, something that matters."""
    mean = sum(found.values()) / len(found)
    order: Sequence[int] = sorted(found)
    raised = dict(found)
    for one, other in itertools.pairwise(order):
        if other - one > _FARTHEST or places[one].session != places[other].session:
            continue
        before, after = _worth(places[one], places[other], answers)
        raised[other] += before * max(found[one] - mean, 0.0)
        raised[one] += after * max(found[other] - mean, 0.0)
    return raised


def _worth(one: Place, other: Place, answers: float) -> tuple[float, float]:
    """Return what two neighbours are worth to each other: the first to the second, the second to the first."""
    if one.speaker or other.speaker:
        return _BEFORE, _AFTER
    return 0.0, answers * _ANSWERED if one.by_user else 0.0
