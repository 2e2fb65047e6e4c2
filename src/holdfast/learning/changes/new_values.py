"""Other values of any sort of thing: another time, dose or floor of what an old statement told.

Slots know a few attributes well. Here any thing counts, by its words: "physio got bumped to Friday" speaks of the
physio session on Wednesday. A word of change is needed, the same topic, and a value of the same sort that differs.
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

_GOES_ON: Final = re.compile(
    r"(?:it|that|this|so it|they|he|she|es|son|será|queda|sale|salgo|salimos|vamos|voy|viajo|empieza|empiezo|nueva fecha|new date|lo|la)\b",
    re.IGNORECASE,
)
_ORDINALS: Final = re.compile(r"\b(\d+)(?:st|nd|rd|th|[ºª]|\.[ºª])")
_NOUN_FIRST: Final = re.compile(
    r"(?:my|our|the|his|her|their|mi|mis|el|la|los|las|nuestr[oa]s?|su)\b|\w+ (?:is|are|es|son)\b", re.IGNORECASE
)

_THING: Final = re.compile(
    r"(?:my|our|the|mi|el|la|los|las|nuestr[oa]s?)?\s*\b(?P<thing>[\w' -]{2,40}?)\s+(?:is|are|runs?|uses?|meets?|ends?|starts?|lives?|sits?|opens?|closes?|"
    r"es|está|son|están|usa|corre|queda|sale|empieza|termina|vence|se llama)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldValue:
    """What a piece of a statement tells of a topic."""

    subject: str | None
    topic: frozenset[str]
    text: str
    amounts: Mapping[str, frozenset[str]]
    parts: frozenset[int]
    changed: bool
    of_a_thing: bool
    """It begins with a thing ("the release is ..."), not with what somebody does."""
    thing: frozenset[str]
    """The words of that thing: of "our CI is on Jenkins" the CI."""
    turned: bool
    """It has a strong word of change: migrated, renamed, now."""


def gets_another_value(old: str, new: str, language: str | None = None) -> bool:
    """Tell whether a new statement says in words of change that what an old one tells has another time or amount."""
    for code in languages_of(old, new, language):
        after = [told for told in _told(new, code) if told.changed]
        if after and any(_revalued(one, other, change_phrases(code)) for one in _told(old, code) for other in after):
            return True
    return False


def _told(text: str, language: str) -> list[ToldValue]:
    words, turns = phrases(language), change_phrases(language)
    found: list[ToldValue] = []
    for clause in clauses_of(text, words):
        if clause.cues & {"past", "ended", "also", "temporary"}:
            continue
        found += [_read(clause, piece, words, turns) for piece in _pieces(clause.said)]
    return found


def _pieces(said: str) -> list[str]:
    """Return the parts between commas; one that goes on about the part before it stays with it."""
    pieces: list[str] = []
    for piece in re.split(r",\s+", said):
        if pieces and (_GOES_ON.match(piece) or not re.search(r"[^\W\d]{3}.* ", piece)):
            pieces[-1] += f", {piece}"
        else:
            pieces.append(piece)
    return pieces


def _read(clause: SlotClause, piece: str, words: SlotPhrases, turns: ChangePhrases) -> ToldValue:
    said = re.sub(r"'s\b", "", _ORDINALS.sub(r"\1", piece))
    said = turns.words["moment"].sub(" ", turns.words["units"].sub(" ", turns.words["numbers"].sub(" ", said)))
    said = words.clauses["stop"].split(said, maxsplit=1)[0] if " because " in said or " porque " in said else said
    thing = _THING.match(piece)
    turned = "now" in clause.cues or bool(turns.words["turned"].search(clause.text))
    return ToldValue(
        subject=clause.subject,
        topic=meaning(said, words.language) - turns.schedule,
        text=piece,
        amounts=_amounts(piece, turns),
        parts=frozenset(number for number, part in enumerate(turns.parts) if part.search(piece)),
        changed=turned or bool(turns.words["changed"].search(clause.text)),
        of_a_thing=thing is not None or bool(_NOUN_FIRST.match(piece)),
        thing=meaning(thing.group("thing"), words.language) - turns.schedule if thing else frozenset(),
        turned=turned,
    )


def _amounts(text: str, turns: ChangePhrases) -> dict[str, frozenset[str]]:
    """Return the amounts in a text by their unit; an empty unit may be any."""
    found: dict[str, set[str]] = {}
    for match in turns.words["units"].finditer(_ORDINALS.sub(r"\1", text)):
        found.setdefault((match.group("u") or "").casefold().rstrip("s"), set()).add(match.group("n"))
    for match in turns.words["numbers"].finditer(text):
        found.setdefault("nth", set()).add(match.group(0).casefold())
    return {unit: frozenset(values) for unit, values in found.items()}


def _revalued(old: ToldValue, new: ToldValue, turns: ChangePhrases) -> bool:
    if old.subject is not None and new.subject is not None and old.subject != new.subject:
        return False
    return (_same_topic(old, new, turns) and _differ(old, new)) or _thing_turned(old, new, turns)


def _thing_turned(old: ToldValue, new: ToldValue, turns: ChangePhrases) -> bool:
    """Tell whether the thing an old statement begins with is said to be otherwise, whatever sort of value it has."""
    if not new.turned or not old.thing - turns.generic or not old.thing <= new.topic:
        return False
    value = old.topic - old.thing
    brought = new.topic - old.topic - old.thing
    return bool(value) and bool(brought) and not value & new.topic and not (new.thing and new.thing != old.thing)


def _same_topic(old: ToldValue, new: ToldValue, turns: ChangePhrases) -> bool:
    """Tell whether both are about one thing, which either may name more fully; a general word alone must be all of both."""
    if old.topic == new.topic:
        return bool(old.topic)
    shared = old.topic & new.topic
    if not shared - turns.generic:
        return False
    if len(shared - turns.generic) >= 2 and not _own_names(old, new):
        return True
    return shared == new.topic or (
        shared == old.topic and (old.of_a_thing or bool(old.amounts.keys() & new.amounts.keys() - {""}))
    )


def _own_names(old: ToldValue, new: ToldValue) -> bool:
    """Tell whether each names somebody or something that the other does not."""
    before, after = frozenset(names(old.text)), frozenset(names(new.text))
    return bool(before - after) and bool(after - before)


def _differ(old: ToldValue, new: ToldValue) -> bool:
    before, after = moments_of(old.text), moments_of(new.text)
    if before and after and (before.keys() & after.keys() or old.of_a_thing):
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
