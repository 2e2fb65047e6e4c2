"""Read SQLite databases of other programs without changing them."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput

_MAGIC = b"SQLite format 3\x00"


def is_database(head: bytes) -> bool:
    """Return True if a file with these first bytes is a SQLite database."""
    return head.startswith(_MAGIC)


def tables(path: Path) -> Mapping[str, frozenset[str]]:
    """Return the columns of each table of a database, by the table's name."""
    found: dict[str, frozenset[str]] = {}
    with closing(_connect(path)) as connection:
        try:
            schema = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
            for name, sql in schema:
                if str(sql).upper().startswith("CREATE VIRTUAL"):  # its module may be missing
                    found[name] = frozenset()
                    continue
                rows = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
                found[name] = frozenset(row[0] for row in rows)
        except sqlite3.Error as error:
            raise _unreadable(path, error) from error
    return found


def rows(path: Path, sql: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query, each as a dict. The database is only read."""
    with closing(_connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            for row in connection.execute(sql):
                yield dict(row)
        except sqlite3.Error as error:
            raise _unreadable(path, error) from error


def copy_database(file: Path, target: Path) -> None:
    """Make a consistent copy of a database, even while another program writes to it."""
    with closing(_connect(file)) as source, closing(sqlite3.connect(target)) as destination:
        source.backup(destination)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _unreadable(path: Path, error: sqlite3.Error) -> InvalidInput:
    return InvalidInput(f"{path} cannot be read as a database, so nothing was imported: {error}.")
