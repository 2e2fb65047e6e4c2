"""Migrations: upgrade a file to the schema of this version.

Migrations are numbered ``.sql`` files. New ones are appended, and existing ones never change. Each migration runs in
one transaction, which also records that it ran. A new file gets all of them in one transaction. If a recorded migration
was changed, or this version does not know it, opening the file fails before anything is written.
"""

from holdfast.stores.sql.connection import fetch_value
from holdfast.stores.sql.migrations import Migration, migrations, pending
from holdfast.stores.sqlite.dialect import FileConnection

_RECORDS = """
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL
) STRICT
"""


def migrate(connection: FileConnection) -> None:
    """Apply the pending migrations: each in its own transaction, or all of them in one if the file is new."""
    known = list(migrations())
    while _pending(connection, known):
        with _immediate(connection):
            connection.execute(_RECORDS)
            waiting = _pending(connection, known)  # another process may have applied some meanwhile
            for migration in waiting if waiting == known else waiting[:1]:
                connection.execute(migration.sql)
                connection.execute(
                    "INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)",
                    (migration.number, migration.name, migration.sha256),
                )


def schema_before_upgrade(connection: FileConnection) -> int | None:
    """Return the current schema number of a file that an earlier version wrote. Return None if the file is new or up to date.

    Raise an error if a newer version wrote the file.
    """
    if not fetch_value(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'"):
        return None
    recorded = dict(connection.execute("SELECT number, sha256 FROM migrations"))
    return max(recorded) if recorded and pending(recorded, list(migrations())) else None


def _pending(connection: FileConnection, known: list[Migration]) -> list[Migration]:
    exists = fetch_value(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'")
    if not exists:
        return known
    return pending(dict(connection.execute("SELECT number, sha256 FROM migrations")), known)


class _immediate:  # noqa: N801  (reads as a statement)
    """Context manager for a write transaction on a connection. It commits at the end, and rolls back on an error."""

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
