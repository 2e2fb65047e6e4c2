"""Recognize memories that must not expire when unused: identity, health, family and standing instructions."""

from typing import Final

from holdfast.errors import ModelError
from holdfast.learning.changes.keys import is_lasting_key
from holdfast.learning.summaries.importance import areas_of
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.types import Memory

_LASTING_AREAS: Final = frozenset({"identity", "health", "family", "instruction"})
_INSTRUCTION: Final = regex(
    r"(?:please |por favor,? )?(?:always|never|do(?: not|n'?t) (?:ever )?|from now on|every time|siempre|nunca|jamas|de ahora en adelante|a partir de ahora)\b"
    r"|\b(?:(?:wants?|asks?|asked|prefers?|likes?) (?:you|me|the assistant|to be (?:called|addressed)|answers?|replies|responses)"
    r"|call (?:me|him|her|them|the user)|(?:answer|reply|respond|talk|write|speak)(?:s|ed)? (?:to )?(?:me|him|her|them|in|with|without|briefly|short))\b"
    r"|\b(?:(?:quier[eo]|pid[eo]|pidio|prefier[eo]) que (?:le|me|lo|la|se|no|siempre|nunca)\b"
    r"|(?:llam|habl|respond|contest|escrib)(?:a|e|ame|ale|eme|ele|anme|enme|anle|enle|ame siempre)\b|trat(?:ame|eme|arlo|arla) de)"
)
"""Matches a standing instruction to the assistant, in a text in lower case without accents."""


def is_lasting(memory: Memory, reader: SentenceReader | None = None) -> bool:
    """Return True if a memory must not expire when unused.

    A memory is lasting if its key, its words or the sentence reader says so. The reader is called last. If ``reader``
    is None, only the key and the words count. If the reader fails, return True, so that nothing expires by mistake.
    """
    if memory.key is not None and is_lasting_key(memory.key):
        return True
    if areas_of(memory.text) & _LASTING_AREAS or _INSTRUCTION.search(fold(memory.text)):
        return True
    if reader is None:
        return False
    try:
        return reader.read(memory.text).area in _LASTING_AREAS
    except ModelError:  # nothing expires while the sentence reader cannot be used
        return True
