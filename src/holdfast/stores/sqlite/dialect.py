"""The SQLite versions of SQL expressions that PostgreSQL writes differently."""

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import apsw

from holdfast.stores.sql.connection import Candidates, Connection, Part, SQLDialect, fetch_value
from holdfast.stores.sql.rows import dump, marks

_MANY = 500
"""Maximum number of values bound as separate parameters. More values are bound as one JSON array."""
_MAX_CACHED_ANSWERS = 10_000
"""Maximum number of cached query results per connection."""


class SQLiteDialect:
    """The SQLite versions of SQL expressions that PostgreSQL writes differently."""

    no_limit: int | None = -1

    def next_numbers(self, connection: Connection, name: str, count: int) -> Sequence[int]:
        """Return the next ``count`` numbers of the sequence ``name``.

        Numbers are never reused, even if the row that used one was removed.
        """
        # RETURNING or ON CONFLICT would need one statement, but SQLite opens a savepoint for them, and each savepoint makes
        # the full-text index flush its pending terms as a separate segment. A large batch took five times as long.
        connection.execute("UPDATE sequences SET value = value + ? WHERE name = ?", (count, name))
        if not connection.changes():
            connection.execute("INSERT INTO sequences (name, value) VALUES (?, ?)", (name, count))
        last: int = fetch_value(connection, "SELECT value FROM sequences WHERE name = ?", (name,))
        return range(last - count + 1, last + 1)

    def among(self, column: str, values: Sequence[object]) -> Part:
        """Return the SQL condition that a column equals one of the values. A long list is bound as one JSON array."""
        if len(values) > _MANY:
            return f"{column} IN (SELECT value FROM json_each(?))", dump(list(values))
        return f"{column} IN ({marks(values)})", *values

    def key_equals(self, key: str) -> Part:
        """Return the SQL condition that a memory has this key."""
        return "key = ?", key

    def metadata_exists(self, path: Sequence[str]) -> Part:
        """Return the SQL condition that the metadata has an entry at a path, which may lead through nested objects."""
        return f"EXISTS (SELECT 1 FROM {_steps(path)})", *path

    def metadata_any(self, path: Sequence[str], condition: Callable[[str], Part], *, of: Candidates = "both") -> Part:
        """Return the SQL condition that the metadata entry at a path fulfills ``condition``.

        ``condition`` is a function: it gets the SQL name of a value and returns the SQL condition on this value. ``of`` says
        which values are tested: the entry itself, the elements of an entry that is a list, or both. It is enough that one of
        the tested values fulfills the condition.
        """
        entry = f"step{len(path) - 1}"
        elements, own = condition("element"), condition(entry)
        sql = (
            f"EXISTS (SELECT 1 FROM json_each(CASE WHEN {entry}.type = 'array' THEN {entry}.value ELSE '[]' END) AS element "
            f"WHERE {elements[0]})"
        )
        if of == "elements":
            return f"EXISTS (SELECT 1 FROM {_steps(path)} AND {sql})", *path, *elements[1:]
        if of == "entry":
            return f"EXISTS (SELECT 1 FROM {_steps(path)} AND ({own[0]}))", *path, *own[1:]
        return f"EXISTS (SELECT 1 FROM {_steps(path)} AND ({own[0]} OR {sql}))", *path, *own[1:], *elements[1:]

    def entry_is_text(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the strings in ``values``.

        Return None if ``values`` is empty.
        """
        if not values:
            return None
        return f"{entry}.type = 'text' AND {entry}.value IN (SELECT value FROM json_each(?))", dump(list(values))

    def entry_is_number(self, entry: str, values: Sequence[float]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the numbers in ``values``.

        Return None if ``values`` is empty.
        """
        # Numbers are bound as JSON: SQLite then reads them with the routine that reads the stored ones, also beyond 64 bits.
        if not values:
            return None
        sql = f"{entry}.type IN ('integer', 'real') AND {entry}.value IN (SELECT value FROM json_each(?))"
        return sql, dump(list(values))

    def entry_is_literal(self, entry: str, value: bool | None) -> Part:  # noqa: FBT001  (one of three JSON values)
        """Return the SQL condition that a metadata entry equals ``value``: true, false, or JSON null for None."""
        return (f"{entry}.type = ?", dump(value))

    def entry_is_json(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of these objects or lists, given as canonical JSON.

        Return None if ``values`` is empty.
        """
        if not values:
            return None
        either = ", ".join(["json(?)"] * len(values))
        return f"{entry}.type IN ('object', 'array') AND {entry}.value IN ({either})", *values

    def entry_compares(self, entry: str, operator: str, value: str | float) -> Part:
        """Return the SQL condition that compares a metadata entry with a value. ``operator`` is ``<``, ``<=``, ``>`` or ``>=``.

        The condition is false if the entry and the value have different JSON types.
        """
        if isinstance(value, str):
            return f"{entry}.type = 'text' AND {entry}.value {operator} ?", value
        types = "'true', 'false'" if isinstance(value, bool) else "'integer', 'real'"
        return f"{entry}.type IN ({types}) AND {entry}.value {operator} (SELECT value FROM json_each(?))", dump([value])

    def entry_has_text(self, entry: str, part: str) -> Part:
        """Return the SQL condition that a metadata entry is a string that contains ``part``."""
        return f"{entry}.type = 'text' AND instr({entry}.value, ?) > 0", part

    def in_payload(self, part: str) -> str:
        """Return the SQL expression for a field of a job's JSON payload, such as ``user`` or ``session``."""
        return f"json_extract(payload, '$.{part}')"

    def day_of(self, column: str) -> str:
        """Return the SQL expression for the UTC day of a timestamp column, as YYYY-MM-DD."""
        return f"date({column} / 1000000, 'unixepoch')"

    def is_shared_with(self) -> str:
        """Return the SQL condition that an app shares its memories with another app. The other app is bound as a parameter.

        The condition is true if the app's ``sharing`` list contains ``*`` or the other app.
        """
        return "EXISTS (SELECT 1 FROM json_each(sharing) WHERE value IN (?, '*'))"


def _steps(path: Sequence[str]) -> str:
    """Return the FROM and WHERE clauses of a query that finds the metadata entry at a path.

    The query joins one table per name of the path. For the path ``a``, ``b``, the table ``step0`` lists the entries of the
    metadata, and ``step1`` lists the entries of the object ``a``. The row of the last table is the entry. The names are bound
    as parameters.
    """
    tables = ["json_each(metadata) AS step0"]
    for number in range(1, len(path)):
        before = f"step{number - 1}"
        tables.append(f"json_each(CASE WHEN {before}.type = 'object' THEN {before}.value ELSE '{{}}' END) AS step{number}")
    return f"{', '.join(tables)} WHERE " + " AND ".join(f"step{number}.key = ?" for number in range(len(path)))


SQLITE = SQLiteDialect()


class FileConnection(apsw.Connection):
    """A connection to a SQLite file. It has a cache for small query results."""

    dialect: SQLDialect = SQLITE
    known: dict[Hashable, Any] | None = None
    _cached: tuple[int, dict[Hashable, Any]] = (-1, {})

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager: run all reads inside it in one snapshot of the file. Only for read-only connections.

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
