"""Ranking: computes the strength of each candidate, adds gains from its context, and converts the sum to a probability.

    strength   = BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match
    background = (n * median + PRIOR_COUNT * PRIOR_STRENGTH) / (n + PRIOR_COUNT), of the n best candidates
    likelihood = sigmoid(STRENGTH_WEIGHT * strength + BACKGROUND_WEIGHT * background + COUNT_WEIGHT * log(1 + n)
                         + PERSONAL_WEIGHT * personal + INTERCEPT)

``low`` and ``high`` are the calibration of the embedder. A strength is a logit on a scale that is the same for every
embedder. The background is the typical strength of the best candidates; a hit must exceed it to be likely.

A message gains strength if its session is strong, or if the message before or after it is strong. It also gains strength if
the question names its speaker, or a period of time in which the message was sent. If speakers have no names, each message
of the user gains strength. A strong answer of the assistant also raises the user's message before it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from holdfast.protocols import MessagePlace
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.periods import Period

# Strength
MEANING_WEIGHT: Final = 6.0
"""Difference in match strength (a logit) between an item with the cosine ``high`` and an item with the cosine ``low``.

``high`` is typical of a query and a matching text, ``low`` of a query and an unrelated text.
"""
WORD_WEIGHT: Final = 6.0
"""Match strength (a logit) that an item gains if it matches all words of the query."""
BIAS: Final = -3.0
"""Match strength (a logit) of an item that matches neither by meaning nor by words."""

# Gains of a message from its context
_SESSION_SHARE: Final = 0.4
"""A message gains this share (0 to 1) of the difference between its session's strength and the mean of all sessions.

The strength of a session is the match strength of its best message. In a session below the mean, messages lose strength.
"""
_PREVIOUS_SHARE: Final = 0.3
"""If the previous message is stronger than the mean, a message gains this share (0 to 1) of the difference.

The mean is the mean match strength (a logit) of all found messages. The gain applies only if one of the two messages has a
named speaker.
"""
_NEXT_SHARE: Final = 0.2
"""If the next message is stronger than the mean, a message gains this share (0 to 1) of the difference.

The mean is the mean match strength (a logit) of all found messages. The gain applies only if one of the two messages has a
named speaker.
"""
_ANSWER_SHARE: Final = 0.2
"""If the assistant's answer is stronger than the mean, the user's message gains this share (0 to 1) of the difference.

The mean is the mean match strength (a logit) of all found messages. The gain applies only if neither of the two messages has
a named speaker.
"""
_NAMED_SPEAKER_GAIN: Final = 1.0
"""Match strength (a logit) that a message gains if the question names its speaker."""
_USER_GAIN: Final = 1.0
"""Match strength (a logit) that each message of the user gains, and that each other message loses.

Messages with a named speaker neither gain nor lose strength.
"""
_MAX_NEIGHBOR_GAP: Final = 2
"""Maximum difference between the sequence numbers of two messages that count as neighbors.

It is 2, because a memory that is stored between two messages takes one sequence number.
"""

# Gains from a period that the question names
_DAYS_GAIN: Final = 2.0
"""Match strength (a logit) that an item gains if it lies in a short period that the question names, such as "last week"."""
_MONTHS_GAIN: Final = 0.4 * _DAYS_GAIN
"""Match strength (a logit) that an item gains if it lies in a longer period that the question names, such as "last year".

This gain is smaller than the gain for a short period, because people also talk about a long period after it has ended.
"""
_PERIOD_ONLY_GAIN: Final = 10.0
"""Match strength (a logit) that an item gains if it lies in a period about which the question asks for everything.

An example is "What did we talk about yesterday?". The gain outweighs any similarity.
"""
SHORT_PERIOD: Final = timedelta(days=22)
"""A period of time that a question names is short if it lasts less than this. Items in a short period gain more match strength."""

# Likelihood, fitted to questions with and without an answer in the store, see docs/project/benchmarks.md
_STRENGTH_WEIGHT: Final = 0.70
_BACKGROUND_WEIGHT: Final = -0.83
_COUNT_WEIGHT: Final = 0.07
_PERSONAL_WEIGHT: Final = 1.13
_INTERCEPT: Final = -4.69
_MAX_LOGIT: Final = 30.0
"""Maximum absolute value of a logit. A larger one could overflow the exponential function."""
_WORDS_ONLY_SCALE: Final = 2.5
"""Scale factor for match strengths if there are no cosines. Match strengths from words alone span a smaller range."""

# Relevance floor, fitted to questions with and without an answer, see docs/project/benchmarks.md
_MAX_GAP: Final = 4.5
"""Maximum difference in strength between a relevant item and the best item."""

_SENTENCE_DILUTION: Final = 1.0
"""How far each further sentence of a query lowers the relevance floor."""

# Background
_BACKGROUND_SIZE: Final = 32
"""Maximum number of top candidates whose median strength forms the background, the baseline that a hit must exceed."""
_PRIOR_STRENGTH: Final = -4.0
"""Match strength that is assumed for an item that has nothing to do with the query."""
_PRIOR_COUNT: Final = 6
"""Weight of ``_PRIOR_STRENGTH`` in the background (the baseline for hits): it counts as much as this many candidates."""
_MAX_MEDIAN: Final = 4.0
"""Upper limit of the candidates' median strength when the background (the baseline for hits) is computed.

If many candidates answer the question, their median is high. Without the limit, each candidate would seem less likely.
"""
_WORD: Final = regex(r"\w+")


def strength(cosine: float | None, word_match: float, calibration: tuple[float, float] | None) -> float:
    """Return how strongly an item matches a query, as a logit. Without a cosine, the strength depends only on the word match."""
    if calibration is None or cosine is None:
        return BIAS + WORD_WEIGHT * word_match
    low, high = calibration
    return BIAS + MEANING_WEIGHT * (cosine - low) / (high - low) + WORD_WEIGHT * word_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The baseline with which a hit is compared: the typical strength of the best candidates, and the number of these candidates.

    At most 32 candidates count. The number matters because, among many candidates, the best one is more likely to be strong
    by chance.
    """

    strength: float
    count: int
    scale: float
    personal: float = 0.0
    """Logit of the probability that the query is about the person's life."""

    @classmethod
    def of(cls, strengths: Sequence[float], *, words_alone: bool = False, personal: float = 0.0) -> "Background":
        """Compute the baseline with which hits are compared, from the strengths of the candidates, ordered best first.

        Set ``words_alone`` if there are no cosines, so that the strengths depend only on shared words. ``personal`` is the
        logit of the probability that the query is about the person's life.
        """
        scale = _WORDS_ONLY_SCALE if words_alone else 1.0
        best = strengths[:_BACKGROUND_SIZE]
        count = len(best)
        median = min(_scaled(best[count // 2], scale), _MAX_MEDIAN) if best else _PRIOR_STRENGTH
        mean = (count * median + _PRIOR_COUNT * _PRIOR_STRENGTH) / (count + _PRIOR_COUNT)
        return cls(strength=mean, count=count, scale=scale, personal=personal)


def likelihood(strength: float, background: Background) -> float:
    """Return the probability that an item of this strength answers the question, given the strengths of the other candidates."""
    return _sigmoid(max(-_MAX_LOGIT, min(_MAX_LOGIT, _logit(strength, background))))


def likelihood_margin(strength: float, background: Background, minimum: float) -> float:
    """Return how far a strength is above the strength whose likelihood is ``minimum`` (between 0 and 1, exclusive)."""
    return (_logit(strength, background) - math.log(minimum / (1 - minimum))) / _STRENGTH_WEIGHT


def relevance_margin(strength: float, background: Background, *, best: float, floor: float, sentences: int = 1) -> float:
    """Return how far a strength is above the minimum for relevance.

    The minimum is the higher of two values: ``floor``, and ``best`` (the strength of the best hit) minus the allowed gap.
    ``sentences`` is the number of sentences in the query. A query with several sentences may be about several things, so each
    item matches the query less well. Each further sentence therefore lowers the floor and widens the gap.

    In a search without cosines, shared words alone make an item relevant. ``BIAS`` is then used instead of ``floor``.
    """
    floor -= _SENTENCE_DILUTION * (sentences - 1)
    if background.scale != 1.0:  # there are no cosines: shared words alone make an item relevant
        floor = BIAS
    floor = max(floor, _scaled(best, background.scale) - _MAX_GAP * sentences)
    return _scaled(strength, background.scale) - floor


def _logit(strength: float, background: Background) -> float:
    return (
        _STRENGTH_WEIGHT * _scaled(strength, background.scale)
        + _BACKGROUND_WEIGHT * background.strength
        + _COUNT_WEIGHT * math.log1p(background.count)
        + _PERSONAL_WEIGHT * background.personal
        + _INTERCEPT
    )


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _scaled(strength: float, scale: float) -> float:
    """Return ``BIAS + scale * (strength - BIAS)``: stretch a match strength away from ``BIAS``, the strength of no match."""
    return BIAS + scale * (strength - BIAS)


def with_context_gains(
    strengths: Mapping[int, float],
    places: Mapping[int, MessagePlace],
    question: str,
    *,
    periods: Sequence[Period] = (),
) -> dict[int, float]:
    """Return the strength of each item. Messages gain or lose strength by their context. Memories keep their strength.

    The context of a message is its time, speaker, role, session and neighbors. If there is only one message, only its time
    counts. ``places`` describes the items that are messages. ``periods`` are the periods of time that the question names.
    """
    messages = {seq: strengths[seq] + period_gain(place.at, periods) for seq, place in places.items() if seq in strengths}
    if len(messages) < 2:
        return {**strengths, **messages}
    messages = _with_named_speaker_gain(messages, places, question)
    messages = {seq: value + _role_gain(places[seq]) for seq, value in messages.items()}
    messages = _with_session_gain(messages, places)
    messages = _with_neighbor_gain(messages, places)
    return {**strengths, **messages}


def period_gain(at: datetime | None, periods: Sequence[Period]) -> float:
    """Return the strength gained by an item whose time is in one of the periods that a question names."""
    if at is None or not periods:
        return 0.0
    return max((_gain_of(period) for period in periods if period.holds(at)), default=0.0)


def max_period_gain(periods: Sequence[Period]) -> float:
    """Return the largest strength that an item can gain from its time if a question names these periods."""
    return max(map(_gain_of, periods), default=0.0)


def _gain_of(period: Period) -> float:
    if period.alone:
        return _PERIOD_ONLY_GAIN
    return _DAYS_GAIN if period.end - period.start < SHORT_PERIOD else _MONTHS_GAIN


def _with_named_speaker_gain(
    strengths: Mapping[int, float], places: Mapping[int, MessagePlace], question: str
) -> dict[int, float]:
    """Raise the strength of each message whose speaker is named in the question.

    If the found messages have several speakers and the question names all of them, no strength changes.
    """
    question_words = set(_WORD.findall(fold(question)))
    speakers = {place.speaker for place in places.values() if place.speaker}
    named = {speaker for speaker in speakers if question_words & set(_WORD.findall(fold(speaker)))}
    if not named or len(named) == len(speakers) > 1:
        return dict(strengths)
    return {seq: value + _NAMED_SPEAKER_GAIN * (places[seq].speaker in named) for seq, value in strengths.items()}


def _with_session_gain(strengths: Mapping[int, float], places: Mapping[int, MessagePlace]) -> dict[int, float]:
    """Return the strengths of messages, adjusted by the strength of their session.

    The strength of a session is the strength of its best message. Messages gain strength if their session is stronger
    than the mean of all sessions, and lose strength if it is weaker.
    """
    best: dict[str, float] = {}
    for seq, value in strengths.items():
        session = places[seq].session
        best[session] = max(best.get(session, value), value)
    mean = sum(best.values()) / len(best)
    return {seq: value + _SESSION_SHARE * (best[places[seq].session] - mean) for seq, value in strengths.items()}


def _with_neighbor_gain(strengths: Mapping[int, float], places: Mapping[int, MessagePlace]) -> dict[int, float]:
    """Raise the strength of each message whose neighbor is stronger than the mean of all found messages.

    Neighbors are consecutive messages of one session.
    """
    mean = sum(strengths.values()) / len(strengths)
    raised = dict(strengths)
    for first, second in itertools.pairwise(sorted(strengths)):
        if second - first > _MAX_NEIGHBOR_GAP or places[first].session != places[second].session:
            continue
        to_second, to_first = _neighbor_shares(places[first], places[second])
        raised[second] += to_second * max(strengths[first] - mean, 0.0)
        raised[first] += to_first * max(strengths[second] - mean, 0.0)
    return raised


def _role_gain(place: MessagePlace) -> float:
    """Return the gain in strength from the role: positive for the user, negative for others, zero if the speaker has a name."""
    return 0.0 if place.speaker else _USER_GAIN if place.role == "user" else -_USER_GAIN


def _neighbor_shares(first: MessagePlace, second: MessagePlace) -> tuple[float, float]:
    """Return two factors for two consecutive messages: the share of the neighbor's strength that each message gains.

    The first factor says how much the later message (``second``) gains if the earlier message (``first``) is strong. The
    second factor says how much the earlier message gains if the later message is strong.
    """
    if first.speaker or second.speaker:
        return _PREVIOUS_SHARE, _NEXT_SHARE
    return 0.0, _ANSWER_SHARE if first.role == "user" and first.speaker is None else 0.0
