"""Weaken stored questions and requests, because a question does not answer a question.

A short message that asks the same as the query keeps only a small share of its strength (how well it matches the query). A
message that both asks and states something is weakened only if the words that match the query are in the asking part. Long
messages are not weakened, because long requests often contain facts.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from holdfast.protocols import MessagePlace
from holdfast.recall.ranking import BIAS
from holdfast.text.dialogue_acts import classify_act, split_acts
from holdfast.text.terms import document_terms

_ASKING: Final = frozenset({"question", "request"})
_MAX_WORDS: Final = 24
"""Maximum number of words of a message that is weakened.

With a maximum of 40, a sixth of the answers in the BEAM benchmark were no longer found.
"""
_SHORT_WORDS: Final = 12
"""Maximum number of words of a short question. A short question is weakened even if it shares no word with the query."""
_ECHO_SHARE: Final = 0.5
"""Share of the query's terms that a question must contain to be fully weakened."""
_QUESTION_WEIGHT: Final = 0.15
"""Share of its strength that a stored question keeps.

With this share, even a question that matches the query perfectly ranks below a statement that answers the query.
"""
_KEYWORD_WEIGHT: Final = 0.5
"""Share of its strength that a stored question keeps if the query is one or two words, such as "octopus".

A question with the word is then found. A statement with the word still ranks above it.
"""
_NAMED_SPEAKER_WEIGHT: Final = 0.8
"""Share of its strength that a question of a named speaker keeps. Questions between people often contain facts about them."""


def asks(place: MessagePlace) -> bool:
    """Return True if a message asks or requests something, even if it also states something."""
    act = place.act or classify_act(place.text or "")
    return act in _ASKING or bool(place.text and split_acts(place.text)[0])


def without_questions(
    strengths: Mapping[int, float],
    places: Mapping[int, MessagePlace],
    wanted: Sequence[frozenset[str]],
    *,
    is_keyword: bool = False,
) -> dict[int, float]:
    """Return the strengths of items. Messages that ask something lose strength, because they rarely contain an answer.

    Small talk loses strength, too. A long message keeps its strength even if it asks something. ``strengths`` and ``places``
    have item numbers as keys. ``places`` contains only messages. ``wanted`` has one set per term of the query: the spellings
    of the term. ``is_keyword`` says that the query is only a word or two, not a question.
    """
    weakened = dict(strengths)
    for seq, place in places.items():
        share = _asking_share(place, wanted)
        if share:
            asked_for = is_keyword and place.act != "small_talk"
            weight = _NAMED_SPEAKER_WEIGHT if place.speaker else _KEYWORD_WEIGHT if asked_for else _QUESTION_WEIGHT
            gain = max(strengths[seq] - BIAS, 0.0)
            weakened[seq] -= share * (1 - weight) * gain
    return weakened


def _asking_share(place: MessagePlace, wanted: Sequence[frozenset[str]]) -> float:
    """Return how much strength a message loses because it asks something, as a factor from 0 (nothing) to 1.

    - Small talk and short questions: 1.
    - Long messages: 0.
    - Other messages that mainly ask: the factor grows with the number of query terms in the message.
    - Messages that also ask something: the same factor, times the share of these terms that occur only in clauses that ask.

    ``wanted`` has one set per term of the query: the spellings of the term.
    """
    act = place.act or classify_act(place.text or "")
    if act == "small_talk":
        return 1.0
    words = len((place.text or "").split())
    if place.text is None or words > _MAX_WORDS:
        return 0.0
    if act == "question" and words <= _SHORT_WORDS:
        return 1.0
    asked, stated = _terms(place.text, place.language)
    in_asked = sum(bool(spellings & asked) and not spellings & stated for spellings in wanted)
    in_stated = sum(bool(spellings & stated) for spellings in wanted)
    if not in_asked and act not in _ASKING:
        return 0.0
    echo = min((in_asked + in_stated) / (max(len(wanted), 1) * _ECHO_SHARE), 1.0)
    return echo if act in _ASKING else echo * in_asked / (in_asked + in_stated)


@lru_cache(maxsize=4096)
def _terms(text: str, language: str | None) -> tuple[frozenset[str], frozenset[str]]:
    """Return two sets: the terms of the clauses that ask something, and the terms of the other clauses."""
    asking, stating = split_acts(text)
    return frozenset(document_terms(" ".join(asking), language)), frozenset(document_terms(" ".join(stating), language))
