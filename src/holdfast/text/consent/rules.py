"""Find wishes about memory by rules, in English and Spanish.

The rules are narrow: they match only plain wordings, so that similar texts such as "don't save the file yet" do not
match. The sentence reader finds wishes in other wordings.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Final, Literal, TypeAlias

from holdfast.runtime.regex import regex
from holdfast.text.clean import Letters
from holdfast.text.consent import english, spanish
from holdfast.text.consent.cues import is_of_a_text
from holdfast.text.dictation import is_statement
from holdfast.text.language import STOP_WORDS
from holdfast.text.sentences import split_sentences

__all__ = [
    "POLITE",
    "Patterns",
    "RuledWish",
    "WishName",
    "find_wish",
    "fold_places",
    "is_mistake",
    "is_stop_word",
    "leaves_mode",
    "names_no_subject",
    "own_words",
    "patterns",
    "points_back",
    "remembers_bare",
    "removes_bare",
    "reports_nothing",
    "resumes",
    "subject_words",
]

WishName: TypeAlias = Literal["off_record", "forget", "remember"]
_BOOKS: Final[tuple[ModuleType, ...]] = (english, spanish)
_QUOTED: Final = regex(r"[\"“«][^\"”»\n]{0,400}[\"”»]|(?<!\w)'[^'\n]{3,200}'(?!\w)")
_MAX_CHARACTERS: Final = 600
"""Number of characters at the start of a message that are searched for a wish."""
_WORD: Final = regex(r"\w+")
_NOTHING: Final = regex(
    r"^(?:\W|\b(?:oh|ah|well|so|ok|okay|and|but|just|really|pretty much|almost|y|pero|pues|bueno|casi|la verdad)\b)*"
    r"(?:(?:there(?:'s| is| was)|it'?s|is|was|we had|i had|i have|i've got|no hay|no hubo|hay|no paso|no tengo)\s+)?"
    r"(?:nothing|not much|not a lot|no news|nothin|nowt|nada|ninguna? novedad(?:es)?|poca cosa|sin novedad(?:es)?)\b"
)
"""Matches the beginning of a sentence that reports nothing new, such as "nothing of note here"."""
_MEANT: Final = regex(
    r"\b(?:please|pls|plz|por favor|porfa|should|must|goes?|about (?:my|our|me)|sobre mi|(?:va|vaya|vayan|salga) a?|th(?:is|at|ese|ose)|it|you|your|u|ur|us|memor\w+|records?|profile|chat|conversation|talk|session|message|"
    r"i (?:say|said|tell|told|write|wrote|mention\w*|share\w*)|es[oae]s?|est[oae]s?|t[ue]|ti|vos|usted|ustedes|charla|conversacion|mensaje|perfil|registro|"
    r"digo|dije|cuento|conte|diga|cuente)\b"
)
"""Matches a word that refers to the conversation, to the assistant, or to its memory."""
_STOP_WORDS: Final = (STOP_WORDS["en"], STOP_WORDS["es"])
POLITE: Final = frozenset(
    "please pls thanks thank you ok okay hey hi so well now though yet actually just really very it s its is that this private "
    "personal secret confidential sensitive between us me por favor porfa porfis gracias che oye mira bueno vale eh dale hola ya "
    "es esto eso muy privado privada secreto secreta confidencial entre nosotros".split()
)
"""Words next to a wish that do not count as content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledWish:
    """A wish that a rule found. ``subject`` is the thing to forget or to remember, in the user's words."""

    wish: WishName
    subject: str = ""
    everything: bool = False
    """True if the user wishes that everything about them is forgotten."""
    is_plain: bool = False
    """True if the matched words almost always express a wish about memory."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one language, ready to be searched for. ``english.py`` and ``spanish.py`` describe them."""

    off_record: tuple[re.Pattern[str], ...]
    between_us: tuple[re.Pattern[str], ...]
    cease: tuple[re.Pattern[str], ...]
    forget: tuple[re.Pattern[str], ...]
    remember: tuple[re.Pattern[str], ...]
    resume: tuple[re.Pattern[str], ...]
    leave: tuple[re.Pattern[str], ...]
    not_off_record: re.Pattern[str]
    not_forget: re.Pattern[str]
    not_remember: re.Pattern[str]
    everything: re.Pattern[str]
    text_command: re.Pattern[str]
    rest: re.Pattern[str]
    next: re.Pattern[str]
    previous: re.Pattern[str]
    said: re.Pattern[str]
    bare: re.Pattern[str]
    bare_part: re.Pattern[str]
    mistake: re.Pattern[str]
    command: re.Pattern[str]
    bare_remember: re.Pattern[str]


@cache
def patterns() -> tuple[Patterns, ...]:
    """Return the patterns of all languages."""
    return tuple(
        Patterns(
            off_record=_compiled(book.OFF_RECORD),
            between_us=_compiled(book.BETWEEN_US),
            cease=_compiled(book.CEASE),
            forget=_compiled(book.FORGET),
            remember=_compiled(book.REMEMBER),
            resume=_compiled(book.RESUME),
            leave=_compiled(book.LEAVE),
            not_off_record=regex(book.OFF_RECORD_UNLESS),
            not_forget=regex(book.FORGET_UNLESS),
            not_remember=regex(book.REMEMBER_UNLESS),
            everything=regex(book.ALL),
            text_command=regex(book.TEXT_COMMAND),
            rest=regex(book.REST),
            next=regex(book.NEXT),
            previous=regex(book.PREVIOUS),
            said=regex(book.SAID),
            bare=regex(book.BARE),
            bare_part=regex(book.BARE_PART),
            mistake=regex(book.MISTAKE),
            command=regex(book.COMMAND),
            bare_remember=regex(book.BARE_REMEMBER),
        )
        for book in _BOOKS
    )


def _compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(regex(pattern) for pattern in patterns)


def fold_places(text: str) -> str:
    """Return a text in lower case, without accents and with plain apostrophes. Each character keeps its position."""
    return text.translate(_FOLDED)


def _folded(character: str) -> str:
    if character in "’‘`´":
        return "'"
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character.lower())[:1] or character


_FOLDED: Final = Letters(_folded)


def find_wish(text: str) -> RuledWish | None:
    """Return the wish about memory that a message states in plain words, or None if no rule finds one."""
    original = _without_quotes(text[:_MAX_CHARACTERS])
    folded = fold_places(original)
    if any(book.text_command.search(folded) for book in patterns()):
        return None
    finders: Sequence[Callable[[Patterns], RuledWish | None]] = (
        lambda book: _forgetting(original, folded, book, book.cease),
        lambda book: _off_record(folded, book),
        lambda book: _between_us(folded, book),
        lambda book: _forgetting(original, folded, book, book.forget),
        lambda book: _remembering(text[:_MAX_CHARACTERS], folded, book),  # the fact may contain a quotation
    )
    return next((wish for find in finders for book in patterns() if (wish := find(book)) is not None), None)


def _off_record(folded: str, book: Patterns) -> RuledWish | None:
    if book.not_off_record.search(folded) or not any(pattern.search(folded) for pattern in book.off_record):
        return None
    return RuledWish(wish="off_record", is_plain=book.command.search(folded) is not None)


def _between_us(folded: str, book: Patterns) -> RuledWish | None:
    if book.not_off_record.search(folded) or not any(pattern.search(folded) for pattern in book.between_us):
        return None
    return RuledWish(wish="off_record")


def _forgetting(original: str, folded: str, book: Patterns, patterns: Sequence[re.Pattern[str]]) -> RuledWish | None:
    if book.not_forget.search(folded):
        return None
    found = next((match for pattern in patterns if (match := pattern.search(folded))), None)
    if found is None:
        return None
    start, end = found.span("subject")
    subject = next(iter(split_sentences(original[start:end])), "").strip(" .,;:!?-")
    everything = bool(book.everything.search(fold_places(subject)) or book.everything.search(folded.strip(" .!")))
    is_plain = book.said.fullmatch(fold_places(subject)) is not None
    return RuledWish(wish="forget", subject=subject, everything=everything, is_plain=is_plain)


def _remembering(original: str, folded: str, book: Patterns) -> RuledWish | None:
    if book.not_remember.search(folded):
        return None
    found = next((match for pattern in book.remember if (match := pattern.search(folded))), None)
    if found is None:
        return None
    start, end = found.span("fact")
    is_question = folded.rstrip().endswith("?") or next(iter(split_sentences(original[start:])), "").endswith("?")
    if is_question and not _ASKS_TO_REMEMBER.search(folded):
        return None
    fact = _QUESTION.sub(": ", original[start:end].strip(" ,;:-–—"))
    if not _WORD.search(fact):
        return None
    lead = original[:start].rstrip().lower()
    is_told = is_statement(fact, announced=lead.endswith((" that", " que"))) and not lead.endswith("qué")
    if is_question and is_told and not is_of_a_text(folded):
        return RuledWish(wish="remember", subject=fact.rstrip("? "), is_plain=True)
    return RuledWish(wish="remember", subject=fact)


_QUESTION: Final = regex(r"\?\s+(?=\w)")
"""Matches the end of a question before the fact: "can you save my shoe size? 43"."""
_ASKS_TO_REMEMBER: Final = regex(
    r"(?:^|[.!?;:\n] )[¿¡ ]*(?:\w+,? ){0,3}(?:(?:can|could|would|will|puedes|podes|podras|podrias|puede|podra|podria) |(?:te acordaras|recordaras)\b)"
)
"""Matches a request in the form of a question: "can you remember that ...?"."""


def reports_nothing(text: str) -> bool:
    """Return True if a text only says that there is nothing to tell, such as "nothing worth noting today".

    Return False if the text mentions the conversation, the assistant or its memory. Such a text may be a wish to stay off
    the record.
    """
    folded = fold_places(text)
    return _NOTHING.match(folded) is not None and _MEANT.search(folded) is None


def resumes(text: str) -> bool:
    """Return True if a message says that the next messages are on the record again, such as "resume taking notes"."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(pattern.search(folded) for book in patterns() for pattern in book.resume)


def leaves_mode(text: str) -> bool:
    """Return True if a message asks to end a private mode. The sentence reader often takes this for a wish to begin one."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(pattern.search(folded) for book in patterns() for pattern in book.leave)


@cache
def _wish_words() -> frozenset[str]:
    return frozenset(word for book in _BOOKS for word in fold_places(book.WORDS).split())


def subject_words(text: str) -> str:
    """Return the words that name the subject of a wish to forget.

    "please erase what you know about my knee" becomes "knee".
    """
    kept = [word for word in re.findall(r"[\w'’-]+", text) if fold_places(word).strip("'-") not in _wish_words()]
    return " ".join(kept)


def names_no_subject(text: str) -> bool:
    """Return True if a wish to forget names no subject of its own: "forget that", "delete what I just told you"."""
    folded = fold_places(text)
    for book in patterns():
        folded = book.said.sub(" ", folded)
    return not [word for word in _WORD.findall(subject_words(folded)) if word not in POLITE and not is_stop_word(word)]


def points_back(text: str) -> bool:
    """Return True if a wish to forget refers to what was just said, such as "delete that" or "forget my last message"."""
    folded = fold_places(text)
    said = (match for book in patterns() for match in book.said.finditer(folded))
    return removes_bare(text) or any(_ABOUT.match(folded, match.end()) is None for match in said)


_ABOUT: Final = regex(r"\s+(?:about|regarding|concerning|on|of|de|del|sobre|acerca)\b")


def removes_bare(text: str, *, is_part: bool = False) -> bool:
    """Return True if a message only asks to remove "that" or "it".

    The message then refers to what was just said, unless the assistant has just written a longer text. If the text is a
    part of a message (``is_part``), verbs that often mean other things count, too: "lose it".
    """
    folded = fold_places(text.strip(" ?"))
    return any((book.bare_part if is_part else book.bare).search(folded) for book in patterns())


def remembers_bare(text: str) -> bool:
    """Return True if a message only asks to remember "that", which the user has said before: "save that please"."""
    return any(book.bare_remember.search(fold_places(text.strip(" ¡¿"))) for book in patterns())


def is_mistake(text: str) -> bool:
    """Return True if a message says that the one before was a mistake, such as "I did not mean to send that"."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(book.mistake.search(folded) for book in patterns())


def is_stop_word(word: str) -> bool:
    """Return True if a word is a stop word in English or Spanish. The word is in lower case, without accents."""
    return any(word in each for each in _STOP_WORDS)


def own_words(text: str) -> str:
    """Return a text without its quotations."""
    return _without_quotes(text)


def _without_quotes(text: str) -> str:
    """Replace quoted text with spaces, so that positions stay the same."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)
