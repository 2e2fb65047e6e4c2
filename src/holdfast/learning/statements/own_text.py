"""Find the sentences in a message that are the user's own statements. Code, logs, secrets and texts to translate are left out."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from holdfast.learning.quotations.quoted_text import without_quoted_text
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.own_parts import own_parts
from holdfast.learning.statements.rulebook import Rulebook, rulebooks
from holdfast.learning.statements.spoken_clauses import without_secret
from holdfast.runtime.regex import regex
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_clauses, split_sentences

__all__ = ["own_clauses", "own_sentences"]

_MAX_SENTENCE_CHARACTERS: Final = 500
_MAX_TAG_WORDS: Final = 4
_CODE: Final = regex(
    r"^\W{0,3}\*\*[^*]{1,60}\*\*\W{0,2}:|\w\([^()\n]{0,60}\)\s*[:{;]|^[\w.]{2,40}\([^()\n]{0,80}\)$|[{};]\s*$|=>|[=!]=|\+="
    r"|^(?:INFO|DEBUG|ERROR|WARN(?:ING)?|FATAL|Traceback|\w{2,30}(?:Error|Exception):)\b|^(?:import|def|class|SELECT|from \w+ import)\s"
)
_LOG_LINE: Final = regex(r"^\s*(?:INFO|DEBUG|ERROR|WARN(?:ING)?|FATAL)\b.*$", re.MULTILINE)
_QUOTED: Final = regex(r'"[^"\n]{3,}"|“[^”\n]{3,}”|«[^»\n]{3,}»')
"""Matches a text in quotation marks. The words after the closing quotation mark are the user's own again."""
_GIVEN_TEXT: Final = regex(
    r':\s*(?:"[^"\n]+[.!?] [^"\n]+"|“[^”\n]+[.!?] [^”\n]+”|«[^»\n]+[.!?] [^»\n]+»)|(?<=[.!?]) (?:"[^"\n]{25,}"|“[^”\n]{25,}”|«[^»\n]{25,}»)'
)
"""Matches a quoted text of several sentences after a colon, or of any length after a sentence.

It is material for a task, and not said by the user.
"""
_PAUSE: Final = regex(r"\s*[,;:(–—]\s+|\s+-+\s+")
_LASTING: Final = regex(r"\b(?:always|from now on|every time|siempre|a partir de ahora|de ahora en adelante|cada vez)\b")
"""Matches words of a standing instruction, in lower case and without accents: "always correct my spelling"."""
_CONTENT: Final = regex(
    r"\s*(?:[:\"“«]|\b(?:saying|that says|telling|explaining|asking|apologi[sz]ing|stating|which says|who says|que diga|que digan|diciendo|explicando|pidiendo"
    r"|contando|en (?:el|la) que)\b)"
)
"""Matches the word or sign before the content in a request to write a text: "saying" in "an e-mail saying ...".

The content is not a statement of the user.
"""


def own_sentences(text: str, language: str | None) -> list[str]:
    """Return the sentences of a message that are the user's own statements.

    Code and logs are left out, and so is a text that the user asks to translate, summarize or write.
    """
    return list(_own(split_sentences, text, rulebooks(language or detect_language(text))))


def own_clauses(text: str, language: str | None) -> list[str]:
    """Return the sentences of a message that are the user's own statements. Text without punctuation is cut into clauses."""
    return list(_own(split_clauses, text, rulebooks(language or detect_language(text))))


def _own(split: Callable[[str], list[str]], text: str, books: Sequence[Rulebook]) -> Iterator[str]:
    """Yield the sentences of a message that are the user's own statements. ``split`` splits a text into sentences.

    A request such as "translate this" is left out, but not a standing instruction ("always correct my spelling"). The text after it is not the user's own, and is left out, too. But if the
    request is a question or contains a quotation, the sentences after it are read.

    Of a request to write something, only the words before the content are yielded. If a colon introduces the content, and the
    content is not in quotation marks, all later sentences are left out. A sentence that only asks for confirmation is left
    out.
    """
    for sentence in _sentences(split, text):
        folded = fold_clause(sentence)
        if any(book.shows("text_command", folded) for book in books) and not _LASTING.search(folded):
            if not folded.endswith("?") and not _QUOTED.search(sentence):  # "how do you say it?" is not followed by a text
                return
        elif any(book.shows("text_writing", folded + "\n") for book in books):
            content = _CONTENT.search(folded)
            yield sentence if content is None else sentence[: content.start()]
            if content is not None and ":" in content[0] and not _QUOTED.search(sentence):
                return
        elif not _asks_to_confirm(folded, books):
            yield sentence


def _sentences(split: Callable[[str], list[str]], text: str) -> Iterator[str]:
    """Yield the sentences of a message, without secrets. ``split`` splits a text into sentences.

    Code, logs and quoted text are left out. A very long sentence is cut into the clauses that the user states.
    """
    own = _GIVEN_TEXT.sub(" ", without_quoted_text(text, in_line=False))
    found = split(_LOG_LINE.sub("", own))
    for sentence in (part for each in found for part in ([each] if len(each) <= _MAX_SENTENCE_CHARACTERS else own_parts(each))):
        if len(sentence) <= _MAX_SENTENCE_CHARACTERS and not _CODE.search(sentence) and (safe := without_secret(sentence)):
            yield safe


def _asks_to_confirm(folded: str, books: Sequence[Rulebook]) -> bool:
    """Return True if a sentence only asks for confirmation: "I live in Lyon, right?"."""
    tail = _PAUSE.split(folded)[-1]
    is_tag = len(tail.split()) <= _MAX_TAG_WORDS and any(book.shows("tag", tail) for book in books)
    return folded.endswith("?") and tail != folded and is_tag
