"""The other libraries ("peers"): Chroma, sqlite-vec and mem0, each measured with the same data if it is installed."""

import importlib.util
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import apsw

from holdfast.protocols import Embedder
from holdfast_bench.speed.sides import RESULTS, Query, Row, Side

_MODULES = {"Chroma": ("chromadb", "chromadb"), "sqlite-vec": ("sqlite_vec", "sqlite-vec"), "mem0": ("mem0", "mem0ai")}
_BATCH = 4000
_MAX_SIZES = {"mem0": 10_000}
"""Maximum number of memories per peer. With more memories, the measurement takes too long.

For example, mem0's local store syncs to disk after each imported memory, and each of its searches scans all memories.
"""


def installed() -> dict[str, str]:
    """Return the versions of the installed peers, by name."""
    return {name: metadata.version(package) for name, (module, package) in _MODULES.items() if importlib.util.find_spec(module)}


def reaches(name: str, size: int) -> bool:
    """Return True if a library can be measured with ``size`` memories within minutes. For larger sizes, it is left out."""
    return size <= _MAX_SIZES.get(name, size)


def open_peer(name: str, folder: Path, embedder: Embedder) -> Side:
    """Open the files of a peer in a folder, and create them if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "Chroma":
        return Chroma(folder)
    if name == "sqlite-vec":
        return SqliteVec(folder / "vectors.db", embedder.dimensions)
    from holdfast_bench.speed.peer_mem0 import Mem0  # noqa: PLC0415  (optional dependency)

    return Mem0(folder, embedder)


class Chroma:
    """A Chroma collection in a folder, filtered by metadata."""

    name = "Chroma"

    def __init__(self, folder: Path) -> None:
        import chromadb  # noqa: PLC0415  (optional dependency)

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collection = self._client.get_or_create_collection(
            "bench", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def put(self, rows: Sequence[Row]) -> None:
        """Add documents with their vectors."""
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            self._collection.add(
                ids=[str(row.number) for row in part],
                embeddings=[row.vector for row in part],
                documents=[row.text for row in part],
                metadatas=[{"user": row.user, "part": row.part, "kind": row.kind} for row in part],
            )

    def find(self, query: Query) -> Sequence[str]:
        """Search by vector, and return the texts of the results."""
        conditions: list[dict[str, Any]] = [{"user": query.user}]
        conditions += [{"part": query.part}] if query.part else []
        conditions += [{"kind": query.kind}] if query.kind else []
        where: Any = conditions[0] if len(conditions) == 1 else {"$and": conditions}
        found = self._collection.query(query_embeddings=[query.vector], n_results=RESULTS, where=where)
        texts: list[str] = (found["documents"] or [[]])[0]
        return texts

    def close(self) -> None:
        """Close the client, which stops its threads."""
        close = getattr(self._client, "close", None)
        if close is not None:
            close()


class SqliteVec:
    """A sqlite-vec virtual table in a file, filtered by columns."""

    name = "sqlite-vec"

    def __init__(self, file: Path, dimensions: int) -> None:
        import sqlite_vec  # noqa: PLC0415  (optional dependency)

        self._connection = apsw.Connection(str(file))
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS bench USING vec0 (id INTEGER PRIMARY KEY, "
            f"vector float[{dimensions}] distance_metric=cosine, user TEXT, part TEXT, kind TEXT, +text TEXT)"
        )

    def put(self, rows: Sequence[Row]) -> None:
        """Insert rows in one transaction."""
        with self._connection:
            values = ((row.number, row.vector.tobytes(), row.user, row.part, row.kind, row.text) for row in rows)
            self._connection.executemany("INSERT INTO bench VALUES (?, ?, ?, ?, ?, ?)", values)

    def find(self, query: Query) -> Sequence[str]:
        """Search by vector, and return the texts of the results."""
        sql = f"SELECT text FROM bench WHERE vector MATCH ? AND k = {RESULTS} AND user = ?"
        values: list[Any] = [query.vector.tobytes(), query.user]
        for column, value in (("part", query.part), ("kind", query.kind)):
            if value is not None:
                sql += f" AND {column} = ?"
                values.append(value)
        return [row[0] for row in self._connection.execute(sql, values)]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
