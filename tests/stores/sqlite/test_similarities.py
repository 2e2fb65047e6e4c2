"""Cosines between hits are the same from the in-memory index and from the file."""

from pathlib import Path

import numpy as np

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import HashEmbedder


def _filled(path: Path) -> tuple[Engine, str, list[int]]:
    embedder = HashEmbedder()
    memory = open_engine(path, embedder=embedder, worker="none")
    for user in ("ana", "luis"):
        for number in range(6):
            memory.remember(f"note {number} of {user} about the garden and the harbour", user=user)
    memory.drain()
    items = [one.item for one in memory.memories(user="ana")]
    return memory, embedder.name, items


def test_the_index_in_memory_and_the_file_give_the_same_cosines(tmp_path: Path) -> None:
    memory, model, items = _filled(tmp_path / "memory.db")
    with memory:
        from_file = services(memory).store.similarities(model, items)
        memory.recall("garden", user="ana")  # loads this user's index into memory
        from_memory = services(memory).store.similarities(model, items)
    assert from_file is not None
    assert from_memory is not None
    assert np.array_equal(from_file, from_memory)


def test_vectors_that_are_not_in_memory_are_read_from_the_file(tmp_path: Path) -> None:
    memory, model, items = _filled(tmp_path / "memory.db")
    with memory:
        others = [one.item for one in memory.memories(user="luis")]
        memory.recall("garden", user="ana")
        cosines = services(memory).store.similarities(model, [*items, *others])
    assert cosines is not None
    assert np.allclose(np.diag(cosines), 1, atol=1e-5)


def test_the_total_memory_size_of_all_indexes_is_tracked(tmp_path: Path) -> None:
    memory, _, _ = _filled(tmp_path / "memory.db")
    with memory:
        for user in ("ana", "luis", "ana"):
            memory.recall("garden", user=user)
            memory.recall("garden", user=user)
        store = services(memory).store
        assert isinstance(store, SQLiteStore)
        cache = store._indexes
        held = sum(index.nbytes for _, index in cache._indexes.values())
        assert cache._total == held
        cache.clear()
        assert cache._total == 0
