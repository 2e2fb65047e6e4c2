"""Load the people of the everyday benchmark: their conversations, and the questions about them.

Each file in ``people`` was written by a different author. The people of some authors may be used for tuning. The people
of the other authors are for measuring only.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from holdfast.errors import InvalidInput

FOLDER = Path(__file__).parent / "people"
BACKGROUND = Path(__file__).parent / "background"
TUNING = ("a1", "a2", "a3", "a4", "a5", "a7")
"""Authors whose people may be used for tuning. All other authors are for measuring only."""
MISSING_ANSWER = ("near", "off")
"""Tiers of questions that the conversations do not answer.

A ``near`` question is about a known person or thing, but asks for something that was never told. An ``off`` question has
nothing to do with the person.
"""

Half = Literal["tuning", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One conversation of a person with the assistant, and when it began."""

    at: datetime
    turns: Sequence[Turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a person's conversations, asked at a later time."""

    id: str
    text: str
    at: datetime
    tier: str
    """``plain`` if the question shares a word with its answer, ``hard`` if it shares none.

    Questions without an answer have the tier ``near`` or ``off``; see ``MISSING_ANSWER``.
    """
    kind: str
    answer: frozenset[str] = frozenset()
    """Ids of the turns that answer the question. Finding one of them is enough."""
    says: Sequence[Sequence[str]] = ()
    """Words that a text must contain to answer the question. Each entry lists the alternative spellings of one word."""
    related: frozenset[str] = frozenset()
    """Ids of further turns on the same subject. Showing them is not an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person, their conversations, and the questions about them."""

    id: str
    author: str
    language: str
    talks: Sequence[Talk]
    questions: Sequence[Question]


def load_people(folder: Path = FOLDER, *, half: Half | None = None) -> list[Person]:
    """Load the people in a folder, ordered by author.

    ``half`` selects one group of authors: ``tuning``, or ``test`` for measuring. By default, the people of all authors
    are loaded.
    """
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InvalidInput(f"There are no people in {folder}: no file there ends with .json.")
    chosen = [file for file in files if half is None or (file.stem in TUNING) == (half == "tuning")]
    return [person for file in chosen for person in _people(file)]


def load_background(place: Path, language: str) -> list[list[tuple[str, str]]]:
    """Load background conversations as lists of (role, text).

    ``place`` is a file, or a folder with one file per language, such as ``en.json``.
    """
    file = place / f"{language}.json" if place.is_dir() else place
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The background conversations cannot be read from {file}: {error}.") from error
    talks = data["conversations"] if isinstance(data, dict) else data
    return [[(role, text) for role, text in talk if text.strip()] for talk in talks]


def _people(file: Path) -> Iterator[Person]:
    data = json.loads(file.read_text("utf-8"))
    for person in data["people"]:
        asked = [_question(entry, entry["tier"], entry["kind"]) for entry in person["questions"]]
        asked += [_question(entry, kind, kind) for kind in MISSING_ANSWER for entry in person[kind]]
        yield Person(
            id=person["id"],
            author=data["author"],
            language=person["language"],
            talks=[
                Talk(
                    at=_time(talk["at"]),
                    turns=[Turn(id=turn["id"], role=turn["role"], text=turn["text"]) for turn in talk["turns"]],
                )
                for talk in person["sessions"]
            ],
            questions=asked,
        )


def _question(entry: dict[str, Any], tier: str, kind: str) -> Question:
    return Question(
        id=entry["id"],
        text=entry["text"],
        at=_time(entry["at"]),
        tier=tier,
        kind=kind,
        answer=frozenset(entry.get("answer", ())),
        says=[spellings.split("|") for spellings in entry.get("says", ())],
        related=frozenset(entry.get("related", ())),
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
