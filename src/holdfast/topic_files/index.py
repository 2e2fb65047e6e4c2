"""The index of recent topics as a file, both ways: ``2026-02-12T14:30:00|cooking|rice recipes``, the newest first."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from holdfast.topic_files.markdown import Line, Page, flat
from holdfast.types import Memory

MAX_NOTES: Final = 20
_BETWEEN: Final = re.compile(r"(?<!\\)(?:\\\\)*\|")
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?")


def noted(memory: Memory) -> Line:
    """Return a note of a recent topic as the index shows it: the line's text is the topic and the note together."""
    topic = flat(memory.topic or "").replace("\\", "\\\\").replace("|", "\\|")
    at = memory.valid_from.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    return Line(text=f"{topic}|{flat(memory.text)}", at=at)


def topic_and_note(text: str) -> tuple[str, str]:
    """Take the two apart again."""
    parted = _BETWEEN.search(text)
    assert parted is not None, text
    topic = re.sub(r"\\(.)", r"\1", text[: parted.end() - 1])
    return topic, text[parted.end() :]


def newest(notes: Sequence[Memory], max_notes: int = MAX_NOTES) -> list[Memory]:
    """Return the notes the index lists."""
    told = [memory for memory in notes if memory.topic and flat(memory.topic)]
    return sorted(told, key=lambda memory: (memory.valid_from, memory.created_at, memory.id), reverse=True)[:max_notes]


def render_index(notes: Sequence[Memory], *, layout: Sequence[str] = (), max_notes: int = MAX_NOTES) -> str:
    """Return the index; rows of a person's own come first."""
    lines = [f"{line.at}|{line.text}" for line in map(noted, newest(notes, max_notes))]
    return "".join(f"{row}\n" for row in (*layout, *lines))


def parse_index(text: str) -> Page:
    """Read an index; a row without a moment is taken as written now, and one without a topic is a person's own."""
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
    head, bar, tail = rest.partition("|")
    if bar and _STAMP.fullmatch(head.strip()):
        at, rest = _moment(head.strip()), tail.strip()
    parted = _BETWEEN.search(rest)
    if parted is None:
        return row
    topic, note = rest[: parted.end() - 1].strip(), flat(rest[parted.end() :])
    return Line(text=f"{topic}|{note}", at=at, raw=(row,)) if topic and note else row


def _moment(stamp: str) -> str | None:
    try:
        return datetime.fromisoformat(stamp.removesuffix("Z")).replace(microsecond=0).isoformat()
    except ValueError:
        return None
