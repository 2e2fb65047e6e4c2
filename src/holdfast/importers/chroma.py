"""From a Chroma collection of Reachy's design into a memory with the preset ``reachy``.

The collection is only read, and of a copy: Chroma writes into what it opens. Each memory keeps its old id as
``imported_id`` in its metadata, by which a second run knows what is here already.
"""

import math
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
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
_AT_ONCE = 1000
_OLDER_TYPES = {"observation": "conversation", "preference": "fact", "event": "context", "task": "context"}
"""What the design's own first version called its memories, and what its second makes of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromaImport:
    """What came of an import; the numbers after ``found`` add up to it."""

    collection: str
    found: int = 0
    imported: int = 0
    known: int = 0
    """Imported before, also if it was forgotten since."""
    repeated: int = 0
    """Says what another one of the collection says."""
    expired: int = 0
    empty: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """One entry of a collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    at: datetime | None

    @property
    def kind(self) -> str:
        """The kind it becomes; the design takes what has no type for a fact."""
        told = str(self.metadata.get("type", "fact")).casefold()
        named = _OLDER_TYPES.get(told, told)
        return named if named in {kind.name for kind in REACHY.kinds} else "fact"

    @property
    def key(self) -> str | None:
        """The key of a context."""
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
    """Bring a collection in, for a user, app or agent or for all; what has expired or is here already stays out."""
    lacking = {kind.name for kind in REACHY.kinds} - {kind.name for kind in engine.preset.kinds}
    if lacking:
        raise SettingsError(f"The preset {engine.preset.name!r} has no kind {min(lacking)!r}; import with the preset 'reachy'.")
    scope = engine.session(user=user, app=app, agent=agent, off_record=True).scope
    records = sorted(_read(Path(path).expanduser(), collection), key=lambda record: (record.at is not None, record.at, record.id))
    puts, result = _sift(engine, scope, records, collection)
    for start in range(0, len(puts), _AT_ONCE):
        with services(engine).store.write() as tx:
            writer = Writer(tx=tx, preset=engine.preset, author=Author(actor="import"), now=services(engine).clock.now())
            writer.apply(puts[start : start + _AT_ONCE])
        if progress is not None:
            progress(min(start + _AT_ONCE, len(puts)), len(puts))
    services(engine).scheduler.wake()
    return result


def _sift(engine: Engine, scope: Scope, records: Sequence[_Record], collection: str) -> tuple[list[Put], ChromaImport]:
    """Return what is to be written, and the count of it all."""
    before = services(engine).store.memories(MemoryFilter(exactly=scope, statuses=None, where={"imported_id": {"$ne": ""}}))
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
    told = {
        name: value for name, value in record.metadata.items() if name != "created_at" and (name, value) != ("type", record.kind)
    }
    kept = {name: _plain(value) for name, value in told.items()}
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
    """Return when it expires, counted from when it was made; without that, from now."""
    lifetime = engine.preset.kind(record.kind).lifetime
    if lifetime is None or record.at is None:
        return None
    return record.at + lifetime if isinstance(lifetime, timedelta) else end_of_day(record.at, zone)


def _plain(value: Any) -> Any:
    """Return a metadata value as it can be kept; of odd ones, their text."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    odd = isinstance(value, float) and not math.isfinite(value)
    return value if not odd and isinstance(value, str | bool | int | float | None) else str(value)


def _read(path: Path, collection: str) -> Iterator[_Record]:
    with _opened(path) as client:
        names = sorted(each.name for each in client.list_collections())
        if collection not in names:
            raise NotFound(f"{path} has no collection {collection!r}; it has: {', '.join(names) or 'none'}.")
        found = client.get_collection(collection, embedding_function=None)  # the default one would be downloaded
        total, offset = found.count(), 0
        while offset < total:
            page = found.get(limit=_AT_ONCE, offset=offset, include=["documents", "metadatas"])
            for id, text, metadata in zip(page["ids"], page["documents"], page["metadatas"], strict=True):
                yield _Record(id=id, text=text or "", metadata=metadata or {}, at=_moment(metadata or {}))
            offset += _AT_ONCE


def _moment(metadata: Mapping[str, Any]) -> datetime | None:
    try:
        return as_utc(str(metadata["created_at"]))
    except (KeyError, InvalidInput):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Give Chroma's own client on a copy of its file."""
    folder = path.parent if path.name == _FILE else path
    if not (folder / _FILE).is_file():
        raise InvalidInput(f"{path} is not a folder of Chroma's: there is no {_FILE} in it.")
    try:
        import chromadb  # noqa: PLC0415  (heavy, and only there with the extra)
    except ImportError as error:
        raise ExtraMissing("Reading a Chroma collection needs chromadb: pip install 'holdfast[chroma]'.") from error
    from chromadb.errors import ChromaError  # noqa: PLC0415  (as above)

    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as copy:
        try:
            _copy(folder / _FILE, Path(copy) / _FILE)
            with chromadb.PersistentClient(path=copy, settings=settings) as client:
                yield client
        except (sqlite3.Error, ChromaError) as error:
            raise InvalidInput(f"{folder / _FILE} cannot be read as Chroma's: {error}.") from error


def _copy(file: Path, target: Path) -> None:
    """Copy a database as it stands, also while a program is writing to it."""
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target)) as made,
    ):
        source.backup(made)
