"""Bringing a file to this version's schema.

Migrations are numbered ``.sql`` files, only ever appended. Each runs in a transaction together with the
record that it ran; a record whose text has changed since, or that this version does not know, stops us
before anything is touched.
"""

from holdfast.errors import StoreError
from holdfast.stores.sql.connection import fetch_value
from holdfast.stores.sql.migrations import Migration, migrations, pending
from holdfast.stores.sqlite.dialect import FileConnection

APPLICATION_ID = 0x486F6C64
"""Written into the header of every file of ours."""
_RECORDS = """
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL
) STRICT
"""


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


class _immediate:  # noqa: N801  (reads as a statement)
    """A write transaction on a bare connection."""

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
