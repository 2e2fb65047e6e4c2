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

__all__ = [
    "Reach",
    "RuledWish",
    "WishName",
    "find_wish",
    "fold_places",
    "is_mistake",
    "names_no_subject",
    "own_words",
    "points_back",
    "reach_of",
    "removes_bare",
    "reports_nothing",
    "resumes",
    "subject_words",
]

WishName: TypeAlias = Literal["off_record", "forget", "remember"]
Reach: TypeAlias = Literal["message", "previous", "next", "rest", "around"]
"""Which messages an off-the-record wish covers.

``message``: the message with the wish. ``previous``: also the user's message before it. ``next``: also the user's next
message. ``around``: also the messages before and after it. ``rest``: all messages until the user lifts the wish or the
session ends.
"""

_BOOKS: Final[tuple[ModuleType, ...]] = (english, spanish)
_QUOTED: Final = regex(r"[\"“«][^\"”»\n]{0,400}[\"”»]|(?<!\w)'[^'\n]{3,200}'(?!\w)")
_MAX_CHARACTERS: Final = 600
"""Number of characters at the start of a message that are searched for a wish."""
_MIN_CONTENT_WORDS: Final = 4
"""Minimum number of words, besides the wish, that count as content covered by the wish."""
_MIN_APART_WORDS: Final = 2
"""Minimum number of words that count as content if punctuation separates them from the wish."""
_WORD: Final = regex(r"\w+")
_PAUSE: Final = regex(r"(?P<introduces>\s*[:–—]\s*|\s+-+\s+)|\s*[,;.!?()]+\s*")
_SUBJECT: Final = regex(
    r"\W*\b(?:(?:but|and|so|that|y|pero|que)\s+)*"
    r"(?:i(?:'?m|'ve|'ll|'d)?|he(?:'s)?|she(?:'s)?|they(?:'re|'ve)?|we(?:'re|'ve)?|my|his|her|our|their|yo|mi|mis|ella|ellos|nosotros|estoy|soy|tengo|voy|me)"
    r"\s+(?!(?:just |have |'ve )*(?:say|said|tell|told|write|wrote|type|typed|mention|share|overshare)\w*\b|(?:digo|dije|cuento|arrepiento)\b)\w"
)
"""Matches the beginning of a clause with a subject, such as "he drinks". Such a clause always counts as content."""
_CONSUMED: Final = regex(
    r"(?:[\s.,:;!?)]+(?:i|i'm|i've|my|but|we|he|he's|she|she's|they|they're|his|her|pero|mi|soy|estoy|tengo|es)?)+$"
)
"""Matches punctuation and pronouns at the end of a matched wish. They belong to the content after the wish."""
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
_COLON: Final = regex(r"[:–—]\s*\w|\s-+\s+\w")
_ANNOUNCES: Final = regex(
    r"\b(?:(?:i|we)(?:'ve| have)?(?: got| have)? (?:a|another|something|one)(?: big| little| small| dark)? ?(?:secret|confession|private|personal)|"
    r"(?:can|could|may) (?:we|i) (?:talk|tell you|ask you|say)(?: something| this)?|(?:let me|i want to|i need to) tell you something|"
    r"you (?:can'?t|mustn'?t|must not|won'?t|shouldn'?t)(?: ever)? (?:remember|repeat|tell|keep|save)(?: it| this| that| anyone| anybody)?|"
    r"promise(?: me)?|any of (?:it|this|that)|anywhere|"
    r"(?:tengo|tenemos|guardo)(?: que contarte| un| una| algo)*(?: secreto| confesion| confidencial| privado)|(?:te|les) (?:cuento|confieso) (?:algo|una cosa|un secreto)|"
    r"(?:podemos|quiero|necesito) hablar(?: de algo| contigo| con vos)?|promete\w*|(?:esto |eso )?(?:que )?qued[ae] entre nosotr[ao]s|"
    r"en ningun (?:sitio|lado|lugar)|en ninguna parte)\b"
)
"""Matches words that announce something private, such as "I have a secret"."""
_ONLY_HERE: Final = regex(
    r"\b(?:(?:just|only|strictly|solo|solamente|nomas|unicamente|nada mas) (?:es )?(?:for|para|por|en) (?:this|est[ae]) \w+|for this \w+ only)\b"
)
"""Matches "just for this conversation" and similar words. They do not mean that the wish covers all later messages."""
_ANYTHING: Final = regex(r"\b(?:anything|nothing|everything|no more|nada|ningun\w*|todo)\b")
"""Matches "anything", "nothing" and similar words.

A wish with such a word covers the following messages, if its own message has no content.
"""
_STOP_WORDS: Final = (STOP_WORDS["en"], STOP_WORDS["es"])
_POLITE: Final = frozenset(
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
class _Patterns:
    off_record: tuple[re.Pattern[str], ...]
    between_us: tuple[re.Pattern[str], ...]
    cease: tuple[re.Pattern[str], ...]
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
    said: re.Pattern[str]
    bare: re.Pattern[str]
    bare_part: re.Pattern[str]
    mistake: re.Pattern[str]
    command: re.Pattern[str]


@cache
def _patterns() -> tuple[_Patterns, ...]:
    return tuple(
        _Patterns(
            off_record=_compiled(book.OFF_RECORD),
            between_us=_compiled(book.BETWEEN_US),
            cease=_compiled(book.CEASE),
            forget=_compiled(book.FORGET),
            remember=_compiled(book.REMEMBER),
            resume=_compiled(book.RESUME),
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
    if any(book.text_command.search(folded) for book in _patterns()):
        return None
    finders: Sequence[Callable[[_Patterns], RuledWish | None]] = (
        lambda book: _forgetting(original, folded, book, book.cease),
        lambda book: _off_record(folded, book),
        lambda book: _between_us(folded, book),
        lambda book: _forgetting(original, folded, book, book.forget),
        lambda book: _remembering(original, folded, book),
    )
    return next((wish for find in finders for book in _patterns() if (wish := find(book)) is not None), None)


def _off_record(folded: str, book: _Patterns) -> RuledWish | None:
    if book.not_off_record.search(folded) or not any(pattern.search(folded) for pattern in book.off_record):
        return None
    return RuledWish(wish="off_record", is_plain=book.command.search(folded) is not None)


def _between_us(folded: str, book: _Patterns) -> RuledWish | None:
    if book.not_off_record.search(folded) or not any(pattern.search(folded) for pattern in book.between_us):
        return None
    return RuledWish(wish="off_record")


def _forgetting(original: str, folded: str, book: _Patterns, patterns: Sequence[re.Pattern[str]]) -> RuledWish | None:
    if book.not_forget.search(folded):
        return None
    found = next((match for pattern in patterns if (match := pattern.search(folded))), None)
    if found is None:
        return None
    start, end = found.span("subject")
    subject = original[start:end].strip(" .,;:!?-")
    everything = bool(book.everything.search(fold_places(subject)) or book.everything.search(folded.strip(" .!")))
    is_plain = book.said.fullmatch(fold_places(subject)) is not None
    return RuledWish(wish="forget", subject=subject, everything=everything, is_plain=is_plain)


def _remembering(original: str, folded: str, book: _Patterns) -> RuledWish | None:
    if book.not_remember.search(folded):
        return None
    found = next((match for pattern in book.remember if (match := pattern.search(folded))), None)
    is_question = folded.rstrip().endswith("?")
    if found is None or (is_question and not _ASKS_TO_REMEMBER.search(folded)):
        return None
    start, end = found.span("fact")
    fact = original[start:end].strip(" ,;:-–—")
    if not _WORD.search(fact):
        return None
    lead = original[:start].rstrip().lower()
    is_told = is_statement(fact, announced=lead.endswith((" that", " que"))) and not lead.endswith("qué")
    if is_question and is_told and not is_of_a_text(folded):
        return RuledWish(wish="remember", subject=fact.rstrip("? "), is_plain=True)
    return RuledWish(wish="remember", subject=fact)


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


def reach_of(text: str, tells: Callable[[str], bool] = lambda part: True) -> Reach:
    """Return which messages a wish to stay off the record covers, such as only its own message or the rest of the session.

    ``text`` is the message with the wish. `Reach` lists all possible results. ``tells`` is called with parts of the message. It
    returns True if a part states something that should stay off the record.
    """
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    books = _patterns()
    if any(book.said.search(folded) for book in books):
        return "previous"
    if any(book.rest.search(_ONLY_HERE.sub(" ", folded)) for book in books):
        return "rest"
    if any(book.previous.search(folded) or book.mistake.search(folded) for book in books):
        return "previous"
    if not _only_announces(folded) and _has_content(folded, tells):
        return "message"
    if _only_announces(folded) or any(book.next.search(folded) for book in books):
        return "next"
    return "rest" if _ANYTHING.search(folded) else "around"


def _only_announces(folded: str) -> bool:
    """Return True if a message only announces something private, such as "I have a secret and you can't remember it"."""
    if not _ANNOUNCES.search(folded) or _COLON.search(folded):
        return False
    rest = _ANNOUNCES.sub(" ", folded)
    for book in _patterns():
        for pattern in (*book.off_record, *book.between_us):
            rest = pattern.sub(" ", rest)
    words = [word for word in _WORD.findall(rest) if word not in _POLITE and not _is_stop_word(word)]
    return len(words) < _MIN_CONTENT_WORDS - 1


def _has_content(folded: str, tells: Callable[[str], bool]) -> bool:
    """Return True if a message says more than the wish to stay off the record.

    ``folded`` is the message in lower case, without accents. ``tells`` is called with parts of the message. It returns True if a
    part states something that should stay off the record.
    """
    spans = [
        match.span()
        for book in _patterns()
        for pattern in (*book.off_record, *book.between_us)
        if (match := pattern.search(folded))
    ]
    if spans:
        start, end = max(spans, key=lambda span: span[1] - span[0])
        end = start + len(_CONSUMED.sub("", folded[start:end]))
        segments = [*_segments(folded[:start]), *_segments(folded[end:])]
    else:
        segments = _segments(folded)
        if len(segments) == 1:
            is_long = len(_WORD.findall(folded)) > 2 * _MIN_CONTENT_WORDS
            return is_long and (_SUBJECT.search(folded) is not None or tells(folded))
    return any(_is_content(each) and (each.is_introduced or _SUBJECT.match(each.text) or tells(each.text)) for each in segments)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of a message between two punctuation marks."""

    text: str
    is_apart: bool
    """True if punctuation separates the part from the wish."""
    is_introduced: bool
    """True if a colon or a dash comes directly before the part."""


def _segments(folded: str) -> list[_Segment]:
    pauses = list(_PAUSE.finditer(folded))
    starts = [0, *(pause.end() for pause in pauses)]
    ends = [*(pause.start() for pause in pauses), len(folded)]
    introduced = [False, *(pause["introduces"] is not None for pause in pauses)]
    return [
        _Segment(folded[start:end], bool(pauses), colon)
        for start, end, colon in zip(starts, ends, introduced, strict=True)
        if _WORD.search(folded[start:end])
    ]


def _is_content(segment: _Segment) -> bool:
    words = [word for word in _WORD.findall(segment.text) if word not in _POLITE]
    if segment.is_introduced:  # "don't save this: pregnant"
        return bool(words)
    if _SUBJECT.match(segment.text):  # "off the record I quit"
        return True
    return len(words) >= (_MIN_APART_WORDS if segment.is_apart else _MIN_CONTENT_WORDS)


def resumes(text: str) -> bool:
    """Return True if a message says that the next messages are on the record again, such as "resume taking notes"."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(pattern.search(folded) for book in _patterns() for pattern in book.resume)


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
    for book in _patterns():
        folded = book.said.sub(" ", folded)
    return not [word for word in _WORD.findall(subject_words(folded)) if word not in _POLITE and not _is_stop_word(word)]


def points_back(text: str) -> bool:
    """Return True if a wish to forget refers to what was just said, such as "delete that" or "forget my last message"."""
    folded = fold_places(text)
    said = (match for book in _patterns() for match in book.said.finditer(folded))
    return removes_bare(text) or any(_ABOUT.match(folded, match.end()) is None for match in said)


_ABOUT: Final = regex(r"\s+(?:about|regarding|concerning|on|of|de|del|sobre|acerca)\b")


def removes_bare(text: str, *, is_part: bool = False) -> bool:
    """Return True if a message only asks to remove "that" or "it".

    The message then refers to what was just said, unless the assistant has just written a longer text. If the text is a
    part of a message (``is_part``), verbs that often mean other things count, too: "lose it".
    """
    folded = fold_places(text.strip(" ?"))
    return any((book.bare_part if is_part else book.bare).search(folded) for book in _patterns())


def is_mistake(text: str) -> bool:
    """Return True if a message says that the one before was a mistake, such as "I did not mean to send that"."""
    folded = fold_places(_without_quotes(text[:_MAX_CHARACTERS]))
    return any(book.mistake.search(folded) for book in _patterns())


def _is_stop_word(word: str) -> bool:
    return any(word in each for each in _STOP_WORDS)


def own_words(text: str) -> str:
    """Return a text without its quotations."""
    return _without_quotes(text)


def _without_quotes(text: str) -> str:
    """Replace quoted text with spaces, so that positions stay the same."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)
