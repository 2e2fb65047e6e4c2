"""The backends that tests run on: SQLite, SQLite with Chroma as vector index, and PostgreSQL.

A test marked ``everywhere`` runs on every backend, or on the backends that the mark names. ``--places postgres,chroma``
runs every test with the ``place`` fixture on these backends instead. Backends that are not available on this machine
are skipped.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from holdfast.presets import find_preset
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.stores.sqlite.store import SQLiteStore

Kind = Literal["sqlite", "postgres", "chroma"]
KINDS: Sequence[Kind] = ("sqlite", "postgres", "chroma")

SHARED = "PYTEST_SHARED_FOLDER"
"""Environment variable with the folder that the workers of a test run share. It is removed at the end of the run."""
_IN_MEMORY = Path("/dev/shm")
_ROOM_IN_MEMORY = 4 << 30


def memory_folder() -> str | None:
    """Return the in-memory folder for temporary files, or None if it is too small or programs cannot run in it.

    Most tests write small stores, and would spend half of their time waiting for a disk. The folder needs 4 GiB of free
    space. In a container, it often has only 64 MB.
    """
    if not os.access(_IN_MEMORY, os.W_OK) or os.statvfs(_IN_MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return str(_IN_MEMORY) if shutil.disk_usage(_IN_MEMORY).free >= _ROOM_IN_MEMORY else None


def shared_folder() -> Path | None:
    """Return the folder that the workers of this test run share, or None if the tests run in one process."""
    folder = os.environ.get(SHARED)
    return Path(folder) if folder else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A backend with an empty store."""

    kind: Kind
    folder: Path
    address: str | None = None

    def opening(self, **options: Any) -> dict[str, Any]:
        """Return ``options``, completed with the arguments with which ``holdfast.open`` opens this store.

        If ``options`` already has a ``path``, return ``options`` unchanged.
        """
        if "path" in options:
            return options
        if self.address is None:
            chosen = {"settings": {"index": "chroma"}} if self.kind == "chroma" else {}
            settings = options.get("settings")
            encrypted = "key" in options or (isinstance(settings, Mapping) and "key" in settings)
            return {"path": self._file(encrypted=encrypted), **chosen, **options}
        preset = find_preset(options["preset"]) if isinstance(options.get("preset"), str) else options.get("preset")
        if preset is not None and preset.topics_dir is not None and not Path(preset.topics_dir).is_absolute():
            options["preset"] = replace(preset, topics_dir=str(self.folder / preset.topics_dir))  # else in the data directory
        settings = {"scrub_interval": 0, **options.pop("settings", {})}  # so that receipts are complete at once, as with a file
        return {"path": self.address, "settings": settings, **options}

    def _file(self, *, encrypted: bool) -> Path:
        """Return the path of the store's file. If the file does not exist yet, write an empty store, which saves time.

        An encrypted store is not written here.
        """
        file = self.folder / "memory.db"
        if not encrypted and not self.folder.exists():
            create_folder(self.folder)
            create_file(file)
            file.write_bytes(empty_store())
        return file

    @property
    def arguments(self) -> list[str]:
        """Command line arguments that name the store."""
        return ["--store", self.address or str(self.folder / "memory.db")]


@cache
def empty_store(key: str | None = None) -> bytes:
    """Return the bytes of a store file that has all tables and no rows."""
    with TemporaryDirectory() as folder:
        SQLiteStore(Path(folder) / "memory.db", key=key).close()
        return (Path(folder) / "memory.db").read_bytes()


@contextmanager
def a_place(kind: Kind, folder: Path, *, own: bool = False) -> Iterator[Place]:
    """Yield a backend with an empty store.

    On PostgreSQL, tests share one database, which is emptied first. With ``own``, a new database is created.
    """
    if kind == "chroma":
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    if kind != "postgres":
        yield Place(kind=kind, folder=folder)
        return
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    from tests.stores.postgres.support import running  # noqa: PLC0415  (starts nothing, but needs the extra)

    server = running()
    address = server.new() if own else server.emptied()
    try:
        yield Place(kind=kind, folder=folder, address=address)
    finally:
        if own:
            server.drop(address)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test that has the ``place`` fixture once on each of its selected backends."""
    if "place" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--places")
    marked = metafunc.definition.get_closest_marker("everywhere")
    kinds = chosen.split(",") if chosen else () if marked is None else marked.args or KINDS
    if kinds:
        metafunc.parametrize("place", [_case(kind) for kind in kinds], indirect=True)


def _case(kind: str) -> Any:
    """Return the pytest parameter for one backend. For PostgreSQL, it carries the mark ``ledger("X9")``.

    The mark says that the test proves promise X9 in ``promises.toml``.
    """
    return pytest.param(kind, id=kind, marks=[pytest.mark.ledger("X9")] if kind == "postgres" else [])
