"""A topic's page as Markdown, both ways: memories become lines, and what a person made of the lines is read again.

Whatever is no line of its own (headings, blank lines, comments, tables, code) is the person's layout: it is left where
it is, and says nothing to the memory. What is written is read again as the same text.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

from holdfast.learning.topics.page_names import page_title
from holdfast.types import Memory

_BREAKS: Final = re.compile("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BULLET: Final = re.compile(r"\s*(?:[-*+•‣–—]|\d{1,3}[.)])\s+(?=\S)")
_BARE_BULLET: Final = re.compile(r"\s*(?:[-*+•‣–—]|\d{1,3}[.)])\s*")
_DATE: Final = re.compile(r"\((\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\)\Z")
_HEADING: Final = re.compile(r"#{1,6}(?:\s|\Z)")
_RULE: Final = re.compile(r"\s*(?:-[ \t]*){3,}|\s*(?:\*[ \t]*){3,}|\s*(?:_[ \t]*){3,}")
_FENCES: Final = ("```", "~~~")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One memory as it stands in a file: its text, the day or moment it is from, and the rows as they were typed."""

    text: str
    at: str | None = None
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a file says: rows that are layout, and lines, in their order."""

    title: str | None = None
    parts: tuple[str | Line, ...] = ()
    newline: str = "\n"
    ended: bool = True
    """Whether the last row was ended; a file that was cut off mostly is not."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines alone."""
        return tuple(part for part in self.parts if isinstance(part, Line))

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing at all in it."""
        return not any(isinstance(part, Line) or part.strip() for part in self.parts)

    @property
    def has_layout(self) -> bool:
        """Whether a person wrote something besides the title and the lines."""
        said = [part for part in self.parts if isinstance(part, str) and part.strip()]
        return len(said) > (self.title is not None)


def flat(text: str) -> str:
    """Return a text in one line."""
    return _BREAKS.sub(" ", text).strip()


def shown(memory: Memory) -> Line:
    """Return a memory as its page shows it, with the day it holds from."""
    return Line(text=flat(str(memory)), at=memory.valid_from.astimezone(UTC).date().isoformat())


def written(line: Line) -> str:
    """Return a line as it is written to a page."""
    return f"- {line.text} ({line.at})" if line.at else f"- {line.text}"


def in_order(memories: Sequence[Memory]) -> list[Memory]:
    """Return memories as a page lists them, oldest first."""
    return sorted(memories, key=lambda memory: (memory.valid_from, memory.created_at, memory.id))


def render_page(topic: str, memories: Sequence[Memory]) -> str:
    """Return a new page: the title, a blank row, and a line for each memory."""
    return update_page(Page(), (), topic, memories)


def update_page(page: Page, ids: Sequence[str | None], topic: str, memories: Sequence[Memory]) -> str:
    """Return a page with these memories on it; ``ids`` are what its lines stand for.

    Layout, order and the way unchanged lines are typed stay. Lines that stand for no memory any more go, and new
    ones come where their date belongs.
    """
    wanted = {memory.id: memory for memory in memories}
    rows: list[tuple[tuple[str, ...], Memory | None]] = []
    known = iter(ids)
    for part in page.parts:
        if isinstance(part, str):
            rows.append(((part,), None))
        elif memory := wanted.pop(next(known, None) or "", None):
            line = shown(memory)
            kept = part.raw if (line.text, line.at) == (part.text, part.at) else (written(line),)
            rows.append((kept, memory))
    if page.title is None:
        rows[:0] = [((f"# {page_title(topic)}",), None), (("",), None)]
    for memory in in_order(list(wanted.values())):
        _insert(rows, memory)
    while rows and rows[-1] == (("",), None):
        rows.pop()
    return page.newline.join(row for typed, _ in rows for row in typed) + page.newline


def _insert(rows: list[tuple[tuple[str, ...], Memory | None]], memory: Memory) -> None:
    """Put a memory behind the last line that is not younger; before the first one, if all are; else at the end."""
    new = ((written(shown(memory)),), memory)
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
    """Read a page, tolerant of what people do by hand: other bullets or none, no dates, headings, wrapped lines."""
    newline = "\r\n" if "\r\n" in text else "\n"
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ended = rows[-1] == ""
    if ended:
        rows.pop()
    title, titled = _title(rows)
    opaque = _blocks(rows)
    parts: list[str | list[str]] = []
    for number, row in enumerate(rows):
        if number in opaque or number in titled or _is_layout(row):
            parts.append(row)
        elif parts and isinstance(parts[-1], list) and row[:1].isspace() and not _BULLET.match(row) and _indent(row) >= 2:
            parts[-1].append(row)
        else:
            parts.append([row])
    made = tuple(part if isinstance(part, str) else _line(part) for part in parts)
    return Page(title=title, parts=made, newline=newline, ended=ended)


def _indent(row: str) -> int:
    plain = row.expandtabs(4)
    return len(plain) - len(plain.lstrip(" "))


def _title(rows: Sequence[str]) -> tuple[str | None, set[int]]:
    """Return the title, and the rows it stands in: the first heading of the first level, in either way to write one."""
    first = next((number for number, row in enumerate(rows) if row.strip()), None)
    for number, row in enumerate(rows):
        if row.startswith("#") and not row.startswith("##") and row[1:].strip() and (row[1].isspace() or number == first):
            return row[1:].strip(), {number}
        under = rows[number + 1].strip() if number + 1 < len(rows) else ""
        if row.strip() and len(under) >= 2 and not under.strip("=") and not _BULLET.match(row):
            return row.strip(), {number, number + 1}
    return None, set()


def _blocks(rows: Sequence[str]) -> set[int]:
    """Return the rows inside code, comments and front matter; what is opened and never closed is none of these."""
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
    """Return where the block that begins in a row ends, if one begins there."""
    row = rows[start].strip()
    if row.startswith("<!--"):
        return next((n for n in range(start, len(rows)) if "-->" in rows[n][4 if n == start else 0 :]), None)
    if start == 0 and row == "---":
        return next((n for n in range(1, len(rows)) if rows[n].strip() in ("---", "...")), None)
    fence = next((fence for fence in _FENCES if row.startswith(fence)), None)
    return next((n for n in range(start + 1, len(rows)) if rows[n].strip().startswith(fence)), None) if fence else None


def _is_layout(row: str) -> bool:
    """Tell whether a row is no memory: blank, a heading, a rule, an empty bullet, the open end of a block, or a table's."""
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
    """Make one line of the rows it was wrapped into: without its bullet, and the date taken off its end."""
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


def mark(text: str) -> str:
    """Return what a text is known by where the text itself must not be kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def ids_of(page: Page, known: Sequence[tuple[str, str]]) -> list[str | None]:
    """Tell what each line of a page stands for, by the ids and marks of the lines it was last in step with."""
    waiting: dict[str, list[str]] = {}
    for id, text_mark in known:
        waiting.setdefault(text_mark, []).append(id)
    found = [waiting.get(mark(line.text)) for line in page.lines]
    return [left.pop(0) if left else None for left in found]
