"""Asking SQLite: rows, one row, or one value."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

Row: TypeAlias = tuple[Any, ...]


def fetch(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a query."""
    return connection.execute(sql, tuple(values)).fetchall()


def fetch_one(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Return the first row of a query, if there is one."""
    return connection.execute(sql, tuple(values)).fetchone()


def fetch_value(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """Return the first column of the first row, or None."""
    row = connection.execute(sql, tuple(values)).fetchone()
    return None if row is None else row[0]
