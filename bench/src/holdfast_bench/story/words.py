"""Finds facts and secrets in texts by their words. Case, accents and punctuation are ignored."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.text.terms import query_terms
from holdfast_bench.story.script import Find

_NO_WORD = re.compile(r"[^a-z0-9]+")
_LEAK_CHARACTERS = 300
"""Maximum distance in characters between the words of a secret in a file. Words that are farther apart do not count as a leak."""
_MIN_TERMS = 2
_NARRATION = frozenset({"user", "usuari", "usuario", "said", "say", "assist", "answer", "dijo", "respond"})
"""Stems of words that a summary adds, such as "said" in "the user said". They are ignored in comparisons with turns."""
_LANGUAGES = ("en", "es")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def plain(text: str) -> str:
    """Return a text in lower case, without accents and punctuation, with a space around each word."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return f" {_NO_WORD.sub(' ', kept).strip()} "


def says(text: str, find: Find) -> bool:
    """Return True if a text contains all words of one of the alternative wordings in ``find``.

    A word also matches the beginning of a longer word ("walnut" matches "walnuts"). A number must match as a whole.
    """
    within = plain(text)
    return any(all(_needle(word) in within for word in words) for words in find)


def first_saying(texts: Iterable[str], find: Find) -> str | None:
    """Return the first text that contains one of the alternative wordings in ``find``, or None."""
    return next((text for text in texts if says(text, find)), None)


def _needle(word: str) -> str:
    made = plain(word)
    return made if made.strip()[-1:].isdigit() else made[:-1]


def leaks(path: Path, find: Find) -> bool:
    """Return True if a file contains all words of one of the alternative wordings in ``find``, within about 300 characters."""
    text = plain(path.read_bytes().decode("utf-8", errors="replace"))
    return any(_close(text, [_needle(word) for word in words]) for words in find)


def _close(text: str, needles: Sequence[str]) -> bool:
    rarest = min(needles, key=text.count)
    return any(
        all(needle in text[max(place - _LEAK_CHARACTERS, 0) : place + _LEAK_CHARACTERS] for needle in needles)
        for place in _places(text, rarest)
    )


def _places(text: str, needle: str) -> Iterator[int]:
    place = text.find(needle)
    while place >= 0:
        yield place
        place = text.find(needle, place + 1)


def sentences(text: str) -> list[str]:
    """Return the lines of a text, split into sentences."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def coverage(sentence: str, turn: str) -> float:
    """Return the share of a sentence's terms that occur in a turn. Return 0 for a sentence with fewer than two terms."""
    wanted = [terms for terms in query_terms(sentence, _LANGUAGES) if not terms & _NARRATION]
    if len(wanted) < _MIN_TERMS:
        return 0.0
    known = frozenset(term for terms in query_terms(turn, _LANGUAGES) for term in terms)
    return sum(not terms.isdisjoint(known) for terms in wanted) / len(wanted)
