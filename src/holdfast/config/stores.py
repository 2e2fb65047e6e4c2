"""Stores: which one the settings name, and opening it."""

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
    """Return the file of the store: a folder holds it under the name memory.db."""
    if settings.store is None:
        return data_directory() / "memory.db"
    given = settings.store.removeprefix("sqlite:///")
    if is_database(settings):
        raise SettingsError("A PostgreSQL store is no file; this works on a file path or sqlite:///FILE.")
    if "://" in given:
        raise SettingsError(
            f"{given.split(':')[0]}:// is not a kind of store this version has; use a file path, sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE."
        )
    path = Path(given).expanduser()
    return path / "memory.db" if path.is_dir() or not path.suffix else path


def is_database(settings: Settings) -> bool:
    """Return True if the store is a PostgreSQL database."""
    return (settings.store or "").startswith(("postgresql://", "postgres://"))


def make_store(settings: Settings) -> "SQLiteStore | PostgresStore":
    """Open the configured store."""
    tenant = clean_name(settings.tenant, what="tenant") or "default"
    if is_database(settings):
        return _make_database(settings, tenant)
    path = store_path(settings)
    return SQLiteStore(path, tenant=tenant, key=settings.key, index=_index_place(settings, path))


def _make_database(settings: Settings, tenant: str) -> "PostgresStore":
    if settings.key is not None:
        raise SettingsError("key is for SQLite files; a PostgreSQL server encrypts its disks by itself.")
    if settings.index not in ("memory", ""):
        raise SettingsError("A PostgreSQL store finds vectors by itself, with pgvector: leave the setting index out.")
    try:
        from holdfast.stores.postgres import PoolLimits, PostgresStore  # noqa: PLC0415  (only for those who use it)
    except ImportError as error:
        raise SettingsError(f"A PostgreSQL store needs {error.name}: pip install 'holdfast[postgres]'") from error
    return PostgresStore(settings.store or "", tenant=tenant, limits=PoolLimits(connections=settings.store_connections))


def _index_place(settings: Settings, path: Path) -> IndexPlace | None:
    """Return where vectors are indexed, None for in memory."""
    wanted = settings.index
    if wanted in ("memory", ""):
        return None
    if wanted.partition(":")[0] != "chroma":
        raise SettingsError(f"index is memory, chroma or chroma:http://HOST:PORT, not {wanted!r}.")
    if settings.key is not None and wanted == "chroma":
        raise SettingsError("Chroma does not encrypt its files: an encrypted store takes index = 'memory'.")
    from holdfast.stores.chroma.index import chroma_place  # noqa: PLC0415  (only for those who use it)

    return chroma_place(wanted, path)
