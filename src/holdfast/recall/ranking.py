"""Ranking: the strength of a candidate, the gains a message gets from its context, and the resulting probability.

    strength   = BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match
    background = (n * median + PRIOR_COUNT * PRIOR_STRENGTH) / (n + PRIOR_COUNT), of the n best candidates
    likelihood = sigmoid(STRENGTH_WEIGHT * strength + BACKGROUND_WEIGHT * background + COUNT_WEIGHT * log(1 + n) + INTERCEPT)

A strength is a logit on a scale that is the same for every embedder. A message gains strength from a strong session, from
a strong neighbor, if the question names its speaker, and if it lies in a period that the question names. Between a user
and an assistant, the user's messages gain, and a strong answer raises the message that it answers.
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
"""Gain of a cosine that rises from ``low`` (unrelated texts) to ``high`` (matching texts), the embedder's calibration."""
WORD_WEIGHT: Final = 6.0
"""Gain of a full match of words."""
_BIAS: Final = -3.0
"""Strength of an item without any match."""

# Gains of a message from its context
_SESSION_SHARE: Final = 0.4
"""Share of the difference between the best message of its session and the mean of the best of all sessions."""
_PREVIOUS_SHARE: Final = 0.3
"""Share of the previous message's strength above the mean, in a conversation between named speakers."""
_NEXT_SHARE: Final = 0.2
"""Share of the next message's strength above the mean, in a conversation between named speakers."""
_ANSWER_SHARE: Final = 0.2
"""Share of the strength above the mean of an assistant's answer, for the user's message before it."""
_NAMED_SPEAKER_GAIN: Final = 1.0
"""Gain of a message whose speaker the question names."""
_USER_GAIN: Final = 1.0
"""Gain of the user's messages, and loss of the assistant's."""
_MAX_NEIGHBOR_GAP: Final = 2
"""Maximum difference of the sequence numbers of neighbors. A memory may have taken the number in between."""

# Gains from a period that the question names
_DAYS_GAIN: Final = 2.0
"""Gain of an item from a named period of days."""
_MONTHS_GAIN: Final = 0.4 * _DAYS_GAIN
"""Gain of an item from a longer period. It is smaller, because people also talk about such a period later."""
_PERIOD_ONLY_GAIN: Final = 10.0
"""Gain if the question names nothing but a period: more than any similarity."""
SHORT_PERIOD: Final = timedelta(days=22)
"""A period shorter than this counts as days."""

# Likelihood, fitted to questions with and without an answer in the store, see docs/project/benchmarks.md
_STRENGTH_WEIGHT: Final = 0.30
_BACKGROUND_WEIGHT: Final = -0.41
_COUNT_WEIGHT: Final = -0.80
_INTERCEPT: Final = -1.26
_MAX_LOGIT: Final = 30.0
"""Bound that keeps the exponential in range."""
_WORDS_ONLY_SCALE: Final = 2.5
"""Factor for strengths from words alone, which span a smaller range."""

# Background
_BACKGROUND_SIZE: Final = 32
"""Number of best candidates that make up the background."""
_PRIOR_STRENGTH: Final = -4.0
"""Strength of an unrelated item."""
_PRIOR_COUNT: Final = 6
"""Number of unrelated items added to the background."""
_MAX_MEDIAN: Final = 4.0
"""Cap on the median. Candidates above it answer the question too, and must not make a hit less likely."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Position of a message: its session, speaker and time."""

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
        """Gain of the user's messages, loss of others, zero for named speakers."""
        return 0.0 if self.speaker else _USER_GAIN if self.role == "user" else -_USER_GAIN


def strength(cosine: float | None, word_match: float, calibration: tuple[float, float] | None) -> float:
    """Return the strength of an item as a logit. Without a cosine, it comes from words alone."""
    if calibration is None or cosine is None:
        return _BIAS + WORD_WEIGHT * word_match
    low, high = calibration
    return _BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The other candidates. Among many, the best one may be strong by chance."""

    strength: float
    count: int
    scale: float

    @classmethod
    def of(cls, strengths: Sequence[float], *, words_alone: bool = False) -> "Background":
        """Summarize the candidates, given best first."""
        scale = _WORDS_ONLY_SCALE if words_alone else 1.0
        best = strengths[:_BACKGROUND_SIZE]
        count = len(best)
        median = min(_scaled(best[count // 2], scale), _MAX_MEDIAN) if best else _PRIOR_STRENGTH
        mean = (count * median + _PRIOR_COUNT * _PRIOR_STRENGTH) / (count + _PRIOR_COUNT)
        return cls(strength=mean, count=count, scale=scale)


def likelihood(strength: float, background: Background) -> float:
    """Return the probability that an item of this strength answers the question."""
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
    """Scale the distance of a strength from the bias."""
    return _BIAS + scale * (strength - _BIAS)


def with_context_gains(
    strengths: Mapping[int, float],
    places: Mapping[int, Place],
    question: str,
    *,
    periods: Sequence[Period] = (),
    answer_weight: float = 1.0,
) -> dict[int, float]:
    """Return the strengths by item, with the gains of messages from their context. Items without a place keep theirs.

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
    """Return the gain of an item of this time from the periods that a question names."""
    if at is None or not periods:
        return 0.0
    return max((_gain_of(period) for period in periods if period.holds(at)), default=0.0)


def max_period_gain(periods: Sequence[Period]) -> float:
    """Return the largest gain that these periods can give."""
    return max(map(_gain_of, periods), default=0.0)


def _gain_of(period: Period) -> float:
    if period.alone:
        return _PERIOD_ONLY_GAIN
    return _DAYS_GAIN if period.end - period.start < SHORT_PERIOD else _MONTHS_GAIN


def _with_named_speaker_gain(strengths: Mapping[int, float], places: Mapping[int, Place], question: str) -> dict[int, float]:
    """Raise the messages of speakers that the question names, unless it names all of several speakers."""
    question_words = set(_WORD.findall(fold(question)))
    speakers = {place.speaker for place in places.values() if place.speaker}
    named = {speaker for speaker in speakers if question_words & set(_WORD.findall(fold(speaker)))}
    if not named or len(named) == len(speakers) > 1:
        return dict(strengths)
    return {seq: value + _NAMED_SPEAKER_GAIN * (places[seq].speaker in named) for seq, value in strengths.items()}


def _with_session_gain(strengths: Mapping[int, float], places: Mapping[int, Place]) -> dict[int, float]:
    """Raise the messages of sessions whose best message is above the mean, and lower the others."""
    best: dict[str, float] = {}
    for seq, value in strengths.items():
        session = places[seq].session
        best[session] = max(best.get(session, value), value)
    mean = sum(best.values()) / len(best)
    return {seq: value + _SESSION_SHARE * (best[places[seq].session] - mean) for seq, value in strengths.items()}


def _with_neighbor_gain(strengths: Mapping[int, float], places: Mapping[int, Place], answer_weight: float) -> dict[int, float]:
    """Raise messages that are next to one above the mean."""
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
    """Return the share of the first message's strength for the second, and of the second's for the first."""
    if first.speaker or second.speaker:
        return _PREVIOUS_SHARE, _NEXT_SHARE
    return 0.0, answer_weight * _ANSWER_SHARE if first.by_user else 0.0
