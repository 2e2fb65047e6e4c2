"""Detect a new value of something that fills no slot (a known attribute), such as another time, dose or floor.

Statements are compared by their terms: "physio got bumped to Friday" is about the physio session on Wednesday. The new
statement must contain a word of change, have the same topic, and state a different value of the same type.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.endings import ChangePhrases, change_phrases, languages_of
from holdfast.learning.changes.moments import moments_of, times_differ
from holdfast.learning.changes.phrases import SlotPhrases, phrases
from holdfast.learning.changes.slot_clauses import SlotClause, clauses_of
from holdfast.learning.changes.wording import meaning, names
from holdfast.runtime.regex import regex

_CONTINUES: Final = regex(
    r"(?:it|that|this|so it|they|he|she|es|son|será|queda|sale|salgo|salimos|vamos|voy|viajo|empieza|empiezo|nueva fecha|new date|lo|la)\b",
    re.IGNORECASE,
)
_ORDINALS: Final = regex(r"\b(\d+)(?:st|nd|rd|th|[ºª]|\.[ºª])")
_NOUN_FIRST: Final = regex(
    r"(?:my|our|the|his|her|their|mi|mis|el|la|los|las|nuestr[oa]s?|su)\b|\w+ (?:is|are|es|son)\b", re.IGNORECASE
)

_THING: Final = regex(
    r"(?:my|our|the|mi|el|la|los|las|nuestr[oa]s?)?\s*\b(?P<thing>[\w' -]{2,40}?)\s+(?:is|are|runs?|uses?|meets?|ends?|starts?|lives?|sits?|opens?|closes?|"
    r"es|está|son|están|usa|corre|queda|sale|empieza|termina|vence|se llama)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedValue:
    """One part of a statement: the terms that it is about, and the values that it states, such as times and amounts."""

    subject: str | None
    topic: frozenset[str]
    text: str
    amounts: Mapping[str, frozenset[str]]
    parts: frozenset[int]
    changed: bool
    starts_with_thing: bool
    """True if this part begins with a thing, as in "the release is ...", and not with a verb."""
    thing: frozenset[str]
    """Terms of the thing that this part begins with, such as "CI" in "our CI is on Jenkins"."""
    strongly_changed: bool
    """True if this part contains a strong word of change, such as "migrated", "renamed" or "now"."""


def gets_another_value(old: str, new: str, language: str | None = None) -> bool:
    """Return True if the new statement says that something in the old statement changed to another time, amount or value."""
    for code in languages_of(old, new, language):
        after = [value for value in _stated_values(new, code) if value.changed]
        if after and any(_revalued(one, other, change_phrases(code)) for one in _stated_values(old, code) for other in after):
            return True
    return False


def _stated_values(text: str, language: str) -> list[StatedValue]:
    words, changes = phrases(language), change_phrases(language)
    found: list[StatedValue] = []
    for clause in clauses_of(text, words):
        if clause.cues & {"past", "ended", "also", "temporary"}:
            continue
        found += [_read(clause, piece, words, changes) for piece in _pieces(clause.predicate)]
    return found


def _pieces(text: str) -> list[str]:
    """Split a predicate at commas. A part that continues the previous part, such as "it is on Friday now", is not split off."""
    pieces: list[str] = []
    for piece in re.split(r",\s+", text):
        if pieces and (_CONTINUES.match(piece) or not re.search(r"[^\W\d]{3}.* ", piece)):
            pieces[-1] += f", {piece}"
        else:
            pieces.append(piece)
    return pieces


def _read(clause: SlotClause, piece: str, words: SlotPhrases, changes: ChangePhrases) -> StatedValue:
    text = re.sub(r"'s\b", "", _ORDINALS.sub(r"\1", piece))
    text = changes.words["moment"].sub(" ", changes.words["units"].sub(" ", changes.words["numbers"].sub(" ", text)))
    text = words.clauses["stop"].split(text, maxsplit=1)[0] if " because " in text or " porque " in text else text
    thing = _THING.match(piece)
    strongly_changed = "now" in clause.cues or bool(changes.words["turned"].search(clause.text))
    return StatedValue(
        subject=clause.subject,
        topic=meaning(text, words.language) - changes.schedule,
        text=piece,
        amounts=_amounts(piece, changes),
        parts=frozenset(number for number, part in enumerate(changes.parts) if part.search(piece)),
        changed=strongly_changed or bool(changes.words["changed"].search(clause.text)),
        starts_with_thing=thing is not None or bool(_NOUN_FIRST.match(piece)),
        thing=meaning(thing.group("thing"), words.language) - changes.schedule if thing else frozenset(),
        strongly_changed=strongly_changed,
    )


def _amounts(text: str, changes: ChangePhrases) -> dict[str, frozenset[str]]:
    """Map each unit in a text to its amounts. Amounts without a unit are listed under an empty unit, which matches any unit."""
    found: dict[str, set[str]] = {}
    for match in changes.words["units"].finditer(_ORDINALS.sub(r"\1", text)):
        found.setdefault((match.group("u") or "").casefold().rstrip("s"), set()).add(match.group("n"))
    for match in changes.words["numbers"].finditer(text):
        found.setdefault("nth", set()).add(match.group(0).casefold())
    return {unit: frozenset(values) for unit, values in found.items()}


def _revalued(old: StatedValue, new: StatedValue, changes: ChangePhrases) -> bool:
    if old.subject is not None and new.subject is not None and old.subject != new.subject:
        return False
    return (_same_topic(old, new, changes) and _differ(old, new)) or _thing_changed(old, new, changes)


def _thing_changed(old: StatedValue, new: StatedValue, changes: ChangePhrases) -> bool:
    """Return True if the new statement gives another value to the thing with which the old statement begins.

    For example, "we migrated our CI to Buildkite" changes the value in "our CI is on Jenkins".
    """
    if not new.strongly_changed or not old.thing - changes.generic or not old.thing <= new.topic:
        return False
    value = old.topic - old.thing
    brought = new.topic - old.topic - old.thing
    return bool(value) and bool(brought) and not value & new.topic and not (new.thing and new.thing != old.thing)


def _same_topic(old: StatedValue, new: StatedValue, changes: ChangePhrases) -> bool:
    """Return True if two stated values have the same topic, even if one of them names the topic more fully.

    A common term that is generic, such as "meeting", is not enough.
    """
    if old.topic == new.topic:
        return bool(old.topic)
    shared = old.topic & new.topic
    if not shared - changes.generic:
        return False
    if len(shared - changes.generic) >= 2 and not _names_differ(old, new):
        return True
    return shared == new.topic or (
        shared == old.topic and (old.starts_with_thing or bool(old.amounts.keys() & new.amounts.keys() - {""}))
    )


def _names_differ(old: StatedValue, new: StatedValue) -> bool:
    """Return True if each value has a name that the other lacks, as in "call with Ana" and "call with Eva"."""
    before, after = frozenset(names(old.text)), frozenset(names(new.text))
    return bool(before - after) and bool(after - before)


def _differ(old: StatedValue, new: StatedValue) -> bool:
    before, after = moments_of(old.text), moments_of(new.text)
    if before and after and (before.keys() & after.keys() or old.starts_with_thing):
        return times_differ(old.text, new.text, moved=True)
    if old.parts and new.parts:
        return old.parts.isdisjoint(new.parts)
    return _amounts_differ(old.amounts, new.amounts)


def _amounts_differ(before: Mapping[str, frozenset[str]], after: Mapping[str, frozenset[str]]) -> bool:
    shared = before.keys() & after.keys()
    if shared:
        return any(before[unit].isdisjoint(after[unit]) for unit in shared)
    values, others = frozenset[str]().union(*before.values()), frozenset[str]().union(*after.values())
    return "" in before.keys() | after.keys() and len(before) == 1 and bool(values and others) and values.isdisjoint(others)
