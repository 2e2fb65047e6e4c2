"""Decide whether a memory from work on a project belongs to the project or to the user.

Identity and standing preferences belong to the user, so that they are known in every project: "I live in Lyon", "I
prefer short answers", "call me Lu". Everything else belongs to the project: decisions, facts about the code, and rules
for it. In doubt, a memory belongs to the project, so that no memory about one project appears in another.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from holdfast.errors import ModelError
from holdfast.learning.changes.slots import slots_of
from holdfast.protocols.sentence_reader import Area, Reading, SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import detect_language
from holdfast.types import Put

PROJECT: Final = "project"
"""Metadata key of a session. The value is the name of the app that represents the session's project."""
_LANGUAGES: Final = ("en", "es")
_LIFE: Final[frozenset[Area]] = frozenset({"identity", "health", "family", "home", "possession", "preference", "event", "plan"})
"""Areas of life. A decision in one of these areas is about the user and not about a project."""
_MIN_LASTING: Final = 0.5
"""Minimum probability, from the sentence reader, that a first-person sentence about the user is worth keeping.

A sentence with a lower probability is about the work: "I get a 500 when I click save".
"""
_MIN_LIFE: Final = 0.8
"""Minimum probability, from the sentence reader, that a decision about the user's life is worth keeping.

A decision with a lower probability belongs to the project. Decisions about code reach at most 0.6.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The regular expressions of one language that decide whether a memory is about the user or about a project."""

    project: re.Pattern[str]
    plural: re.Pattern[str]
    singular: re.Pattern[str]
    family: re.Pattern[str]
    manner: re.Pattern[str]
    passing: re.Pattern[str]
    narrator: re.Pattern[str]


def placed(puts: Sequence[Put], *, project: str | None, reader: SentenceReader | None = None) -> list[Put]:
    """Return the new memories of a session. Memories about the user are moved out of the project.

    ``project`` is the app of the project, or None if the session belongs to no project. A memory about the user gets a
    scope without the app, so that it applies in every project. The sentence reader distinguishes decisions about the
    user's life ("I decided to move to Berlin") from decisions about the project.
    """
    if project is None:
        return list(puts)
    return [
        replace(put, scope=replace(put.scope, app=None))
        if put.scope.app == project
        and put.scope.user is not None
        and belongs_to_user(put.text, kind=put.kind, key=put.key, reader=reader)
        else put
        for put in puts
    ]


def belongs_to_user(
    text: str,
    *,
    kind: str | None = None,
    key: str | None = None,
    language: str | None = None,
    reader: SentenceReader | None = None,
) -> bool:
    """Return True if a text is about the user's identity or life, or about a preference that applies in every project."""
    words = _words(language or detect_language(text) or "")
    folded = " ".join(fold(text).split())
    narrated = words.narrator.match(folded)
    shared = words.plural.search(folded) and not words.family.search(folded)
    if shared or words.project.search(folded) or words.passing.match(folded):
        return False
    if words.manner.match(folded):
        return True
    first_person = bool(narrated or words.singular.search(folded) or words.family.search(folded))
    slots = [slot for slot in slots_of(text, key=key) if _identity().fullmatch(slot.attribute)]
    if slots and (first_person or key is not None):
        return True
    reading = _read(text, reader)
    if kind == "decision":
        return reading is not None and reading.area in _LIFE and reading.keep >= _MIN_LIFE
    passing = reading is not None and (reading.area == "other" or reading.keep < _MIN_LASTING)
    if passing and key is None:  # "I get a 500 when I click save"
        return bool(narrated)
    return first_person or (key is not None and _personal_keys().fullmatch(fold(key)) is not None)


def starts_with_project(text: str) -> bool:
    """Return True if a statement begins by naming the project or a part of it, such as "this repo uses Bazel"."""
    return _words(detect_language(text) or "").project.match(" ".join(fold(text).split())) is not None


def _read(text: str, reader: SentenceReader | None) -> Reading | None:
    """Analyze a text with the sentence reader and return the result.

    Return None if there is no reader, or if it cannot be used.
    """
    try:
        return None if reader is None else reader.read(text)
    except ModelError:
        return None


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((resources.files("holdfast.learning") / "words" / "placement.toml").read_text("utf-8"))


@cache
def _identity() -> re.Pattern[str]:
    return regex(_joined(_table()["identity"]))


@cache
def _personal_keys() -> re.Pattern[str]:
    return regex(_joined(_table()["personal_keys"]))


@cache
def _words(language: str) -> _Words:
    """Return the regular expressions of a language. If the language is unknown, they match the words of all languages."""
    tables = [_table()[each] for each in ([language] if language in _LANGUAGES else _LANGUAGES)]
    patterns = {name: "|".join(_joined(table[name]) for table in tables) for name in tables[0]}
    return _Words(**{name: regex(rf"\b(?:{pattern})\b") for name, pattern in patterns.items()})


def _joined(pattern: str) -> str:
    """Join the lines of a pattern that is written on several lines."""
    return "".join(line.rstrip() for line in pattern.splitlines())
