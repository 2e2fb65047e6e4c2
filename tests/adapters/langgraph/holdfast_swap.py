"""Make LangGraph's tests create Holdfast's store instead of an ``InMemoryStore``."""

import tempfile
from pathlib import Path
from typing import Any

import holdfast_suite
import langgraph.store.memory
from langgraph.store.base import ensure_embeddings

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.langgraph import HoldfastStore

_folder = tempfile.TemporaryDirectory()
_engines: list[holdfast.Engine] = []


class SwappedStore(HoldfastStore):
    """Holdfast's store, with the constructor arguments of ``InMemoryStore``. The memory uses the test's embedder."""

    def __init__(self, *, index: dict[str, Any] | None = None) -> None:
        holdfast_suite.note_use()
        embed = "none" if index is None else ensure_embeddings(index["embed"]).embed_query
        path = Path(_folder.name) / f"{len(_engines)}.db"
        _engines.append(holdfast.open(path, kinds=[ITEM], embedder=embed, worker="none"))
        super().__init__(_engines[-1], index=False if index is None else {"fields": index.get("fields")})
        self.index_config = index


def pytest_unconfigure() -> None:
    """Close all memories and delete their files."""
    for engine in _engines:
        engine.close()
    _folder.cleanup()


langgraph.store.memory.InMemoryStore = SwappedStore
