"""Numbered migrations: reading them from a package, and finding those that a store still lacks."""

import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

from holdfast.errors import StoreCorrupt, StoreError, StoreTooNew

COPYING = 0
"""The number under which a copy into a store is recorded while it is under way: nobody may use half of it."""


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The hash of its text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(package: str = "holdfast.stores.sqlite") -> Iterator[Migration]:
    """Yield every migration this version knows, in order, from the folder ``schema`` of a package."""
    folder = resources.files(package) / "schema"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql"):
            # Read as bytes: a checkout with CRLF line ends must not change the hash.
            sql = entry.read_bytes().replace(b"\r\n", b"\n").decode()
            yield Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), sql)


def pending(recorded: Mapping[int, str], known: list[Migration], *, what: str = "file") -> list[Migration]:
    """Return the migrations not yet recorded, after checking the ones that are."""
    if COPYING in recorded:
        raise StoreError(
            f"A copy into this {what} is not finished (from {recorded[COPYING]}). "
            "Run the same `holdfast store copy` again: it goes on where it was."
        )
    newest = known[-1].number
    if recorded and max(recorded) > newest:
        raise StoreTooNew(
            f"This {what} has schema {max(recorded)}, this Holdfast knows up to {newest}. Nothing was changed; upgrade holdfast."
        )
    for migration in known:
        if recorded.get(migration.number, migration.sha256) != migration.sha256:
            raise StoreCorrupt(
                f"Migration {migration.name} was applied with another text. Nothing was changed; restore a backup or report this."
            )
    return [migration for migration in known if migration.number not in recorded]
