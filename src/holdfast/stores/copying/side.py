"""One side of a copy: a database whose rows are read in key order, or written in batches with a bookmark."""

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
"""Name of the row in ``copying`` that stores the address of the source."""


class Bookmark(NamedTuple):
    """Progress of a table: the key of the last copied row as JSON, and the number of rows copied."""

    after: str | None = None
    rows: int = 0


class Side(ABC):
    """A database as the source or target of a copy."""

    kind: ClassVar[str]
    place: str
    """Address without the password, for reports to the operator."""
    title: str
    """Name in error messages: the path of a file, or a generic name for a database."""
    fills: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Per table, the columns that are not copied and need another value than their default."""

    # --- implemented per database ---

    @property
    @abstractmethod
    def reader(self) -> Connection:
        """The connection for reads."""

    @abstractmethod
    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Translate the database's errors."""

    @abstractmethod
    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Read everything in one snapshot."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        """Run a transaction. It is on disk when the block ends."""

    @abstractmethod
    def prepare(self) -> list[Migration]:
        """Create or migrate the tables, unless a copy into them is unfinished. Return all migrations of this version."""

    @abstractmethod
    def layout(self, table: str) -> TableLayout:
        """Return a table's columns and primary key."""

    @abstractmethod
    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows within a transaction."""

    @abstractmethod
    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Add chunks to the full-text index, using their stored terms."""

    @abstractmethod
    def empty(self, connection: Connection, table: str) -> None:
        """Delete all rows of a table; with the chunks, also the full-text index."""

    @abstractmethod
    def numbers(self) -> dict[str, int]:
        """Return the last number used of each sequence."""

    @abstractmethod
    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Advance each sequence to the given last number."""

    @abstractmethod
    def text_state(self) -> tuple[int, int]:
        """Return the number of chunks in the full-text index, and the number that should be there."""

    @abstractmethod
    def decode_vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Convert stored vectors to float32 arrays."""

    @abstractmethod
    def encode_vectors(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Convert vectors to the columns that this database stores."""

    @abstractmethod
    def vector_codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the int8 codes of stored vectors, by which the two sides are compared."""

    @abstractmethod
    def finish(self) -> None:
        """Do the maintenance that a database needs after a large import."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""

    def passes(self) -> Iterator[None]:
        """Yield once per pass over a table. If only one tenant is visible at a time, reading all rows takes a pass per tenant."""
        yield None

    # --- shared by all ---

    def batches(self, layout: TableLayout, after: str | None, size: int) -> Iterator[list[Row]]:
        """Yield a table's rows in key order and in batches, starting after a bookmark."""
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
        """Read rows."""
        return fetch(self.reader, sql, values)

    def count(self, table: str) -> int:
        """Count a table's rows of all tenants."""
        with self.guard():
            return sum(fetch_value(self.reader, f"SELECT count(*) FROM {table}") for _ in self.passes())

    # --- the target's bookmarks ---

    def unfinished_source(self) -> str | None:
        """Return the source of the unfinished copy into this database, or None if there is no such copy."""
        with self.guard():
            if not fetch_value(self.reader, "SELECT count(*) FROM migrations WHERE number = ?", (COPYING,)):
                return None
            found = fetch_value(self.reader, "SELECT place FROM copying WHERE name = ?", (_SOURCE,))
        return str(found)

    def check_schema(self, known: list[Migration]) -> None:
        """Raise ``StoreError`` if the unfinished copy was begun by a version with another schema."""
        with self.guard():
            rows = fetch(self.reader, "SELECT number, sha256 FROM migrations WHERE number <> ?", (COPYING,))
        if pending(dict(rows), known):
            raise StoreError(
                f"The copy into {self.title} was begun by an older version and cannot be resumed. Remove the target and copy again."
            )

    def begin(self, source: str) -> None:
        """Mark the target as unfinished, so that nobody opens it, and delete the rows that opening a store creates."""
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
        """Return the bookmark of a table."""
        with self.guard():
            rows = fetch(self.reader, "SELECT place, count FROM copying WHERE name = ?", (table,))
        if not rows:
            raise StoreError(
                f"The copy into {self.title} has lost its bookmarks and cannot be resumed. Remove the target and copy again."
            )
        return Bookmark(rows[0][0] or None, rows[0][1])

    def move_bookmark(self, connection: Connection, table: str, old: Bookmark, new: Bookmark) -> None:
        """Move the bookmark of a table, in the transaction that writes the rows. Raise ``Conflict`` if another copy moved it."""
        connection.execute(
            "UPDATE copying SET place = ?, count = ? WHERE name = ? AND place = ? AND count = ?",
            (new.after or "", new.rows, table, old.after or "", old.rows),
        )
        if connection.changes() != 1:
            raise Conflict(
                f"Another copy into {self.title} is under way. This one has stopped; wait until the other has finished."
            )

    def end(self, numbers: Mapping[str, int]) -> None:
        """Set the sequences and remove the mark: the target can be opened from now on."""
        with self.writing() as connection:
            self.set_numbers(connection, numbers)
            connection.execute("DELETE FROM migrations WHERE number = ?", (COPYING,))
            connection.execute("DROP TABLE copying")
        self.finish()
