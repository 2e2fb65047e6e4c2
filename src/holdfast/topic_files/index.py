"""Render and parse the index, a file with one line per recent conversation, newest first.

A line consists of time, topic and note: ``2026-02-12T14:30:00|cooking|rice recipes``. The note is a memory that
describes the subject of the conversation.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.topic_files.markdown import Line, Page, flat
from holdfast.types import Memory

MAX_NOTES: Final = 20
_SEPARATOR: Final = regex(r"(?<!\\)(?:\\\\)*\|")
_STAMP: Final = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?")


def note_line(memory: Memory) -> Line:
    """Return a note as a line of the index. A note is a memory that describes the subject of one conversation.

    The line's text is ``topic|note``.
    """
    topic = flat(memory.topic or "").replace("\\", "\\\\").replace("|", "\\|")
    at = memory.valid_from.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    return Line(text=f"{topic}|{flat(memory.text)}", at=at)


def topic_and_note(text: str) -> tuple[str, str]:
    """Split the text of an index line, ``topic|note``, into topic and note."""
    separator = _SEPARATOR.search(text)
    assert separator is not None, text
    topic = re.sub(r"\\(.)", r"\1", text[: separator.end() - 1])
    return topic, text[separator.end() :]


def newest(notes: Sequence[Memory], max_notes: int = MAX_NOTES) -> list[Memory]:
    """Return the ``max_notes`` newest notes, newest first. Notes without a topic are left out."""
    listed = [memory for memory in notes if memory.topic and flat(memory.topic)]
    return sorted(listed, key=lambda memory: (memory.valid_from, memory.created_at, memory.id), reverse=True)[:max_notes]


def render_index(notes: Sequence[Memory], *, layout: Sequence[str] = (), max_notes: int = MAX_NOTES) -> str:
    """Return the text of the index: first the rows in ``layout``, then one row for each of the ``max_notes`` newest notes.

    ``layout`` contains rows that the user wrote and that are not notes, such as headings.
    """
    lines = [f"{line.at}|{line.text}" for line in map(note_line, newest(notes, max_notes))]
    return "".join(f"{row}\n" for row in (*layout, *lines))


def parse_index(text: str) -> Page:
    """Parse the text of an index. A row of the form ``topic|note``, with or without a time before it, stands for a note.

    Any other row, such as a heading, is kept as layout.
    """
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ended = rows[-1] == ""
    if ended:
        rows.pop()
    return Page(parts=tuple(_row(row) for row in rows), ended=ended)


def _row(row: str) -> str | Line:
    if row.lstrip().startswith("#"):
        return row
    at: str | None = None
    rest = row.strip()
    head, separator_found, tail = rest.partition("|")
    if separator_found and _STAMP.fullmatch(head.strip()):
        at, rest = _moment(head.strip()), tail.strip()
    separator = _SEPARATOR.search(rest)
    if separator is None:
        return row
    topic, note = rest[: separator.end() - 1].strip(), flat(rest[separator.end() :])
    return Line(text=f"{topic}|{note}", at=at, raw=(row,)) if topic and note else row


def _moment(stamp: str) -> str | None:
    try:
        return datetime.fromisoformat(stamp.removesuffix("Z")).replace(microsecond=0).isoformat()
    except ValueError:
        return None
