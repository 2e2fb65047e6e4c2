"""Split documents into sections that are short enough to be recalled."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.runtime.regex import regex

_MAX_CHARACTERS = 1500
"""Maximum size of a section. A longer one is split between paragraphs, then between lines or words."""
_HEADING = regex(r"#{1,6}\s+(.+?)\s*#*")
_FENCE = regex(r"\s*(```|~~~)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a document with the headings above it."""

    text: str
    heading: str | None = None
    """The headings above the text, outermost first, such as ``Garden > Roses``. None if there are none."""

    @property
    def digest(self) -> str:
        """Short hash of heading and text. The hash identifies the section as long as neither changes."""
        return hashlib.sha256(f"{self.heading}\n{self.text}".encode("utf-8", "replace")).hexdigest()[:16]


def sections(text: str) -> Iterator[Section]:
    """Yield the sections of a Markdown or plain text document."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= _FENCE.match(line) is not None
        found = None if fenced else _HEADING.fullmatch(line.strip())
        if found is None:
            lines.append(line)
            continue
        yield from _split(lines, headings)
        lines = []
        level = len(line.strip()) - len(line.strip().lstrip("#"))
        headings = [*((depth, title) for depth, title in headings if depth < level), (level, found[1])]
    yield from _split(lines, headings)


def _split(lines: list[str], headings: list[tuple[int, str]]) -> Iterator[Section]:
    heading = " > ".join(title for _, title in headings) or None
    part = ""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        for piece in _pieces(paragraph.strip("\n")):
            if part and len(part) + len(piece) + 2 > _MAX_CHARACTERS:
                yield Section(text=part, heading=heading)
                part = ""
            part = f"{part}\n\n{piece}" if part else piece
    if part.strip():
        yield Section(text=part, heading=heading)


def _pieces(paragraph: str) -> Iterator[str]:
    """Yield a paragraph in pieces of at most 1,500 characters."""
    while len(paragraph) > _MAX_CHARACTERS:
        cut = max(paragraph.rfind(mark, _MAX_CHARACTERS // 2, _MAX_CHARACTERS) for mark in ("\n", ". ", " "))
        cut = cut + 1 if cut > 0 else _MAX_CHARACTERS
        yield paragraph[:cut].strip()
        paragraph = paragraph[cut:].strip()
    if paragraph.strip():
        yield paragraph
