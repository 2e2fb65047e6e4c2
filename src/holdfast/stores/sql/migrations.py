"""Numbered schema migrations: load them from a package, and find the migrations that a store still needs."""

import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

from holdfast.errors import StoreCorrupt, StoreError, StoreTooNew

COPYING = 0
"""Special migration number that marks a store as the target of an unfinished copy. Such a store cannot be opened."""


class Migration(NamedTuple):
    """One numbered change of the database schema."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The SHA-256 hash of the migration's SQL text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(package: str = "holdfast.stores.sqlite") -> Iterator[Migration]:
    """Yield all migrations of this version in order. They are read from the folder ``schema`` of a package."""
    folder = resources.files(package) / "schema"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql"):
            # Read as bytes: a checkout with CRLF line endings must not change the hash.
            sql = entry.read_bytes().replace(b"\r\n", b"\n").decode()
            yield Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), sql)


def pending(recorded: Mapping[int, str], known: list[Migration], *, what: str = "file") -> list[Migration]:
    """Verify the migrations that a store has recorded, and return the migrations that it still needs."""
    if COPYING in recorded:
        raise StoreError(
            f"A copy into this {what} is not finished (from {recorded[COPYING]}). "
            "Run the same `holdfast store copy` again to resume it."
        )
    newest = known[-1].number
    if recorded and max(recorded) > newest:
        raise StoreTooNew(
            f"This {what} has schema {max(recorded)}, but this version of Holdfast knows only schemas up to {newest}. "
            "Nothing was changed; upgrade holdfast."
        )
    for migration in known:
        if recorded.get(migration.number, migration.sha256) != migration.sha256:
            raise StoreCorrupt(
                f"Migration {migration.name} was applied with another text than in this version. "
                "Nothing was changed; restore a backup or report this."
            )
    return [migration for migration in known if migration.number not in recorded]
