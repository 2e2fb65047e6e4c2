"""Joining what says little by itself to the statement beside it: "the bins go out on Tuesdays now, used to be Mondays"."""

import re
from collections.abc import Iterable
from dataclasses import replace

from holdfast.learning.statements.rulebook import Statement

_FEW_WORDS, _FEWER_WORDS = 7, 4
_STANDS_ALONE = frozenset(
    "name nombre birthday cumpleanos contact contacto diet dieta health salud family familia pet mascota home ubicacion work trabajo "
    "study estudios language idioma skill habilidad decision".split()
)
"""What is told of these is kept by itself, however short."""
_BESIDE = re.compile(
    r"[\s,;:.…–—()-]{1,6}(?:(?:and|but|so|because|cause|cuz|bc|since|plus|also|though|although|while|then|now|y|e|pero|porque|asi|así|ya|aunque"
    r"|ademas|además|tambien|también|por|eso|es|que|pues)[\s,]+){0,3}",
    re.IGNORECASE,
)
"""All that may stand between the two: nothing that was left out on purpose."""
_DIGIT = re.compile(r"\d")


def joined(sentence: str, found: Iterable[Statement]) -> list[Statement]:
    """Return the statements of a sentence in their order, each thin one together with its neighbour.

    A faint one is kept only where it can be joined.
    """
    kept: list[Statement] = []
    for statement in found:
        together = _together(sentence, kept[-1], statement) if kept else None
        if together is None:
            kept.append(statement)
        else:
            kept[-1] = together
    return [statement for statement in kept if not statement.faint]


def _together(sentence: str, one: Statement, other: Statement) -> Statement | None:
    """Return two statements as one, where either is thin and nothing of weight stands between them."""
    thin, thin_too = _is_thin(one), _is_thin(other)
    if not (thin or thin_too) or (thin and thin_too and not (one.weighed or other.weighed)) or one.asked or other.asked:
        return None
    if (one.faint and not _takes_more(other)) or (other.faint and not _takes_more(one)):
        return None
    start = sentence.find(one.text)
    end = sentence.find(other.text, start + len(one.text))
    if start < 0 or end < 0 or _BESIDE.fullmatch(sentence, start + len(one.text), end) is None:
        return None
    first_leads = not one.faint and (other.faint or thin_too or not thin)
    return replace(one if first_leads else other, text=sentence[start : end + len(other.text)])


def _takes_more(statement: Statement) -> bool:
    """Tell whether a statement may be the longer for something faint beside it."""
    return not statement.faint and (statement.weighed or statement.key not in _STANDS_ALONE)


def _is_thin(statement: Statement) -> bool:
    if statement.faint:
        return True
    few = len(statement.text.split()) <= (_FEWER_WORDS if _DIGIT.search(statement.text) else _FEW_WORDS)
    return few and (statement.weighed or statement.key not in _STANDS_ALONE)
