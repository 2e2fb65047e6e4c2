"""A connection to PostgreSQL as the common statements use one."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import psycopg

from holdfast.stores.postgres.dialect import POSTGRES, translate
from holdfast.stores.sql.connection import ResultRows, Row, SQLDialect


class FetchedRows:
    """Rows that were fetched already."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def fetchall(self) -> list[Row]:
        """Return all rows."""
        return self._rows

    def fetchone(self) -> Row | None:
        """Return the first row, if there is one."""
        return self._rows[0] if self._rows else None

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


class PostgresSession:
    """Takes statements with question marks; everything is sent to the server as text and values apart."""

    dialect: ClassVar[SQLDialect] = POSTGRES

    def __init__(self, raw: "psycopg.Connection[Row]") -> None:
        self.raw = raw
        self._changes = 0
        self.known: dict[Hashable, Any] | None = None

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> ResultRows:
        """Run a statement."""
        return self._run(sql, values, prepare=None)

    def execute_binary(self, sql: str, values: Sequence[Any]) -> ResultRows:
        """Run a statement whose rows come back as bytes: vectors are read several times as fast."""
        return self.raw.cursor(binary=True).execute(translate(sql), tuple(values))

    def execute_planned(self, sql: str, values: Sequence[Any]) -> ResultRows:
        """Run a statement that is planned anew each time, for these very values: a partial index is found by them."""
        return self._run(sql, values, prepare=False)

    def _run(self, sql: str, values: Sequence[Any], *, prepare: bool | None) -> ResultRows:
        cursor = self.raw.execute(translate(sql), tuple(values) or None, prepare=prepare)
        self._changes = cursor.rowcount
        return cursor

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> ResultRows:
        """Run a statement for each row of values, in one go; returns the rows of all."""
        listed = list(rows)
        if not listed:
            return FetchedRows([])
        asks = sql.startswith("SELECT")
        cursor = self.raw.cursor()
        cursor.executemany(translate(sql), listed, returning=asks)
        self._changes = cursor.rowcount
        return FetchedRows([row for result in cursor.results() for row in result.fetchall()] if asks else [])

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        return self._changes
