"""A SQLite file as the source or the target of a copy."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from holdfast.errors import StoreError
from holdfast.runtime.private_files import create_file, create_folder
from holdfast.stores.copying.side import Side
from holdfast.stores.copying.tables import NUMBERS, TableLayout, layout_of
from holdfast.stores.sql.connection import Connection, Row, fetch, fetch_value
from holdfast.stores.sql.migrations import COPYING, Migration, migrations
from holdfast.stores.sql.rows import marks
from holdfast.stores.sqlite import fulltext
from holdfast.stores.sqlite.connection import SQLiteConnections, translate_errors
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.migrate import migrate
from holdfast.stores.vector_index.index import dequantize, quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNENCRYPTED_HEADER = b"SQLite format 3"


class SQLiteSide(Side):
    """Reads and writes the rows of all tenants in a SQLite file."""

    kind: ClassVar[str] = "sqlite"
    fills: ClassVar[Mapping[str, Mapping[str, Any]]] = {"partitions": {"version": 1}}
    """Sets the version of each copied partition to 1, because version 0 means that a partition has no vectors."""

    def __init__(self, path: Path, *, key: str | None = None) -> None:
        try:
            create_folder(path.parent)
            create_file(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be created: {error}. Nothing was copied; name another path.") from error
        self._path = path.resolve()
        self.place = self.title = str(self._path)
        # The key applies to encrypted and to new files. An existing unencrypted file is read without it.
        self._connections = SQLiteConnections(self._path, key=None if _is_unencrypted(self._path) else key)

    @property
    def reader(self) -> FileConnection:
        """The connection for reads."""
        return self._connections.reader()

    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Context manager: raise SQLite's errors as Holdfast errors."""
        return translate_errors(self._path)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager: run all reads inside it in one snapshot. Other programs can write meanwhile."""
        with self._connections.exclusive() as connection:
            migrate(connection)
        with self.guard():
            self.reader.execute("BEGIN")
        try:
            yield
        finally:
            with self.guard():
                self.reader.execute("ROLLBACK")

    def writing(self) -> contextlib.AbstractContextManager[FileConnection]:
        """Context manager for a transaction. When its ``with`` block ends, the transaction is committed and on disk."""
        return self._connections.writing()

    def prepare(self) -> list[Migration]:
        """Create the tables, or migrate them to the schema of this version. Return all migrations that this version knows.

        The tables of an unfinished copy are not migrated. :meth:`check_schema` checks their schema instead.
        """
        with self._connections.exclusive() as connection:
            exists = fetch_value(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'")
            if not exists or not fetch_value(connection, "SELECT count(*) FROM migrations WHERE number = ?", (COPYING,)):
                migrate(connection)
        return list(migrations())

    def layout(self, table: str) -> TableLayout:
        """Return the columns and the primary key of a table."""
        with self.guard():
            rows = fetch(self.reader, "SELECT name, pk FROM pragma_table_info(?)", (table,))
        key = sorted((place, name) for name, place in rows if place)
        return layout_of(table, [name for name, _ in rows], [name for _, name in key])

    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows into a table. ``connection`` is the connection that :meth:`writing` yields."""
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(columns)})", rows)

    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Add chunks to the full-text index, using their stored terms.

        ``units`` are rows of the chunk table, and ``layout`` is the layout of this table.
        """
        item, window, partition, terms = map(layout.columns.index, ("item", "window", "partition", "terms"))
        fulltext.add_copied(connection, [(row[item], row[window], row[partition], row[terms]) for row in units])

    def empty(self, connection: Connection, table: str) -> None:
        """Delete all rows of a table. For the table of chunks, also empty the full-text index."""
        connection.execute(f"DELETE FROM {table}")
        if table == "units":
            fulltext.remove_all(connection)

    def numbers(self) -> dict[str, int]:
        """Return the last number that each sequence has issued, by the name of the sequence."""
        with self.guard():
            used: dict[str, int] = dict(fetch(self.reader, "SELECT name, value FROM sequences"))
            return {
                name: max(
                    used.get(name, 0),
                    *(fetch_value(self.reader, f"SELECT coalesce(max({column}), 0) FROM {table}") for table, column in columns),
                )
                for name, columns in NUMBERS.items()
            }

    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Set each sequence so that it continues after the given number."""
        connection.executemany(
            "INSERT INTO sequences (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
            list(numbers.items()),
        )

    def text_state(self) -> tuple[int, int]:
        """Return two counts: the chunks in the full-text index, and the chunks that should be in it."""
        with self.guard():
            indexed, expected = (
                fetch_value(self.reader, f"SELECT count(*) FROM {name}") for name in ("fulltext_docsize", "units")
            )
            return indexed, expected

    def decode_vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Convert stored vectors to float32 arrays: each int8 code times its scale."""
        return [vector for _, same in groupby(stored, key=lambda row: len(row[1])) for vector in _dequantize(list(same))]

    def encode_vectors(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Convert vectors to pairs of scale and int8 code, the format of SQLite stores."""
        rows: list[Row] = []
        for _, same in groupby(vectors, key=len):
            codes, scales = quantize(np.stack(list(same)))
            rows += [(float(scale), code.tobytes()) for scale, code in zip(scales, codes, strict=True)]
        return rows

    def vector_codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the int8 codes of stored vectors."""
        return [row[1] for row in stored]

    def finish(self) -> None:
        """Move the write-ahead log into the file."""
        with self._connections.exclusive() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


def _is_unencrypted(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_UNENCRYPTED_HEADER)) == _UNENCRYPTED_HEADER


def _dequantize(rows: list[Row]) -> "list[NDArray[np.float32]]":
    codes = np.frombuffer(b"".join(code for _, code in rows), dtype=np.int8).reshape(len(rows), -1)
    return list(dequantize(codes, np.array([scale for scale, _ in rows], dtype=np.float32)))
