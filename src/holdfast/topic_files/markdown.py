"""Render memories as a Markdown page, and parse an edited page.

Headings, blank lines, comments, tables and code are layout: they stay in place and create no memory. Every other line is a
memory. Parsing a rendered page returns the same texts.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

from holdfast.learning.topics.page_names import page_title
from holdfast.runtime.regex import regex
from holdfast.types import Memory

_BREAKS: Final = regex("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BULLET: Final = regex(r"\s*(?:[-*+•‣–—]|\d{1,3}[.)])\s+(?=\S)")
_BARE_BULLET: Final = regex(r"\s*(?:[-*+•‣–—]|\d{1,3}[.)])\s*")
_DATE: Final = regex(r"\((\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\)\Z")
_HEADING: Final = regex(r"#{1,6}(?:\s|\Z)")
_RULE: Final = regex(r"\s*(?:-[ \t]*){3,}|\s*(?:\*[ \t]*){3,}|\s*(?:_[ \t]*){3,}")
_FENCES: Final = ("```", "~~~")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a topic file, which stands for one memory: the text, and the date or time.

    ``raw`` contains the rows of the file that make up the line, as the user typed them.
    """

    text: str
    at: str | None = None
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The parsed content of a topic file: lines that stand for memories, and rows of layout such as headings, in order."""

    title: str | None = None
    parts: tuple[str | Line, ...] = ()
    newline: str = "\n"
    ended: bool = True
    """True if the file ends with a newline. A truncated file usually does not."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that stand for memories, without the layout."""
        return tuple(part for part in self.parts if isinstance(part, Line))

    @property
    def is_blank(self) -> bool:
        """True if the file has nothing but whitespace."""
        return not any(isinstance(part, Line) or part.strip() for part in self.parts)

    @property
    def has_layout(self) -> bool:
        """True if the file has layout, such as a second heading or a table, besides the title and the lines of memories."""
        texts = [part for part in self.parts if isinstance(part, str) and part.strip()]
        return len(texts) > (self.title is not None)


def flat(text: str) -> str:
    """Replace the line breaks of a text with spaces, and strip it."""
    return _BREAKS.sub(" ", text).strip()


def page_line(memory: Memory) -> Line:
    """Return a memory as a line of a topic page. The line's date is the day from which the memory is valid."""
    return Line(text=flat(str(memory)), at=memory.valid_from.astimezone(UTC).date().isoformat())


def render_line(line: Line) -> str:
    """Return a line as Markdown."""
    return f"- {line.text} ({line.at})" if line.at else f"- {line.text}"


def in_order(memories: Sequence[Memory]) -> list[Memory]:
    """Sort memories in the order in which a page lists them, oldest first."""
    return sorted(memories, key=lambda memory: (memory.valid_from, memory.created_at, memory.id))


def render_page(topic: str, memories: Sequence[Memory]) -> str:
    """Return a new page: the title, a blank row, and one line per memory."""
    return update_page(Page(), (), topic, memories)


def update_page(page: Page, ids: Sequence[str | None], topic: str, memories: Sequence[Memory]) -> str:
    """Update a page so that its lines match the memories, and return its text. ``ids`` contains the memory id of each line.

    Layout (such as headings), order and unchanged lines stay as typed. Lines without a memory are removed, and new lines are
    inserted by date.
    """
    wanted = {memory.id: memory for memory in memories}
    rows: list[tuple[tuple[str, ...], Memory | None]] = []
    known = iter(ids)
    for part in page.parts:
        if isinstance(part, str):
            rows.append(((part,), None))
        elif memory := wanted.pop(next(known, None) or "", None):
            line = page_line(memory)
            kept = part.raw if (line.text, line.at) == (part.text, part.at) else (render_line(line),)
            rows.append((kept, memory))
    if page.title is None:
        rows[:0] = [((f"# {page_title(topic)}",), None), (("",), None)]
    for memory in in_order(list(wanted.values())):
        _insert(rows, memory)
    while rows and rows[-1] == (("",), None):
        rows.pop()
    return page.newline.join(row for typed, _ in rows for row in typed) + page.newline


def _insert(rows: list[tuple[tuple[str, ...], Memory | None]], memory: Memory) -> None:
    """Insert a line for a memory after the last line that is not newer than the memory.

    If all lines are newer, the memory becomes the first line. On a page without lines, the memory is added at the end.
    """
    new = ((render_line(page_line(memory)),), memory)
    places = [place for place, (_, other) in enumerate(rows) if other is not None]
    older = [place for place in places if (other := rows[place][1]) and other.valid_from <= memory.valid_from]
    if older:
        rows.insert(older[-1] + 1, new)
    elif places:
        rows.insert(places[0], new)
    else:
        while rows and rows[-1] == (("",), None):
            rows.pop()
        rows += [(("",), None), new]


def parse_page(text: str) -> Page:
    """Parse a page. The user may use other bullets or none, leave out dates, add headings, and wrap lines."""
    newline = "\r\n" if "\r\n" in text else "\n"
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ended = rows[-1] == ""
    if ended:
        rows.pop()
    title, title_rows = _title(rows)
    block_rows = _blocks(rows)
    parts: list[str | list[str]] = []
    for number, row in enumerate(rows):
        if number in block_rows or number in title_rows or _is_layout(row):
            parts.append(row)
        elif parts and isinstance(parts[-1], list) and row[:1].isspace() and not _BULLET.match(row) and _indent(row) >= 2:
            parts[-1].append(row)
        else:
            parts.append([row])
    parsed = tuple(part if isinstance(part, str) else _line(part) for part in parts)
    return Page(title=title, parts=parsed, newline=newline, ended=ended)


def _indent(row: str) -> int:
    plain = row.expandtabs(4)
    return len(plain) - len(plain.lstrip(" "))


def _title(rows: Sequence[str]) -> tuple[str | None, set[int]]:
    """Return the title of a page, and the indexes of the rows that it takes up. Without a title, return None and no rows.

    The title is the first level-one heading, written with ``#`` or underlined with ``=``.
    """
    first = next((number for number, row in enumerate(rows) if row.strip()), None)
    for number, row in enumerate(rows):
        if row.startswith("#") and not row.startswith("##") and row[1:].strip() and (row[1].isspace() or number == first):
            return row[1:].strip(), {number}
        underline = rows[number + 1].strip() if number + 1 < len(rows) else ""
        if row.strip() and len(underline) >= 2 and not underline.strip("=") and not _BULLET.match(row):
            return row.strip(), {number, number + 1}
    return None, set()


def _blocks(rows: Sequence[str]) -> set[int]:
    """Return the indexes of all rows in code blocks, comments and front matter. Blocks that are never closed are ignored."""
    inside: set[int] = set()
    number = 0
    while number < len(rows):
        end = _closing(rows, number)
        if end is not None:
            inside.update(range(number, end + 1))
            number = end
        number += 1
    return inside


def _closing(rows: Sequence[str], start: int) -> int | None:
    """Return the index of the last row of a comment, code block or front matter that starts at the row ``start``.

    Return None if nothing of that kind starts there, or if it is never closed.
    """
    row = rows[start].strip()
    if row.startswith("<!--"):
        return next((n for n in range(start, len(rows)) if "-->" in rows[n][4 if n == start else 0 :]), None)
    if start == 0 and row == "---":
        return next((n for n in range(1, len(rows)) if rows[n].strip() in ("---", "...")), None)
    fence = next((fence for fence in _FENCES if row.startswith(fence)), None)
    return next((n for n in range(start + 1, len(rows)) if rows[n].strip().startswith(fence)), None) if fence else None


def _is_layout(row: str) -> bool:
    """Return True for blank rows, headings, rules, empty bullets, table rows, and the markers of unclosed blocks."""
    plain = row.strip()
    return (
        not plain
        or _HEADING.match(row) is not None
        or _RULE.fullmatch(row) is not None
        or _BARE_BULLET.fullmatch(row) is not None
        or plain.startswith(("<!--", "-->", *_FENCES))
        or (plain.startswith("|") and plain.endswith("|") and len(plain) > 1)
    )


def _line(rows: Sequence[str]) -> Line:
    """Join wrapped rows into one line. The bullet is removed, and a date at the end is split off."""
    bullet = _BULLET.match(rows[0])
    first = rows[0][bullet.end() :] if bullet else rows[0]
    text = flat(" ".join(row.strip() for row in (first, *rows[1:])))
    found = _DATE.search(text)
    day = _day(found) if found else None
    before = text[: found.start()].rstrip() if found else ""
    return Line(text=before, at=day, raw=tuple(rows)) if before and day else Line(text=text, raw=tuple(rows))


def _day(found: re.Match[str]) -> str | None:
    try:
        return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
    except ValueError:
        return None


def digest(text: str) -> str:
    """Return the hash of a text, for records that must not contain the text itself."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def ids_of(page: Page, known: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return the memory id of each line of a page, or None for a line whose memory is unknown.

    A line is identified by the hash of its text. ``known`` contains pairs of memory id and hash.
    """
    waiting: dict[str, list[str]] = {}
    for id, text_digest in known:
        waiting.setdefault(text_digest, []).append(id)
    found = [waiting.get(digest(line.text)) for line in page.lines]
    return [left.pop(0) if left else None for left in found]
