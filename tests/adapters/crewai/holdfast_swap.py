"""Make CrewAI's tests use Holdfast's storage instead of LanceDB, the default storage of CrewAI's memory."""

import tempfile
from pathlib import Path
from typing import Any

import crewai.memory.storage.lancedb_storage
import holdfast_suite

from holdfast.adapters.crewai import HoldfastStorage

_folder = tempfile.TemporaryDirectory()
_opened: list[HoldfastStorage] = []


class SwappedStorage(HoldfastStorage):
    """Holdfast's storage, with the constructor arguments of ``LanceDBStorage``."""

    def __init__(self, path: Any = None, table_name: str = "", vector_dim: int | None = None, compact_every: int = 0) -> None:
        holdfast_suite.note_use()
        file = Path(path).with_suffix(".db") if path else Path(_folder.name) / f"{len(_opened)}.db"
        super().__init__(file, worker="none")
        _opened.append(self)


def pytest_unconfigure() -> None:
    """Close all stores and delete their files."""
    for storage in _opened:
        storage.close()
    _folder.cleanup()


crewai.memory.storage.lancedb_storage.LanceDBStorage = SwappedStorage
