"""The labelled learning set: what people say, and what of it should be kept. Its form is in ``labelled/README.md``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from holdfast.text.clean import fold
from holdfast.text.language import detect_language
from holdfast.types import Message, MessageOrigin, Scope

Split: TypeAlias = Literal["dev", "test"]

SCOPE = Scope(user="ana")
_BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_ORIGIN_OF_ROLE: Mapping[str, MessageOrigin] = {"assistant": "assistant", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that should be kept: a memory counts as it by the strings it has and has not."""

    has: tuple[str, ...]
    has_not: tuple[str, ...] = ()
    type: str = ""

    def is_in(self, memory: str) -> bool:
        """Tell whether a memory's text says this."""
        said = fold(memory)
        return all(fold(part) in said for part in self.has) and not any(fold(part) in said for part in self.has_not)

    def __str__(self) -> str:
        return " + ".join(self.has)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Some messages, what should be kept of them, and what must not be."""

    id: str
    language: str
    messages: tuple[Message, ...]
    keep: tuple[Item, ...]
    drop: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " / ".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePair:
    """An old statement, a new one, and whether the new one takes the old one's place."""

    id: str
    language: str
    old: str
    new: str
    replaces: bool
    why: str


def utterances(split: Split) -> list[Case]:
    """Return single messages; ``dev`` is there to tune on, ``test`` never is."""
    return cases(split)


def cases(name: str) -> list[Case]:
    """Return the single messages of one file of the set."""
    return [_case(row, [{"role": "user", "text": row["text"]}]) for row in rows(name)]


def conversations() -> list[Case]:
    """Return short conversations."""
    return [_case(row, row["messages"]) for row in rows("conversations")]


def changes() -> list[ChangePair]:
    """Return pairs of an old and a new statement."""
    return [
        ChangePair(
            id=row["id"],
            language=row["language"],
            old=row["old"],
            new=row["new"],
            replaces=row["verdict"] == "replaces",
            why=row["why"],
        )
        for row in rows("changes")
    ]


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one file of the set as they stand."""
    text = (files("holdfast_bench") / "labelled" / f"{name}.jsonl").read_text("utf-8")
    return (json.loads(line) for line in text.split("\n") if line)


def make_case(id: str, said: Sequence[str], keep: Sequence[Item], drop: Sequence[str] = (), language: str = "en") -> Case:
    """Return a case of a user's messages, for sets of one's own."""
    spoken = [{"role": "user", "text": text} for text in said]
    return Case(id=id, language=language, messages=_messages(id, spoken), keep=tuple(keep), drop=tuple(drop))


def _case(row: Mapping[str, Any], spoken: Sequence[Mapping[str, Any]]) -> Case:
    return Case(
        id=row["id"],
        language=row["language"],
        messages=_messages(row["id"], spoken),
        keep=tuple(
            Item(has=tuple(item["has"]), has_not=tuple(item.get("not", ())), type=item.get("type", "")) for item in row["keep"]
        ),
        drop=tuple(row.get("drop", ())),
    )


def _messages(session: str, spoken: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return messages as the engine would have them: the language is what their words show, not the label."""
    return tuple(
        Message(
            id=f"{session}-{number}",
            session=session,
            scope=SCOPE,
            role=each["role"],
            text=each["text"],
            at=_BEGIN + timedelta(minutes=number),
            seq=number,
            origin=each.get("origin", _ORIGIN_OF_ROLE.get(each["role"], "user")),
            action=each.get("action"),
            language=detect_language(each["text"]),
        )
        for number, each in enumerate(spoken, 1)
    )
