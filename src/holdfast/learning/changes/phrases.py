"""Load the patterns that read slots (attributes with values) from texts, for each language. Patterns are compiled once."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final, Literal, TypeAlias

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold

LANGUAGES: Final = ("en", "es")

Sense: TypeAlias = Literal["says", "changes", "past", "ends"]
_SENSES: Final[tuple[Sense, ...]] = ("changes", "ends", "past", "says")
"""What a statement says about a value: it changes, it ends, it was true in the past, or it is true.

Patterns are tried in this order. Those of ``says`` (it is true) come last, because they are the least specific.
"""
_OPTIONAL: Final = {accented: f"[{plain}{accented}]" for accented, plain in zip("áéíóúüñ", "aeiouun", strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeTraits:
    """Properties of an attribute that are the same in every language. ``slots_shared.toml`` describes each property."""

    lasting: bool = False
    vague: bool = False
    explicit: re.Pattern[str] | None = None
    now_is_change: bool = True
    ends_in_part: bool = False
    animals: frozenset[str] = frozenset()
    studies: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRule:
    """A pattern for one phrase that states, changes or ends the value of an attribute."""

    attribute: str
    sense: Sense
    pattern: re.Pattern[str]
    single: bool
    value: str
    """Type of the value in the phrase: place, firm, job, moment, number, scale, exact, activity, or text."""
    fixed: str | None
    denied: str | None
    """Value of a negated statement, such as "dislike" for "I do not like tea". None if negation gives no value."""
    traits: AttributeTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPhrases:
    """The patterns that read slots in one language."""

    language: str
    cues: Mapping[str, re.Pattern[str]]
    clauses: Mapping[str, re.Pattern[str]]
    kin: Mapping[str, str]
    rules: tuple[SlotRule, ...]
    moments: Mapping[str, Any]
    corrections: Mapping[str, re.Pattern[str]]
    events: re.Pattern[str]
    occupations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedWords:
    """Word lists that are used for both languages, English and Spanish."""

    broad_places: frozenset[str]
    synonyms: Mapping[str, str]
    """Maps a word to the first word of its group of synonyms. All words are in lower case and without accents."""
    filler_words: frozenset[str]
    negations: frozenset[str]
    contrast_words: frozenset[str]
    """Function words that change the person, the time or the certainty of a statement, such as "she", "had" or "if"."""
    sides: Mapping[str, tuple[int, int]]
    """Maps a word to a scale of opposites and to its side of that scale: "short" to (0, 0), "long" to (0, 1).

    All words are in lower case and without accents.
    """
    vague_values: frozenset[str]
    definite_values: frozenset[str]


@lru_cache(maxsize=len(LANGUAGES))
def phrases(language: str) -> SlotPhrases:
    """Return the patterns of a language, which must be one of ``LANGUAGES``."""
    table = _read(f"slots_{language}.toml")
    lists: dict[str, str] = table["lists"]
    return SlotPhrases(
        language=language,
        cues={name: _compiled(_bounded(name, text)) for name, text in table["cues"].items()},
        clauses={name: _compiled(text) for name, text in table["clauses"].items()},
        kin=table["kin"],
        rules=tuple(_rules(table["rule"], lists)),
        moments={name: _moment(entry) for name, entry in table["moments"].items()},
        corrections={name: _compiled(text) for name, text in table["corrections"].items()},
        events=_compiled(rf"\b{lists['event']}\b"),
        occupations=accent_free(lists["occ"]),
    )


@lru_cache(maxsize=1)
def shared_words() -> SharedWords:
    """Return the word lists that are used for both languages."""
    table = _read("slots_shared.toml")
    synonyms = {word: group.split()[0] for group in table["synonyms"] for word in group.split()}
    return SharedWords(
        broad_places=frozenset(place.strip() for place in table["broad_places"].split("|")),
        synonyms=synonyms,
        filler_words=frozenset(table["filler_words"].split()),
        negations=frozenset(table["negations"].split()),
        contrast_words=frozenset(table["contrast_words"].split()),
        sides={
            word: (number, side)
            for number, scale in enumerate(table["scales"])
            for side, words in enumerate(scale.split("|"))
            for word in words.split()
        },
        vague_values=frozenset(table["vague"]["values"]),
        definite_values=frozenset(table["vague"]["definite_values"]),
    )


@lru_cache(maxsize=1)
def shared_statuses() -> Mapping[str, str]:
    """Map English and Spanish words to the personal status that they mean, such as "casad" (from "casado") to "married".

    The words are in lower case, without accents, and can lack their ending.
    """
    return {word: status for status, words in _read("slots_shared.toml")["statuses"].items() for word in words.split("|")}


@lru_cache(maxsize=1)
def shared_kinds() -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return groups of interchangeable things, such as browsers. Each thing is a tuple of its names."""
    kinds = _read("slots_shared.toml")["kinds"]
    return tuple(tuple(tuple(thing.split("=")) for thing in kind.split("|")) for kind in kinds)


@lru_cache(maxsize=1)
def _traits() -> Mapping[str, AttributeTraits]:
    """Map each attribute that has an entry in the shared table to its traits."""
    return {attribute: _trait(entry) for attribute, entry in _read("slots_shared.toml")["attributes"].items()}


def _trait(entry: Mapping[str, Any]) -> AttributeTraits:
    patterns = {name: regex(entry[name], re.IGNORECASE) for name in ("explicit", "studies") if name in entry}
    return AttributeTraits(**{**entry, **patterns, "animals": frozenset(entry.get("animals", ()))})


def accent_free(pattern: str) -> str:
    """Return a pattern in which each accented letter also matches the letter without its accent."""
    inside, out = False, []
    for at, sign in enumerate(pattern):
        if sign in "[]" and (at == 0 or pattern[at - 1] != "\\"):
            inside = sign == "["
        out.append(sign if inside else _OPTIONAL.get(sign, sign))
    return "".join(out)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("holdfast.learning") / "words" / name).read_text("utf-8"))


def _compiled(pattern: str) -> re.Pattern[str]:
    return regex(accent_free(pattern), re.IGNORECASE)


def _bounded(name: str, text: str) -> str:
    """Return the pattern of a cue (words such as "no longer"), extended so that it matches whole words only.

    The patterns of the cues ``unreal`` and ``reported`` contain their own word boundaries and are returned unchanged.
    """
    return text if name in {"unreal", "reported"} else rf"(?<![\w'-])(?:{text})(?![\w-])"


def _moment(entry: str | list[str]) -> re.Pattern[str] | list[re.Pattern[str]]:
    return _compiled(entry) if isinstance(entry, str) else [_compiled(rf"\b(?:{names})\b") for names in entry]


def _rules(entries: list[dict[str, Any]], lists: Mapping[str, str]) -> Iterator[SlotRule]:
    for sense in _SENSES:
        for entry in entries:
            for text in entry.get(sense, ()):
                yield SlotRule(
                    attribute=entry["attribute"],
                    sense=sense,
                    pattern=_compiled(_filled(text, lists)),
                    single=entry.get("single", True),
                    value=entry.get("value", "text"),
                    fixed=entry.get("fixed"),
                    denied=entry.get("denied"),
                    traits=_traits().get(entry["attribute"], AttributeTraits()),
                )


def _filled(text: str, lists: Mapping[str, str]) -> str:
    text = text.replace("{own} ", "(?:" + lists["own"] + " )?")
    for name, choice in lists.items():
        text = text.replace("{" + name + "}", choice)
    return text.replace("{v}", "(?P<v>.+)")


def folded(text: str) -> str:
    """Return a text in lower case, without accents, and with single spaces, so that it can be compared."""
    return " ".join(fold(text).split())
