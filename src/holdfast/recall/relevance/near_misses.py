"""Recognize near misses: hits that share a name with the question, but say something else about it.

"What is my sister's shoe size?" finds "My sister lives in Leeds". This hit shares words with the question, so its score is
high. But its meaning is less similar than the meaning of an answer with the same words would be. A context block shows
such hits under the heading for related hits, not under the heading for relevant hits.
"""

from typing import Final

from holdfast.recall.query import RecallQuery, is_keyword
from holdfast.text.dialogue_acts import classify_act, split_acts
from holdfast.types import Memory, Message

_WORD_MATCH: Final = (0.1, 0.8)
"""Lowest and highest word match of a near miss.

Below this range, the hit was found by its meaning. Above it, the hit contains almost every word of the question.
"""
_MAX_MEANING: Final = 1.07
"""Upper limit of a near miss's cosine, on a scale where 0 is the embedder's ``low`` and 1 its ``high`` calibration.

Chosen on the tuning half of the everyday benchmark, see docs/project/decisions/recall.md.
"""


def asks_for_detail(question: RecallQuery) -> bool:
    """Return True if a query can have near misses: it is a question, not only a keyword, and names no time and no number.

    A question that names a time is answered by anything that happened then. So the meaning of a hit cannot show that the hit
    is a near miss.
    """
    text = question.text
    if question.is_empty or question.periods or is_keyword(text) or any(map(str.isdigit, text)):
        return False
    return classify_act(text) == "question" or bool(split_acts(text)[0])


def is_near_miss(owner: Memory | Message, cosine: float | None, word_match: float, calibration: tuple[float, float]) -> bool:
    """Return True if a hit shares words with the question, but is not similar enough in meaning to answer it.

    A reply is never a near miss, because most of its words are those of the question that it answers.
    """
    fewest, most = _WORD_MATCH
    if cosine is None or not fewest <= word_match < most or _is_reply(owner):
        return False
    low, high = calibration
    return (cosine - low) / (high - low) < _MAX_MEANING


def _is_reply(owner: Memory | Message) -> bool:
    """Return True for a reply, and for a memory that quotes a question and the reply to it."""
    if isinstance(owner, Message):
        return owner.act == "reply" or owner.asked is not None
    return "?" in owner.text.rstrip("?")
