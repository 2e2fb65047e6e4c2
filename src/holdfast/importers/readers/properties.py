"""Read the properties at the top of a Markdown file (YAML front matter).

If they are not valid YAML as a whole, each property is read alone, so that one mistake does not lose the others.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from holdfast.runtime.regex import regex

_FRONT = regex(r"\A---[ \t]*\r?\n(.*?\r?\n)?---[ \t]*(\r?\n|\Z)", re.DOTALL)
_UNCLOSED = regex(r"\A---[ \t]*\r?\n[A-Za-z][\w -]*:(?:[ \t]|\r?\n)")
"""Start of properties: a line of dashes, then a name with a colon. Used to find properties without a closing line.

Dashes with other text below them are a horizontal line.
"""
_PROPERTY = regex(r"([^\s#:'\"\-\[{][^:]*):(?:[ \t]+(.*))?")
"""The first line of a property: its name, and its value if it starts on the same line."""
_MARKS = tuple("[]{}\"'&*!|>%@`#,?")
"""Characters with a special meaning in YAML. A value that starts with one of them is not plain text."""


class Properties(NamedTuple):
    """The properties of a file, the rest of its text, and the first mistake in the properties."""

    values: Mapping[str, Any]
    body: str
    problem: str | None = None


def read_properties(text: str) -> Properties:
    """Split the text of a file into properties and body. Properties that cannot be read are left out."""
    found = _FRONT.match(text)
    if found is None:
        return Properties({}, text, "the closing line --- is missing" if _UNCLOSED.match(text) else None)
    body = text[found.end() :]
    try:
        values = yaml.safe_load(found[1] or "")
    except (yaml.YAMLError, ValueError):  # ValueError: a date such as 2024-13-45
        values, problem = _read_each(found[1])
        return Properties(values, body, problem)
    if isinstance(values, str):  # a text between two lines of dashes
        return Properties({}, text)
    return Properties(values if isinstance(values, Mapping) else {}, body)


def _read_each(text: str) -> tuple[dict[str, Any], str | None]:
    """Parse each property on its own. Return the properties by name, and the first problem or None.

    A property that is not valid YAML is still accepted if its value is plain text on one line. For example, YAML
    rejects ``title: Trip: part two``, because the value contains a colon.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for line, lines in _blocks(text):
        first = _PROPERTY.fullmatch(lines[0])
        try:
            read = yaml.safe_load("\n".join(lines))
        except (yaml.YAMLError, ValueError) as error:
            plain = (first[2] or "").strip() if first is not None and len(lines) == 1 else ""
            if first is None or not plain or plain.startswith(_MARKS):
                problems.append(_describe(error, line))
            else:
                values[first[1].strip()] = plain
        else:
            if isinstance(read, Mapping):
                values.update(read)
            elif read is not None:
                problems.append(f"line {line}: {lines[0].strip()[:80]!r} is not a property")
    return values, problems[0] if problems else None


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each property: the number of its first line in the file, and its lines."""
    block: list[str] = []
    start = 2  # the first line is ---
    for number, line in enumerate(text.splitlines(), 2):
        if block and _PROPERTY.fullmatch(line):
            yield start, block
            block = []
        if line.strip():
            start = start if block else number
            block.append(line)
    if block:
        yield start, block


def _describe(error: yaml.YAMLError | ValueError, line: int) -> str:
    """Return the message of an error, preceded by the number of the line in the file: ``line 3: ...``.

    ``line`` is the number of the first line of the property. Only the first line of the message is used.
    """
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    return f"line {line + (mark.line if mark is not None else 0)}: {problem}"
