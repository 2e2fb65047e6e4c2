"""Write an export to a file or a stream. The file is written completely or not at all, and only its owner can read it."""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast, get_args

from holdfast.errors import Conflict, InvalidInput
from holdfast.exporters.jsonl import write_jsonl
from holdfast.exporters.markdown import write_markdown
from holdfast.exporters.portable import write_portable
from holdfast.exporters.selection import Selection, select
from holdfast.exporters.walk import Progress, Walk
from holdfast.presets.base import Preset
from holdfast.protocols import Store
from holdfast.types import Scope

ExportFormat: TypeAlias = Literal["jsonl", "markdown", "pam"]
MEDIA_TYPES: Mapping[str, str] = {
    "jsonl": "application/x-ndjson",
    "markdown": "text/markdown; charset=utf-8",
    "pam": "application/zip",
}
EXTENSIONS: Mapping[str, str] = {"jsonl": "jsonl", "markdown": "md", "pam": "zip"}
_FORMAT_BY_SUFFIX: Mapping[str, ExportFormat] = {".md": "markdown", ".markdown": "markdown", ".zip": "pam"}
_MIN_CHUNK = 64 * 1024
"""Minimum size of a piece of an export, in bytes. Only the last piece may be smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """Result of an export: the format, the file (if any), its size, and the number of entries by type."""

    format: ExportFormat
    path: Path | None = None
    bytes: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


def check_format(format: str) -> ExportFormat:
    """Return the format. Raise InvalidInput if it is unknown."""
    if format not in get_args(ExportFormat):
        raise InvalidInput(f"There is no export format {format!r}. The formats are {', '.join(get_args(ExportFormat))}.")
    return cast("ExportFormat", format)


def format_for(target: str | os.PathLike[str] | BinaryIO) -> ExportFormat:
    """Return the format that fits the extension of a file: ``.md`` is Markdown, ``.zip`` is Portable AI Memory, others are JSONL."""
    return _FORMAT_BY_SUFFIX.get(Path(target).suffix.lower(), "jsonl") if isinstance(target, str | os.PathLike) else "jsonl"


def export(
    store: Store,
    preset: Preset,
    now: datetime,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    owner: Mapping[str, str | None],
    session: str | None = None,
    format: str | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> ExportResult:
    """Write an export to a file or an open binary file. Without ``format``, the extension of the file chooses the format.

    Without ``format``, an open binary file gets JSONL. ``owner`` names the user, app or agent whose data is exported.
    ``session`` is the id of a session; only this session is then exported. If neither is given, all data is exported. With
    ``replace``, an existing file is replaced.
    """
    chosen, selection = check_format(format or format_for(target)), select(store, session=session, **owner)
    walk = Walk(store, preset, selection, progress)
    path, size = save(stream(walk, preset, selection, format=chosen, now=now), target, replace=replace)
    return ExportResult(format=chosen, path=path, bytes=size, counts={name: walk.counts[name] for name in sorted(walk.counts)})


def export_parts(
    store: Store,
    preset: Preset,
    now: datetime,
    *,
    owner: Mapping[str, str | None],
    session: str | None,
    format: str,
    sees: Callable[[Scope], bool],
) -> Iterator[bytes]:
    """Return an iterator over the bytes of an export. Invalid arguments raise an error at once, before the first bytes are read.

    ``owner`` names the user, app or agent whose data is exported. With ``session``, only this session and the memories
    derived from it are exported, and ``owner`` identifies the session.

    A memory outside this selection can also be derived from exported data. It is exported only if ``sees`` returns True for
    its scope, which means that the caller may read the memory.
    """
    chosen, selection = check_format(format), select(store, session=session, **owner)
    return stream(Walk(store, preset, selection, sees=sees), preset, selection, format=chosen, now=now)


def stream(walk: Walk, preset: Preset, selection: Selection, *, format: ExportFormat, now: datetime) -> Iterator[bytes]:
    """Yield the bytes of an export in pieces of at least 64 KiB. Only the last piece may be smaller."""
    if format == "jsonl":
        parts = write_jsonl(walk.entries(), preset=preset.name, selection=selection, kinds=walk.plain_kinds())
    elif format == "markdown":
        parts = write_markdown(walk)
    else:
        parts = write_portable(walk, selection=selection, now=now)
    pending, size = [], 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _MIN_CHUNK:
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


def save(parts: Iterator[bytes], target: str | os.PathLike[str] | BinaryIO, *, replace: bool = False) -> tuple[Path | None, int]:
    """Write the bytes of an export to a new file, or to an open binary file. Return the path and the number of bytes.

    For an open binary file, the path is None. Raises ``Conflict`` if the file exists, unless ``replace`` is True.
    """
    if not isinstance(target, str | os.PathLike):
        return None, sum(_written(target, part) for part in parts)
    path = Path(target).expanduser()
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder. Name a file. Nothing was exported.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}. Create it first. Nothing was exported.")
    if path.exists() and not replace:
        raise Conflict(
            f"{path} exists. Nothing was exported; name another file, or replace it (--replace, or replace=True in Python)."
        )
    with _new_file(path) as file:
        size = sum(_written(file, part) for part in parts)
    return path, size


def _written(file: BinaryIO, part: bytes) -> int:
    file.write(part)
    return len(part)


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Context manager: open a temporary file with mode 0600 in the same folder.

    At the end of the ``with`` block, the file is renamed to ``path``. If the block raises an error, the file is removed.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
