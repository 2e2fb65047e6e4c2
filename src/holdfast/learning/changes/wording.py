"""Extract the words that carry a statement's meaning, and the words that distinguish similar statements."""

import re
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.phrases import shared_words as word_lists
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.language import STOP_WORDS
from holdfast.text.terms import document_terms

_WORD: Final = regex(r"[^\W_]+(?:['.@:/+-][^\W_]+)*")
_NUMBERS_IN_WORDS: Final = {
    word: str(number)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for number, word in enumerate(words.split(), 1)
}
_REPORTED: Final = regex(
    r"(?P<before>(?:[^\"«:]{0,40} )?(?:said|dijo): [\"«])(?P<text>.+)(?P<after>[\"»](?: [^\"«»]+)?)", re.DOTALL
)
"""Matches a memory that quotes the user, such as: The user said: "I live in Lyon"."""
_NARRATION: Final = regex(r"\b(?:the user|user|el usuario|la usuaria|usuari[oa])\b", re.IGNORECASE)
_MIN_STEM: Final = 4
_MAX_SUFFIX: Final = 4
"""Maximum number of letters that the longer of two words may add to the shorter one if both count as the same word.

The shorter word must have at least ``_MIN_STEM`` letters.
"""
_IRREGULAR: Final = {"goes": "go", "ate": "eat", "drank": "drink", "ran": "run", "taught": "teach"}
_EMPTY: Final = STOP_WORDS["en"] | STOP_WORDS["es"]


def content_words(text: str, language: str | None) -> list[str]:
    """Return the stems of the content words, in order."""
    words = (word for word in _WORD.findall(fold(text)) if word not in _EMPTY)
    return [_stem(word, language) for word in words]


@lru_cache(maxsize=2048)
def meaning(text: str, language: str | None) -> frozenset[str]:
    """Return the set of content stems of a statement, with synonyms mapped to one term."""
    shared = word_lists()
    kept = []
    for word in _WORD.findall(fold(text)):
        synonym = shared.synonyms.get(word) or (shared.synonyms.get(word[:-1]) if len(word) > 3 and word.endswith("s") else None)
        if synonym is None and (word in _EMPTY or word in shared.filler_words):
            continue
        kept.append(f"={synonym}" if synonym else _stem(word, language))
    return frozenset(kept)


def shared_words(old: str, new: str) -> frozenset[str]:
    """Return the stems that two statements have in common. Related forms such as "vegan" and "vegana" count as equal."""
    olds, news = (
        {word if word.startswith("=") else word.partition("'")[0] for word in meaning(_own_words(text), None)}
        for text in (old, new)
    )
    return frozenset(one for one in olds if any(_is_same_word(one, other) for other in news))


def _own_words(text: str) -> str:
    """Return a statement without words for the user: "the user lives in Lyon" becomes "lives in Lyon"."""
    return re.sub(r"'s\b", "", _NARRATION.sub(" ", spoken_words(text)[1].replace("’", "'")))


def _is_same_word(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    if one == other:
        return len(shorter) >= _MIN_STEM - 1
    return len(shorter) >= _MIN_STEM and longer.startswith(shorter) and len(longer) - len(shorter) <= _MAX_SUFFIX


def spoken_words(text: str) -> tuple[str, str, str]:
    """Split a statement that quotes the user into three texts: before the quotation, the quoted words, and after it.

    If the statement is not a quotation, the whole statement is the second text, and the other two are empty.
    """
    reported = _REPORTED.fullmatch(text.strip())
    return ("", text, "") if reported is None else (reported["before"], reported["text"], reported["after"])


def negated(text: str) -> bool:
    """Return True if a statement contains a negation."""
    plain = fold(text).replace("’", "'")
    words = set(_WORD.findall(plain))
    return bool(words & word_lists().negations) or "n't" in plain


def numbers(text: str) -> frozenset[str]:
    """Return the numbers in a statement, written as digits or words."""
    words = (re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word) for word in _WORD.findall(fold(text)))
    return frozenset(
        _NUMBERS_IN_WORDS.get(word, word) for word in words if word in _NUMBERS_IN_WORDS or any(c.isdigit() for c in word)
    )


def change_words(text: str) -> frozenset[str]:
    """Return the function words for person, time or certainty in a statement, such as "she", "had" and "if".

    Two statements that differ in these words are different facts. The Spanish article *el* is excluded.
    """
    words = _WORD.findall(one_line(text).casefold())
    return frozenset(fold(word) for word in words if word != "el" and fold(word) in word_lists().contrast_words)


def names(text: str) -> list[str]:
    """Return the names in a statement, in order, each folded with ``fold``. They are capitalized words inside a sentence."""
    found = re.findall(r"(?<![.!?:]\s)(?<!^)(?<![\"'“«¿¡])\b[A-ZÁÉÍÓÚÑ][\w’'-]+", text)
    return [fold(name) for name in found if fold(name) not in _EMPTY and fold(name) not in word_lists().filler_words]


def _stem(word: str, language: str | None) -> str:
    word = _IRREGULAR.get(word, word)
    terms = document_terms(word, language or "en")
    return terms[-1] if terms else word
