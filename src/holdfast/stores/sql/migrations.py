"""Numbered schema migrations: load them from a package, and find the migrations that a store still needs."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from holdfast.errors import StoreCorrupt, StoreError, StoreTooNew

COPYING = 0
"""Number recorded in place of a migration to mark a store as the target of an unfinished copy. Such a store cannot be opened."""


class Migration(NamedTuple):
    """One numbered change of the database schema."""

    number: int
    name: str
    sql: str
    sha256: str
    """The SHA-256 hash of the migration's SQL text."""


@cache
def migrations(package: str = "holdfast.stores.sqlite") -> tuple[Migration, ...]:
    """Return all migrations of this version in order. They are read once from the folder ``schema`` of a package."""
    folder = resources.files(package) / "schema"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    # Read as bytes: a checkout with CRLF line endings must not change the hash.
    texts = [entry.read_bytes().replace(b"\r\n", b"\n") for entry in entries]
    return tuple(
        Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), sql.decode(), hashlib.sha256(sql).hexdigest())
        for entry, sql in zip(entries, texts, strict=True)
    )


def pending(recorded: Mapping[int, str], known: Sequence[Migration], *, what: str = "file") -> list[Migration]:
    """Return the migrations that a store still needs.

    ``recorded`` maps the number of each applied migration to its hash. ``known`` are the migrations of this version. ``what`` is
    the word for the store in error messages, such as "file" or "database".

    Raise an error if the store is an unfinished copy, if a newer version wrote the store, or if an applied migration has another
    text in this version.
    """
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
