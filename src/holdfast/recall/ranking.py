"""Ranking: computes the strength of each candidate, adds gains from its context, and converts the sum to a probability.

    strength   = BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match
    background = (n * median + PRIOR_COUNT * PRIOR_STRENGTH) / (n + PRIOR_COUNT), of the n best candidates
    likelihood = sigmoid(STRENGTH_WEIGHT * strength + BACKGROUND_WEIGHT * background + COUNT_WEIGHT * log(1 + n) + INTERCEPT)

A strength is a logit on a scale that is the same for every embedder. The background is the typical strength of the best
candidates; a hit must exceed it to be likely. A message gains strength from a strong session, from a strong neighbor, if
the question names its speaker, and if it lies in a period that the question names. Between a user and an assistant, the
user's messages gain, and a strong answer raises the message that it answers.
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
MEANING_WEIGHT: Final = 6.0
"""Strength that an item gains if its cosine is ``high`` (typical of matching texts) instead of ``low`` (unrelated texts)."""
WORD_WEIGHT: Final = 6.0
"""Strength that an item gains if all words match."""
_BIAS: Final = -3.0
"""Strength of an item that matches neither by meaning nor by words."""

# Gains of a message from its context
_SESSION_SHARE: Final = 0.4
"""Share of a difference that each message of a session gains: how much stronger the session is than the average session.

The strength of a session is that of its best message. In a session below the average, messages lose strength.
"""
_PREVIOUS_SHARE: Final = 0.3
"""If the previous message is stronger than the mean, a message gains this share of the difference.

Used only if the previous message or this one has a named speaker.
"""
_NEXT_SHARE: Final = 0.2
"""If the next message is stronger than the mean, a message gains this share of the difference.

Used only if the next message or this one has a named speaker.
"""
_ANSWER_SHARE: Final = 0.2
"""If the assistant's answer is stronger than the mean, the user's message before it gains this share of the difference."""
_NAMED_SPEAKER_GAIN: Final = 1.0
"""Strength that a message gains if the question names its speaker."""
_USER_GAIN: Final = 1.0
"""Strength that each message of the user gains, and each message of the assistant loses."""
_MAX_NEIGHBOR_GAP: Final = 2
"""Maximum difference between the sequence numbers of two neighbors.

It is 2, because a memory that was stored between two messages has the number between theirs.
"""

# Gains from a period that the question names
_DAYS_GAIN: Final = 2.0
"""Strength that an item gains if it lies in a short period that the question names, such as "last week"."""
_MONTHS_GAIN: Final = 0.4 * _DAYS_GAIN
"""Strength that an item gains if it lies in a longer period that the question names, such as "last year".

It is smaller than for a short period, because people also talk about a long period after it has ended.
"""
_PERIOD_ONLY_GAIN: Final = 10.0
"""Strength that an item gains if the question asks for everything in a period and the item lies in it.

An example is "What did we talk about yesterday?". The gain outweighs any similarity.
"""
SHORT_PERIOD: Final = timedelta(days=22)
"""Length below which a period counts as short. A short period gives an item a larger gain."""

# Likelihood, fitted to questions with and without an answer in the store, see docs/project/benchmarks.md
_STRENGTH_WEIGHT: Final = 0.30
_BACKGROUND_WEIGHT: Final = -0.41
_COUNT_WEIGHT: Final = -0.80
_INTERCEPT: Final = -1.26
_MAX_LOGIT: Final = 30.0
"""Maximum absolute value of a logit, which prevents an overflow of the exponential."""
_WORDS_ONLY_SCALE: Final = 2.5
"""Scale factor for strengths that are computed from words alone, because these span a smaller range."""

# Background
_BACKGROUND_SIZE: Final = 32
"""Maximum number of top candidates whose median strength forms the background, the baseline that a hit must exceed."""
_PRIOR_STRENGTH: Final = -4.0
"""Assumed strength of an unrelated item."""
_PRIOR_COUNT: Final = 6
"""Number of assumed unrelated items that are averaged into the background (the baseline for hits)."""
_MAX_MEDIAN: Final = 4.0
"""Upper limit of the candidates' median strength when the background is computed.

If many candidates answer the question, their median is high. Without the limit, each of them would seem less likely.
"""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The session, role, speaker and time of a message."""

    session: str
    role: str = "user"
    speaker: str | None = None
    at: datetime | None = None

    @property
    def by_user(self) -> bool:
        """True if the message is by the user and has no named speaker."""
        return self.role == "user" and self.speaker is None

    @property
    def role_gain(self) -> float:
        """Gain in strength from the role: positive for the user, negative for others, zero if the speaker has a name."""
        return 0.0 if self.speaker else _USER_GAIN if self.role == "user" else -_USER_GAIN


def strength(cosine: float | None, word_match: float, calibration: tuple[float, float] | None) -> float:
    """Return the strength of an item as a logit. Without a cosine, it depends on the word match alone."""
    if calibration is None or cosine is None:
        return _BIAS + WORD_WEIGHT * word_match
    low, high = calibration
    return _BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Typical strength and number of the best candidates: the baseline for a hit.

    The more candidates there are, the more likely it is that the best one is strong by chance.
    """

    strength: float
    count: int
    scale: float

    @classmethod
    def of(cls, strengths: Sequence[float], *, words_alone: bool = False) -> "Background":
        """Compute the background from the strengths of the candidates, ordered best first."""
        scale = _WORDS_ONLY_SCALE if words_alone else 1.0
        best = strengths[:_BACKGROUND_SIZE]
        count = len(best)
        median = min(_scaled(best[count // 2], scale), _MAX_MEDIAN) if best else _PRIOR_STRENGTH
        mean = (count * median + _PRIOR_COUNT * _PRIOR_STRENGTH) / (count + _PRIOR_COUNT)
        return cls(strength=mean, count=count, scale=scale)


def likelihood(strength: float, background: Background) -> float:
    """Return the probability that an item of this strength answers the question, given the strengths of the other candidates."""
    logit = (
        _STRENGTH_WEIGHT * _scaled(strength, background.scale)
        + _BACKGROUND_WEIGHT * background.strength
        + _COUNT_WEIGHT * math.log1p(background.count)
        + _INTERCEPT
    )
    return _sigmoid(max(-_MAX_LOGIT, min(_MAX_LOGIT, logit)))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _scaled(strength: float, scale: float) -> float:
    """Multiply the difference between a strength and the bias by a factor."""
    return _BIAS + scale * (strength - _BIAS)


def with_context_gains(
    strengths: Mapping[int, float],
    places: Mapping[int, Place],
    question: str,
    *,
    periods: Sequence[Period] = (),
    answer_weight: float = 1.0,
) -> dict[int, float]:
    """Return the strength of each item, with the gains of messages from their context. Memories have no place and stay unchanged.

    ``answer_weight`` scales how much an assistant's answer raises the message before it.
    """
    messages = {seq: strengths[seq] + period_gain(place.at, periods) for seq, place in places.items() if seq in strengths}
    if len(messages) < 2:
        return {**strengths, **messages}
    messages = _with_named_speaker_gain(messages, places, question)
    messages = {seq: value + places[seq].role_gain for seq, value in messages.items()}
    messages = _with_session_gain(messages, places)
    messages = _with_neighbor_gain(messages, places, answer_weight)
    return {**strengths, **messages}


def period_gain(at: datetime | None, periods: Sequence[Period]) -> float:
    """Return the strength that an item gains if its time lies in one of the periods that a question names."""
    if at is None or not periods:
        return 0.0
    return max((_gain_of(period) for period in periods if period.holds(at)), default=0.0)


def max_period_gain(periods: Sequence[Period]) -> float:
    """Return the largest gain that an item can get from these periods."""
    return max(map(_gain_of, periods), default=0.0)


def _gain_of(period: Period) -> float:
    if period.alone:
        return _PERIOD_ONLY_GAIN
    return _DAYS_GAIN if period.end - period.start < SHORT_PERIOD else _MONTHS_GAIN


def _with_named_speaker_gain(strengths: Mapping[int, float], places: Mapping[int, Place], question: str) -> dict[int, float]:
    """Raise the strength of messages by speakers that the question names.

    If there are several speakers and the question names all of them, all strengths stay as they are.
    """
    question_words = set(_WORD.findall(fold(question)))
    speakers = {place.speaker for place in places.values() if place.speaker}
    named = {speaker for speaker in speakers if question_words & set(_WORD.findall(fold(speaker)))}
    if not named or len(named) == len(speakers) > 1:
        return dict(strengths)
    return {seq: value + _NAMED_SPEAKER_GAIN * (places[seq].speaker in named) for seq, value in strengths.items()}


def _with_session_gain(strengths: Mapping[int, float], places: Mapping[int, Place]) -> dict[int, float]:
    """Adjust the strength of messages by their session.

    If the best message of a session is stronger than the mean of all sessions' best messages, the messages of the session gain
    strength. Otherwise they lose strength.
    """
    best: dict[str, float] = {}
    for seq, value in strengths.items():
        session = places[seq].session
        best[session] = max(best.get(session, value), value)
    mean = sum(best.values()) / len(best)
    return {seq: value + _SESSION_SHARE * (best[places[seq].session] - mean) for seq, value in strengths.items()}


def _with_neighbor_gain(strengths: Mapping[int, float], places: Mapping[int, Place], answer_weight: float) -> dict[int, float]:
    """Raise the strength of each message whose previous or next message is stronger than the mean of all messages."""
    mean = sum(strengths.values()) / len(strengths)
    raised = dict(strengths)
    for first, second in itertools.pairwise(sorted(strengths)):
        if second - first > _MAX_NEIGHBOR_GAP or places[first].session != places[second].session:
            continue
        to_second, to_first = _neighbor_shares(places[first], places[second], answer_weight)
        raised[second] += to_second * max(strengths[first] - mean, 0.0)
        raised[first] += to_first * max(strengths[second] - mean, 0.0)
    return raised


def _neighbor_shares(first: Place, second: Place, answer_weight: float) -> tuple[float, float]:
    """Return two factors: how much the second message gains from a strong first one, and the first from a strong second one."""
    if first.speaker or second.speaker:
        return _PREVIOUS_SHARE, _NEXT_SHARE
    return 0.0, answer_weight * _ANSWER_SHARE if first.by_user else 0.0
