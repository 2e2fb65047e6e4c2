"""One end of a copy: a database whose rows of every tenant are read in order, or written batch by batch with a bookmark."""

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

_FROM = "*"
"""The bookmark under which the source is noted."""


class Bookmark(NamedTuple):
    """How far a table has come: the key of the last row, as stored, and how many rows there were."""

    after: str | None = None
    rows: int = 0


class Side(ABC):
    """A database as a copy sees it."""

    kind: ClassVar[str]
    place: str
    """Where it is, without a password: for its operator, in a report."""
    title: str
    """What errors call it: a file's path, or a database without its address."""
    fills: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Columns that are not copied, and what the target has in them; all others have their default."""

    # --- what each database does its own way ---

    @property
    @abstractmethod
    def reader(self) -> Connection:
        """The connection that reads."""

    @abstractmethod
    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Turn the database's errors into ours."""

    @abstractmethod
    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Read everything as of one moment while this lasts."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        """Hold a transaction that is on disk when the block ends."""

    @abstractmethod
    def prepare(self) -> list[Migration]:
        """Make the tables if there are none, and return every step of the schema; leaves a copy under way as it is."""

    @abstractmethod
    def layout(self, table: str) -> TableLayout:
        """Return a table's columns and key."""

    @abstractmethod
    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows, within a transaction."""

    @abstractmethod
    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Make windows findable by their terms."""

    @abstractmethod
    def empty(self, connection: Connection, table: str) -> None:
        """Remove all rows of a table, and for windows also what finds them by text."""

    @abstractmethod
    def numbers(self) -> dict[str, int]:
        """Return the last number given of each kind."""

    @abstractmethod
    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Go on counting after these."""

    @abstractmethod
    def text_state(self) -> tuple[int, int]:
        """Return how many windows can be found by text, and how many should be."""

    @abstractmethod
    def vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Return vectors as they are meant, from how they are kept."""

    @abstractmethod
    def kept(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Return how vectors are kept here."""

    @abstractmethod
    def codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return vectors as they are compared: int8 codes."""

    @abstractmethod
    def finish(self) -> None:
        """Do what a database full of new rows needs."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def passes(self) -> Iterator[None]:
        """Yield once for each time the rows have to be asked for; more often where only one tenant's can be seen at once."""
        yield None

    # --- what is the same for all ---

    def batches(self, layout: TableLayout, after: str | None, size: int) -> Iterator[list[Row]]:
        """Yield a table's rows in the order of its key, some at a time, those behind a bookmark."""
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
        """Count the rows of every tenant."""
        with self.guard():
            return sum(fetch_value(self.reader, f"SELECT count(*) FROM {table}") for _ in self.passes())

    # --- the target's bookmarks ---

    def begun_from(self) -> str | None:
        """Return the source of the copy that is under way here, if one is."""
        with self.guard():
            if not fetch_value(self.reader, "SELECT count(*) FROM migrations WHERE number = ?", (COPYING,)):
                return None
            found = fetch_value(self.reader, "SELECT place FROM copying WHERE name = ?", (_FROM,))
        return str(found)

    def check_schema(self, known: list[Migration]) -> None:
        """Refuse to go on with a copy that another version began."""
        with self.guard():
            rows = fetch(self.reader, "SELECT number, sha256 FROM migrations WHERE number <> ?", (COPYING,))
        if pending(dict(rows), known):
            raise StoreError(f"The copy into {self.title} was begun by an older version: remove it and copy again.")

    def begin(self, source: str) -> None:
        """Mark that a copy is under way, so that nobody uses half of it; what opening wrote makes room."""
        with self.writing() as connection:
            for table in MADE_BY_OPENING:
                self.empty(connection, table)
            connection.execute("DROP TABLE IF EXISTS copying")
            connection.execute("CREATE TABLE copying (name TEXT NOT NULL PRIMARY KEY, place TEXT, count BIGINT NOT NULL)")
            for table in COPIED:
                connection.execute("INSERT INTO copying (name, place, count) VALUES (?, ?, ?)", (table, "", 0))
            connection.execute("INSERT INTO copying (name, place, count) VALUES (?, ?, ?)", (_FROM, source, 0))
            connection.execute(
                "INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)", (COPYING, "copy under way", source)
            )

    def bookmark(self, table: str) -> Bookmark:
        """Return how far a table has come."""
        with self.guard():
            rows = fetch(self.reader, "SELECT place, count FROM copying WHERE name = ?", (table,))
        if not rows:
            raise StoreError(f"The copy into {self.title} has lost its bookmarks: remove it and copy again.")
        return Bookmark(rows[0][0] or None, rows[0][1])

    def move_bookmark(self, connection: Connection, table: str, old: Bookmark, new: Bookmark) -> None:
        """Note how far a table has come, in the transaction that brought it there."""
        connection.execute(
            "UPDATE copying SET place = ?, count = ? WHERE name = ? AND place = ? AND count = ?",
            (new.after or "", new.rows, table, old.after or "", old.rows),
        )
        if connection.changes() != 1:
            raise Conflict(f"Another copy into {self.title} is under way.")

    def end(self, numbers: Mapping[str, int]) -> None:
        """Take the mark away: from now on the target may be used."""
        with self.writing() as connection:
            self.set_numbers(connection, numbers)
            connection.execute("DELETE FROM migrations WHERE number = ?", (COPYING,))
            connection.execute("DROP TABLE copying")
        self.finish()
