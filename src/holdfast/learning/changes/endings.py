"""Detect endings of things that fill no slot (a known attribute): "cancelled HelloFresh", "ya no juego al pádel".

Statements are compared by their terms. An ending supersedes an old statement if three conditions hold. Both statements
are about the same person. The old statement contains all terms of the ended thing. The type of ending matches the type
of statement: selling ends owning, and finishing ends an activity in progress, but neither ends a taste, a job or a
home.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from holdfast.learning.changes.phrases import LANGUAGES, SlotPhrases, accent_free, phrases
from holdfast.learning.changes.slot_clauses import USER, SlotClause, clauses_of
from holdfast.learning.changes.wording import content_words, meaning
from holdfast.runtime.regex import regex
from holdfast.text.language import detect_language

_PLURAL: Final = regex(
    r"\b(?:two|three|four|five|six|several|many|some|[2-9]|dos|tres|cuatro|cinco|seis|vari[oa]s|algun[oa]s)\b|\b(?:and|y|e)\b",
    re.IGNORECASE,
)
_PLACE: Final = regex(r"\b(?:at|in|for|with|en|con|para)\s+([^,.;]+)", re.IGNORECASE)
_TAIL: Final = regex(r"(?<=\w) (?:in|on|at|en|al) (?:my |the |our |mi |el |la |los |las )?\w+", re.IGNORECASE)
_HYPHEN: Final = "z2dz"
"""Text that stands for a hyphen in a stem. With it, "sugar-free" is not mistaken for a longer form of "sugar"."""
_BOTH: Final = regex(r"\b(?:all|both|the (?:two|three)|todos|todas|ambos|ambas|l[oa]s (?:dos|tres))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePhrases:
    """The patterns that recognize, in one language, that something ended or changed."""

    endings: Mapping[str, tuple[re.Pattern[str], ...]]
    verbs: Mapping[str, re.Pattern[str]]
    words: Mapping[str, re.Pattern[str]]
    parts: tuple[re.Pattern[str], ...]
    """Patterns for parts of a day or week. Each pattern matches all names of one part, such as "afternoon" and "lunch"."""
    generic: frozenset[str]
    """Stems of nouns too general to identify a thing, such as course, subscription or meeting."""
    schedule: frozenset[str]
    """Stems that are about a time or an amount, not about a thing, such as planned, moved or raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """An activity or state that a clause says is over, such as playing tennis in "I stopped playing tennis on Sundays"."""

    subject: str | None
    sort: str
    verb: str
    """Verb of the activity that stopped, as written: "playing" in "I stopped playing tennis".

    Empty if only a thing is named, as in "I gave up the ukulele".
    """
    things: frozenset[str]
    limit: frozenset[str]
    """Terms that restrict the ending, such as "night" in "stopped drinking coffee at night"."""
    all_of_them: bool


@lru_cache(maxsize=len(LANGUAGES))
def change_phrases(language: str) -> ChangePhrases:
    """Return the patterns of a language, which must be one of ``LANGUAGES``."""
    file = resources.files("holdfast.learning") / "words" / f"slots_changes_{language}.toml"
    table = tomllib.loads(file.read_text("utf-8"))
    words: dict[str, str] = {name: text for name, text in table["words"].items() if isinstance(text, str)}
    return ChangePhrases(
        endings={sort: tuple(map(_compiled, patterns)) for sort, patterns in table["endings"].items()},
        verbs={name: _compiled(text) for name, text in table["verbs"].items()},
        words={name: _compiled(words[name]) for name in ("limit", "changed", "moment", "since", "turned")}
        | {name: _compiled(rf"\b(?:{words[name]})\b") for name in ("numbers",)}
        | {"units": _compiled(rf"(?P<n>\d+(?:[.,]\d+)?)\s*(?P<u>(?:{words['units']})(?!\w))?")},
        parts=tuple(_compiled(rf"\b(?:{names})\b") for names in table["words"]["parts"]),
        generic=_stems(words["generic"], language),
        schedule=_stems(words["schedule"], language),
    )


def languages_of(old: str, new: str, language: str | None) -> list[str]:
    """Return the languages to use for reading two texts: the given language, plus the language detected in each text.

    If none of these languages is known, return all supported languages.
    """
    found = [code for code in (language, detect_language(old), detect_language(new)) if code in LANGUAGES]
    return list(dict.fromkeys(found)) or list(LANGUAGES)


def ends(old: str, new: str, language: str | None = None) -> bool:
    """Return True if the new statement says that something in the old statement has ended."""
    for code in languages_of(old, new, language):
        endings = list(endings_in(new, code))
        if endings and any(
            _is_over(clause, ending, code) for clause in clauses_of(old, phrases(code), plans=True) for ending in endings
        ):
            return True
    return False


def endings_in(text: str, language: str) -> Iterator[Ending]:
    """Yield each activity, state or thing that a text says is over."""
    words, changes = phrases(language), change_phrases(language)
    for clause in clauses_of(text, words):
        if clause.cues & {"temporary", "past"} and "ended" not in clause.cues:
            continue
        if clause.cues & {"ended", "not"}:
            yield from _negated_endings(clause, words, changes)
            continue
        for sort, patterns in changes.endings.items():
            found = next((match for pattern in patterns if (match := pattern.match(clause.predicate))), None)
            if found:
                yield from _endings(clause, sort, found.group("o"), words, changes)


def is_limited(predicate: str, language: str) -> bool:
    """Return True if only a part of an activity has ended, as in "stopped drinking coffee after six".

    ``predicate`` is the clause without its subject.
    """
    return _limit_in(predicate, "stop", change_phrases(language)) is not None


def _limit_in(predicate: str, sort: str, changes: ChangePhrases) -> re.Match[str] | None:
    predicate = predicate.split(",", maxsplit=1)[0]
    narrowed = changes.words["limit"].search(predicate)
    tail = _TAIL.search(predicate) if sort == "stop" and narrowed is None else None
    return narrowed or (tail if tail and not changes.words["since"].search(tail.group(0)) else None)


def _negated_endings(clause: SlotClause, words: SlotPhrases, changes: ChangePhrases) -> Iterator[Ending]:
    """Yield the ending stated by a negative clause: "I no longer volunteer", "ya no estoy en el colegio"."""
    place = changes.verbs["place"].match(clause.predicate)
    if place:
        if "ended" in clause.cues:
            yield from _endings(clause, "left", clause.predicate[place.end() :], words, changes)
        return
    yield from _endings(clause, "stop", clause.predicate, words, changes)


def _endings(clause: SlotClause, sort: str, predicate: str, words: SlotPhrases, changes: ChangePhrases) -> Iterator[Ending]:
    end = words.clauses["stop"].search(predicate)
    whole = predicate[: end.start()] if end else predicate
    limit = _limit_in(predicate, sort, changes)
    verb, rest = _verb_of(whole, sort, clause, changes)
    head = words.clauses["adverbials"].sub("", rest)
    things = meaning(head, words.language) - changes.generic or meaning(rest, words.language) - changes.generic
    if things or verb:
        narrowed = meaning(limit.group(0), words.language) or frozenset({limit.group(0).casefold()}) if limit else frozenset()
        yield Ending(
            subject=clause.subject,
            sort=sort,
            verb=verb,
            things=things,
            limit=narrowed - things,
            all_of_them=bool(_BOTH.search(predicate)),
        )


def _verb_of(predicate: str, sort: str, clause: SlotClause, changes: ChangePhrases) -> tuple[str, str]:
    """Split the ended activity into its verb and the rest: "playing tennis" into "playing" and "tennis".

    ``predicate`` describes the activity, and ``sort`` is the sort of ending. The verb is empty if only a thing is
    named, such as "the ukulele", or if ``sort`` is not ``stop``.
    """
    if sort != "stop":
        return "", predicate
    if predicate.casefold().startswith("no "):
        return "", predicate[3:]
    plain = changes.verbs["auxiliary"].sub("", predicate, count=1) if changes.verbs["auxiliary"].match(predicate) else predicate
    verb, _, rest = plain.partition(" ")
    is_verb = clause.cues & {"ended", "not"} or changes.verbs["light"].match(plain) or re.search(r"(?:ing|[aei]r)$", verb)
    return (verb, rest) if is_verb else ("", predicate)


def _is_over(old: SlotClause, ending: Ending, language: str) -> bool:
    changes = change_phrases(language)
    if old.cues & {"past", "ended", "not"} or ending.subject != old.subject or old.subject is None:
        return False
    if any(pattern.match(old.predicate) for patterns in changes.endings.values() for pattern in patterns):
        return False  # the old clause is an ending itself
    terms = meaning(old.predicate, language)
    if not _contains(terms, ending.things) or not _contains(terms, ending.limit) or not _can_end(old, ending, changes, language):
        return False
    if ending.sort == "stop" and ending.things and not _is_head_noun(old, ending, changes, language):
        return False
    return not _PLURAL.search(old.predicate) or ending.all_of_them or ending.sort in {"left", "stop"}


def _is_head_noun(old: SlotClause, ending: Ending, changes: ChangePhrases, language: str) -> bool:
    """Return True if ``ending`` is about the main noun of the old clause, such as "cake" in "chocolate cake".

    Also return True if the old clause names only one thing, or if its main noun is a generic word.
    """
    words = phrases(language)
    liked = changes.verbs["like"].match(old.predicate)
    predicate = old.predicate[liked.end() :] if liked else old.predicate.partition(" ")[2]
    head = words.clauses["adverbials"].sub("", words.clauses["stop"].split(predicate, maxsplit=1)[0])
    named = [word for each in head.split() for word in meaning(each, language)]
    if len(named) < 2:
        return True
    head_noun = named[0] if language == "es" else named[-1]
    return head_noun in changes.generic or _contains(ending.things | meaning(ending.verb, language), frozenset({head_noun}))


def _can_end(old: SlotClause, ending: Ending, changes: ChangePhrases, language: str) -> bool:
    """Return True if this type of ending can make this type of statement outdated. Selling ends owning, but not liking."""
    predicate, is_a = old.predicate, changes.verbs
    if is_a["like"].match(predicate):
        return (
            ending.sort == "stop"
            and bool(ending.things)
            and bool(is_a["consume"].match(ending.verb) or _same_verb(old, ending, changes, language))
        )
    same = _same_verb(old, ending, changes, language)
    if is_a["protected"].match(predicate) or old.subject != USER:
        return bool(ending.things) and (
            same or ending.sort == "left" or (ending.sort == "leave" and _is_place_left(old, ending, language))
        )
    return _can_end_own(old, ending, changes, language, same=same) if ending.things else same and len(predicate.split()) <= 4


def _can_end_own(old: SlotClause, ending: Ending, changes: ChangePhrases, language: str, *, same: bool) -> bool:
    """Return True if this type of ending can make a statement about the user's things or activities outdated.

    ``same`` is True if the old clause and the ending use the same verb.
    """
    predicate, is_a = old.predicate, changes.verbs
    owned, in_progress = bool(is_a["have"].match(predicate)), bool(is_a["progress"].match(predicate))
    if is_a["be"].match(predicate) and not owned and not in_progress:
        return ending.sort in {"left", "gone"} or same or (ending.sort == "leave" and _is_place_left(old, ending, language))
    if ending.sort == "stop" and ending.verb:
        return same or (bool(is_a["light"].match(ending.verb)) and bool(in_progress or is_a["light"].match(predicate)))
    if ending.sort == "finish":
        return in_progress
    return ending.sort != "sell" or owned or bool(re.match(r"(?:my|our|the|mi|el|la|nuestr[oa])\b", predicate, re.IGNORECASE))


def _is_place_left(old: SlotClause, ending: Ending, language: str) -> bool:
    """Return True if ``ending`` is about a place or group that the old clause names.

    For example, the old clause "I work at the hotel" names the hotel, and "I sing with the choir" names the choir.
    """
    places = _PLACE.findall(old.predicate)
    return any(_contains(meaning(place, language), ending.things) for place in places)


def _same_verb(old: SlotClause, ending: Ending, changes: ChangePhrases, language: str) -> bool:
    if not ending.verb:
        return False
    plain = (
        changes.verbs["auxiliary"].sub("", old.predicate, count=1)
        if changes.verbs["auxiliary"].match(old.predicate)
        else old.predicate
    )
    before, after = content_words(plain.split(" ")[0], language), content_words(ending.verb, language)
    if not before or not after:
        return plain.split(" ")[0].casefold() == ending.verb.casefold()
    return _same_word(before[0], after[0]) or not meaning(plain.split(" ")[0], language).isdisjoint(
        meaning(ending.verb, language)
    )


def _contains(terms: frozenset[str], words: frozenset[str]) -> bool:
    return all(any(_same_word(word, term) for term in terms) for word in words)


def _same_word(one: str, other: str) -> bool:
    """Return True if two stems belong to the same word, even if one is a clipped form, such as furgo for furgoneta."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= 4 and longer.startswith(shorter) and _HYPHEN not in longer


def _stems(names: str, language: str) -> frozenset[str]:
    return frozenset(stem for name in names.split("|") for stem in meaning(name, language))


def _compiled(pattern: str) -> re.Pattern[str]:
    return regex(accent_free(pattern), re.IGNORECASE)
