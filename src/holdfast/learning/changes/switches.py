"""Switches within one kind of thing: who uses Chrome and "switched to Firefox" no longer uses Chrome.

Which things are of one kind is told by a table, or by a shared last word: oat milk and regular milk. A word of
change is needed, the same person, and no two purposes: Slack for work stays beside Discord for gaming.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.endings import change_phrases, languages_of
from holdfast.learning.changes.phrases import phrases, shared_kinds
from holdfast.learning.changes.slot_clauses import SlotClause, clauses_of
from holdfast.learning.changes.wording import meaning
from holdfast.text.clean import fold

_SWITCH: Final = re.compile(
    r"(?:(?:i |we )?(?:have |has )?(?:finally )?(?:switched|moved|migrated|changed|converted|gone|went|going|swapped|traded up|moved over|gone over)"
    r"(?: over| back)?(?: from (?P<left>.+?))? (?:to|with|for) "
    r"|(?:me |nos |se )?(?:he |ha |hemos )?(?:cambi|pas|migr|mov)(?:é|ó|amos|ado|e|o)(?: de (?P<dejado>.+?))? (?:a|al) "
    r"|(?:he vuelto|volví|volvimos|ha vuelto|vuelvo) (?:a|al) )(?P<to>.+)",
    re.IGNORECASE,
)
_USE: Final = re.compile(
    r"(?:(?:am|is|are|have been|has been) )?(?:use|uses|using|drink|drinks|drinking|eat|eats|drive|drives|ride|rides|take|takes|taking|commute|commutes|"
    r"go|goes|get|gets|have|has|run|runs|write|writes|code|codes|program|programs|buy|buys|order|orders|on|with|play|plays|cycle|walk|wear|read|listen|watch|bank|train|"
    r"uso|usa|usamos|utilizo|utiliza|bebo|bebe|tomo|toma|como|come|conduzco|conduce|manejo|maneja|voy|va|vamos|tengo|tiene|tenemos|programo|programa|"
    r"escribo|escribe|compro|compra|juego|juega|estoy|está|estamos|leo|escucho|veo|llevo|entreno)\b"
    r"|(?:my|our|the|mi|nuestr[oa]|el|la) [\w ]{2,25}? (?:is|are|es|runs|corre)\b",
    re.IGNORECASE,
)
_PURPOSE: Final = re.compile(
    r"\b(?:for|para|at|on|in|en|to|al)\s+(?:my |the |our |mi |el |la |los |las )?(?P<what>[\w ]+)", re.IGNORECASE
)

_MONTHS: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|week|month|year|semana|mes|año|spring|summer|verano|20\d\d)",
    re.IGNORECASE,
)
"""Since when, which is no purpose."""


def switches(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether a new statement says that something of another kind is used instead of what an old one names."""
    for code in languages_of(old, new, language):
        words = phrases(code)
        before = [clause for clause in clauses_of(old, words) if _is_use(clause, code)]
        after = clauses_of(new, words)
        if before and any(_switched(one, other, code) for one in before for other in after):
            return True
    return False


def _is_use(clause: SlotClause, language: str) -> bool:
    if clause.cues & {"past", "ended", "not"} or change_phrases(language).verbs["like"].match(clause.said):
        return False
    return _USE.match(clause.said) is not None


def _switched(old: SlotClause, new: SlotClause, language: str) -> bool:
    if old.subject != new.subject or new.cues & {"past", "ended", "not", "also", "temporary"}:
        return False
    switch = _SWITCH.match(new.said)
    said = switch.group("to") if switch else new.said if "now" in new.cues and _USE.match(new.said) else None
    if said is None:
        return False
    before, after = dict(_members(old.said)), dict(_members(said))
    shared = before.keys() & after.keys()
    other = any(before[kind].isdisjoint(after[kind]) for kind in shared) or (
        switch is not None and _other_sort(old.said, said, language)
    )
    return other and _one_purpose(old.said, said, language)


def _members(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield, for each kind named in a text, the things of it."""
    found: dict[int, set[str]] = {}
    for kind, thing in _things().findall_in(fold(text)):
        found.setdefault(kind, set()).add(thing)
    return ((kind, frozenset(things)) for kind, things in found.items())


class _Things:
    """The things of all kinds as one pattern."""

    def __init__(self) -> None:
        self._kind = {
            thing: (number, group[0]) for number, kind in enumerate(shared_kinds()) for group in kind for thing in group
        }
        names = sorted(self._kind, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")

    def findall_in(self, text: str) -> list[tuple[int, str]]:
        """Return the kind and name of each thing in a folded text."""
        return [self._kind[found] for found in self._pattern.findall(text)]


@lru_cache(maxsize=1)
def _things() -> _Things:
    return _Things()


def _other_sort(old: str, new: str, language: str) -> bool:
    """Tell whether both speak of one thing in two sorts: oat milk, regular milk."""
    end = phrases(language).clauses["stop"].search(new)
    named = re.findall(r"\w+", fold(new[: end.start()] if end else new))
    if not 2 <= len(named) <= 3:
        return False
    head = meaning(named[0] if language == "es" else named[-1], language)
    sort = meaning(" ".join(named), language) - head
    told = meaning(old, language)
    return bool(head and sort) and head <= told and not sort & told and len(told - head) >= 2


def _one_purpose(old: str, new: str, language: str) -> bool:
    """Tell whether what is used now has no purpose of its own."""
    end = phrases(language).clauses["stop"].search(new)
    after = _PURPOSE.search(new[: end.start()] if end else new)
    if after is None or _MONTHS.search(after.group("what")):
        return True
    before = _PURPOSE.search(old)
    named = meaning(after.group("what"), language)
    return bool(before and named & meaning(before.group("what"), language))
