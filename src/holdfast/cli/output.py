"""Prints results: JSON for programs, lines of text for people."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

import click

from holdfast.cli.console import reconfigure
from holdfast.cli.wrapping import display_width, fit
from holdfast.types import Hit, Memory, Scope

_MAX_LINE_CHARACTERS = 400
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Pattern of control characters, such as those that move the cursor or reverse the text direction. They are not printed."""


def plain(value: Any) -> Any:
    """Convert a value to JSON types: dataclasses to dicts, a scope to its parts, datetimes to ISO 8601."""
    if isinstance(value, Hit):
        own = {"id": value.id, "text": value.text, "kind": value.kind, "at": value.at.isoformat(), "key": _key(value)}
        return own | _by_field(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _by_field(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, PurePath) else value


def _by_field(value: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for item in fields(value):
        part = getattr(value, item.name)
        if isinstance(part, Scope):
            shown |= {name: getattr(part, name) for name in ("tenant", "user", "app", "agent")}
        elif item.name != "item":  # an internal row number
            shown[item.name] = plain(part)
    return shown


def _key(hit: Hit) -> str | None:
    return hit.memory.key if hit.memory else None


def print_json(value: Any) -> None:
    """Print a value as JSON in UTF-8. If the console cannot encode the text, it is printed as ASCII with escapes."""
    content = plain(value)
    text = json.dumps(content, ensure_ascii=False, indent=2)
    if not sys.stdout.isatty():
        reconfigure(sys.stdout, encoding="utf-8")
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, indent=2)
    click.echo(text)


def emit(value: Any, lines: Sequence[str], *, as_json: bool) -> None:
    """Print a result: ``value`` as JSON if ``as_json`` is set, otherwise the lines."""
    if as_json:
        print_json(value)
    elif lines:
        echo("\n".join(lines))


def echo(text: str) -> None:
    """Print text for people. On a terminal, lines are wrapped between words."""
    click.echo(fit(text, sys.stdout))


def brief(text: str) -> str:
    """Return a text as one line, without control characters, cut after 400 characters."""
    line = " ".join(safe(text).split())
    return line if len(line) <= _MAX_LINE_CHARACTERS else line[: _MAX_LINE_CHARACTERS - 1].rstrip() + "…"


def safe(text: str) -> str:
    """Return a text without control characters. Line breaks stay."""
    return _STEERING.sub("", text)


def memory_line(memory: Memory) -> str:
    """Return a memory as one line of text."""
    marks = [f"#{memory.topic}" if memory.topic else "", "" if memory.status == "live" else f"[{memory.status}]"]
    marks.append("[pinned]" if memory.pinned else "")
    tail = "".join(f"  {brief(mark)}" for mark in marks if mark)
    return f"{memory.id}  {day(memory.valid_from)}  {memory.kind:8}  {brief(str(memory))}{tail}"


def day(moment: datetime | None) -> str:
    """Return the date of a datetime in UTC, or ``-`` for None."""
    return moment.date().isoformat() if moment else "-"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of text with aligned columns."""
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - display_width(cell))


def count(number: int, what: str) -> str:
    """Return a number with its noun: 1 memory, 2 memories."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"
