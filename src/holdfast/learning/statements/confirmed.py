"""Extract the assistant's observations about the user that the user's next message confirms."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from holdfast.learning.statements.clauses import fold_clause, sentences
from holdfast.learning.statements.conversation import SourcedStatement, is_spoken_by_user
from holdfast.learning.statements.rulebook import LANGUAGES, rulebook
from holdfast.learning.statements.statements import Statement
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.types import Message

_QUESTION_TAG = regex(
    r"[, ]*(?:¿?(?:right|isn'?t it|is that (?:right|so|correct|true)|am i right|don'?t you|aren'?t you|correct|no|verdad|cierto"
    r"|es así|me equivoco|puede ser))?\?$",
    re.IGNORECASE,
)
_MAX_SENTENCES_BACK = 2
"""Maximum number of sentences, counted from the end of the assistant's message, that a "yes" can confirm."""
_IMPORTANCE = 5.0
_MIN_KEEP = 0.2
"""Minimum probability, from the sentence reader, that an observation is worth keeping.

The observation is rated as if the user had said it: "I prefer mornings".
"""
_LEAD = regex(
    r"^(?:(?:so|well|ah|oh|okay|ok|got it|right|then)[ ,:-]+)*(?:it (?:seems|sounds|looks|appears)(?: like| to me)?(?: that)?"
    r"|(?:sounds|seems|looks) like|i(?:'ve)? (?:notice|noticed|suspect|gather|think|see)(?: that)?) (?=you)",
    re.IGNORECASE,
)
_I = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you are": "I am", "you've": "I've"}
_HEDGE = regex(r"^I (?:seem|appear|tend) (?:to (?:be )?)?")
"""Matches words of doubt, such as "seem to". They are removed, because the user has confirmed the observation."""
_YOU = regex(r"\b(?:you are|you['’](?:re|ve)|yourself|yours?|you)\b", re.IGNORECASE)


def confirmed_observations(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[SourcedStatement]:
    """Return the assistant's observations about the user that the user's next message confirms.

    For example, the assistant says "You seem to prefer mornings", and the user replies "exactly". An English observation must
    be worth keeping according to the sentence reader, if there is one: "you can end now" is not.
    """
    return [
        SourcedStatement(statement=_statement(text, language), sources=(said, answer))
        for said, answer in pairwise(messages)
        if said.role == "assistant" and said.origin == "assistant" and said.action is None
        if is_spoken_by_user(answer) and _confirms(answer.text)
        for text, language in _observations(said.text)
        if reader is None or language != "en" or reader.read(_as_own(text)).keep >= _MIN_KEEP
    ]


def _as_own(text: str) -> str:
    """Return an English observation in the user's words: "You seem to prefer mornings" becomes "I prefer mornings"."""
    said = _YOU.sub(lambda found: _I[found[0].lower().replace("’", "'")], _LEAD.sub("", text))
    return _HEDGE.sub(lambda found: "I " if found[0].endswith(" to ") else "I am ", said)


def _confirms(text: str) -> bool:
    folded = fold_clause(text)
    books = [rulebook(language) for language in LANGUAGES]
    denied = "?" in text or any(book.shows("denies", folded) for book in books)
    return not denied and any(book.shows("confirms", folded) for book in books)


def _observations(text: str) -> Iterator[tuple[str, str]]:
    for sentence, folded in list(sentences(text))[-_MAX_SENTENCES_BACK:]:
        bare = _QUESTION_TAG.sub("", sentence)
        if "?" in bare or "¿" in bare:
            continue
        for language in LANGUAGES:
            book = rulebook(language)
            if book.shows("observation", folded) and not book.shows("advice", folded):
                yield bare, language


def _statement(text: str, language: str) -> Statement:
    return Statement(
        text=text,
        kind="fact",
        type="personal",
        key="nota" if language == "es" else "note",
        importance=_IMPORTANCE,
        language=language,
        observed=True,
    )
