"""Read a list of memories that another assistant wrote as text, for example when asked to export them.

Each line is one memory, such as ``[2024-05-01] - Prefers tea`` or ``- Prefers tea``. Headings become tags.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from holdfast.errors import InvalidInput
from holdfast.importers.fields import moment
from holdfast.importers.records import Note, Record
from holdfast.importers.texts import read_text
from holdfast.runtime.regex import regex

_DATED = regex(r"\s*(?:[-*•]\s+|\d+[.)]\s+)?\[([^\]]{2,40})\]\s*[-–—:]?\s*(\S.*)")
_LISTED = regex(r"\s*(?:[-*•]|\d+[.)])\s+(\S.*)")
_HEADING = regex(r"\s*(?:#{1,6}\s+(.+?)|\*\*(.+?):?\*\*:?)\s*")
_FENCE = regex(r"\s*(```|~~~)")
_UNKNOWN_DATES = frozenset({"unknown", "n/a", "no date", "undated", "date unknown"})
_DATE_FORMATS = ("%Y-%m", "%Y/%m/%d", "%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%B %Y", "%Y")


def looks_like_list(text: str) -> bool:
    """Return True if a text has at least one line with a date in brackets."""
    return any(_DATED.match(line) and _is_dated(line) for line in text.splitlines())


def read_pasted(path: Path) -> Iterator[Record]:
    """Yield one memory per line. If any line has a bullet or a date, lines without a bullet or date are skipped."""
    lines = [line for line in read_text(path).splitlines() if line.strip() and not _FENCE.match(line)]
    marked = any(_DATED.match(line) or _LISTED.match(line) for line in lines)
    heading = ""
    for line in lines:
        if found := _HEADING.fullmatch(line):
            heading = (found[1] or found[2]).strip().rstrip(":")
        elif (note := _note(line, heading, marked=marked)) is not None:
            yield note


def _note(line: str, heading: str, *, marked: bool) -> Note | None:
    at: datetime | None = None
    if (found := _DATED.fullmatch(line)) and _is_dated(line):
        at, text = _date(found[1]), found[2]
    elif found := _LISTED.fullmatch(line):
        text = found[1]
    elif marked:
        return None
    else:
        text = line
    id = hashlib.sha256(text.strip().casefold().encode("utf-8", "replace")).hexdigest()[:32]
    return Note(id=id, text=text.strip(), tags=(heading[:100],) if heading else (), created_at=at)


def _is_dated(line: str) -> bool:
    found = _DATED.match(line)
    return found is not None and (found[1].strip().casefold() in _UNKNOWN_DATES or _date(found[1]) is not None)


def _date(text: str) -> datetime | None:
    cleaned = text.strip()
    try:
        return moment(cleaned)
    except InvalidInput:
        pass
    for form in _DATE_FORMATS:
        try:
            return moment(datetime.strptime(cleaned, form).date().isoformat())  # noqa: DTZ007  (a day without a zone)
        except ValueError:
            continue
    return None
