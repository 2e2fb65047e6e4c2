"""Join a short clause to the statement next to it: "the bins go out on Tuesdays now, used to be Mondays"."""

import re
from collections.abc import Iterable
from dataclasses import replace

from holdfast.learning.statements.rulebook import Statement

_MAX_THIN_WORDS = 7
"""A statement with at most this many words is usually too short to stand alone ("thin")."""
_MAX_THIN_WORDS_WITH_NUMBER = 4
"""A statement that contains a number is usually too short to stand alone ("thin") if it has at most this many words."""
_STANDS_ALONE = frozenset(
    "name nombre birthday cumpleanos contact contacto diet dieta health salud family familia pet mascota home ubicacion work trabajo "
    "study estudios language idioma skill habilidad decision".split()
)
"""Keys such as ``name`` and ``diet``. If a rule gives a statement such a key, the statement is complete even if it is short."""
_BETWEEN = re.compile(
    r"[\s,;:.…–—()-]{1,6}(?:(?:and|but|so|because|cause|cuz|bc|since|plus|also|though|although|while|then|now|y|e|pero|porque|asi|así|ya|aunque"
    r"|ademas|además|tambien|también|por|eso|es|que|pues)[\s,]+){0,3}",
    re.IGNORECASE,
)
"""Matches punctuation and conjunctions. Two clauses are joined only if there is nothing else between them."""
_DIGIT = re.compile(r"\d")


def joined(sentence: str, found: Iterable[Statement]) -> list[Statement]:
    """Return the statements of a sentence in order, with short ones joined to their neighbors.

    A faint statement, which is not worth keeping alone, is dropped unless it was joined.
    """
    kept: list[Statement] = []
    for statement in found:
        merged = _merged(sentence, kept[-1], statement) if kept else None
        if merged is None:
            kept.append(statement)
        else:
            kept[-1] = merged
    return [statement for statement in kept if not statement.faint]


def _merged(sentence: str, one: Statement, other: Statement) -> Statement | None:
    """Return two statements as one if either is too short and only punctuation or conjunctions separate them; else None."""
    thin, thin_too = _is_thin(one), _is_thin(other)
    if not (thin or thin_too) or (thin and thin_too and not (one.weighed or other.weighed)) or one.asked or other.asked:
        return None
    if (one.faint and not _can_absorb(other)) or (other.faint and not _can_absorb(one)):
        return None
    start = sentence.find(one.text)
    end = sentence.find(other.text, start + len(one.text))
    if start < 0 or end < 0 or _BETWEEN.fullmatch(sentence, start + len(one.text), end) is None:
        return None
    first_leads = not one.faint and (other.faint or thin_too or not thin)
    return replace(one if first_leads else other, text=sentence[start : end + len(other.text)])


def _can_absorb(statement: Statement) -> bool:
    """Return True if this statement may be joined with a neighboring statement that is not worth keeping alone."""
    return not statement.faint and (statement.weighed or statement.key not in _STANDS_ALONE)


def _is_thin(statement: Statement) -> bool:
    if statement.faint:
        return True
    few = len(statement.text.split()) <= (_MAX_THIN_WORDS_WITH_NUMBER if _DIGIT.search(statement.text) else _MAX_THIN_WORDS)
    return few and (statement.weighed or statement.key not in _STANDS_ALONE)
