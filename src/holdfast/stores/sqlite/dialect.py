"""SQLite's versions of the expressions that are written differently in PostgreSQL."""

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import apsw

from holdfast.stores.sql.connection import Connection, Part, Primitive, SQLDialect, fetch_value
from holdfast.stores.sql.rows import dump, marks

_MANY = 500
"""Maximum number of values bound as separate parameters. More values are bound as one JSON array."""
_MAX_CACHED_ANSWERS = 10_000
"""Maximum number of cached query results per connection."""


class SQLiteDialect:
    """SQLite's versions of the expressions that are written differently in PostgreSQL."""

    no_limit: int | None = -1

    def next_number(self, connection: Connection, name: str) -> int:
        """Return the next number of a sequence. Numbers are never reused, even if the row that used one was removed."""
        # RETURNING or ON CONFLICT would need one statement, but SQLite opens a savepoint for them, and each savepoint makes
        # the full-text index flush its pending terms as a separate segment. A large batch took five times as long.
        connection.execute("UPDATE sequences SET value = value + 1 WHERE name = ?", (name,))
        if not connection.changes():
            connection.execute("INSERT INTO sequences (name, value) VALUES (?, 1)", (name,))
        value: int = fetch_value(connection, "SELECT value FROM sequences WHERE name = ?", (name,))
        return value

    def among(self, column: str, values: Sequence[object]) -> Part:
        """Return the condition that a column equals one of the values. A long list is bound as one JSON array."""
        if len(values) > _MANY:
            return f"{column} IN (SELECT value FROM json_each(?))", dump(list(values))
        return f"{column} IN ({marks(values)})", *values

    def metadata_entry(self, key: str, operator: str, value: Primitive) -> Part:
        """Return the condition that compares a metadata entry with a value. Entries of another JSON type do not match."""
        types = _json_types(value)
        sql = (
            "EXISTS (SELECT 1 FROM json_each(metadata) AS entry WHERE entry.key = ? "
            f"AND entry.type IN ({marks(types)}) AND entry.value {'IS' if value is None else operator} ?)"
        )
        return sql, key, *types, int(value) if isinstance(value, bool) else value

    def in_payload(self, part: str) -> str:
        """Return the expression for a field of a job's JSON payload, such as ``user`` or ``session``."""
        return f"json_extract(payload, '$.{part}')"

    def day_of(self, column: str) -> str:
        """Return the expression for the UTC day of a timestamp column, as YYYY-MM-DD."""
        return f"date({column} / 1000000, 'unixepoch')"

    def is_shared_with(self) -> str:
        """Return the condition that an app's ``sharing`` list contains ``*`` or the app that is bound as the parameter."""
        return "EXISTS (SELECT 1 FROM json_each(sharing) WHERE value IN (?, '*'))"


def _json_types(value: Primitive) -> tuple[str, ...]:
    """Return the type names that SQLite's ``json_each`` uses for values of this type."""
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("true", "false")
    return ("text",) if isinstance(value, str) else ("integer", "real")


SQLITE = SQLiteDialect()


class FileConnection(apsw.Connection):
    """A connection to a SQLite file. It has a cache for small query results."""

    dialect: SQLDialect = SQLITE
    known: dict[Hashable, Any] | None = None
    _cached: tuple[int, dict[Hashable, Any]] = (-1, {})

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Run all reads of the block in one snapshot of the file. Only for read-only connections.

        Small results that are needed often stay cached for later snapshots, until another connection writes to the file.
        """
        self.execute("BEGIN")
        try:
            version = self.pragma("data_version")
            if self._cached[0] != version or len(self._cached[1]) > _MAX_CACHED_ANSWERS:
                self._cached = (version, {})
            self.known = self._cached[1]
            yield
        finally:
            self.known = None
            self.execute("END")
