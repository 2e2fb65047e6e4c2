"""Correct misspelled words of a wish about memory, so that rules and the sentence reader find it."""

import re
from collections.abc import Mapping
from typing import Final

from holdfast.runtime.regex import regex

__all__ = ["respelled"]

_SPELLINGS: Final[Mapping[str, str]] = {
    r"rem+e?m?e?be?r|rememer": "remember",
    r"dat|tht": "that",
    r"dis": "this",
    r"4get": "forget",
    r"dnt": "dont",
    r"kiero": "quiero",
}
"""Misspellings that are usual in chats, as patterns, and the words that they stand for."""
_MISSPELLED: Final = regex(rf"(?<!\.)\b(?:{'|'.join(f'({pattern})' for pattern in _SPELLINGS)})\b", re.IGNORECASE)


def respelled(text: str) -> str:
    """Return a text in which the usual misspellings of some words are corrected: "remeber dat" becomes "remember that"."""
    return _MISSPELLED.sub(_corrected, text)


def _corrected(found: re.Match[str]) -> str:
    word = list(_SPELLINGS.values())[(found.lastindex or 1) - 1]
    return word.capitalize() if found[0][0].isupper() else word
