"""Detect that a new wish for a reply style contradicts an old wish and supersedes it.

"Keep answers short" and "go into detail from now on" have no slot in common. But both are wishes, and their words are
opposites on one scale of style: short and long, formal and informal, lists and prose.
"""

import re
from typing import Final

from holdfast.learning.changes.phrases import folded, shared_words
from holdfast.learning.changes.slot_clauses import expanded
from holdfast.learning.changes.wording import meaning
from holdfast.runtime.regex import regex

_WISH: Final = regex(
    r"\b(?:prefers?|rather|wants?|likes?|keep|make|give|use|please|write|answer|respond|reply|explain|talk to|speak to|go into|stick to|switch to|more|"
    r"less|prefier[oe]s?|quier[oe]|mejor|usa|dame|dime|explica\w*|habla\w*|hablen|trat[aáe]\w*|tut[eé]\w*|responde\w*|contesta\w*|escribe\w*|deci\w*|hazlas?|haz|ponme)\b",
    re.IGNORECASE,
)
_OF_ANSWERS: Final = regex(
    r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|sentences?|messages?|emails?|details?|depth|tone|style|ones|units|you|"
    r"respuestas?|explicaci[oó]n(?:es)?|res[uú]men(?:es)?|frases?|mensajes?|correos?|detalles?|tono|usted|tut\w+|vos|t[uú]|me|le|formal|informal)\b",
    re.IGNORECASE,
)
_REFUSED: Final = regex(
    r"\b(?:not|no|never|without|less|too|stop|drop|skip|instead of|rather than|enough|dej[aáe]|sin|menos|demasiado|nada de|en vez de|basta de)\b[^,.;!]*"
    r"|\bthe \w+ ones [^,.;!]+|\b(?:las|los) \w+ (?:no|son|me)\b[^,.;!]*",
    re.IGNORECASE,
)
_WORD: Final = regex(r"[\w-]+")
_STYLES: Final = 6
"""Number of scales that describe a reply style, such as the scale from short to long.

These scales come first in the table of scales. The other scales describe tastes and are not compared.
"""


def wants_another_style(old: str, new: str) -> bool:
    """Return True if two instructions for replies ask for opposite styles, such as short replies and long replies.

    Return False if the instructions are about different types of text, such as emails and answers.
    """
    if not all(_WISH.search(text) and _OF_ANSWERS.search(text) for text in (folded(old), folded(new))):
        return False
    before, after = _sides(old), _sides(new)
    return any(before[scale] != after[scale] for scale in before.keys() & after.keys()) and not _other_things(old, new)


def _sides(text: str) -> dict[int, int]:
    """Return the reply styles that a text asks for, as a mapping from scale number to side.

    A scale has two opposite sides, numbered 0 and 1. For example, one scale has short replies on side 0 and long
    replies on side 1. A scale is left out if the text asks for both of its sides. Rejected styles, as in "not too
    long", are ignored.
    """
    sides = shared_words().sides
    wanted = _WORD.findall(folded(_REFUSED.sub(" ", expanded(text))))
    found = [sides[word] for word in wanted if word in sides and sides[word][0] < _STYLES]
    return {scale: side for scale, side in found if (scale, 1 - side) not in found}


def _other_things(old: str, new: str) -> bool:
    """Return True if two instructions for replies, ``old`` and ``new``, name different types of text, such as emails and answers."""
    before, after = (frozenset(_THING.findall(folded(text))) for text in (old, new))
    kinds = [frozenset().union(*(meaning(word.rstrip("s"), None) for word in words)) for words in (before, after)]
    return bool(kinds[0] and kinds[1]) and kinds[0].isdisjoint(kinds[1])


_THING: Final = regex(
    r"\b(?:emails?|answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|stories|story|reports?|correos?|respuestas?|resumen|cuentos?|informes?)\b"
)
