"""Detect a switch between things of one kind: "switched to Firefox" supersedes "I use Chrome".

A table lists the things of each kind. Two things with the same head noun, such as oat milk and regular milk, are also
of one kind. The new statement must contain a word of change, such as "switched" or "now", and have the same subject. It
must not name a different purpose: Discord for gaming does not replace Slack for work.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.endings import change_phrases, languages_of
from holdfast.learning.changes.phrases import phrases, shared_kinds
from holdfast.learning.changes.slot_clauses import SlotClause, clauses_of
from holdfast.learning.changes.wording import meaning
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold

_SWITCH: Final = regex(
    r"(?:(?:i |we )?(?:have |has )?(?:finally )?(?:switched|moved|migrated|changed|converted|gone|went|going|swapped|traded up|moved over|gone over)"
    r"(?: over| back)?(?: from (?P<left>.+?))? (?:to|with|for) "
    r"|(?:me |nos |se )?(?:he |ha |hemos )?(?:cambi|pas|migr|mov)(?:é|ó|amos|ado|e|o)(?: de (?P<dejado>.+?))? (?:a|al) "
    r"|(?:he vuelto|volví|volvimos|ha vuelto|vuelvo) (?:a|al) )(?P<to>.+)",
    re.IGNORECASE,
)
_USE: Final = regex(
    r"(?:(?:am|is|are|have been|has been) )?(?:use|uses|using|drink|drinks|drinking|eat|eats|drive|drives|ride|rides|take|takes|taking|commute|commutes|"
    r"go|goes|get|gets|have|has|run|runs|write|writes|code|codes|program|programs|buy|buys|order|orders|on|with|play|plays|cycle|walk|wear|read|listen|watch|bank|train|"
    r"uso|usa|usamos|utilizo|utiliza|bebo|bebe|tomo|toma|como|come|conduzco|conduce|manejo|maneja|voy|va|vamos|tengo|tiene|tenemos|programo|programa|"
    r"escribo|escribe|compro|compra|juego|juega|estoy|está|estamos|leo|escucho|veo|llevo|entreno)\b"
    r"|(?:my|our|the|mi|nuestr[oa]|el|la) [\w ]{2,25}? (?:is|are|es|runs|corre)\b",
    re.IGNORECASE,
)
_PURPOSE: Final = regex(
    r"\b(?:for|para|at|on|in|en|to|al)\s+(?:my |the |our |mi |el |la |los |las )?(?P<what>[\w ]+)", re.IGNORECASE
)

_TIME: Final = regex(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|week|month|year|semana|mes|año|spring|summer|verano|20\d\d)",
    re.IGNORECASE,
)
"""Matches time expressions, so that a phrase such as "in May" is not taken for a purpose."""


def switches(old: str, new: str, language: str | None = None) -> bool:
    """Return True if the new statement says that the user switched to something else of the same kind.

    For example, "switched to Firefox" is a switch if the old statement is "I use Chrome".
    """
    for code in languages_of(old, new, language):
        words = phrases(code)
        before = [clause for clause in clauses_of(old, words) if _is_use(clause, code)]
        after = clauses_of(new, words)
        if before and any(_switched(one, other, code) for one in before for other in after):
            return True
    return False


def _is_use(clause: SlotClause, language: str) -> bool:
    if clause.cues & {"past", "ended", "not"} or change_phrases(language).verbs["like"].match(clause.predicate):
        return False
    return _USE.match(clause.predicate) is not None


def _switched(old: SlotClause, new: SlotClause, language: str) -> bool:
    if old.subject != new.subject or new.cues & {"past", "ended", "not", "also", "temporary"}:
        return False
    switch = _SWITCH.match(new.predicate)
    switched_to = switch.group("to") if switch else new.predicate if "now" in new.cues and _USE.match(new.predicate) else None
    if switched_to is None:
        return False
    before, after = dict(_members(old.predicate)), dict(_members(switched_to))
    shared = before.keys() & after.keys()
    other = any(before[kind].isdisjoint(after[kind]) for kind in shared) or (
        switch is not None and _is_variety(old.predicate, switched_to, language)
    )
    return other and _has_same_purpose(old.predicate, switched_to, language)


def _members(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield a pair for each kind of thing that a text names: the index of the kind, and the set of the named things.

    For example, Chrome and Firefox are things of one kind.
    """
    found: dict[int, set[str]] = {}
    for kind, thing in _things().findall_in(fold(text)):
        found.setdefault(kind, set()).add(thing)
    return ((kind, frozenset(things)) for kind, things in found.items())


class _Things:
    """Finds the things, such as Chrome or Firefox, that a text names. One pattern covers the things of all kinds."""

    def __init__(self) -> None:
        self._kind = {
            thing: (number, group[0]) for number, kind in enumerate(shared_kinds()) for group in kind for thing in group
        }
        names = sorted(self._kind, key=len, reverse=True)
        self._pattern = regex(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")

    def findall_in(self, text: str) -> list[tuple[int, str]]:
        """Find the things, such as Chrome, that a text names. Return the kind number and canonical name of each thing.

        The text must be in lower case and without accents.
        """
        return [self._kind[found] for found in self._pattern.findall(text)]


@lru_cache(maxsize=1)
def _things() -> _Things:
    return _Things()


def _is_variety(old: str, new: str, language: str) -> bool:
    """Return True if both statements name the same thing in different varieties, such as oat milk and regular milk."""
    end = phrases(language).clauses["stop"].search(new)
    named = re.findall(r"\w+", fold(new[: end.start()] if end else new))
    if not 2 <= len(named) <= 3:
        return False
    head = meaning(named[0] if language == "es" else named[-1], language)
    sort = meaning(" ".join(named), language) - head
    terms = meaning(old, language)
    return bool(head and sort) and head <= terms and not sort & terms and len(terms - head) >= 2


def _has_same_purpose(old: str, new: str, language: str) -> bool:
    """Return True if the new statement names no purpose, or if both statements name the same purpose, such as "for work"."""
    end = phrases(language).clauses["stop"].search(new)
    after = _PURPOSE.search(new[: end.start()] if end else new)
    if after is None or _TIME.search(after.group("what")):
        return True
    before = _PURPOSE.search(old)
    named = meaning(after.group("what"), language)
    return bool(before and named & meaning(before.group("what"), language))
