"""A SQLite file as one end of a copy."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from holdfast.errors import StoreError
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

_PLAIN = b"SQLite format 3"


class SQLiteSide(Side):
    """Every tenant's rows in one file."""

    kind: ClassVar[str] = "sqlite"
    fills: ClassVar[Mapping[str, Mapping[str, Any]]] = {"partitions": {"version": 1}}
    """A version of 0 would mean that a partition has no vectors."""

    def __init__(self, path: Path, *, key: str | None = None) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent} cannot be used as a folder: {error}.") from error
        self._path = path.resolve()
        self.place = self.title = str(self._path)
        # A key is for files that are encrypted, and for new ones: a plain file beside them is read as it is.
        self._connections = SQLiteConnections(self._path, key=None if _is_plain(self._path) else key)

    @property
    def reader(self) -> FileConnection:
        """The connection that reads."""
        return self._connections.reader()

    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Turn SQLite's errors into ours."""
        return translate_errors(self._path)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything as of one moment while this lasts: programs may go on writing."""
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
        """Hold a transaction that is on disk when the block ends."""
        return self._connections.writing()

    def prepare(self) -> list[Migration]:
        """Make the tables if there are none; a copy under way is left as it is."""
        with self._connections.exclusive() as connection:
            made = fetch_value(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'")
            if not made or not fetch_value(connection, "SELECT count(*) FROM migrations WHERE number = ?", (COPYING,)):
                migrate(connection)
        return list(migrations())

    def layout(self, table: str) -> TableLayout:
        """Return a table's columns and key."""
        with self.guard():
            rows = fetch(self.reader, "SELECT name, pk FROM pragma_table_info(?)", (table,))
        key = sorted((place, name) for name, place in rows if place)
        return layout_of(table, [name for name, _ in rows], [name for _, name in key])

    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows, within a transaction."""
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(columns)})", rows)

    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Make windows findable by their terms."""
        item, window, partition, terms = map(layout.columns.index, ("item", "window", "partition", "terms"))
        fulltext.add_copied(connection, [(row[item], row[window], row[partition], row[terms]) for row in units])

    def empty(self, connection: Connection, table: str) -> None:
        """Remove all rows of a table, and for windows also what finds them by text."""
        connection.execute(f"DELETE FROM {table}")
        if table == "units":
            fulltext.remove_all(connection)

    def numbers(self) -> dict[str, int]:
        """Return the last number given of each kind."""
        with self.guard():
            given: dict[str, int] = dict(fetch(self.reader, "SELECT name, value FROM sequences"))
            return {
                name: max(
                    given.get(name, 0),
                    *(fetch_value(self.reader, f"SELECT coalesce(max({column}), 0) FROM {table}") for table, column in columns),
                )
                for name, columns in NUMBERS.items()
            }

    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Go on counting after these."""
        connection.executemany(
            "INSERT INTO sequences (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
            list(numbers.items()),
        )

    def text_state(self) -> tuple[int, int]:
        """Return how many windows can be found by text, and how many should be."""
        with self.guard():
            indexed, windows = (
                fetch_value(self.reader, f"SELECT count(*) FROM {name}") for name in ("fulltext_docsize", "units")
            )
            return indexed, windows

    def vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Return vectors as they are meant: each code times its scale."""
        return [
            vector
            for _, same in groupby(map(_by_name, stored), key=lambda kept: len(kept[1]))
            for vector in _dequantized(list(same))
        ]

    def kept(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Return vectors as codes with a scale each."""
        rows: list[Row] = []
        for _, same in groupby(vectors, key=len):
            codes, scales = quantize(np.stack(list(same)))
            rows += [(float(scale), code.tobytes()) for scale, code in zip(scales, codes, strict=True)]
        return rows

    def codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the codes."""
        return [row[1] for row in stored]

    def finish(self) -> None:
        """Fold the log into the file."""
        with self._connections.exclusive() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file."""
        self._connections.close()


def _is_plain(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_PLAIN)) == _PLAIN


def _by_name(row: Row) -> tuple[float, bytes]:
    scale, code = row
    return scale, code


def _dequantized(kept: list[tuple[float, bytes]]) -> "list[NDArray[np.float32]]":
    codes = np.frombuffer(b"".join(code for _, code in kept), dtype=np.int8).reshape(len(kept), -1)
    return list(dequantize(codes, np.array([scale for scale, _ in kept], dtype=np.float32)))
