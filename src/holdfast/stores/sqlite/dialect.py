"""How SQLite spells what PostgreSQL spells differently."""

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import apsw

from holdfast.stores.sql.connection import Connection, Part, Primitive, SQLDialect, fetch_value
from holdfast.stores.sql.rows import dump, marks

_MANY = 500
_MAX_CACHED_ANSWERS = 10_000
"""Answers that are kept from one moment to the next."""


class SQLiteDialect:
    """SQLite's spelling."""

    no_limit: int | None = -1

    def next_number(self, connection: Connection, name: str) -> int:
        """Return a number that was never given before, also not to something since removed."""
        # Not one statement with RETURNING or ON CONFLICT: SQLite makes a savepoint for those, and before each of these the
        # full-text index writes down what it has gathered, as a segment of its own. A large batch took five times as long.
        connection.execute("UPDATE sequences SET value = value + 1 WHERE name = ?", (name,))
        if not connection.changes():
            connection.execute("INSERT INTO sequences (name, value) VALUES (?, 1)", (name,))
        value: int = fetch_value(connection, "SELECT value FROM sequences WHERE name = ?", (name,))
        return value

    def among(self, column: str, wanted: Sequence[object]) -> Part:
        """Return the condition that a column is one of these values; a long list is bound as one JSON array."""
        if len(wanted) > _MANY:
            return f"{column} IN (SELECT value FROM json_each(?))", dump(list(wanted))
        return f"{column} IN ({marks(wanted)})", *wanted

    def metadata_entry(self, key: str, operator: str, value: Primitive) -> Part:
        """Return the condition that an entry of the metadata compares with a value of the same JSON type."""
        types = _json_types(value)
        sql = (
            "EXISTS (SELECT 1 FROM json_each(metadata) AS entry WHERE entry.key = ? "
            f"AND entry.type IN ({marks(types)}) AND entry.value {'IS' if value is None else operator} ?)"
        )
        return sql, key, *types, int(value) if isinstance(value, bool) else value

    def in_payload(self, part: str) -> str:
        """Return what a job's payload says of a part of a scope, or of a session."""
        return f"json_extract(payload, '$.{part}')"

    def day_of(self, column: str) -> str:
        """Return the day, in UTC, of a time."""
        return f"date({column} / 1000000, 'unixepoch')"

    def is_shared_with(self) -> str:
        """Return the condition that an app's ``sharing`` holds one name, or all."""
        return "EXISTS (SELECT 1 FROM json_each(sharing) WHERE value IN (?, '*'))"


def _json_types(value: Primitive) -> tuple[str, ...]:
    """Return the types under which json_each knows values like this one."""
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("true", "false")
    return ("text",) if isinstance(value, str) else ("integer", "real")


SQLITE = SQLiteDialect()


class FileConnection(apsw.Connection):
    """A connection to a SQLite file that knows how SQLite spells things."""

    dialect: SQLDialect = SQLITE
    known: dict[Hashable, Any] | None = None
    _kept: tuple[int, dict[Hashable, Any]] = (-1, {})

    @contextlib.contextmanager
    def moment(self) -> Iterator[None]:
        """See the file as it is now for as long as this lasts, whatever others write. For a connection that only reads.

        What is small and asked again and again is kept, also for the next moment, unless the file was written to meanwhile.
        """
        self.execute("BEGIN")
        try:
            version = self.pragma("data_version")
            if self._kept[0] != version or len(self._kept[1]) > _MAX_CACHED_ANSWERS:
                self._kept = (version, {})
            self.known = self._kept[1]
            yield
        finally:
            self.known = None
            self.execute("END")
