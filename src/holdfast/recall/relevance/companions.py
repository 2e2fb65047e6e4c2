"""Decide how likely a hit must be to be shown next to a better hit.

A context block needs the answer, and perhaps a second line about the same matter. Weak hits after the best one are
rarely either. A fact was learned because it matters, so a weak fact may still be shown. A short message of the user from
which nothing was learned, such as "set a timer", must be stronger.

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
"""Minimum score of a reply of a few words. With the question before it, it is often about something else."""
_MIN_ASSISTANT: Final = 0.25
"""Minimum score of a message of the assistant."""
_MIN_SHORT: Final = 0.35
"""Minimum score of a short message of the user that is not a reply.

In stores of 110 and 500 items, none of 340 relevant messages of this kind answered the question.
"""
_EQUAL_GAP: Final = 1.0
"""Maximum difference in strength of a hit that counts as being as good as the best one. Many hits may answer "what did I cook?"."""
_SHORT_WORDS: Final = 12
_SHORT_REPLY_WORDS: Final = 5
_MAX_WORD_CHARACTERS: Final = 12
"""Maximum mean length of a word. Longer words mean a language without spaces, where a whole sentence counts as one word."""


def companion_margin(
    owner: Memory | Message, strength: float, background: Background, *, best: float, is_important: bool
) -> float:
    """Return how far a hit is above its minimum strength. Below 0, a context block does not show the hit.

    ``best`` is the strength of the best hit. Hits that are about as strong have no minimum. ``is_important`` says that the hit
    is an important memory. If the search had no cosines, there is no minimum, either: scores from words alone say too little.
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
