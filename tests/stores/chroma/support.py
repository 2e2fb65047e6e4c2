"""Helpers that open stores with Chroma as their index, and read Chroma's content."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np

from holdfast.protocols import MemoryFilter, SearchFilter, Store
from holdfast.stores.chroma.index import chroma_place
from holdfast.stores.chroma.protocol import ExternalIndex
from holdfast.stores.sqlite.queued_index.feed import Pace
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.samples import ANA, a_memory, remember
from holdfast.types import Scope

EAGER = Pace(max_scanned=0, max_applied_first=256, retry_seconds=0.0)
"""Settings with which every search first applies the queued changes to Chroma, so that Chroma answers the search."""
MODEL = "a"
LENGTH = 32


def open_store(file: Path, *, pace: Pace = EAGER, index: str | None = "chroma", tenant: str = "default") -> SQLiteStore:
    """Open a store. With ``index=None``, it uses no external index."""
    return SQLiteStore(file, tenant=tenant, index=chroma_place(index, file) if index else None, pace=pace)


@contextlib.contextmanager
def opened(file: Path, *, pace: Pace = EAGER, index: str | None = "chroma", tenant: str = "default") -> Iterator[SQLiteStore]:
    """Open a store, and close it when the ``with`` block ends."""
    store = open_store(file, pace=pace, index=index, tenant=tenant)
    try:
        yield store
    finally:
        store.close()


def direction(number: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return a unit vector that is unique to a number."""
    vector = np.random.default_rng(number).standard_normal(LENGTH).astype(np.float32)
    return vector / np.linalg.norm(vector)


def fill(store: Store, numbers: range, *, scope: Scope = ANA) -> None:
    """Store a memory with a vector for each number."""
    with store.write() as tx:
        tx.use_model(MODEL)
    remember(store, *(a_memory(f"number {n}", id=f"mem_{scope.user}_{n}", scope=scope) for n in numbers))
    waiting = store.missing_vectors(MODEL, limit=100_000)
    with store.write(durable=False) as tx:
        vectors = np.stack([direction(int(each.text.split()[1])) for each in waiting])
        tx.put_vectors(MODEL, [(each.item, each.chunk) for each in waiting], vectors)


def nearest(store: Store, number: int, *, limit: int = 1, reader: Scope = ANA) -> list[str]:
    """Return the texts nearest to a number's vector."""
    where = SearchFilter(reader=reader, spaces=["memory"])
    found = store.find_vectors(MODEL, direction(number), where, limit=limit)
    texts = {each.item: each.text for each in store.memories(MemoryFilter(items=[match.item for match in found], statuses=None))}
    return [texts[match.item] for match in found]


def catch_up(store: Store) -> None:
    """Do all the background work of a store."""
    while store.tidy():
        pass


def searched_in_memory(store: SQLiteStore) -> bool:
    """Return True if the in-memory index was loaded for a search."""
    return bool(store._indexes._indexes)


def build_folders(file: Path) -> list[Path]:
    """Return the folders of Chroma next to a store's file. Each contains one build of the index."""
    folder = file.with_name(file.name + ".chroma")
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def rows(file: Path, sql: str) -> list[tuple[object, ...]]:
    """Run a query on the SQLite file directly, bypassing the store."""
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        return list(connection.execute(sql))


def ids_in_chroma(store: SQLiteStore) -> list[int]:
    """Return the item id of each vector in Chroma, sorted. The id of an item with several vectors is repeated."""
    return sorted(key.item for key in _opened_index(store).keys())  # noqa: SIM118  (not a dictionary's)


def drop_from_chroma(store: SQLiteStore, count: int) -> None:
    """Remove vectors from Chroma without the store's knowledge."""
    index = _opened_index(store)
    index.remove(sorted(index.keys())[:count])


def _opened_index(store: SQLiteStore) -> ExternalIndex:
    assert store._external is not None
    feed = store._external._feed
    (build,) = [build for build in (feed.build(model) for model in feed.models()) if build is not None]
    return feed.opened(build)
