"""Wraps a PostgreSQL connection in the interface that the shared SQL code uses."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import psycopg

from holdfast.stores.postgres.dialect import POSTGRES, translate
from holdfast.stores.sql.connection import ResultRows, Row, SQLDialect


class FetchedRows:
    """The rows of a result, already in memory."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def fetchall(self) -> list[Row]:
        """Return all rows."""
        return self._rows

    def fetchone(self) -> Row | None:
        """Return the first row, or None if there is none."""
        return self._rows[0] if self._rows else None

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


class PostgresSession:
    """Runs statements that use ``?`` for parameters. Values are always sent separately, never inserted into the SQL text."""

    dialect: ClassVar[SQLDialect] = POSTGRES

    def __init__(self, raw: "psycopg.Connection[Row]") -> None:
        self.raw = raw
        self._changes = 0
        self.known: dict[Hashable, Any] | None = None

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> ResultRows:
        """Run a statement."""
        return self._run(sql, values, prepare=None)

    def execute_binary(self, sql: str, values: Sequence[Any]) -> ResultRows:
        """Run a statement and return its rows.

        The server sends the rows in binary format, which is several times as fast for vectors.
        """
        return self.raw.cursor(binary=True).execute(translate(sql), tuple(values))

    def execute_planned(self, sql: str, values: Sequence[Any]) -> ResultRows:
        """Run a statement with a plan that PostgreSQL makes for exactly these values. Such a plan can use a partial index.

        A prepared plan must serve all values, so it cannot use a partial index.
        """
        return self._run(sql, values, prepare=False)

    def _run(self, sql: str, values: Sequence[Any], *, prepare: bool | None) -> ResultRows:
        cursor = self.raw.execute(translate(sql), tuple(values) or None, prepare=prepare)
        self._changes = cursor.rowcount
        return cursor

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> ResultRows:
        """Run a statement once per row of values, in one round trip. For a SELECT, return the result rows of all runs."""
        values = list(rows)
        if not values:
            return FetchedRows([])
        is_query = sql.startswith("SELECT")
        cursor = self.raw.cursor()
        cursor.executemany(translate(sql), values, returning=is_query)
        self._changes = cursor.rowcount
        return FetchedRows([row for result in cursor.results() for row in result.fetchall()] if is_query else [])

    def changes(self) -> int:
        """Return the number of rows that the last statement changed."""
        return self._changes
