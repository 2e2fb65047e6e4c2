"""Decide how likely a hit must be to be shown next to a better hit.

A context block needs the answer, and perhaps a second line about the same matter. Weak hits are rarely one of the two, so
every hit except the best ones needs a minimum score. The minimum is low for a memory, because it was learned for a
reason. It is high for a short message of the user from which nothing was learned, such as "set a timer".

The minimum scores were chosen on the tuning half of the everyday benchmark, see docs/project/decisions/recall.md.
"""

import math
from typing import Final

from holdfast.recall.ranking import Background, likelihood_margin
from holdfast.types import Memory, Message

_MIN_IMPORTANT: Final = 0.04
"""Minimum score of an important memory, such as an allergy."""
_MIN_MEMORY: Final = 0.06
_MIN_MESSAGE: Final = 0.1
_MIN_SHORT_REPLY: Final = 0.2
"""Minimum score of a reply of a few words. Such a reply matches the query mostly by the words of the question before it."""
_MIN_ASSISTANT: Final = 0.25
"""Minimum score of a message of the assistant."""
_MIN_SHORT: Final = 0.35
"""Minimum score of a short message of the user that is not a reply.

In stores of 110 and 500 items, none of 340 relevant messages of this kind answered the question.
"""
_EQUAL_GAP: Final = 1.0
"""A hit counts as good as the best hit if its strength is at most this much lower.

Several hits can be equally good: many messages may answer "what did I cook?".
"""
_SHORT_WORDS: Final = 12
_SHORT_REPLY_WORDS: Final = 5
_MAX_WORD_CHARACTERS: Final = 12
"""Maximum mean length of the words of a short text. Longer words show that the language is written without spaces.

In such a language, a whole sentence counts as one word.
"""


def companion_margin(
    owner: Memory | Message, strength: float, background: Background, *, best: float, is_important: bool
) -> float:
    """Return how far a hit is above the minimum strength for its type. If the result is negative, the hit is not shown.

    ``best`` is the strength of the best hit, and ``is_important`` is True for an important memory. The result is infinite if
    the hit has no minimum. This is the case for a hit about as strong as the best one, and for a message of a named speaker.
    Without cosines, no hit has a minimum, because scores from words alone say too little.
    """
    if strength >= best - _EQUAL_GAP or background.scale != 1.0:
        return math.inf
    minimum = _min_score(owner, is_important=is_important)
    return likelihood_margin(strength, background, minimum) if minimum else math.inf


def _min_score(owner: Memory | Message, *, is_important: bool) -> float:
    """Return the minimum score of a hit that is not the best one.

    Messages of named speakers have no minimum: in a conversation between people, short messages often hold the facts.
    """
    if isinstance(owner, Memory):
        return _MIN_IMPORTANT if is_important else _MIN_MEMORY
    if owner.speaker:
        return 0.0
    if owner.role != "user":
        return _MIN_ASSISTANT
    if owner.act == "reply" or owner.asked is not None:
        return _MIN_SHORT_REPLY if _has_at_most(owner.text, _SHORT_REPLY_WORDS) else _MIN_MESSAGE
    return _MIN_SHORT if _has_at_most(owner.text, _SHORT_WORDS) else _MIN_MESSAGE


def _has_at_most(text: str, count: int) -> bool:
    """Return True if a text has at most ``count`` words. A text in a language without spaces never counts as short."""
    words = text.split(maxsplit=count)
    return len(words) <= count and len(text) <= _MAX_WORD_CHARACTERS * len(words)
