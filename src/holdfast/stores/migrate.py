"""Bringing a file to this version's schema.

Migrations are numbered ``.sql`` files, only ever appended. Each runs in a transaction together with the
record that it ran; a record whose text has changed since, or that this version does not know, stops us
before anything is touched.
"""

import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import NamedTuple

from holdfast.errors import StoreCorrupt, StoreError, StoreTooNew
from holdfast.stores.sql import fetch_value
from holdfast.stores.sqlite_dialect import FileConnection

APPLICATION_ID = 0x486F6C64
"""Written into the header of every file of ours."""
COPYING = 0
"""The number under which a copy into a store is recorded while it is under way: nobody may use half of it."""
_RECORDS = """
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL
) STRICT
"""


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The hash of its text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(package: str = "holdfast.stores") -> Iterator[Migration]:
    """Yield every migration this version knows, in order, from the folder ``schema`` of a package."""
    folder = resources.files(package) / "schema"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql"):
            # Read as bytes: a checkout with CRLF line ends must not change the hash.
            sql = entry.read_bytes().replace(b"\r\n", b"\n").decode()
            yield Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), sql)


def migrate(connection: FileConnection) -> None:
    """Apply what is missing, in one transaction a step; a file that some other program made is left alone."""
    known = list(migrations())
    # Tables first: another process may be making them this moment, and its mark is there as soon as they are.
    if fetch_value(connection, "SELECT count(*) FROM sqlite_schema") and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreError("This SQLite file was not made by Holdfast. Nothing was changed; name another file.")
    if _pending(connection, known):
        for migration in known:
            with _immediate(connection):
                connection.execute(_RECORDS)
                if migration in _pending(connection, known):  # another process may have been faster
                    connection.execute(migration.sql)
                    connection.execute(
                        "INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)",
                        (migration.number, migration.name, migration.sha256),
                    )


def _pending(connection: FileConnection, known: list[Migration]) -> list[Migration]:
    exists = fetch_value(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'")
    if not exists:
        return known
    return pending(dict(connection.execute("SELECT number, sha256 FROM migrations")), known)


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


class _immediate:  # noqa: N801  (reads as a statement)
    """A write transaction on a bare connection."""

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
