"""Read Markdown files: one file, or a folder such as an Obsidian vault. Each section of a file becomes a memory.

The properties at the top of a file set tags and dates. Hidden folders, such as ``.obsidian`` and ``.trash``, are not
read. Templates and files with invalid properties are skipped, and the result names them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from holdfast.errors import InvalidInput
from holdfast.importers.documents import sections
from holdfast.importers.fields import moment
from holdfast.importers.records import Note, SkippedFile
from holdfast.importers.texts import read_text
from holdfast.runtime.regex import regex

_FRONT = regex(r"\A---[ \t]*\r?\n(.*?\r?\n)?---[ \t]*(\r?\n|\Z)", re.DOTALL)
_UNCLOSED = regex(r"\A---[ \t]*\r?\n[A-Za-z][\w -]*:(?:[ \t]|\r?\n)")
"""Properties without a closing line. A line of dashes with other text below it is only a line."""
_TAG = regex(r"(?<![\w/#&])#([A-Za-zÀ-ÿ_][\w/-]*)")
_LINK = regex(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
_SHOWN_LINK = regex(r"(!?)\[\[([^\]|#]*)(?:#([^\]|]*))?(?:\|([^\]]*))?\]\]")
"""Parts of a link: the mark of an embedded file, the note, the heading in it, and the text that is shown."""
_IMAGE = regex(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp[34]|webm|wav|m4a|ogg|mov|pdf|canvas)\s*\Z", re.IGNORECASE)
_BLOCK_ID = regex(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
"""Name of a paragraph at its end, such as ``^gift1``, to which other notes can link."""
_DAILY = regex(r"\d{4}-\d{2}-\d{2}")
_CODE = regex(r"```.*?```|`[^`\n]*`", re.DOTALL)
_PLACEHOLDER = regex(
    r"<%.*?%>|\{\{\s*(?:date|time|title|value|name|linkcurrent)\s*(?:[:|][^{}\n]*)?\}\}", re.DOTALL | re.IGNORECASE
)
"""Place that a template fills in: a command of Templater, or a variable of Obsidian's templates or of QuickAdd."""
_TEMPLATE_SETTINGS = (("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder"))
"""Files in ``.obsidian`` that name the folder of templates, and the name of the setting."""
_CREATED = ("created", "created_at", "date", "date created")


def pages(path: Path) -> list[Path]:
    """Return the Markdown files in a folder, sorted by name. If the path is a file, return only this file."""
    if path.is_file():
        return [path]
    found = (file for pattern in ("*.md", "*.markdown") for file in path.rglob(pattern) if file.is_file())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def read_markdown(path: Path) -> Iterator[Note | SkippedFile]:
    """Yield the sections of all files."""
    folders = _template_folders(path)
    for file in pages(path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        folder = next((each for each in folders if name.startswith(f"{each}/")), None)
        if folder is None:
            yield from _page(file, name)
        else:
            yield SkippedFile(file=name, reason="template", detail=f"{folder}/")


def _template_folders(vault: Path) -> list[str]:
    """Return the folders of templates that the settings of an Obsidian vault name, relative to the vault."""
    found = []
    for file, setting in _TEMPLATE_SETTINGS:
        try:
            settings = json.loads((vault / ".obsidian" / file).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        folder = settings.get(setting) if isinstance(settings, Mapping) else None
        if isinstance(folder, str) and folder.strip("/ "):
            found.append(folder.strip("/ "))
    return found


def _page(file: Path, name: str) -> Iterator[Note | SkippedFile]:
    text = read_text(file, name)
    placeholder = _PLACEHOLDER.search(_CODE.sub(" ", text))
    if placeholder is not None:
        yield SkippedFile(file=name, reason="template", detail=placeholder[0][:80])
        return
    properties, body, problem = _properties(text)
    if problem is not None:
        yield SkippedFile(file=name, reason="properties", detail=problem)
        return
    yield from _notes(file, name, properties, body)


def _notes(file: Path, name: str, properties: Mapping[str, Any], body: str) -> Iterator[Note]:
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


class _Properties(NamedTuple):
    """The properties at the top of a file, the rest of its text, and the problem if they are not valid YAML."""

    values: Mapping[str, Any]
    body: str
    problem: str | None = None


def _properties(text: str) -> _Properties:
    found = _FRONT.match(text)
    if found is None:
        return _Properties({}, text, "the closing line --- is missing" if _UNCLOSED.match(text) else None)
    body = text[found.end() :]
    try:
        values = yaml.safe_load(found[1] or "")
    except yaml.YAMLError as error:
        return _Properties({}, body, _describe(error))
    except ValueError as error:  # a date such as 2024-13-45
        return _Properties({}, body, str(error))
    if isinstance(values, str):  # a text between two lines of dashes
        return _Properties({}, text)
    return _Properties(values if isinstance(values, Mapping) else {}, body)


def _describe(error: yaml.YAMLError) -> str:
    """Return the first line of an error, with the line of the file if it is known."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    return problem if mark is None else f"line {mark.line + 2}: {problem}"  # counted from 0, after the first line of ---


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
