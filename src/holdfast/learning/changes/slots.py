"""Read slots (subject, attribute and value) from statements by rules, in English and Spanish.

"I live in Portland", "The user lives in Portland" and ``location: Portland`` all fill the slot *residence* of the user.
Two statements that fill the same slot are about the same thing, so the newer statement can supersede the older one. A
statement that no rule matches has no slot and supersedes nothing.
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
from holdfast.learning.changes.wording import content_words, meaning, spoken_words
from holdfast.runtime.regex import regex
from holdfast.text.language import detect_language

_LABELLED: Final = regex(r"(?P<key>[\w][\w -]{1,30}):\s+(?P<text>.+)", re.DOTALL)
_MAX_CHARACTERS: Final = 1000
_MAX_VALUE_WORDS: Final = 6
"""Maximum number of words of a value without a verb, such as "fintech startup in Buenos Aires". A longer text is a sentence."""
_JOB_ATTRIBUTES: Final = frozenset({"employer", "occupation"})
_WAS: Final = regex(r"(?:\w+ )*?(?:was|were|had been|era|eran|estaba|fue)\b", re.IGNORECASE)
_IN_PLACE: Final = regex(r".*\b(?:in|en)\s+(?=\S)")
_CAPITALIZED_WORD: Final = regex(r"\s[A-Z]")
_NO_FIRM: Final = regex(r"(?:home|casa|night|noche|myself|me|it|this|that|eso|esto|night|least|first|fun)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One attribute of one subject, with a value."""

    subject: str
    """``user``, a role (with a name if one is given: ``sister:ana``), or a name."""
    attribute: str
    value: str
    """Value in lower case, without accents. Empty if the text says that something ended but does not name it."""
    single: bool
    """True if the subject can have only one value of the attribute at a time."""
    ended: bool = False
    """True if the text says that the value is no longer true."""
    past: bool = False
    """True if the text is about an earlier time, not about the present."""
    changed: bool = False
    """True if the text states a change: "moved to", "my new", "now"."""
    vague: bool = False
    """True if the value is unspecific ("a startup"), so that another value may mean the same thing."""


def slots_of(text: str, *, key: str | None = None, language: str | None = None) -> list[Slot]:
    """Return the slots (subject, attribute and value) that a text fills. The list is empty if the text is too long to be read.

    If the text is only a value, ``key`` names its attribute.
    """
    if len(text) > _MAX_CHARACTERS:
        return []
    return list(_cached_slots(text, key, language))


@lru_cache(maxsize=4096)
def _cached_slots(text: str, key: str | None, language: str | None) -> tuple[Slot, ...]:
    reported, text, _ = spoken_words(text)  # a statement that could not be put in the third person
    labelled = _LABELLED.fullmatch(text.strip()) if key is None else None
    if labelled and attribute_of(labelled.group("key")):
        key, text = labelled.group("key"), labelled.group("text")
    readings = [_reading(text, code) for code in _candidate_languages(text, language)]
    best = max(readings, key=_rating)
    attribute = attribute_of(key) if key and not reported and _is_bare(text) else None
    if attribute and _rating(best) < 2:
        return tuple(_bare_value(attribute, text))
    return tuple(best)


def _rating(found: Sequence[Slot]) -> int:
    """Rate the slots found in one language. A text is read in several languages, and the best rating wins.

    The rating is 2 if any slot has a known attribute, 1 if any slot is an activity that ended, otherwise 0.
    """
    return max(((2 if slot.attribute != "does" else 1 if slot.ended else 0) for slot in found), default=0)


def _reading(text: str, language: str) -> list[Slot]:
    words = phrases(language)
    found = [slot for clause in clauses_of(text, words) for slot in _clause_slots(clause, words)]
    return _with_text_cues(found, expanded(text), words)


def _with_text_cues(found: list[Slot], text: str, words: SlotPhrases) -> list[Slot]:
    """Return the slots of a text, adjusted by phrases that can be anywhere in the text.

    If the text says that someone moved, the current homes in the text are marked as changed.

    The text can also say that the user left a job and changed to another, such as "I left Acme, I work at Globex now". Then
    the old employer and the old occupation both end. If the text names only the new employer, an additional slot ends the old
    occupation. If the text names only the new occupation, an additional slot ends the old employer.
    """
    if words.cues["moving"].search(text):
        found = [_as_changed(slot) if slot.attribute in {"residence", "dwelling"} else slot for slot in found]
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


def _as_changed(slot: Slot) -> Slot:
    return slot if slot.ended or slot.past else replace(slot, changed=True)


def _candidate_languages(text: str, language: str | None) -> Sequence[str]:
    """Return the languages to try, the most likely first.

    For a short text, all supported languages are returned, because the language of a short text cannot be detected
    reliably.
    """
    known = [code for code in (language, detect_language(text)) if code in LANGUAGES]
    return tuple(dict.fromkeys((*known, *LANGUAGES))) if not known or len(text) < 200 else tuple(dict.fromkeys(known))


def _clause_slots(clause: SlotClause, words: SlotPhrases) -> Iterator[Slot]:
    if clause.subject is None:
        yield from (slot for slot in _matches(clause, words) if slot.attribute.startswith("when "))
        return
    found = list(_matches(clause, words))
    yield from found
    if clause.denied:
        yield Slot(subject=clause.subject, attribute="*", value=folded(clause.denied), single=False, ended=True)
    if not found and clause.subject == USER:
        activity = _activity(clause.predicate, words)
        if activity:
            ended = _is_negative(clause)
            if ended and is_limited(clause.predicate, words.language):
                return
            yield Slot(subject=USER, attribute="does", value=activity, single=False, ended=ended, past="past" in clause.cues)


def _matches(clause: SlotClause, words: SlotPhrases) -> Iterator[Slot]:
    """Yield the slots that rules read from a clause, at most one per attribute."""
    seen: set[str] = set()
    for rule in words.rules:
        if rule.attribute in seen:
            continue
        match = rule.pattern.match(clause.predicate)
        slot = _slot(clause, rule, match, words) if match else None
        if slot is not None and slot.attribute not in seen:
            seen |= {rule.attribute, slot.attribute}
            yield slot


def _slot(clause: SlotClause, rule: SlotRule, match: re.Match[str], words: SlotPhrases) -> Slot | None:
    """Return the slot that a matching rule reads from a clause.

    Return None if the rule must not be applied to this clause, or if the clause states no usable value or attribute.
    """
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
    """Return True if a rule that matches a clause can be applied to the clause.

    A rule about a change, an ending or the past cannot be applied to a negative clause. Some rules about an ending
    cannot be applied if the ending is only partial, as in "stopped drinking coffee after six".
    """
    if rule.sense != "says" and _is_negative(clause):
        return False
    partial = rule.sense == "ends" and rule.traits.ends_in_part and is_limited(clause.predicate, words.language)
    return not partial


def _is_negative(clause: SlotClause) -> bool:
    return bool(clause.cues & {"ended", "not"})


def _fixed_value(rule: SlotRule, clause: SlotClause) -> str | None:
    """Return the rule's fixed value, such as "like", or None if it has none.

    If the clause is negated and the rule has a value for negations, such as "dislike", return that value.
    """
    return rule.denied if rule.denied is not None and _is_negative(clause) else rule.fixed


def _tense(clause: SlotClause, rule: SlotRule, match: re.Match[str]) -> tuple[bool, bool]:
    """Return two flags: whether the value has ended, and whether the clause is about the past.

    ``match`` is the match of the rule in the clause.
    """
    if rule.sense != "says":
        return rule.sense == "ends", rule.sense == "past"
    in_past = "past" in clause.cues
    before_value = match.group(0)[: match.start("v")] if match.groupdict().get("v") else match.group(0)
    was = rule.value != "moment" and _WAS.match(before_value) is not None
    return in_past or (rule.denied is None and _is_negative(clause)), in_past or was


def _cues_change(clause: SlotClause, rule: SlotRule) -> bool:
    """Return True if a cue word of the clause states a change.

    "Now" states a change for some attributes. "No longer" states a change if the rule has a value for negations: "I no
    longer like tea" changes "like" to "dislike".
    """
    by_now = "now" in clause.cues and rule.traits.now_is_change
    return by_now or (rule.denied is not None and "ended" in clause.cues)


def _is_vague(rule: SlotRule, value: str, match: re.Match[str], words: SlotPhrases) -> bool:
    """Return True if the value is unspecific, such as "a car". ``match`` is the match of the rule that found the value.

    Another value, such as "Toyota", does not contradict an unspecific value: both can mean the same thing.
    """
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
    """Return a copy of a slot for an occupation such as "law student". The attribute of the copy is ``studies``.

    A person can study several things. Therefore a new value of ``studies`` does not replace the old value.
    """
    return replace(slot, attribute="studies", single=False, changed=_cues_change(clause, rule))


def _of_owner(slot: Slot, rule: SlotRule) -> Slot | None:
    """Convert a slot about the user's pet to a slot about the user.

    For example, "my dog Rex died" is about the dog. The converted slot says that "dog rex" is no longer a pet of the
    user. Return None for a slot about someone else's pet. Return any other slot unchanged.
    """
    if not rule.traits.animals or slot.subject == USER:
        return slot
    if slot.subject.split(":")[0] not in rule.traits.animals:
        return None
    return replace(slot, subject=USER, value=folded(slot.subject.replace(":", " ")))


def _attribute(rule: SlotRule, groups: dict[str, str | None], words: SlotPhrases) -> str | None:
    """Return the attribute of a rule. The placeholder ``{of}`` is replaced with the thing that the text names.

    For example, "favourite {of}" becomes "favourite color". ``groups`` contains the named groups of the rule's regular
    expression. The group ``of`` is the thing. Return None if the attribute needs a thing and the text names none.
    """
    if "{of}" not in rule.attribute:
        return rule.attribute
    about = groups.get("of") or ""
    if rule.attribute.startswith("opinion"):
        return _opinion(rule, about, words)
    about = words.clauses["adverbials"].sub("", _until_stop(about, words)) if rule.attribute.startswith("tool") else about
    of = " ".join(sorted(meaning(about, words.language)))
    if not of and rule.attribute.startswith(("tool", "when", "favourite", "name", "current")):
        return None
    of = of.replace("deadlin", "").strip() or of
    return rule.attribute.replace("{of}", of).strip() or None


def _opinion(rule: SlotRule, about: str, words: SlotPhrases) -> str | None:
    """Return the attribute of an opinion. ``about`` is the thing that the opinion is about.

    Words that restrict the thing are written after a slash: for "coffee with milk", the attribute contains "coffee / milk".
    Return None if ``about`` names no thing.
    """
    about = about.split(",", maxsplit=1)[0]
    narrowed = words.clauses["adverbials"].search(about)
    head = meaning(about[: narrowed.start()] if narrowed else about, words.language)
    tail = meaning(narrowed.group(0), words.language) if narrowed else frozenset()
    of = " ".join(sorted(head)) + (" / " + " ".join(sorted(tail)) if tail else "")
    return rule.attribute.replace("{of}", of) if head else None


def _value(groups: dict[str, str | None], rule: SlotRule, words: SlotPhrases) -> str | None:
    """Return the value that a rule found in a clause, normalized for comparison.

    ``groups`` contains the named groups of the rule's regular expression. The group ``v`` is the value as written. Return
    None if the value is not of the type that the rule requires, such as a number or a place. If there is no value, return
    None, or an empty text if the rule is about an ending.
    """
    raw = groups.get("v") or ""
    if rule.value in {"moment", "scale"}:
        fits = moments_of(raw) or rule.sense == "ends" if rule.value == "moment" else _on_a_scale(raw)
        return folded(raw) if fits else None
    if rule.value in {"exact", "activity"}:
        return folded(raw).rstrip(".") if rule.value == "exact" else _activity(raw, words)
    value = _until_stop(raw, words)
    if rule.value == "place":
        value = _place(value, words)
    wrong = (rule.value == "firm" and _NO_FIRM.match(value)) or (rule.value == "number" and not re.search(r"\d", value))
    if wrong or (not value and rule.sense != "ends"):
        return None
    return _status(folded(_without_article(value, words) + " " + (groups.get("name") or "")))


def _on_a_scale(raw: str) -> bool:
    return any(word in shared_words().sides for word in re.findall(r"[\w-]+", folded(raw)))


def _status(value: str) -> str:
    """Return one name for a status in all languages and genders: "married" for "casado" and "casada".

    Return other values unchanged.
    """
    statuses = shared_statuses()
    return statuses.get(value) or statuses.get(value[:-1]) or value


def _until_stop(value: str, words: SlotPhrases) -> str:
    """Return a value without the words that continue the sentence: "Lyon" for "Lyon because it is cheap"."""
    end = words.clauses["stop"].search(value)
    return (value[: end.start()] if end else value).strip(" ,.\"'“”")


def _place(value: str, words: SlotPhrases) -> str:
    """Return the place name in a description of a home ("Lyon" in "a small flat in Lyon"), or an empty string."""
    if not words.clauses["article"].match(value):
        return value
    inner = _IN_PLACE.match(value)
    return value[inner.end() :] if inner else value if _CAPITALIZED_WORD.search(value) else ""


def _without_article(value: str, words: SlotPhrases) -> str:
    while (match := words.clauses["article"].match(value)) and match.end() < len(value):
        value = value[match.end() :]
    return value


def _activity(predicate: str, words: SlotPhrases) -> str:
    """Return the stemmed words of an activity in order, so that "play tennis on Sundays" and "playing tennis" are equal.

    Return an empty string for mental verbs such as "decide": their content follows in another clause.
    """
    if words.clauses["mental"].match(predicate):
        return ""
    return " ".join(content_words(words.clauses["adverbials"].sub("", _until_stop(predicate, words)), words.language))


def _is_bare(text: str) -> bool:
    """Return True if a text is short enough to be only the value of its key.

    A longer text under a key such as ``work`` is a sentence, which may say anything about work.
    """
    return len(text.split()) <= _MAX_VALUE_WORDS


def _bare_value(attribute: str, text: str) -> Iterator[Slot]:
    """Yield the slot of a text that is only a value. For the attribute "work", the value is an occupation or an employer."""
    value = folded(text)
    if attribute == "work":
        is_role = any(re.search(rf"\b{_occupations(code)}\b", value, re.IGNORECASE) for code in LANGUAGES)
        attribute = "occupation" if is_role else "employer"
    yield Slot(subject=USER, attribute=attribute, value=value, single=True)


def _occupations(language: str) -> str:
    return phrases(language).occupations
