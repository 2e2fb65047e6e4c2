"""How lines of a file and memories become each other: on a topic's page, and in the index."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from holdfast.topic_files.index import noted, topic_and_note
from holdfast.topic_files.markdown import Line, flat, shown
from holdfast.types import Memory, Put, Scope

EDITED: Final = "edited by hand in its file"
ADDED: Final = "written by hand into a file"


class LineFormat(Protocol):
    """The two sorts of files."""

    @property
    def titled(self) -> bool:
        """Whether the file has a title, and the title says the topic of all its lines."""
        ...

    def line(self, memory: Memory) -> Line:
        """Return a memory as the file shows it."""
        ...

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return the change that makes a memory what a line says; without a line its text stays."""
        ...

    def created(self, line: Line, topic: str) -> Put:
        """Return the change that makes a memory of a line."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLines:
    """The lines of topic pages."""

    scope: Scope
    kind: str
    now: datetime
    titled: bool = True

    def line(self, memory: Memory) -> Line:
        """Return a memory with the day it is from."""
        return shown(memory)

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return a revision; a key that still stands before the text stays the key."""
        key, text = memory.key, memory.text
        if line is not None:
            head = f"{flat(key)}: " if key else ""
            keeps = bool(head) and line.text.startswith(head) and len(line.text) > len(head)
            key, text = (key, line.text[len(head) :]) if keeps else (None, line.text)
        return _revision(memory, text, key=key, topic=topic, at=_moment(at, self.now))

    def created(self, line: Line, topic: str) -> Put:
        """Return a new memory; a date that is still to come is what the line is about, not when it was written."""
        at, text = _moment(line.at, self.now), line.text
        if line.at and at is None:
            text = f"{text} ({line.at})"
        return Put(
            scope=self.scope, kind=self.kind, text=text, topic=topic, origin="file", trust=1.0, valid_from=at, reason=ADDED
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLines:
    """The lines of the index."""

    scope: Scope
    kind: str
    keyed: bool
    now: datetime
    titled: bool = False

    def line(self, memory: Memory) -> Line:
        """Return a note with its topic and moment."""
        return noted(memory)

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return a revision of a note or of its topic."""
        told, text = topic_and_note(line.text) if line else (topic, memory.text)
        text = memory.text if text == flat(memory.text) else text
        return _revision(memory, text, key=memory.key, topic=told, at=_moment(at, self.now))

    def created(self, line: Line, topic: str) -> Put:  # noqa: ARG002  (its lines say their topic themselves)
        """Return a new note; it has a key of its own, since two conversations may be about the same."""
        told, text = topic_and_note(line.text)
        at = _moment(line.at, self.now)
        key = f"{told}:{(at or self.now).isoformat()}" if self.keyed else None
        return Put(
            scope=self.scope,
            kind=self.kind,
            text=text,
            key=key,
            topic=told,
            origin="file",
            trust=1.0,
            valid_from=at,
            reason=ADDED,
        )


def _revision(memory: Memory, text: str, *, key: str | None, topic: str | None, at: datetime | None) -> Put:
    return Put(
        id=memory.id, scope=memory.scope, kind=memory.kind, text=text, key=key, topic=topic, origin="file", trust=1.0,
        valid_from=at, reason=EDITED,
    )  # fmt: skip


def _moment(at: str | None, now: datetime) -> datetime | None:
    """Return the moment a line is from, if it says one that has come; today is now."""
    if at is None:
        return None
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    if len(at) <= len("2026-02-12") and moment.date() == now.astimezone(UTC).date():
        return now
    return moment if moment <= now + timedelta(days=1) else None
