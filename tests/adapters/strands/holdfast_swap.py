"""Make Strands' tests use Holdfast's store.

It replaces the class ``TestMemoryStore``. The tests of the memory manager use mocks as stores, and count the calls of the
mocks. These mocks stay, but they pass each call on to Holdfast's store. Mocks that raise an error are not changed.
"""

import functools
import itertools
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import holdfast_suite
import numpy as np
import pytest
import strands.vended_memory_stores
import strands.vended_memory_stores.test_memory_store

import holdfast
from holdfast.adapters.strands import HoldfastMemoryStore

_folder = tempfile.TemporaryDirectory()
_numbers = itertools.count()
_METHODS = ("search", "add", "add_messages")
_ADDED = ("id", "kind", "at", "_relevanceScore")
"""Metadata that our store adds to each result. The fake stores that it replaces in these tests add none."""


class FlatEmbedder:
    """An embedder that returns the same vector for every text, so every query finds every text, as in a mock."""

    name, dimensions, calibration, computes = "flat", 2, (0.0, 0.5), True

    def embed(self, texts: Sequence[str], *, role: str) -> Any:
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


@functools.cache
def engine(path: Path | str, *, flat: bool) -> holdfast.Engine:
    """Return an engine for the store in a file. The engine is opened on the first call and then reused."""
    embedder = FlatEmbedder() if flat else None
    return holdfast.open(path, embedder=embedder, worker="none")


def store_with(entries: Sequence[Any]) -> HoldfastMemoryStore:
    """Return a Holdfast store that contains the entries. The first entry is dated newest, so a search returns it first."""
    holdfast_suite.note_use()
    user, now = f"user {next(_numbers)}", datetime.now(UTC)
    memory = engine(Path(_folder.name) / "fakes.db", flat=True)
    for place, entry in enumerate(entries):
        memory.remember(entry.content, user=user, metadata=entry.metadata, created_at=now - timedelta(days=place))
    return HoldfastMemoryStore(memory, user=user, relevant_only=False)


class TestMemoryStore(HoldfastMemoryStore):
    """Holdfast's store, with the constructor arguments of Strands' ``TestMemoryStore``. It also writes its content to ``path``."""

    __test__ = False

    def __init__(self, *, name: str, path: str | None = None, persist: bool = True, **config: Any) -> None:
        holdfast_suite.note_use()
        self._storage: Any = None  # a test replaces it
        self._file = Path(path) if path and path.strip() and persist else None
        temporary = Path(_folder.name) / f"{next(_numbers)}.db"
        file = self._file.with_suffix(".db") if self._file else temporary if path is None or not persist else path
        super().__init__(engine(file, flat=False), name=name, **config)

    async def add(self, content: str, metadata: Any = None) -> Any:
        added = await super().add(content, metadata)
        if self._file:
            held = self._memory.memories(limit=100)
            records = [
                {"id": each.id, "content": each.text, "metadata": each.metadata, "createdAt": each.created_at.isoformat()}
                for each in held
            ]
            self._file.write_text(json.dumps(records, indent=2), "utf-8")
        return added


def connect(fake: Any) -> Any:
    """Make the mocks of a fake store call Holdfast's store. They still record their calls."""
    holder = fake if isinstance(fake, SimpleNamespace) else type(fake)
    mocks = {name: getattr(holder, name, None) for name in _METHODS}
    working = {name: mock for name, mock in mocks.items() if isinstance(mock, AsyncMock) and mock.side_effect is None}
    if working:
        store = store_with(working["search"].return_value if "search" in working else ())
        for name, mock in working.items():
            mock.side_effect = functools.partial(call, store, name)
    return fake


async def call(store: HoldfastMemoryStore, name: str, *args: Any) -> Any:
    """Call Holdfast's store, and remove the metadata that it adds to results."""
    if name != "search":
        await getattr(store, name)(*args)
        return None
    found = await store.search(args[0].strip() or "anything", *args[1:])
    for entry in found:
        entry.metadata = {name: value for name, value in entry.metadata.items() if name not in _ADDED} or None
    return found


def swap(module: ModuleType) -> None:
    """Replace the stores of one test module."""
    for name in ("_store", "_make_store", "_sinks"):
        if (make := getattr(module, name, None)) is not None:
            setattr(module, name, functools.partial(lambda make, *args, **config: connect(make(*args, **config)), make))
    if hasattr(module, "TestMemoryStore"):
        module.TestMemoryStore = TestMemoryStore  # type: ignore[attr-defined]
    if hasattr(module, "_FakeStore"):
        module._FakeStore = lambda: store_with([module.MemoryEntry(content="user prefers dark mode")])  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Replace the stores in all collected modules."""
    for module in {item.module for item in items}:  # type: ignore[attr-defined]
        swap(module)


def pytest_unconfigure() -> None:
    """Delete the files of the memories."""
    _folder.cleanup()


for package in (strands.vended_memory_stores, strands.vended_memory_stores.test_memory_store):
    package.TestMemoryStore = TestMemoryStore  # type: ignore[assignment,misc]
