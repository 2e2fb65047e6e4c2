"""What the stores on SQL have in common: how a connection is asked, and where SQLite and PostgreSQL speak differently.

Statements are written once, with ``?`` for each value. Whatever has no common spelling is a method of :class:`SQLDialect`.
"""

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
Part: TypeAlias = tuple[Any, ...]
"""A piece of SQL and after it what it binds."""
Primitive: TypeAlias = str | float | None
"""What metadata can be compared with; whole numbers and booleans too."""

P = ParamSpec("P")
R = TypeVar("R")


class ResultRows(Protocol):
    """The answer to a statement."""

    def fetchall(self) -> list[Row]:
        """Return all rows."""
        ...

    def fetchone(self) -> Row | None:
        """Return the next row, if there is one."""
        ...

    def __iter__(self) -> Iterator[Row]: ...


class SQLDialect(Protocol):
    """What SQLite and PostgreSQL spell differently."""

    no_limit: int | None
    """What stands for no limit after LIMIT."""

    def next_number(self, connection: "Connection", name: str) -> int:
        """Return a number that was never given before, also not to something since removed."""
        ...

    def among(self, column: str, wanted: Sequence[object]) -> Part:
        """Return the condition that a column is one of these values, however many."""
        ...

    def metadata_entry(self, key: str, operator: str, value: Primitive) -> Part:
        """Return the condition that an entry of the metadata compares with a value of the same JSON type."""
        ...

    def in_payload(self, part: str) -> str:
        """Return what a job's payload says of a part of a scope, or of a session."""
        ...

    def day_of(self, column: str) -> str:
        """Return the day, in UTC, of a time."""
        ...

    def is_shared_with(self) -> str:
        """Return the condition that an app's ``sharing`` holds one name, or all."""
        ...


class Executor(Protocol):
    """What takes a statement."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> ResultRows:
        """Run a statement."""
        ...


class Connection(Executor, Protocol):
    """A connection as these modules use it."""

    known: dict[Hashable, Any] | None
    """While several questions are asked of one moment: the answers that hold for all of it. None at other times."""

    @property
    def dialect(self) -> SQLDialect:
        """How this database spells what the others spell differently."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> ResultRows:
        """Run a statement for each row of values; returns the rows of all."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        ...


class Guarding(Protocol):
    """Something whose questions are guarded."""

    def guard(self, ask: Callable[[], R]) -> R:
        """Ask, and turn the database's errors into ours."""
        ...


G = TypeVar("G", bound=Guarding)


def guarded(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """Make a store's method raise our errors, whatever the database's are."""

    @functools.wraps(method)
    def call(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.guard(lambda: method(self, *args, **kwargs))

    return call


def cached_fetch(connection: Connection, question: Hashable, ask: Callable[[], R]) -> R:
    """Ask a small question, but only once of each moment."""
    known = connection.known
    if known is None:
        return ask()
    if question not in known:
        known[question] = ask()
    answer: R = known[question]
    return answer


def fetch(connection: Executor, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a query."""
    return connection.execute(sql, tuple(values)).fetchall()


def fetch_one(connection: Executor, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Return the first row of a query, if there is one."""
    return connection.execute(sql, tuple(values)).fetchone()


def fetch_value(connection: Executor, sql: str, values: Sequence[Any] = ()) -> Any:
    """Return the first column of the first row, or None."""
    row = connection.execute(sql, tuple(values)).fetchone()
    return None if row is None else row[0]


@functools.cache
def upsert(table: str, columns: str, *, key: int = 1) -> str:
    """Return the statement that stores a row, or replaces the one with the same tenant and first ``key`` columns."""
    names = columns.split(", ")
    same = ", ".join(["tenant", *names[:key]])
    rest = ", ".join(f"{name} = excluded.{name}" for name in names[key:])
    marks = ", ".join("?" * (len(names) + 1))
    return f"INSERT INTO {table} (tenant, {columns}) VALUES ({marks}) ON CONFLICT ({same}) DO UPDATE SET {rest}"
