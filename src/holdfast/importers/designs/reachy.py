"""Read a Chroma collection, as written by the design Reachy.

Only a copy of the collection is opened, because Chroma writes to the files it opens.
"""

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.errors import ExtraMissing, InvalidInput, NotFound
from holdfast.importers.databases import copy_database, rows, tables
from holdfast.importers.records import Note
from holdfast.presets.reachy import REACHY, context_key
from holdfast.runtime.clock import as_utc
from holdfast.runtime.private_folders import private_folder

FILE = "chroma.sqlite3"
_PAGE = 1000
_CONVERSATION_LIFETIME = timedelta(days=30)
_OLDER_TYPES = {"observation": "conversation", "preference": "fact", "event": "context", "task": "context"}
"""Maps a memory type of Reachy's first version to the type that replaced it, such as "preference" to "fact"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One entry of a Chroma collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    at: datetime | None
    vector: bytes | None

    @property
    def kind(self) -> str:
        """Kind of the memory. It is ``fact`` if the entry has no type or an unknown type."""
        type_name = str(self.metadata.get("type", "fact")).casefold()
        kind = _OLDER_TYPES.get(type_name, type_name)
        return kind if kind in {kind.name for kind in REACHY.kinds} else "fact"


def read_chroma(path: Path, collection: str) -> Iterator[Note]:
    """Yield the entries of a collection, oldest first, so that the newest value of a key wins."""
    for item in sorted(_items(path, collection), key=lambda item: (item.at is not None, item.at, item.id)):
        other = {
            name: _plain(value)
            for name, value in item.metadata.items()
            if name != "created_at" and (name, value) != ("type", item.kind)
        }
        yield Note(
            id=item.id,
            text=item.text,
            kind=item.kind,
            key=context_key(item.text, item.metadata) if item.kind == "context" else None,
            metadata=other,
            created_at=item.at,
            expires_at=item.at + _CONVERSATION_LIFETIME if item.at and item.kind == "conversation" else None,
            vector=item.vector,
        )


def _plain(value: Any) -> Any:
    """Return a metadata value as JSON can represent it. A value that JSON cannot represent becomes text."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    is_not_finite = isinstance(value, float) and not math.isfinite(value)
    return value if not is_not_finite and isinstance(value, str | bool | int | float | None) else str(value)


def _items(path: Path, collection: str) -> Iterator[_Item]:
    with _opened(path) as (client, database):
        names = sorted(each.name for each in client.list_collections())
        if collection not in names:
            raise NotFound(f"{path} has no collection {collection!r}. Its collections are: {', '.join(names) or 'none'}.")
        found = client.get_collection(collection, embedding_function=None)  # without this, Chroma downloads its default model
        vectors = _vectors(database, str(found.id))
        total, offset = found.count(), 0
        while offset < total:
            page = found.get(limit=_PAGE, offset=offset, include=["documents", "metadatas"])
            for id, text, metadata in zip(page["ids"], page["documents"], page["metadatas"], strict=True):
                known = metadata or {}
                yield _Item(id=id, text=text or "", metadata=known, at=_time(known), vector=vectors.get(id))
            offset += _PAGE


def _vectors(database: Path, collection: str) -> dict[str, bytes]:
    """Return the vectors in Chroma's database file, by the id of the entry.

    The file has the vectors of the newest entries, usually about a thousand. Chroma moves older vectors to graph files. Graph
    files are not read, because Chroma does not check them: a damaged graph file would crash the process.
    """
    if not {"id", "topic", "vector", "encoding", "seq_id"} <= tables(database).get("embeddings_queue", frozenset()):
        return {}
    query = "SELECT id, topic, vector FROM embeddings_queue WHERE encoding = 'FLOAT32' AND vector IS NOT NULL ORDER BY seq_id"
    return {row["id"]: row["vector"] for row in rows(database, query) if str(row["topic"]).endswith(collection)}


def _time(metadata: Mapping[str, Any]) -> datetime | None:
    try:
        return as_utc(str(metadata["created_at"]))
    except (KeyError, InvalidInput):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Path]]:
    """Yield a Chroma client on a copy of the database file, and the path of a second copy, from which the vectors are read."""
    folder = path.parent if path.name == FILE else path
    if not (folder / FILE).is_file():
        raise InvalidInput(f"{path} is not a Chroma folder: it has no {FILE}. Nothing was imported.")
    try:
        import chromadb  # noqa: PLC0415  (slow to import, and only installed with the extra)
    except ImportError as error:
        raise ExtraMissing(
            "Importing from Chroma needs chromadb. Install it with: pip install 'holdfast-memory[chroma]'."
        ) from error
    from chromadb.errors import ChromaError  # noqa: PLC0415  (as above)

    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    with private_folder() as copy:
        try:
            copy_database(folder / FILE, copy / FILE)
            copy_database(folder / FILE, copy / "vectors.sqlite3")
            with chromadb.PersistentClient(path=str(copy), settings=settings) as client:
                yield client, copy / "vectors.sqlite3"
        except (sqlite3.Error, ChromaError) as error:
            raise InvalidInput(
                f"{folder / FILE} cannot be read as a Chroma database, so nothing was imported: {error}."
            ) from error
