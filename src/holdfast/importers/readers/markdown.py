"""Read Markdown files: one file, or a folder such as an Obsidian vault. Each section of a file becomes a memory.

The properties at the top of a file set tags and dates. Hidden folders, such as ``.obsidian`` and ``.trash``, are
skipped.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from holdfast.errors import InvalidInput
from holdfast.importers.documents import sections
from holdfast.importers.fields import moment
from holdfast.importers.records import Note, Record
from holdfast.importers.texts import read_text
from holdfast.runtime.regex import regex

_FRONT = regex(r"\A---[ \t]*\r?\n(.*?\r?\n)?---[ \t]*(\r?\n|\Z)", re.DOTALL)
_TAG = regex(r"(?<![\w/#&])#([A-Za-zÀ-ÿ_][\w/-]*)")
_LINK = regex(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
_SHOWN_LINK = regex(r"(!?)\[\[([^\]|#]*)(?:#([^\]|]*))?(?:\|([^\]]*))?\]\]")
"""Parts of a link: the mark of an embedded file, the note, the heading in it, and the text that is shown."""
_IMAGE = regex(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp[34]|webm|wav|m4a|ogg|mov|pdf|canvas)\s*\Z", re.IGNORECASE)
_BLOCK_ID = regex(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
"""Name of a paragraph at its end, such as ``^gift1``, to which other notes can link."""
_DAILY = regex(r"\d{4}-\d{2}-\d{2}")
_CODE = regex(r"```.*?```|`[^`\n]*`", re.DOTALL)
_CREATED = ("created", "created_at", "date", "date created")


def pages(path: Path) -> list[Path]:
    """Return the Markdown files in a folder, sorted by name. If the path is a file, return only this file."""
    if path.is_file():
        return [path]
    found = (file for pattern in ("*.md", "*.markdown") for file in path.rglob(pattern) if file.is_file())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def read_markdown(path: Path) -> Iterator[Record]:
    """Yield the sections of all files."""
    for file in pages(path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        yield from _page(file, name)


def _page(file: Path, name: str) -> Iterator[Note]:
    text = read_text(file, name)
    properties, body = _properties(text)
    at = _created(properties) or _daily(file.stem) or datetime.fromtimestamp(file.stat().st_mtime, UTC)
    title = str(properties.get("title") or Path(name).stem)
    tags = _tags(properties.get("tags", properties.get("tag")))
    others = {str(key): value for key, value in properties.items() if key not in (*_CREATED, "title", "tags", "tag")}
    for section in sections(body):
        prose = _CODE.sub(" ", section.text)
        links = list(dict.fromkeys(link.strip() for link in _LINK.findall(prose)))
        heading = (section.heading or "").removeprefix(title).removeprefix(" > ") or None
        known = {"file": name, "title": title, "heading": heading, "links": links, "properties": _as_json(others)}
        yield Note(
            id=f"{name}#{section.digest}",
            text=f"{title}{f' > {heading}' if heading else ''}: {_readable(section.text)}",
            namespace=("notes", *_labels(name)),
            tags=tuple(dict.fromkeys([*tags, *_TAG.findall(f"{heading or ''}\n{prose}")])),
            metadata={key: value for key, value in known.items() if value},
            created_at=at,
        )


def _readable(text: str) -> str:
    """Return a text as Obsidian shows it: links as their words, without embedded media and names of paragraphs.

    A text that would become empty, and code, stay as they are.
    """
    places = [0, *(edge for code in _CODE.finditer(text) for edge in code.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(places)]  # prose and code take turns
    parts[::2] = [_BLOCK_ID.sub("", _SHOWN_LINK.sub(_words_of, part)) for part in parts[::2]]
    shown = "".join(parts)
    return shown if shown.strip() else text


def _words_of(link: re.Match[str]) -> str:
    embeds, note, heading, words = link.groups()
    if embeds and _IMAGE.search(note):
        return ""
    return (words or note or heading or "").strip()


def _daily(stem: str) -> datetime | None:
    """Return the day in the name of a daily note, such as ``2025-02-01 Monday``."""
    found = _DAILY.match(stem)
    try:
        return moment(found[0]) if found else None
    except InvalidInput:
        return None


def _as_json(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties as JSON. YAML has types that JSON does not have, such as dates."""
    try:
        return dict(json.loads(json.dumps(properties, default=str, allow_nan=False)))
    except (TypeError, ValueError):
        return {key: str(value) for key, value in properties.items()}


def _labels(name: str) -> list[str]:
    """Return the labels of a file's namespace: the names of its folders, then its own name without the extension.

    Only the last five labels are kept, each cut to 100 characters, because the size of a namespace is limited.
    """
    return [part[:100] for part in Path(name).with_suffix("").parts][-5:]


def _properties(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the properties at the top of a file, and the rest of its text.

    If the properties are not valid YAML, they stay in the text. For example, a template of a vault contains ``created:
    {{date}}``.
    """
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    try:
        properties = yaml.safe_load(found[1] or "")
    except (yaml.YAMLError, ValueError):  # ValueError: a date such as 2024-13-45
        return {}, f"{found[1] or ''}\n{text[found.end() :]}"
    return (properties if isinstance(properties, Mapping) else {}), text[found.end() :]


def _tags(value: Any) -> list[str]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(word).lstrip("#").strip() for word in words if str(word).lstrip("#").strip()]


def _created(properties: Mapping[str, Any]) -> datetime | None:
    for name in _CREATED:
        value = properties.get(name)
        if isinstance(value, datetime):
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, str):
            try:
                return moment(value)
            except InvalidInput:
                continue
    return None
