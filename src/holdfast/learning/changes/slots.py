"""What a statement says of whom: subject, attribute and value, read by rules in English and Spanish.

"I live in Portland", "The user lives in Portland" and ``location: Portland`` all fill the slot *residence* of the
user. Slots tell which statements are about the same thing, so that a newer one can take an older one's place.
What the rules do not understand gives no slot, and then nothing is replaced.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.endings import is_limited
from holdfast.learning.changes.keys import attribute_of
from holdfast.learning.changes.moments import moments_of
from holdfast.learning.changes.phrases import LANGUAGES, SlotPhrases, SlotRule, folded, phrases, shared_statuses, shared_words
from holdfast.learning.changes.slot_clauses import USER, SlotClause, clauses_of, expanded
from holdfast.learning.changes.wording import content_words, meaning
from holdfast.text.language import detect_language

_LABELLED: Final = re.compile(r"(?P<key>[\w][\w -]{1,30}):\s+(?P<text>.+)", re.DOTALL)
_MAX_CHARACTERS: Final = 1000
_JOB_ATTRIBUTES: Final = frozenset({"employer", "occupation"})
_WAS: Final = re.compile(r"(?:\w+ )*?(?:was|were|had been|era|eran|estaba|fue)\b", re.IGNORECASE)
_IN_PLACE: Final = re.compile(r".*\b(?:in|en)\s+(?=\S)")
_CAPITALIZED_WORD: Final = re.compile(r"\s[A-Z]")
_NO_FIRM: Final = re.compile(r"(?:home|casa|night|noche|myself|me|it|this|that|eso|esto|night|least|first|fun)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One thing said of one subject."""

    subject: str
    """``user``, a kin word with a name where one is given (``sister:ana``), or a name."""
    attribute: str
    value: str
    """Folded; empty when an ending names none."""
    single: bool
    """The subject has one value of it at a time."""
    ended: bool = False
    """It says that this value no longer holds."""
    past: bool = False
    """It tells of earlier times."""
    changed: bool = False
    """It says in words that something changed: "moved to", "my new", "now"."""
    vague: bool = False
    """The value is not a name of its own ("a startup"), so another value may be the same thing."""


def slots_of(text: str, *, key: str | None = None, language: str | None = None) -> list[Slot]:
    """Return what a text says, as slots; a ``key`` tells what a bare value is. A long text is no one statement: it has none."""
    if len(text) > _MAX_CHARACTERS:
        return []
    return list(_cached_slots(text, key, language))


@lru_cache(maxsize=4096)
def _cached_slots(text: str, key: str | None, language: str | None) -> tuple[Slot, ...]:
    labelled = _LABELLED.fullmatch(text.strip()) if key is None else None
    if labelled and attribute_of(labelled.group("key")):
        key, text = labelled.group("key"), labelled.group("text")
    readings = [_reading(text, code) for code in _plausible(text, language)]
    best = max(readings, key=_understood)
    attribute = attribute_of(key) if key else None
    if attribute and _understood(best) < 2:
        return tuple(_bare(attribute, text))
    return tuple(best)


def _understood(found: Sequence[Slot]) -> int:
    """Return how well a reading went: an unknown deed says little, an ended one more, anything else most."""
    return max(((2 if slot.attribute != "does" else 1 if slot.ended else 0) for slot in found), default=0)


def _reading(text: str, language: str) -> list[Slot]:
    words = phrases(language)
    found = [slot for clause in clauses_of(text, words) for slot in _read(clause, words)]
    return _with_turns(found, expanded(text), words)


def _with_turns(found: list[Slot], text: str, words: SlotPhrases) -> list[Slot]:
    """Return the slots as the whole text has them: who has moved lives where they say, who left a job has the one they name."""
    if words.cues["moving"].search(text):
        found = [_turned(slot) if slot.attribute in {"residence", "dwelling"} else slot for slot in found]
    jobs = [
        slot for slot in found if slot.attribute in _JOB_ATTRIBUTES and slot.subject == USER and not slot.ended and not slot.past
    ]
    if jobs and words.cues["leaving"].search(text) and all(slot.single for slot in jobs):
        found += [
            Slot(subject=USER, attribute=attribute, value="", single=True, ended=True)
            for attribute in ("employer", "occupation")
            if all(slot.attribute != attribute for slot in jobs) and any(slot.changed for slot in jobs)
        ]
    return found


def _turned(slot: Slot) -> Slot:
    return slot if slot.ended or slot.past else replace(slot, changed=True)


def _plausible(text: str, language: str | None) -> Sequence[str]:
    """Return the languages to try, the likelier first; a short note rarely shows which it is in."""
    told = [code for code in (language, detect_language(text)) if code in LANGUAGES]
    return tuple(dict.fromkeys((*told, *LANGUAGES))) if not told or len(text) < 200 else tuple(dict.fromkeys(told))


def _read(clause: SlotClause, words: SlotPhrases) -> Iterator[Slot]:
    if clause.subject is None:
        yield from (slot for slot in _matches(clause, words) if slot.attribute.startswith("when "))
        return
    found = list(_matches(clause, words))
    yield from found
    if clause.denied:
        yield Slot(subject=clause.subject, attribute="*", value=folded(clause.denied), single=False, ended=True)
    if not found and clause.subject == USER:
        deed = _deed(clause.said, words)
        if deed:
            ended = _is_negative(clause)
            if ended and is_limited(clause.said, words.language):
                return
            yield Slot(subject=USER, attribute="does", value=deed, single=False, ended=ended, past="past" in clause.cues)


def _matches(clause: SlotClause, words: SlotPhrases) -> Iterator[Slot]:
    """Yield the slots of a clause, at most one an attribute."""
    seen: set[str] = set()
    for rule in words.rules:
        if rule.attribute in seen:
            continue
        match = rule.pattern.match(clause.said)
        slot = _slot(clause, rule, match, words) if match else None
        if slot is not None and slot.attribute not in seen:
            seen |= {rule.attribute, slot.attribute}
            yield slot


def _slot(clause: SlotClause, rule: SlotRule, match: re.Match[str], words: SlotPhrases) -> Slot | None:
    """Return the slot that a matching rule reads from a clause, or None if the clause does not state it."""
    if not _applies(rule, clause, words):
        return None
    groups = match.groupdict()
    value = _value(groups, rule, words) if rule.fixed is None else _fixed_value(rule, clause)
    attribute = _attribute(rule, groups, words)
    if value is None or attribute is None or (rule.denied is not None and not value):
        return None
    ended, past = _tense(clause, rule, match)
    if rule.traits.lasting and "temporary" in clause.cues and not ended:
        return None
    slot = Slot(
        subject=clause.subject or USER,
        attribute=attribute,
        value=value,
        single=rule.single and "also" not in clause.cues,
        ended=ended,
        past=past,
        changed=rule.sense == "changes" or _cues_change(clause, rule),
        vague=_is_vague(rule, value, match, words),
    )
    return _as_studies(slot, clause, rule) if _is_study(slot, rule) else _of_owner(slot, rule)


def _applies(rule: SlotRule, clause: SlotClause, words: SlotPhrases) -> bool:
    """Return False for a denied change or ending, and for a partial ending of an attribute that can end in part."""
    if rule.sense != "says" and _is_negative(clause):
        return False
    partial = rule.sense == "ends" and rule.traits.ends_in_part and is_limited(clause.said, words.language)
    return not partial


def _is_negative(clause: SlotClause) -> bool:
    return bool(clause.cues & {"ended", "not"})


def _fixed_value(rule: SlotRule, clause: SlotClause) -> str | None:
    """Return the value that the rule itself names; a denied statement has another one where the rule names it."""
    return rule.denied if rule.denied is not None and _is_negative(clause) else rule.fixed


def _tense(clause: SlotClause, rule: SlotRule, match: re.Match[str]) -> tuple[bool, bool]:
    """Return whether the value has ended, and whether the clause speaks of the past."""
    if rule.sense != "says":
        return rule.sense == "ends", rule.sense == "past"
    in_past = "past" in clause.cues
    before_value = match.group(0)[: match.start("v")] if match.groupdict().get("v") else match.group(0)
    was = rule.value != "moment" and _WAS.match(before_value) is not None
    return in_past or (rule.denied is None and _is_negative(clause)), in_past or was


def _cues_change(clause: SlotClause, rule: SlotRule) -> bool:
    """Return True if words around the rule's phrase state a change: "now", or "no longer" with a value of its own."""
    by_now = "now" in clause.cues and rule.traits.now_is_change
    return by_now or (rule.denied is not None and "ended" in clause.cues)


def _is_vague(rule: SlotRule, value: str, match: re.Match[str], words: SlotPhrases) -> bool:
    """Return True if the value names nothing in particular, so that another value may mean the same thing."""
    shared, traits = shared_words(), rule.traits
    if value in shared.vague_values or (traits.vague and value not in shared.definite_values):
        return True
    if traits.explicit is not None and rule.sense == "says":
        return traits.explicit.match(match.group(0)) is None
    raw = match.groupdict().get("v") or ""
    has_article = words.clauses["article"].match(raw) is not None
    return rule.value in {"firm", "place"} and has_article and not _CAPITALIZED_WORD.search(raw)


def _is_study(slot: Slot, rule: SlotRule) -> bool:
    return rule.traits.studies is not None and rule.traits.studies.search(slot.value) is not None


def _as_studies(slot: Slot, clause: SlotClause, rule: SlotRule) -> Slot:
    """Return an occupation such as "law student" as studies: several can hold at once, and a new one replaces none."""
    return replace(slot, attribute="studies", single=False, changed=_cues_change(clause, rule))


def _of_owner(slot: Slot, rule: SlotRule) -> Slot | None:
    """Return what a clause says of the user's animal as a slot of the user; of any other subject it states no pet."""
    if not rule.traits.animals or slot.subject == USER:
        return slot
    if slot.subject.split(":")[0] not in rule.traits.animals:
        return None
    return replace(slot, subject=USER, value=folded(slot.subject.replace(":", " ")))


def _attribute(rule: SlotRule, groups: dict[str, str | None], words: SlotPhrases) -> str | None:
    """Return the rule's attribute with what it is about filled in; None when that says nothing."""
    if "{of}" not in rule.attribute:
        return rule.attribute
    about = groups.get("of") or ""
    if rule.attribute.startswith("opinion"):
        return _opinion(rule, about, words)
    about = words.clauses["deed"].sub("", _cut(about, words)) if rule.attribute.startswith("tool") else about
    of = " ".join(sorted(meaning(about, words.language)))
    if not of and rule.attribute.startswith(("tool", "when", "favourite", "name", "current")):
        return None
    of = of.replace("deadlin", "").strip() or of
    return rule.attribute.replace("{of}", of).strip() or None


def _opinion(rule: SlotRule, about: str, words: SlotPhrases) -> str | None:
    """Name what an opinion is of, and after a slash what narrows it: coffee / milk."""
    about = about.split(",", maxsplit=1)[0]
    narrowed = words.clauses["deed"].search(about)
    head = meaning(about[: narrowed.start()] if narrowed else about, words.language)
    tail = meaning(narrowed.group(0), words.language) if narrowed else frozenset()
    of = " ".join(sorted(head)) + (" / " + " ".join(sorted(tail)) if tail else "")
    return rule.attribute.replace("{of}", of) if head else None


def _value(groups: dict[str, str | None], rule: SlotRule, words: SlotPhrases) -> str | None:
    """Return the value as it is compared, or None when it is not one of the rule's sort."""
    raw = groups.get("v") or ""
    if rule.value in {"moment", "scale"}:
        fits = moments_of(raw) or rule.sense == "ends" if rule.value == "moment" else _on_a_scale(raw)
        return folded(raw) if fits else None
    if rule.value in {"exact", "deed"}:
        return folded(raw).rstrip(".") if rule.value == "exact" else _deed(raw, words)
    value = _cut(raw, words)
    if rule.value == "place":
        value = _place(value, words)
    wrong = (rule.value == "firm" and _NO_FIRM.match(value)) or (rule.value == "number" and not re.search(r"\d", value))
    if wrong or (not value and rule.sense != "ends"):
        return None
    return _status(folded(_without_article(value, words) + " " + (groups.get("name") or "")))


def _on_a_scale(raw: str) -> bool:
    return any(word in shared_words().sides for word in re.findall(r"[\w-]+", folded(raw)))


def _status(value: str) -> str:
    """Return the one name of a status said in either language or gender; other values stay."""
    statuses = shared_statuses()
    return statuses.get(value) or statuses.get(value[:-1]) or value


def _cut(value: str, words: SlotPhrases) -> str:
    """Return a value up to where the sentence goes on."""
    end = words.clauses["stop"].search(value)
    return (value[: end.start()] if end else value).strip(" ,.\"'“”")


def _place(value: str, words: SlotPhrases) -> str:
    """Return the town of "a small flat in Lyon"; a home that names no place is none."""
    if not words.clauses["article"].match(value):
        return value
    inner = _IN_PLACE.match(value)
    return value[inner.end() :] if inner else value if _CAPITALIZED_WORD.search(value) else ""


def _without_article(value: str, words: SlotPhrases) -> str:
    while (match := words.clauses["article"].match(value)) and match.end() < len(value):
        value = value[match.end() :]
    return value


def _deed(said: str, words: SlotPhrases) -> str:
    """Return the words of an activity, stemmed, in order: "play tennis on Sundays" and "playing tennis" are one.

    To decide or to find out is none: what counts there comes after it, and is cut off.
    """
    if words.clauses["mental"].match(said):
        return ""
    return " ".join(content_words(words.clauses["deed"].sub("", _cut(said, words)), words.language))


def _bare(attribute: str, text: str) -> Iterator[Slot]:
    """Yield the slot of a value that stands alone under a key."""
    value = folded(text)
    if attribute == "work":
        is_role = any(re.search(rf"\b{_occupations(code)}\b", value, re.IGNORECASE) for code in LANGUAGES)
        attribute = "occupation" if is_role else "employer"
    yield Slot(subject=USER, attribute=attribute, value=value, single=True)


def _occupations(language: str) -> str:
    return phrases(language).occupations
