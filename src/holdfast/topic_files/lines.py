"""Convert between memories and the lines of topic pages and of the index.

The index is a file that lists recent notes. A note is a memory that describes the subject of one conversation.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from holdfast.topic_files.index import note_line, topic_and_note
from holdfast.topic_files.markdown import Line, flat, page_line
from holdfast.types import Memory, Put, Scope

EDITED: Final = "edited by hand in its file"
ADDED: Final = "written by hand into a file"


class LineFormat(Protocol):
    """Converts between memories and the lines of a file. One class implements it for topic pages, another for the index."""

    @property
    def titled(self) -> bool:
        """True if the file has a title. The title names the topic of all lines of the file."""
        ...

    def line(self, memory: Memory) -> Line:
        """Return a memory as a line of the file."""
        ...

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return the ``Put`` that makes a memory match an edited line.

        ``topic`` is the new topic and ``at`` the new date; None means that it stays the same. If ``line`` is None, the text
        stays the same.
        """
        ...

    def created(self, line: Line, topic: str) -> Put:
        """Return the ``Put`` that creates a memory from a line."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLines:
    """Converts between memories and the lines of topic pages."""

    scope: Scope
    kind: str
    now: datetime
    titled: bool = True

    def line(self, memory: Memory) -> Line:
        """Return a memory as a line of a topic page, with its date."""
        return page_line(memory)

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return the ``Put`` that makes a memory match an edited line, with the topic ``topic`` and the date ``at``.

        The memory keeps its key only if the line still starts with the key, as in "city: Lyon". If ``line`` is None, the text
        stays the same.
        """
        key, text = memory.key, memory.text
        if line is not None:
            head = f"{flat(key)}: " if key else ""
            keeps_key = bool(head) and line.text.startswith(head) and len(line.text) > len(head)
            key, text = (key, line.text[len(head) :]) if keeps_key else (None, line.text)
        return _revision(memory, text, key=key, topic=topic, at=_moment(at, self.now))

    def created(self, line: Line, topic: str) -> Put:
        """Return the ``Put`` that creates a memory from a line.

        The date in the line becomes the memory's date. A date more than a day in the future is not used and stays in the
        text.
        """
        at, text = _moment(line.at, self.now), line.text
        if line.at and at is None:
            text = f"{text} ({line.at})"
        return Put(
            scope=self.scope, kind=self.kind, text=text, topic=topic, origin="file", trust=1.0, valid_from=at, reason=ADDED
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLines:
    """Converts between notes and the lines of the index.

    A note is a memory that describes the subject of one conversation.
    """

    scope: Scope
    kind: str
    keyed: bool
    now: datetime
    titled: bool = False

    def line(self, memory: Memory) -> Line:
        """Return a note as a line of the index, the file that lists recent notes. The line has the note's topic and time.

        A note is a memory that describes the subject of one conversation.
        """
        return note_line(memory)

    def revised(self, memory: Memory, line: Line | None, *, topic: str | None, at: str | None) -> Put:
        """Return the ``Put`` that makes a note match an edited line of the index.

        ``at`` is the new time of the note, or None if the time stays the same. If ``line`` is None, the text stays the same,
        and the note gets the topic ``topic``.
        """
        line_topic, text = topic_and_note(line.text) if line else (topic, memory.text)
        text = memory.text if text == flat(memory.text) else text
        return _revision(memory, text, key=memory.key, topic=line_topic, at=_moment(at, self.now))

    def created(self, line: Line, topic: str) -> Put:  # noqa: ARG002  (each line of the index has its own topic)
        """Return the ``Put`` that creates a note from a line of the index. ``topic`` is ignored: each line has its own topic.

        If notes have keys, the note's key includes the time, because two conversations may have the same topic.
        """
        line_topic, text = topic_and_note(line.text)
        at = _moment(line.at, self.now)
        key = f"{line_topic}:{(at or self.now).isoformat()}" if self.keyed else None
        return Put(
            scope=self.scope,
            kind=self.kind,
            text=text,
            key=key,
            topic=line_topic,
            origin="file",
            trust=1.0,
            valid_from=at,
            reason=ADDED,
        )


def _revision(memory: Memory, text: str, *, key: str | None, topic: str | None, at: datetime | None) -> Put:
    return Put(
        id=memory.id,
        scope=memory.scope,
        kind=memory.kind,
        text=text,
        key=key,
        topic=topic,
        origin="file",
        trust=1.0,
        valid_from=at,
        reason=EDITED,
    )


def _moment(at: str | None, now: datetime) -> datetime | None:
    """Return the time stated in a line. If the line states today's date, return ``now``.

    Return None if the line states no time, or a time more than a day in the future.
    """
    if at is None:
        return None
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    if len(at) <= len("2026-02-12") and moment.date() == now.astimezone(UTC).date():
        return now
    return moment if moment <= now + timedelta(days=1) else None
