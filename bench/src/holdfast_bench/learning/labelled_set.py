"""The labeled learning set: messages, and the memories that should be extracted from them.

Its format is described in ``labelled/README.md``.
"""

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
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_ORIGIN_OF_ROLE: Mapping[str, MessageOrigin] = {"assistant": "assistant", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One expected memory. A text matches if it contains all strings of ``has`` and none of ``has_not``."""

    has: tuple[str, ...]
    has_not: tuple[str, ...] = ()
    type: str = ""

    def is_in(self, memory: str) -> bool:
        """Return True if the text of a memory matches this expected memory."""
        text = fold(memory)
        return all(fold(part) in text for part in self.has) and not any(fold(part) in text for part in self.has_not)

    def __str__(self) -> str:
        return " + ".join(self.has)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Messages, the memories expected from them, and strings that no memory may contain."""

    id: str
    language: str
    messages: tuple[Message, ...]
    keep: tuple[Item, ...]
    drop: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " / ".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePair:
    """An old statement, a new statement, and a label: True if the new statement replaces the old one."""

    id: str
    language: str
    old: str
    new: str
    replaces: bool
    why: str


def utterances(split: Split) -> list[Case]:
    """Return the cases with a single message. Tune the rules on the split ``dev``, never on ``test``."""
    return [_case(row, [{"role": "user", "text": row["text"]}]) for row in rows(split)]


def conversations() -> list[Case]:
    """Return the cases with a short conversation each."""
    return [_case(row, row["messages"]) for row in rows("conversations")]


def changes() -> list[ChangePair]:
    """Return the pairs of an old and a new statement, for measuring which statements supersede others."""
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
    """Yield the rows of one file of the labeled set. Each line of the file is a JSON object."""
    text = (files("holdfast_bench") / "labelled" / f"{name}.jsonl").read_text("utf-8")
    return (json.loads(line) for line in text.split("\n") if line)


def make_case(id: str, texts: Sequence[str], keep: Sequence[Item], drop: Sequence[str] = (), language: str = "en") -> Case:
    """Return a case from a user's messages. Use it to build your own labeled set in Python."""
    messages = [{"role": "user", "text": text} for text in texts]
    return Case(id=id, language=language, messages=_messages(id, messages), keep=tuple(keep), drop=tuple(drop))


def _case(row: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Case:
    return Case(
        id=row["id"],
        language=row["language"],
        messages=_messages(row["id"], messages),
        keep=tuple(
            Item(has=tuple(item["has"]), has_not=tuple(item.get("not", ())), type=item.get("type", "")) for item in row["keep"]
        ),
        drop=tuple(row.get("drop", ())),
    )


def _messages(session: str, messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return messages in the form in which the engine would store them. Their language is detected, not read from the label."""
    return tuple(
        Message(
            id=f"{session}-{number}",
            session=session,
            scope=SCOPE,
            role=message["role"],
            text=message["text"],
            at=_START + timedelta(minutes=number),
            seq=number,
            origin=message.get("origin", _ORIGIN_OF_ROLE.get(message["role"], "user")),
            action=message.get("action"),
            language=detect_language(message["text"]),
        )
        for number, message in enumerate(messages, 1)
    )
