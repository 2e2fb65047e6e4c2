"""Wraps lines between words for a terminal. Output to a pipe or a file is not wrapped."""

import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from typing import TextIO

_FALLBACK_COLUMNS = 80
_MIN_COLUMNS = 20
_ID_INDENT = 4
_EMOJI_STYLE = "\ufe0f"
_JOINER = "\u200d"
_CLOSING = frozenset("、。，．・：；？！」』）】》〉〕｝ー…")
"""Full-width punctuation that must not begin a line."""
_ID_FIRST = re.compile(r"\s*(?:mem|msg|ses|chg|job)_\w+  ")
_COLUMN_FIRST = re.compile(r"\s*(?:(?:[-*•]|\d+\.) +|\S(?: ?\S){0,19}  +)?")
"""Pattern of the start of a line: a bullet ("- "), a number ("1. ") or a short first column.

Continuation lines are indented by the width of this start.
"""


def columns(stream: TextIO) -> int | None:
    """Return the width of the terminal behind a stream, or None if the stream is not a terminal."""
    try:
        if not stream.isatty():
            return None
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # a custom stream that claims to be a terminal but has no descriptor
        width = shutil.get_terminal_size().columns
    # The Windows console wraps by itself when the last column is written.
    return max((width or _FALLBACK_COLUMNS) - (os.name == "nt"), _MIN_COLUMNS)


def fit(text: str, stream: TextIO) -> str:
    """Return a text wrapped for the terminal behind a stream. If the stream is not a terminal, return the text unchanged."""
    width = columns(stream)
    return text if width is None else "\n".join(wrap(line, width) for line in text.split("\n"))


def wrap(line: str, width: int) -> str:
    """Wrap one line between words, by display width. A word longer than the line is not split."""
    if display_width(line) <= width:
        return line
    pieces: list[str] = []
    flow = Flow(pieces.append, width, indent=_indent(line, width))
    flow.feed(line)
    flow.finish()
    return "".join(pieces)


def display_width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text)) + text.count(_EMOJI_STYLE)


class Flow:
    """Wraps streamed text between words. A word is written once it is complete."""

    def __init__(self, write: Callable[[str], object], width: int, *, indent: int = 0) -> None:
        self._write = write
        self._width = width
        self._indent = indent
        self._column = 0
        self._gap = ""
        self._rest = ""

    def feed(self, text: str) -> None:
        """Add text. The last word is held back, because the next piece may continue it."""
        units = list(_units(self._rest + text))
        # The next piece may continue the last word.
        self._rest = units.pop() if units and not units[-1].isspace() else ""
        for unit in units:
            self._put(unit)

    def finish(self) -> None:
        """Write the word that is still held back."""
        rest, self._rest = self._rest, ""
        if rest:
            self._put(rest)
        self._gap = ""

    def _put(self, unit: str) -> None:
        if unit == "\n":
            self._write("\n")
            self._column, self._gap = 0, ""
        elif unit.isspace():
            self._gap += unit
        else:
            wide = display_width(unit)
            if self._column > self._indent and self._column + display_width(self._gap) + wide > self._width:
                self._write("\n" + " " * self._indent)
                self._column, self._gap = self._indent, ""
            self._write(self._gap + unit)
            self._column += display_width(self._gap) + wide
            self._gap = ""


def _indent(line: str, width: int) -> int:
    """Return the number of columns by which the continuation lines of a wrapped line are indented.

    ``line`` is the line to wrap, and ``width`` is the maximum number of columns.
    """
    leading = len(line) - len(line.lstrip(" "))
    if _ID_FIRST.match(line):
        return leading + _ID_INDENT
    found = _COLUMN_FIRST.match(line)
    aligned = display_width(found[0]) if found else leading
    return aligned if aligned <= width // 2 else min(leading, width // 2)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _units(text: str) -> Iterator[str]:
    """Yield the units of a text: newlines, runs of blanks, words, and single wide characters. A line may break between units."""
    unit = ""
    for character in text:
        if unit and not _stays_with(unit, character):
            yield unit
            unit = ""
        unit += character
    if unit:
        yield unit


def _stays_with(unit: str, character: str) -> bool:
    """Return True if a line must not break between a unit and the next character. See :func:`_units`."""
    if "\n" in (unit, character):
        return False
    if unit.isspace() or character.isspace():
        return unit.isspace() and character.isspace()
    if unit[-1] == _JOINER or _columns(character) == 0 or unicodedata.category(character) == "Sk":
        return True
    wide = _columns(character) == 2
    return character in _CLOSING or (not wide and _columns(_base(unit)) < 2)


def _base(unit: str) -> str:
    """Return the last visible character of a unit, ignoring combining marks of zero width."""
    return next((character for character in reversed(unit) if _columns(character)), unit[-1])
