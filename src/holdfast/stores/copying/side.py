"""Base class for the source and the target of a copy. The source is read in key order, and the target is written in batches."""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from holdfast.errors import Conflict, StoreError
from holdfast.stores.copying.tables import COPIED, MADE_BY_OPENING, TableLayout
from holdfast.stores.sql.connection import Connection, Row, fetch, fetch_value
from holdfast.stores.sql.migrations import COPYING, Migration, pending
from holdfast.stores.sql.rows import marks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SOURCE = "*"
"""Name of the row in the table ``copying`` that stores the address of the source."""


class Bookmark(NamedTuple):
    """Progress of copying a table: the key of the last copied row as JSON, and the number of rows copied."""

    after: str | None = None
    rows: int = 0


class Side(ABC):
    """A database as the source or target of a copy."""

    kind: ClassVar[str]
    place: str
    """Address of the database without the password, for reports to the operator."""
    title: str
    """Name of the database in error messages: the path of a file, or a generic name for a server."""
    fills: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values for columns that are not copied, by table and column. Each copied row gets these values in the target.

    A value is needed where the default of a column is wrong for copied rows, such as ``version`` of ``partitions`` in SQLite.
    """

    # --- implemented per database ---

    @property
    @abstractmethod
    def reader(self) -> Connection:
        """The connection for reads."""

    @abstractmethod
    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Context manager: raise the database's errors as Holdfast errors."""

    @abstractmethod
    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Context manager: run all reads inside it in one snapshot."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        """Context manager for a transaction. When its ``with`` block ends, the transaction is committed and on disk."""

    @abstractmethod
    def prepare(self) -> list[Migration]:
        """Create the tables, or migrate them to the schema of this version. Return all migrations that this version knows.

        The tables of an unfinished copy are not migrated. :meth:`check_schema` checks their schema instead.
        """

    @abstractmethod
    def layout(self, table: str) -> TableLayout:
        """Return the columns and the primary key of a table."""

    @abstractmethod
    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows into a table. ``connection`` is the connection that :meth:`writing` yields."""

    @abstractmethod
    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Add chunks to the full-text index, using their stored terms.

        ``units`` are rows of the chunk table, and ``layout`` is the layout of this table.
        """

    @abstractmethod
    def empty(self, connection: Connection, table: str) -> None:
        """Delete all rows of a table. For the table of chunks, also empty the full-text index."""

    @abstractmethod
    def numbers(self) -> dict[str, int]:
        """Return the last number that each sequence has issued, by the name of the sequence."""

    @abstractmethod
    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Set each sequence so that it continues after the given number."""

    @abstractmethod
    def text_state(self) -> tuple[int, int]:
        """Return two counts: the chunks in the full-text index, and the chunks that should be in it."""

    @abstractmethod
    def decode_vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Convert stored vectors to float32 arrays."""

    @abstractmethod
    def encode_vectors(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Convert vectors to the format in which this database stores them."""

    @abstractmethod
    def vector_codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the int8 codes (quantized form) of stored vectors.

        The codes are compared instead of the stored vectors, because each database stores vectors in its own format.
        """

    @abstractmethod
    def finish(self) -> None:
        """Do the maintenance that a database needs after a large import."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""

    def passes(self) -> Iterator[None]:
        """Yield once for each pass that is needed to read all rows of a table.

        One pass is enough if the database user sees all rows. If it sees only one tenant at a time, each tenant needs its own
        pass.
        """
        yield None

    # --- shared by all ---

    def batches(self, layout: TableLayout, after: str | None, size: int) -> Iterator[list[Row]]:
        """Yield the rows of a table in batches of up to ``size`` rows, sorted by primary key.

        ``after`` is a primary key as JSON. The first batch starts after this key. If ``after`` is None, it starts with the
        first row.
        """
        last: list[Any] = json.loads(after) if after else []
        for _ in self.passes():
            while rows := self._page(layout, last, size):
                last = layout.key_of(rows[-1])
                yield rows

    def _page(self, layout: TableLayout, after: list[Any], size: int) -> list[Row]:
        where = f"WHERE ({', '.join(layout.key)}) > ({marks(after)})" if after else ""
        sql = f"SELECT {', '.join(layout.selected)} FROM {layout.table} {where} ORDER BY {', '.join(layout.key)} LIMIT ?"
        with self.guard():
            return self.fetch(sql, (*after, size))

    def fetch(self, sql: str, values: Sequence[Any]) -> list[Row]:
        """Run a query and return its rows."""
        return fetch(self.reader, sql, values)

    def count(self, table: str) -> int:
        """Count the rows of a table, of all tenants."""
        with self.guard():
            return sum(fetch_value(self.reader, f"SELECT count(*) FROM {table}") for _ in self.passes())

    # --- the target's bookmarks ---

    def unfinished_source(self) -> str | None:
        """Return the address of the source if this database is the target of an unfinished copy, otherwise None."""
        with self.guard():
            if not fetch_value(self.reader, "SELECT count(*) FROM migrations WHERE number = ?", (COPYING,)):
                return None
            found = fetch_value(self.reader, "SELECT place FROM copying WHERE name = ?", (_SOURCE,))
        return str(found)

    def check_schema(self, known: list[Migration]) -> None:
        """Raise ``StoreError`` if the unfinished copy in this database was begun by a version of Holdfast with another schema.

        ``known`` are the migrations that this version knows.
        """
        with self.guard():
            rows = fetch(self.reader, "SELECT number, sha256 FROM migrations WHERE number <> ?", (COPYING,))
        if pending(dict(rows), known):
            raise StoreError(
                f"The copy into {self.title} was begun by an older version and cannot be resumed. Remove the target and copy again."
            )

    def begin(self, source: str) -> None:
        """Mark this database as the target of an unfinished copy, so that nobody can open it as a store.

        ``source`` is the address of the copy's source. Also delete the rows that Holdfast writes when it opens a new store.
        The copied rows replace them.
        """
        with self.writing() as connection:
            for table in MADE_BY_OPENING:
                self.empty(connection, table)
            connection.execute("DROP TABLE IF EXISTS copying")
            connection.execute("CREATE TABLE copying (name TEXT NOT NULL PRIMARY KEY, place TEXT, count BIGINT NOT NULL)")
            for table in COPIED:
                connection.execute("INSERT INTO copying (name, place, count) VALUES (?, ?, ?)", (table, "", 0))
            connection.execute("INSERT INTO copying (name, place, count) VALUES (?, ?, ?)", (_SOURCE, source, 0))
            connection.execute(
                "INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)", (COPYING, "copy under way", source)
            )

    def bookmark(self, table: str) -> Bookmark:
        """Return the bookmark of a table, which records how far the table was copied."""
        with self.guard():
            rows = fetch(self.reader, "SELECT place, count FROM copying WHERE name = ?", (table,))
        if not rows:
            raise StoreError(
                f"The copy into {self.title} has lost its bookmarks and cannot be resumed. Remove the target and copy again."
            )
        return Bookmark(rows[0][0] or None, rows[0][1])

    def move_bookmark(self, connection: Connection, table: str, old: Bookmark, new: Bookmark) -> None:
        """Change the bookmark of a table from ``old`` to ``new``. Raise ``Conflict`` if another run has changed it.

        Call this in the transaction that writes the rows.
        """
        connection.execute(
            "UPDATE copying SET place = ?, count = ? WHERE name = ? AND place = ? AND count = ?",
            (new.after or "", new.rows, table, old.after or "", old.rows),
        )
        if connection.changes() != 1:
            raise Conflict(
                f"Another copy into {self.title} is under way. This one has stopped; wait until the other has finished."
            )

    def end(self, numbers: Mapping[str, int]) -> None:
        """Finish the copy into this database: set the sequences, and remove the mark of an unfinished copy.

        ``numbers`` has the last number of each sequence. From now on, the database can be opened as a store.
        """
        with self.writing() as connection:
            self.set_numbers(connection, numbers)
            connection.execute("DELETE FROM migrations WHERE number = ?", (COPYING,))
            connection.execute("DROP TABLE copying")
        self.finish()
