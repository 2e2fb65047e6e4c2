"""The connection interface of the SQL stores, and the differences between the SQLite and PostgreSQL dialects.

Statements are written once for both databases, with ``?`` for each value. Expressions that have no common syntax are
methods of :class:`SQLDialect`.
"""

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
Part: TypeAlias = tuple[Any, ...]
"""A piece of SQL text, followed by the values of its ``?`` parameters."""

Candidates: TypeAlias = Literal["entry", "elements", "both"]
"""The values to which a condition on metadata applies: the entry itself, the elements of an entry that is a list, or both."""

P = ParamSpec("P")
R = TypeVar("R")


class ResultRows(Protocol):
    """The rows that a SQL statement returned."""

    def fetchall(self) -> list[Row]:
        """Return all rows."""
        ...

    def fetchone(self) -> Row | None:
        """Return the next row, or None if there is none."""
        ...

    def __iter__(self) -> Iterator[Row]: ...


class SQLDialect(Protocol):
    """Expressions that are written differently in SQLite and PostgreSQL."""

    no_limit: int | None
    """The value to bind after LIMIT when the number of rows is not limited."""

    def next_numbers(self, connection: "Connection", name: str, count: int) -> Sequence[int]:
        """Return the next ``count`` numbers of the sequence ``name``, in ascending order.

        Numbers are never reused, even if their rows were removed.
        """
        ...

    def among(self, column: str, values: Sequence[object]) -> Part:
        """Return the SQL condition that a column equals one of the values. There may be any number of values."""
        ...

    def key_equals(self, key: str) -> Part:
        """Return the SQL condition that a memory has this key."""
        ...

    def metadata_exists(self, path: Sequence[str]) -> Part:
        """Return the SQL condition that the metadata has an entry at a path, which may lead through nested objects."""
        ...

    def metadata_any(self, path: Sequence[str], condition: Callable[[str], Part], *, of: Candidates = "both") -> Part:
        """Return SQL that is true if the metadata entry at ``path`` fulfills ``condition``.

        ``condition`` is a function: it gets the SQL name of a value and returns SQL that tests this value. ``of`` says which
        values are tested: the entry itself, the elements of an entry that is a list, or both. One value that passes is enough.
        """
        ...

    def entry_is_text(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the strings in ``values``.

        Return None if ``values`` is empty.
        """
        ...

    def entry_is_number(self, entry: str, values: Sequence[float]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the numbers in ``values``.

        Return None if ``values`` is empty.
        """
        ...

    def entry_is_literal(self, entry: str, value: bool | None) -> Part:  # noqa: FBT001  (one of three JSON values)
        """Return the SQL condition that a metadata entry equals ``value``: true, false, or JSON null for None."""
        ...

    def entry_is_json(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of these objects or lists, given as canonical JSON.

        Return None if ``values`` is empty.
        """
        ...

    def entry_compares(self, entry: str, operator: str, value: str | float) -> Part:
        """Return the SQL condition that compares a metadata entry with a value. ``operator`` is ``<``, ``<=``, ``>`` or ``>=``.

        The condition is false if the entry and the value have different JSON types.
        """
        ...

    def entry_has_text(self, entry: str, part: str) -> Part:
        """Return the SQL condition that a metadata entry is a string that contains ``part``."""
        ...

    def in_payload(self, part: str) -> str:
        """Return the SQL expression for a field of a job's JSON payload, such as ``user`` or ``session``."""
        ...

    def day_of(self, column: str) -> str:
        """Return the SQL expression for the UTC day of a timestamp column, as YYYY-MM-DD."""
        ...

    def is_shared_with(self) -> str:
        """Return the SQL condition that an app shares its memories with another app. The other app is bound as a parameter.

        The condition is true if the app's ``sharing`` list contains ``*`` or the other app.
        """
        ...


class Executor(Protocol):
    """An object that runs SQL statements."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> ResultRows:
        """Run a statement."""
        ...


class Connection(Executor, Protocol):
    """Interface of a database connection, for the code that both SQL stores share."""

    known: dict[Hashable, Any] | None
    """Cache for the results of small queries during a snapshot. None if no snapshot is active."""

    @property
    def dialect(self) -> SQLDialect:
        """The SQL dialect of this database."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> ResultRows:
        """Run a statement once per row of values. Return the result rows of all runs."""
        ...

    def changes(self) -> int:
        """Return the number of rows that the last statement changed."""
        ...


class Guarding(Protocol):
    """An object with a ``guard`` method, which runs queries and raises database errors as Holdfast errors."""

    def guard(self, query: Callable[[], R]) -> R:
        """Call ``query`` and return its result. Database errors are raised as Holdfast errors."""
        ...


G = TypeVar("G", bound=Guarding)


def guarded(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """Decorate a method of a store so that it runs inside ``guard``, which raises database errors as Holdfast errors."""

    @functools.wraps(method)
    def call(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.guard(lambda: method(self, *args, **kwargs))

    return call


def cached_fetch(connection: Connection, key: Hashable, fetch_result: Callable[[], R]) -> R:
    """Call ``fetch_result`` and return its result.

    During a snapshot, the result is cached under ``key``. A later call with the same key returns the cached result.
    """
    known = connection.known
    if known is None:
        return fetch_result()
    if key not in known:
        known[key] = fetch_result()
    result: R = known[key]
    return result


def fetch(connection: Executor, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a query."""
    return connection.execute(sql, tuple(values)).fetchall()


def fetch_one(connection: Executor, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Return the first row of a query, or None if there is none."""
    return connection.execute(sql, tuple(values)).fetchone()


def fetch_value(connection: Executor, sql: str, values: Sequence[Any] = ()) -> Any:
    """Return the first column of the first row, or None if there is no row."""
    row = connection.execute(sql, tuple(values)).fetchone()
    return None if row is None else row[0]


@functools.cache
def upsert(table: str, columns: str, *, key: int = 1) -> str:
    """Return the SQL statement that inserts a row, or replaces the row with the same key.

    The key consists of the tenant and the first ``key`` names in ``columns``.
    """
    names = columns.split(", ")
    same = ", ".join(["tenant", *names[:key]])
    rest = ", ".join(f"{name} = excluded.{name}" for name in names[key:])
    marks = ", ".join("?" * (len(names) + 1))
    return f"INSERT INTO {table} (tenant, {columns}) VALUES ({marks}) ON CONFLICT ({same}) DO UPDATE SET {rest}"
