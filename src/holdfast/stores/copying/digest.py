"""Digest (checksum) of a table: the sum of the hashes of all rows. It does not depend on the order of the rows."""

from collections.abc import Sequence

from holdfast.stores.copying.tables import TableLayout, hash_of_rows
from holdfast.stores.sql.connection import Row
from holdfast.stores.sql.rows import row_hash

_BITS = 128


class Digest:
    """Checksum of the rows of a table. Tables with the same rows have the same checksum in SQLite and in PostgreSQL."""

    def __init__(self, layout: TableLayout) -> None:
        self.rows = 0
        self.altered: list[str] = []
        """Ids of the rows that do not match the hash stored with them."""
        self._sum = 0
        self._width = len(layout.columns)
        self._hashed = hash_of_rows(layout)

    def add(self, rows: Sequence[Row], codes: Sequence[bytes]) -> None:
        """Add rows to the checksum. For the table of vectors, ``codes`` contains the int8 code (quantized form) of each vector."""
        self.rows += len(rows)
        for place, row in enumerate(rows):
            columns = row[: self._width]
            values = (*columns, codes[place]) if codes else columns
            self._sum += int.from_bytes(row_hash(values), "big")
        self._sum %= 1 << _BITS
        if self._hashed is not None:
            places, expected = self._hashed
            for row in rows:
                hashed = [row[place] for place in places]
                if expected(hashed) != hashed[-1]:
                    self.altered.append(str(hashed[1]))

    @property
    def value(self) -> str:
        """The checksum as 32 hexadecimal digits."""
        return f"{self._sum:032x}"
