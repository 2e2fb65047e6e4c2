"""Import a Chroma collection, as written by the design Reachy, into a memory with the preset ``reachy``.

Only a copy of the collection is opened, because Chroma writes to the files it opens. Each memory keeps its old id as
``imported_id`` in its metadata, so that a second run skips memories that were imported before.
"""

import math
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.engine import Engine
from holdfast.errors import ExtraMissing, InvalidInput, NotFound, SettingsError
from holdfast.presets.reachy import REACHY, context_key
from holdfast.protocols import MemoryFilter
from holdfast.runtime.clock import as_utc, end_of_day
from holdfast.services import services
from holdfast.text.clean import fold
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer

__all__ = ["ChromaImport", "import_chroma"]

_FILE = "chroma.sqlite3"
_BATCH_SIZE = 1000
_OLDER_TYPES = {"observation": "conversation", "preference": "fact", "event": "context", "task": "context"}
"""Maps a memory type of Reachy's first version to the type that replaced it, such as "preference" to "fact"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromaImport:
    """Counts of an import. ``found`` is the number of entries in the collection; the next five counts add up to ``found``."""

    collection: str
    found: int = 0
    imported: int = 0
    known: int = 0
    """Number of entries that an earlier run imported, including those forgotten since."""
    repeated: int = 0
    """Number of entries with the same text as another entry of the collection."""
    expired: int = 0
    empty: int = 0
    redacted: int = 0
    """Number of imported entries in which secrets were replaced, in the text or in the metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """One entry of a collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    at: datetime | None

    @property
    def kind(self) -> str:
        """Kind of the imported memory; ``fact`` if the entry has no type or an unknown one."""
        type_name = str(self.metadata.get("type", "fact")).casefold()
        kind = _OLDER_TYPES.get(type_name, type_name)
        return kind if kind in {kind.name for kind in REACHY.kinds} else "fact"

    @property
    def key(self) -> str | None:
        """Key of an entry of type context; None for other types."""
        return context_key(self.text, self.metadata) if self.kind == "context" else None


def import_chroma(
    engine: Engine,
    path: str | Path,
    *,
    collection: str = "memories",
    user: str | None = None,
    app: str | None = None,
    agent: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ChromaImport:
    """Import a collection into a scope. Expired entries and entries that were imported before are skipped."""
    missing = {kind.name for kind in REACHY.kinds} - {kind.name for kind in engine.preset.kinds}
    if missing:
        raise SettingsError(
            f"The preset {engine.preset.name!r} has no kind {min(missing)!r}, so nothing was imported. Open the memory with the preset 'reachy'."
        )
    scope = engine.session(user=user, app=app, agent=agent, off_record=True).scope
    records = sorted(_read(Path(path).expanduser(), collection), key=lambda record: (record.at is not None, record.at, record.id))
    puts, result = _select(engine, scope, records, collection)
    redacted = 0
    for start in range(0, len(puts), _BATCH_SIZE):
        with services(engine).store.write() as tx:
            writer = Writer(tx=tx, preset=engine.preset, author=Author(actor="import"), now=services(engine).clock.now())
            redacted += sum(bool(memory.redacted) for memory in writer.apply(puts[start : start + _BATCH_SIZE]))
        if progress is not None:
            progress(min(start + _BATCH_SIZE, len(puts)), len(puts))
    services(engine).scheduler.wake()
    return replace(result, redacted=redacted)


def _select(engine: Engine, scope: Scope, records: Sequence[_Record], collection: str) -> tuple[list[Put], ChromaImport]:
    """Return the changes to write, and the counts of the import."""
    before = services(engine).store.memories(MemoryFilter(exactly=scope, statuses=None, where={"imported_id": {"$exists": True}}))
    known = {str(memory.metadata["imported_id"]) for memory in before}
    now = services(engine).clock.now()
    zone = services(engine).store.user(scope.user).timezone if scope.user else "UTC"
    puts: list[Put] = []
    said: set[tuple[str, str | None, str]] = set()
    count = {"known": 0, "repeated": 0, "expired": 0, "empty": 0}
    for record in records:
        expires_at = _expiry(engine, record, zone)
        same = (record.kind, record.key, fold(record.text))
        if not record.text.strip():
            count["empty"] += 1
        elif record.id in known:
            count["known"] += 1
            said.add(same)
        elif expires_at is not None and expires_at <= now:
            count["expired"] += 1
        elif same in said:
            count["repeated"] += 1
        else:
            said.add(same)
            puts.append(_put(record, scope, expires_at))
    return puts, ChromaImport(collection=collection, found=len(records), imported=len(puts), **count)


def _put(record: _Record, scope: Scope, expires_at: datetime | None) -> Put:
    other = {
        name: value for name, value in record.metadata.items() if name != "created_at" and (name, value) != ("type", record.kind)
    }
    kept = {name: _plain(value) for name, value in other.items()}
    return Put(
        scope=scope,
        kind=record.kind,
        text=record.text,
        key=record.key,
        metadata={**kept, "imported_id": record.id},
        origin="import",
        valid_from=record.at,
        expires_at=expires_at,
        reason="imported from Chroma",
    )


def _expiry(engine: Engine, record: _Record, zone: str) -> datetime | None:
    """Return the time at which an entry expires: its creation plus the lifetime of its kind.

    Return None if the kind has no lifetime, or if the creation time is unknown.
    """
    lifetime = engine.preset.kind(record.kind).lifetime
    if lifetime is None or record.at is None:
        return None
    return record.at + lifetime if isinstance(lifetime, timedelta) else end_of_day(record.at, zone)


def _plain(value: Any) -> Any:
    """Return a metadata value in a form that can be stored as JSON. Values that JSON cannot represent become text."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    is_not_finite = isinstance(value, float) and not math.isfinite(value)
    return value if not is_not_finite and isinstance(value, str | bool | int | float | None) else str(value)


def _read(path: Path, collection: str) -> Iterator[_Record]:
    with _opened(path) as client:
        names = sorted(each.name for each in client.list_collections())
        if collection not in names:
            raise NotFound(f"{path} has no collection {collection!r}. Its collections are: {', '.join(names) or 'none'}.")
        found = client.get_collection(collection, embedding_function=None)  # without this, Chroma downloads its default model
        total, offset = found.count(), 0
        while offset < total:
            page = found.get(limit=_BATCH_SIZE, offset=offset, include=["documents", "metadatas"])
            for id, text, metadata in zip(page["ids"], page["documents"], page["metadatas"], strict=True):
                yield _Record(id=id, text=text or "", metadata=metadata or {}, at=_moment(metadata or {}))
            offset += _BATCH_SIZE


def _moment(metadata: Mapping[str, Any]) -> datetime | None:
    try:
        return as_utc(str(metadata["created_at"]))
    except (KeyError, InvalidInput):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Yield a Chroma client on a copy of the database file."""
    folder = path.parent if path.name == _FILE else path
    if not (folder / _FILE).is_file():
        raise InvalidInput(f"{path} is not a Chroma folder: it has no {_FILE}. Nothing was imported.")
    try:
        import chromadb  # noqa: PLC0415  (slow to import, and only installed with the extra)
    except ImportError as error:
        raise ExtraMissing("Importing from Chroma needs chromadb. Install it with: pip install 'holdfast[chroma]'.") from error
    from chromadb.errors import ChromaError  # noqa: PLC0415  (as above)

    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as copy:
        try:
            _copy(folder / _FILE, Path(copy) / _FILE)
            with chromadb.PersistentClient(path=copy, settings=settings) as client:
                yield client
        except (sqlite3.Error, ChromaError) as error:
            raise InvalidInput(
                f"{folder / _FILE} cannot be read as a Chroma database, so nothing was imported: {error}."
            ) from error


def _copy(file: Path, target: Path) -> None:
    """Make a consistent copy of a database, even while another program writes to it."""
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target)) as destination,
    ):
        source.backup(destination)
