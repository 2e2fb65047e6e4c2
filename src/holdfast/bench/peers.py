"""The same vectors and the same filter in Chroma and in sqlite-vec, where they are installed."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.bench.data import Corpus

Search: TypeAlias = Callable[[NDArray[np.float32], str], Any]
_BATCH = 4000


def open_peers(corpus: Corpus, users: Sequence[str], folder: Path) -> dict[str, Search]:
    """Load a corpus into every peer there is; returns a search by vector and user for each."""
    found = {}
    if importlib.util.find_spec("chromadb"):
        found["Chroma"] = _chroma(corpus, users, folder / "chroma")
    if importlib.util.find_spec("sqlite_vec"):
        found["sqlite-vec"] = _sqlite_vec(corpus, users, folder / "vec.db")
    return found


def _chroma(corpus: Corpus, users: Sequence[str], folder: Path) -> Search:
    import chromadb  # noqa: PLC0415  (only there for benchmarks)

    client = chromadb.PersistentClient(path=str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("bench", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    for start in range(0, len(corpus.texts), _BATCH):
        part = slice(start, start + _BATCH)
        collection.add(
            ids=[str(n) for n in range(start, min(start + _BATCH, len(corpus.texts)))],
            embeddings=corpus.vectors[part],
            documents=corpus.texts[part],
            metadatas=[{"user": user} for user in users[part]],
        )

    def search(vector: NDArray[np.float32], user: str) -> Any:
        return collection.query(query_embeddings=[vector], n_results=10, where={"user": user})

    return search


def _sqlite_vec(corpus: Corpus, users: Sequence[str], file: Path) -> Search:
    import sqlite_vec  # noqa: PLC0415  (only there for benchmarks)

    connection = apsw.Connection(str(file))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    size = corpus.vectors.shape[1]
    connection.execute(
        f"CREATE VIRTUAL TABLE bench USING vec0 (id INTEGER PRIMARY KEY, vector float[{size}] distance_metric=cosine, "
        "user TEXT, +text TEXT)"
    )
    with connection:
        rows = zip(range(len(users)), corpus.vectors, users, corpus.texts, strict=True)
        connection.executemany("INSERT INTO bench VALUES (?, ?, ?, ?)", ((n, v.tobytes(), u, t) for n, v, u, t in rows))

    def search(vector: NDArray[np.float32], user: str) -> Any:
        return connection.execute(
            "SELECT id, distance, text FROM bench WHERE vector MATCH ? AND user = ? AND k = 10", (vector.tobytes(), user)
        ).fetchall()

    return search
