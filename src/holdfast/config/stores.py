"""Opens the store that the settings name."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.config.folders import data_directory
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.stores.chroma.protocol import IndexPlace
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.text.clean import clean_name

if TYPE_CHECKING:
    from holdfast.stores.postgres import PostgresStore


def store_path(settings: Settings) -> Path:
    """Return the file of a SQLite store. If the setting names a folder, it is ``memory.db`` in that folder."""
    if settings.store is None:
        return data_directory() / "memory.db"
    location = settings.store.removeprefix("sqlite:///")
    if not location.strip():
        raise SettingsError("The setting store is blank. Set it to a file path, or remove it to use the default store.")
    if is_database(settings):
        raise SettingsError("This needs a SQLite store, not PostgreSQL. Set store to a file path or sqlite:///FILE.")
    if "://" in location:
        raise SettingsError(
            f"{location.split(':')[0]}:// is not a supported store. Set store to a file path, sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE."
        )
    path = Path(location).expanduser()
    return path / "memory.db" if path.is_dir() or not path.suffix else path


def is_database(settings: Settings) -> bool:
    """Return True if the store is a PostgreSQL database."""
    return (settings.store or "").startswith(("postgresql://", "postgres://"))


def make_store(settings: Settings, *, is_copy: bool = False) -> "SQLiteStore | PostgresStore":
    """Open the configured store. With ``is_copy``, the store is a copy of another file and is upgraded without a backup."""
    tenant = clean_name(settings.tenant, what="tenant") or "default"
    if is_database(settings):
        return _make_database(settings, tenant)
    path = store_path(settings)
    return SQLiteStore(
        path,
        tenant=tenant,
        key=settings.key,
        index=_index_place(settings, path),
        is_copy=is_copy,
        paced=settings.worker == "thread",
    )


def _make_database(settings: Settings, tenant: str) -> "PostgresStore":
    if settings.key is not None:
        raise SettingsError(
            "The setting key encrypts SQLite files only. Remove it, and use disk encryption on the PostgreSQL server."
        )
    if settings.index not in ("memory", ""):
        raise SettingsError("A PostgreSQL store searches vectors with pgvector. Remove the setting index.")
    try:
        from holdfast.stores.postgres import PoolLimits, PostgresStore  # noqa: PLC0415  (optional dependency)
    except ImportError as error:
        raise SettingsError(f"A PostgreSQL store needs {error.name}: pip install 'holdfast-memory[postgres]'") from error
    return PostgresStore(
        settings.store or "",
        tenant=tenant,
        limits=PoolLimits(connections=settings.store_connections),
        direct=settings.store_direct,
        scrub_interval=settings.scrub_interval,
    )


def _index_place(settings: Settings, path: Path) -> IndexPlace | None:
    """Return where Chroma keeps the vector index (files or a server), or None if the index is kept in memory."""
    index = settings.index
    if index in ("memory", ""):
        return None
    if index.partition(":")[0] != "chroma":
        raise SettingsError(f"The setting index must be memory, chroma or chroma:http://HOST:PORT, not {index!r}.")
    if settings.key is not None and index == "chroma":
        raise SettingsError("Chroma does not encrypt its files. An encrypted store needs index = 'memory'.")
    from holdfast.stores.chroma.index import chroma_place  # noqa: PLC0415  (optional dependency)

    return chroma_place(index, path)
