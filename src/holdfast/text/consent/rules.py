"""Find wishes about memory by rules, in English and Spanish.

The rules are narrow: they match plain wordings, so that look-alikes such as "don't save the file yet" stay untouched.
The sentence reader finds the others.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Final, Literal, TypeAlias

from holdfast.text.consent import english, spanish

__all__ = ["Reach", "RuledWish", "WishName", "find_wish", "fold_places", "own_words", "reach_of", "resumes", "subject_words"]

WishName: TypeAlias = Literal["off_record", "forget", "remember"]
Reach: TypeAlias = Literal["message", "previous", "next", "rest", "around"]
"""Which messages are off the record.

``message``: the message itself. ``previous``: also the user's message before it. ``next``: also the user's next message.
``around``: both. ``rest``: all messages until the user lifts the wish or the session ends.
"""

_BOOKS: Final[tuple[ModuleType, ...]] = (english, spanish)
_QUOTED: Final = re.compile(r"[\"“«][^\"”»\n]{0,400}[\"”»]|(?<!\w)'[^'\n]{3,200}'(?!\w)")
_MAX_CHARACTERS: Final = 600
"""Number of characters of a message that are read. A wish stands at the start of a long message, or in a short one."""
_MIN_CONTENT_WORDS: Final = 4
"""Minimum number of words after a wish that count as the content that it covers."""
_MIN_APART_WORDS: Final = 2
"""The same for words that a comma or a period separates from the wish."""
_WORD: Final = re.compile(r"\w+")
_INTRODUCES: Final = re.compile(r"\W*[:–—]\s*\w|\s+-+\s+\w")
_PAUSED_AFTER: Final = re.compile(r"\s*[,;.!]")
_PAUSED_BEFORE: Final = re.compile(r"[,;.!:]\s*(?:(?:but|and|so|please|y|pero|por favor|porfa)\s+)?$")
_POLITE: Final = frozenset(
    "please pls thanks thank you ok okay hey hi so well now though yet actually just really very it s its is that this private "
    "personal secret confidential sensitive between us me por favor porfa porfis gracias che oye mira bueno vale eh dale hola ya "
    "es esto eso muy privado privada secreto secreta confidencial entre nosotros".split()
)
"""Words around a wish that are no content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledWish:
    """A wish that a rule found. ``subject`` is what to forget or to remember, in the user's words."""

    wish: WishName
    subject: str = ""
    everything: bool = False
    """True if the user wishes that everything about them is forgotten."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    off_record: tuple[re.Pattern[str], ...]
    forget: tuple[re.Pattern[str], ...]
    remember: tuple[re.Pattern[str], ...]
    resume: tuple[re.Pattern[str], ...]
    not_off_record: re.Pattern[str]
    not_forget: re.Pattern[str]
    not_remember: re.Pattern[str]
    everything: re.Pattern[str]
    text_command: re.Pattern[str]
    rest: re.Pattern[str]
    next: re.Pattern[str]
    previous: re.Pattern[str]


@cache
def _patterns() -> tuple[_Patterns, ...]:
    return tuple(
        _Patterns(
            off_record=_compiled(book.OFF_RECORD),
            forget=_compiled(book.FORGET),
            remember=_compiled(book.REMEMBER),
            resume=_compiled(book.RESUME),
            not_off_record=re.compile(book.OFF_RECORD_UNLESS),
            not_forget=re.compile(book.FORGET_UNLESS),
            not_remember=re.compile(book.REMEMBER_UNLESS),
            everything=re.compile(book.ALL),
            text_command=re.compile(book.TEXT_COMMAND),
            rest=re.compile(book.REST),
            next=re.compile(book.NEXT),
            previous=re.compile(book.PREVIOUS),
        )
        for book in _BOOKS
    )


def _compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def fold_places(text: str) -> str:
    """Return a text in lower case, without accents and with plain apostrophes. Each character keeps its place."""
    return "".join(map(_folded, text))


def _folded(character: str) -> str:
    if character in "’‘`´":
        return "'"
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character.lower())[:1] or character


def find_wish(text: str) -> RuledWish | None:
    """Return the wish about memory that a message states in plain words, or None."""
    original = _without_quotes(text[:_MAX_CHARACTERS])
    folded = fold_places(original)
    if any(book.text_command.search(folded) for book in _patterns()):
        return None
    for book in _patterns():
        if not book.not_off_record.search(folded) and any(pattern.search(folded) for pattern in book.off_record):
            return RuledWish(wish="off_record")
    for book in _patterns():
        if (wish := _forgetting(original, folded, book)) is not None:
            return wish
    for book in _patterns():
        if (wish := _remembering(original, folded, book)) is not None:
            return wish
    return None


def _forgetting(original: str, folded: str, book: _Patterns) -> RuledWish | None:
    if book.not_forget.search(folded):
        return None
    found = next((match for pattern in book.forget if (match := pattern.search(folded))), None)
    if found is None:
        return None
    start, end = found.span("subject")
    subject = original[start:end].strip(" .,;:!?-")
    everything = bool(book.everything.search(fold_places(subject)) or book.everything.search(folded.strip(" .!")))
    return RuledWish(wish="forget", subject=subject, everything=everything)


def _remembering(original: str, folded: str, book: _Patterns) -> RuledWish | None:
    if book.not_remember.search(folded):
        return None
    found = next((match for pattern in book.remember if (match := pattern.search(folded))), None)
    if found is None or (folded.rstrip().endswith("?") and not _ASKS_TO_REMEMBER.search(folded)):
        return None
    start, end = found.span("fact")
    fact = original[start:end].strip(" ,;:-–—")
    return RuledWish(wish="remember", subject=fact) if _WORD.search(fact) else None


_ASKS_TO_REMEMBER: Final = re.compile(r"^[¿¡ ]*(?:\w+,? ){0,3}(?:can|could|would|will|puedes|podes|podrias|puede|podria) ")
"""Matches a request in the form of a question: "can you remember that ...?"."""


def reach_of(text: str) -> Reach:
    """Return which messages an off-the-record wish covers."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    books = _patterns()
    if any(book.rest.search(folded) for book in books):
        return "rest"
    if any(book.previous.search(folded) for book in books):
        return "previous"
    if _has_content(folded):
        return "message"
    return "next" if any(book.next.search(folded) for book in books) else "around"


def _has_content(folded: str) -> bool:
    """Return True if a message says more than the wish itself."""
    ends = [match.span() for book in _patterns() for pattern in book.off_record if (match := pattern.search(folded))]
    if not ends:
        return len(_WORD.findall(folded)) > 2 * _MIN_CONTENT_WORDS
    start, end = max(ends, key=lambda span: span[1] - span[0])
    before, after = folded[:start], folded[end:]
    if _INTRODUCES.match(after):  # "don't save this: I'm pregnant"
        return True
    apart = [_PAUSED_BEFORE.search(before) is not None, _PAUSED_AFTER.match(after) is not None]
    words = [len([word for word in _WORD.findall(side) if word not in _POLITE]) for side in (before, after)]
    return any(count >= (_MIN_APART_WORDS if pause else _MIN_CONTENT_WORDS) for count, pause in zip(words, apart, strict=True))


def resumes(text: str) -> bool:
    """Return True if a message allows that what follows is kept again."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(pattern.search(folded) for book in _patterns() for pattern in book.resume)


@cache
def _wish_words() -> frozenset[str]:
    return frozenset(word for book in _BOOKS for word in fold_places(book.WORDS).split())


def subject_words(text: str) -> str:
    """Return the words of a wish to forget that name its subject: "my knee" of "please erase what you know about my knee"."""
    kept = [word for word in re.findall(r"[\w'’-]+", text) if fold_places(word).strip("'-") not in _wish_words()]
    return " ".join(kept)


def own_words(text: str) -> str:
    """Return a text without what it quotes."""
    return _without_quotes(text)


def _without_quotes(text: str) -> str:
    """Replace quoted text by spaces, so that places stay the same."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)
