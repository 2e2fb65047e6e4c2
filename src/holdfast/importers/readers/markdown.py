"""Read Markdown files: one file, or a folder such as an Obsidian vault. Each section of a file becomes a memory.

The properties at the top of a file set tags and dates. Properties that are not valid YAML are left out, and the result
names their file. Templates are skipped and named, too. Hidden folders, such as ``.obsidian`` and ``.trash``, are not read.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.documents import sections
from holdfast.importers.fields import moment
from holdfast.importers.readers.properties import Properties, read_properties
from holdfast.importers.records import FileWarning, Note, SkippedFile
from holdfast.importers.texts import read_text
from holdfast.runtime.regex import regex

_TAG = regex(r"(?<![\w/#&])#([A-Za-zÀ-ÿ_][\w/-]*)")
_LINK = regex(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
_SHOWN_LINK = regex(r"(!?)\[\[([^\]|#]*)(?:#([^\]|]*))?(?:\|([^\]]*))?\]\]")
"""An Obsidian link. Its groups are the mark of an embedded file, the linked note, the heading in it, and the shown text."""
_IMAGE = regex(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp[34]|webm|wav|m4a|ogg|mov|pdf|canvas)\s*\Z", re.IGNORECASE)
_BLOCK_ID = regex(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
"""Name at the end of a paragraph, such as ``^gift1``. Other notes can link to it."""
_DAILY = regex(r"\d{4}-\d{2}-\d{2}")
_CODE = regex(r"```.*?```|`[^`\n]*`", re.DOTALL)
_PLACEHOLDER = regex(
    r"<%.*?%>|\{\{\s*(?:date|time|title|value|name|linkcurrent)\s*(?:[:|][^{}\n]*)?\}\}", re.DOTALL | re.IGNORECASE
)
"""Place that a template fills in: a command of Templater, or a variable of Obsidian's templates or of QuickAdd."""
_TEMPLATE_SETTINGS = (("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder"))
"""Pairs of a settings file in ``.obsidian``, and the setting in it that names the folder of templates."""
_CREATED = ("created", "created_at", "date", "date created")


def pages(path: Path) -> list[Path]:
    """Return the Markdown files in a folder, sorted by name. If the path is a file, return only this file."""
    if path.is_file():
        return [path]
    found = (file for pattern in ("*.md", "*.markdown") for file in path.rglob(pattern) if file.is_file())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def read_markdown(path: Path) -> Iterator[Note | SkippedFile | FileWarning]:
    """Yield the sections of a Markdown file, or of all Markdown files in a folder. Templates of Obsidian are skipped."""
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


def _page(file: Path, name: str) -> Iterator[Note | SkippedFile | FileWarning]:
    text = read_text(file, name)
    placeholder = _PLACEHOLDER.search(_CODE.sub(" ", text))
    if placeholder is not None:
        yield SkippedFile(file=name, reason="template", detail=placeholder[0][:80])
        return
    found = read_properties(text)
    if found.problem is not None:
        yield FileWarning(file=name, detail=found.problem)
    yield from _notes(file, name, found)


def _notes(file: Path, name: str, found: Properties) -> Iterator[Note]:
    dates = {key: at for key in _CREATED if (at := _date(found.values.get(key))) is not None}
    at = next(iter(dates.values()), None) or _daily(file.stem) or datetime.fromtimestamp(file.stat().st_mtime, UTC)
    title = str(found.values.get("title") or Path(name).stem)
    tags = _tags(found.values.get("tags", found.values.get("tag")))
    others = {str(key): value for key, value in found.values.items() if key not in (*dates, "title", "tags", "tag")}
    for section in sections(found.body):
        prose = _CODE.sub(" ", section.text)
        links = list(dict.fromkeys(link.strip() for link in _LINK.findall(prose)))
        heading = (section.heading or "").removeprefix(title).removeprefix(" > ") or None
        known = {"file": name, "title": title, "heading": heading, "links": links, "properties": _as_json(others)}
        yield Note(
            id=f"{name}#{section.digest}",
            file=name,
            text=f"{title}{f' > {heading}' if heading else ''}: {_readable(section.text)}",
            namespace=("notes", *_labels(name)),
            tags=tuple(dict.fromkeys([*tags, *_TAG.findall(f"{heading or ''}\n{prose}")])),
            metadata={key: value for key, value in known.items() if value},
            created_at=at,
        )


def _readable(text: str) -> str:
    """Return a text as Obsidian shows it.

    A link becomes the words that it shows. Embedded media and the names of paragraphs (``^gift1`` at the end) are removed.
    Code is not changed. If nothing but whitespace would remain, the text is returned unchanged.
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


def _tags(value: Any) -> list[str]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(word).lstrip("#").strip() for word in words if str(word).lstrip("#").strip()]


def _date(value: Any) -> datetime | None:
    """Return the time that a property states, or None if it states no time."""
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        return moment(value) if isinstance(value, str) else None
    except InvalidInput:
        return None
