"""Correct misspelled words of a wish about memory, so that rules and the sentence reader find it."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.runtime.regex import regex

__all__ = ["respelled"]

_SPELLINGS: Final[Mapping[str, str]] = {
    r"rem+e?m?e?be?r|rememer": "remember",
    r"dat|tht": "that",
    r"dis": "this",
    r"4get": "forget",
    r"dnt|do'nt": "dont",
    r"kiero": "quiero",
}
"""Misspellings that are usual in chats, as patterns, and the words that they stand for."""
_MISSPELLED: Final = regex(rf"(?<!\.)\b(?:{'|'.join(f'({pattern})' for pattern in _SPELLINGS)})\b", re.IGNORECASE)
_CUES: Final = (
    *("remember", "forget", "save", "store", "delete", "erase", "remove"),
    *("recuerda", "recuerdes", "olvida", "guarda", "guardes", "anotes", "apuntes"),
)
_REAL: Final = frozenset("forge sore ease eras antes anote apunte guard guards guarde recuerde sae".split())
"""Words that differ from one of ``_CUES`` by one letter, but have a meaning of their own."""
_WORD: Final = regex(r"(?<![\w./@'’-])[a-zA-Z]{3,9}\b(?![@'’])")


def respelled(text: str) -> str:
    """Return a text in which the usual misspellings of some words are corrected: "remeber dat" becomes "remember that".

    Two swapped letters or a missing one are corrected in the verbs of wishes: "froget" and "forgt" become "forget".
    """
    return _WORD.sub(_completed, _MISSPELLED.sub(_corrected, text))


def _corrected(found: re.Match[str]) -> str:
    return _like(found[0], list(_SPELLINGS.values())[(found.lastindex or 1) - 1])


def _completed(found: re.Match[str]) -> str:
    cue = _SLIPS.get(found[0].lower())
    return found[0] if cue is None else _like(found[0], cue)


def _like(written: str, word: str) -> str:
    return word.capitalize() if written[0].isupper() else word


def _slips(word: str) -> Iterator[str]:
    """Yield the spellings of a word with two neighboring letters swapped, or with a letter missing that is not the first."""
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        yield word[: place + 1] + word[place + 2 :]


_SLIPS: Final[Mapping[str, str]] = {slip: cue for cue in _CUES for slip in _slips(cue) if slip not in _REAL and slip not in _CUES}
