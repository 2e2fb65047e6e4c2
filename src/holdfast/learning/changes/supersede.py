"""Decide by slots (attributes with values) whether a new statement supersedes an old statement.

Also parse corrections that name only a value, such as "no, it's the 14th".
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.moments import moments_of, times_differ
from holdfast.learning.changes.phrases import LANGUAGES, phrases, shared_words
from holdfast.learning.changes.slot_clauses import USER, expanded
from holdfast.learning.changes.slots import Slot
from holdfast.learning.changes.wording import numbers
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line

_FILLER_WORDS: Final = frozenset(
    "a an the my our in at on of de la el los las en un una mi named called llamado llamada que se llama".split()
)
_ONE_OF_A_KIND: Final = frozenset({"partner", "mother", "father", "boss", "ex", "parents", "dog", "cat"})
"""Roles that usually only one person or animal has, such as mother or dog.

Two statements about such a role are about the same person or animal, even if only one statement gives the name.
"""
_ANIMALS: Final = frozenset({"dog", "cat", "pet"})
_TOOL_ATTRIBUTES: Final = ("tool", "current ")
_TOKEN: Final = regex(r"[^\W_]+(?:['.@+-][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A bare correction: a statement that names only the new value, and perhaps the old value."""

    new: str
    old: str | None


def retires(old: Slot, new: Slot) -> str | None:
    """Return the reason why the new slot supersedes the old slot ("moved", "ended" ...), or None if it does not."""
    if _has_parted(old, new):
        return "ended"
    if old.past or not same_subject(old, new):
        return None
    if new.ended:
        return "ended" if not old.ended and _ends(old, new) else None
    if new.past or not _same_attribute(old, new):
        return None
    if old.ended:
        return "holds again" if old.value and same_value(old, new) else None
    moved = old.attribute == "residence" or old.attribute.startswith("when ")
    return ("moved" if moved else "changed") if _differs(old, new) else None


def _differs(old: Slot, new: Slot) -> bool:
    """Return True if two values of one attribute cannot both be true."""
    if old.attribute.startswith("when "):
        return times_differ(old.value, new.value, moved=new.changed)
    if old.attribute.startswith("preference for "):
        return _opposed(old.value, new.value)
    if old.attribute.startswith("opinion of "):
        return old.value != new.value
    if not (old.single and new.single) or same_value(old, new):
        return False
    if old.attribute == "name" and old.subject.split(":")[0] in _ANIMALS:
        return False  # another name means another animal
    return new.changed or not (old.vague or new.vague or _contains_the_other(old, new))


def same_value(old: Slot, new: Slot) -> bool:
    """Return True if two values are equal, or if one is a fuller form of the other: "Portland" and "Portland, Oregon".

    Dates and times are compared in another way. They count as the same unless they contradict each other. For example, Friday
    and the 12th do not contradict each other.
    """
    if old.attribute.startswith(("when ", "birthday")):
        return not times_differ(old.value, new.value, moved=False)
    before, after = _tokens(old.value), _tokens(new.value)
    return before == after or (bool(before and after) and (before <= after or after <= before))


def says_more(old: Slot, new: Slot) -> bool:
    """Return True if the new value is a fuller form of the old value: "Portland, Oregon" for "Portland"."""
    return _tokens(old.value) < _tokens(new.value)


def correction_of(text: str, language: str | None = None) -> Correction | None:
    """Return the correction if the text is only a correction, such as "actually it's the 14th, not the 12th".

    Otherwise return None.
    """
    plain = expanded(text)
    for code in dict.fromkeys((language, *LANGUAGES)):
        if code not in LANGUAGES:
            continue
        rules = phrases(code).corrections
        value = rules["value"].search(plain)
        denied = rules["denied"].search(plain, value.end() if value else 0)
        if value and (rules["marks"].match(plain) or denied) and _is_bare(plain[: value.start()], code):
            return Correction(new=value.group("new").strip(), old=denied.group("old").strip() if denied else None)
    return None


def corrects(old: str, correction: Correction) -> bool:
    """Return True if a bare correction refers to the old statement.

    If the correction denies a value, the old statement must contain that value. Otherwise the old statement must
    contain a different time of the same type, such as another weekday.
    """
    if correction.old is not None:
        return bool(_tokens(correction.old)) and _tokens(correction.old) <= _tokens(old)
    before, after = moments_of(old), moments_of(correction.new)
    return bool(after) and after.keys() <= before.keys() and any(before[sort] != after[sort] for sort in after)


def denies_another_time(old: str, new: str) -> bool:
    """Return True if the new statement denies a time, and the old statement has a different time of the same type.

    For example, "on the 9th, not the 8th" denies the 8th. Therefore it does not correct an appointment on the 2nd.
    """
    denied = _denied_times(new)
    before = moments_of(old) if denied else {}
    return any(before[sort].isdisjoint(times[sort]) for times in denied for sort in before.keys() & times.keys())


@lru_cache(maxsize=1024)  # a new statement is compared with many known ones
def _denied_times(new: str) -> tuple[dict[str, frozenset[str]], ...]:
    """Return the times that a statement denies, by their types, for each language whose words of denial it has."""
    plain = expanded(new)
    found = (phrases(code).corrections["denied"].search(plain) for code in LANGUAGES)
    return tuple(times for denied in found if denied and (times := moments_of(denied.group("old"))))


def amended(old: str, correction: Correction) -> str:
    """Return the old statement with the denied value replaced by the new value.

    If the denied value is unknown or does not occur exactly once, nothing is replaced, and the correction is appended.
    """
    if correction.old is not None:
        swapped, count = re.subn(rf"(?<!\w){re.escape(correction.old)}(?!\w)", lambda _: correction.new, old, flags=re.IGNORECASE)
        if count == 1:
            return swapped
    return f"{one_line(old).rstrip('.')} (corrected: {correction.new})"


def _is_bare(before: str, language: str) -> bool:
    """Return True if the text before the value consists only of words of correction, such as "no, sorry"."""
    marks = phrases(language).corrections["marks"]
    pieces = (piece.strip() for piece in re.split(r"[,.;:!]\s*", before))
    return all(marks.match(f"{piece},") for piece in pieces if piece)


def _ends(old: Slot, new: Slot) -> bool:
    """Return True if the old slot is no longer true because of the new slot, which states that something ended."""
    if new.attribute == "*":
        return bool(new.value) and _tokens(new.value) == _tokens(old.value)
    if "does" in {new.attribute, old.attribute}:
        return old.attribute == new.attribute and _same_activity(old.value, new.value)
    if new.attribute.startswith(_TOOL_ATTRIBUTES) and old.attribute.startswith(_TOOL_ATTRIBUTES):
        same_thing = old.attribute.split(" ")[-1] == new.attribute.split(" ")[-1]
        return _tokens(new.value) == _tokens(old.value) if new.value else same_thing
    if old.attribute != new.attribute:
        named = new.attribute.startswith("name of ") and old.attribute.startswith("name of ")
        return named and set(new.attribute.split()) <= set(old.attribute.split())
    return _ends_value(old, new) if new.value else old.single or old.attribute == "pet"


def _ends_value(old: Slot, new: Slot) -> bool:
    """Return True if the end of the value in the new slot also ends the value in the old slot.

    The two values need not be equal. The end of "car" also ends "red car". For most attributes, the end of the longer value
    also ends the shorter value. This does not apply to a home, a pet or a possession: the end of "red car" does not end
    "car".
    """
    before, after = _tokens(old.value), _tokens(new.value)
    return after <= before or (before <= after and old.attribute not in {"pet", "owned", "residence"})


def _same_activity(old: str, new: str) -> bool:
    """Return True if two activities are the same, even if one of them lacks the verb: "drink coffee" and "coffee"."""
    before, after = old.split(), new.split()
    return bool(before and after) and (before == after or before[1:] == after or before == after[1:])


def _has_parted(old: Slot, new: Slot) -> bool:
    """Return True if the new slot says that the user has parted from the partner that the old slot names or is about."""
    role, _, name = old.subject.partition(":")
    if role != "partner" or new.attribute != "relationship" or not new.ended or new.subject != USER:
        return False
    name = old.value if old.attribute == "name" else name
    return not new.value or _tokens(new.value) == _tokens(name)


def same_subject(old: Slot, new: Slot) -> bool:
    """Return True if two slots have the same subject, even if only one of them has the subject's name."""
    if old.subject == new.subject:
        return True
    (role, _, name), (other_role, _, other_name) = old.subject.partition(":"), new.subject.partition(":")
    if USER in {role, other_role}:
        return False
    if name and other_name:
        return name == other_name and role == other_role
    if role == other_role:
        return role in _ONE_OF_A_KIND or new.changed
    return name == new.subject or other_name == old.subject


def _same_attribute(old: Slot, new: Slot) -> bool:
    """Return True if the new slot is about the same attribute as the old slot.

    Attributes with different names count as the same in three cases. First, a new opinion of coffee also covers an old
    opinion of coffee at night. Second, if the user has moved to another home, town and dwelling count as one attribute.
    Third, if an appointment has been moved to another time, the new statement can name the appointment more briefly or more
    fully than the old one.
    """
    if old.attribute == new.attribute or old.attribute.split(" / ")[0] == new.attribute:
        return True
    if new.changed and {old.attribute, new.attribute} == {"dwelling", "residence"}:
        return True
    if not (old.attribute.startswith("when ") and new.attribute.startswith("when ") and new.changed):
        return False
    before, after = set(old.attribute.split()), set(new.attribute.split())
    return before <= after or after <= before


def _opposed(old: str, new: str) -> bool:
    """Return True if two preferences are at opposite ends of one scale, such as "short answers" and "detailed answers"."""
    sides = shared_words().sides
    before = dict(sides[word] for word in _TOKEN.findall(old) if word in sides)
    after = dict(sides[word] for word in _TOKEN.findall(new) if word in sides)
    return any(before[scale] != after[scale] for scale in before.keys() & after.keys())


def _contains_the_other(old: Slot, new: Slot) -> bool:
    """Return True if one of two homes can contain the other, as a country contains a town. Both statements can then be true.

    This is the case if exactly one of the homes is a country or region.
    """
    if old.attribute != "residence":
        return False
    broad = shared_words().broad_places
    return (old.value in broad) != (new.value in broad)


def _tokens(value: str) -> frozenset[str]:
    words = (re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word) for word in _TOKEN.findall(fold(value)))
    synonyms = shared_words().synonyms
    return frozenset(synonyms.get(word, word) for word in words if word not in _FILLER_WORDS) or numbers(value)
