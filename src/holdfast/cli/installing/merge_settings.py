"""Add entries to another program's settings file, or remove them, and keep the rest of the file unchanged.

A JSON file is parsed and written again with its original indentation. If the file has comments or duplicate names, which
would be lost, the merge is refused. A TOML file is edited as text. The result must parse to the old settings plus the entry.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.cli.installing.clients import NAME, Client, toml_table

_BOM = b"\xef\xbb\xbf"
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_HEADER = re.compile(r"^[ \t]*\[")


class Unmergeable(ValueError):
    """The settings file cannot be changed without losing content.

    The message continues a sentence that starts with the file's path, for example "is not UTF-8".
    """


def merged(client: Client, before: bytes, entry: Mapping[str, Any]) -> bytes:
    """Return the content of an assistant's settings file with the entry of Holdfast's MCP server added."""
    if client.is_toml:
        return _edit_text(before, lambda text: _add_to_toml(text, client.under, entry))
    return edit_json(before, lambda settings: _with_server(settings, client.under, entry))


def removed(client: Client, before: bytes) -> bytes:
    """Return the content of an assistant's settings file without the entry of Holdfast's MCP server."""
    if client.is_toml:
        return _edit_text(before, lambda text: _remove_from_toml(text, client.under))
    return edit_json(before, lambda settings: _without_server(settings, client.under))


def edit_json(before: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """Return the content of a JSON file after the function ``change`` was applied to its settings.

    ``before`` is the old content. The result keeps the indentation, the type of line breaks and the byte order mark. If
    nothing changes, the old content is returned. A blank file counts as a file without settings. Raise ``Unmergeable`` if the
    content is not a JSON object in UTF-8, or if an object in it has the same name twice.
    """
    return _edit_text(before, lambda text: _changed_json(text, change))


def _edit_text(before: bytes, change: Callable[[str], str]) -> bytes:
    mark = _BOM if before.startswith(_BOM) else b""
    try:
        text = before.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unmergeable("is not UTF-8") from error
    return mark + change(text).encode("utf-8")


# JSON


def _changed_json(text: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    settings = _read_json(text) if text.strip() else {}
    changed = change(settings)
    if changed == settings:
        return text
    indent = _INDENT.search(text)
    written = json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    ending = newline if text.endswith("\n") or not text.strip() else ""
    return written.replace("\n", newline) + ending


def _with_server(settings: dict[str, Any], under: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    servers = settings.get(under, {})
    if not isinstance(servers, dict):
        raise Unmergeable(f"has no table of servers under {under!r}")
    known = servers.get(NAME)
    return {**settings, under: {**servers, NAME: _combined(known if isinstance(known, dict) else {}, entry)}}


def _without_server(settings: dict[str, Any], under: str) -> dict[str, Any]:
    servers = settings.get(under, {})
    if not isinstance(servers, dict) or NAME not in servers:
        return settings
    left = {name: entry for name, entry in servers.items() if name != NAME}
    return {name: left if name == under else value for name, value in settings.items() if name != under or left}


def _read_json(text: str) -> dict[str, Any]:
    try:
        settings = json.loads(text, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unmergeable("has comments or is not valid JSON") from error
    if not isinstance(settings, dict):
        raise Unmergeable("is not a JSON object")
    return settings


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unmergeable("has a duplicate name in one object")
    return found


def _combined(known: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new entry (``entry``) merged with the existing entry (``known``).

    New values take precedence, but settings that a person added are kept.
    """
    combined = {**known, **entry}
    for name in ("env", "environment"):
        if isinstance(known.get(name), Mapping) and isinstance(entry.get(name), Mapping):
            combined[name] = {**known[name], **entry[name]}
    return combined


# TOML


def _add_to_toml(text: str, under: str, entry: Mapping[str, Any]) -> str:
    before = _read_toml(text)
    servers = before.get(under, {})
    known = servers.get(NAME, {}) if isinstance(servers, dict) else {}
    combined = _combined(known if isinstance(known, dict) else {}, entry)
    if known == combined:
        return text
    kept = _without_table(text, under).rstrip("\r\n")
    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        table = toml_table((under, NAME), combined).replace("\n", newline)
    except TypeError as error:
        raise Unmergeable(f"has a value in its entry {NAME!r} that Holdfast cannot write") from error
    after = f"{kept}{newline * 2}{table}" if kept.strip() else table
    expected = {**before, under: {**(servers if isinstance(servers, dict) else {}), NAME: combined}}
    if _read_toml(after) != expected:
        raise Unmergeable(f"has {under!r} in a form that Holdfast cannot extend")
    return after


def _remove_from_toml(text: str, under: str) -> str:
    before = _read_toml(text)
    servers = before.get(under, {})
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    left = {name: entry for name, entry in servers.items() if name != NAME}
    after = _without_table(text, under)
    expected = {name: left if name == under else value for name, value in before.items() if name != under or left}
    if _read_toml(after) != expected:
        raise Unmergeable(f"has {under!r} in a form that Holdfast cannot shorten")
    return after.rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n") if after.strip() else ""


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unmergeable("is not valid TOML, or cannot be extended") from error


def _without_table(text: str, under: str) -> str:
    """Return the text of a TOML file without the table of Holdfast's entry and its subtables.

    ``under`` is the name of the table that contains the entry. Comments after the last line of the removed table belong
    to the next table and stay. A comment inside the removed table raises ``Unmergeable``. The caller must check that
    nothing else was removed.
    """
    own = re.compile(rf"""^[ \t]*\[[ \t]*{re.escape(under)}[ \t]*\.[ \t]*["']?{NAME}["']?[ \t]*(\.|\])""")
    kept: list[str] = []
    aside: list[str] = []
    skipping = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            kept += aside
            aside, skipping = [], own.match(line) is not None
        if not skipping:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            aside.append(line)
        elif "#" in line or any(each.strip() for each in aside):
            raise Unmergeable(f"has comments in its entry {NAME!r}")
        else:
            aside = []
    return "".join([*kept, *aside])
