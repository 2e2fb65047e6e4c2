"""What a table holds, in one number: the sum of its rows' hashes, whatever their order."""

from collections.abc import Sequence

from holdfast.stores.copying.tables import TableLayout, hash_of_rows
from holdfast.stores.sql.connection import Row
from holdfast.stores.sql.rows import row_hash

_BITS = 128


class Digest:
    """Adds up rows; two tables with the same rows have the same digest, in whichever database they are."""

    def __init__(self, layout: TableLayout) -> None:
        self.rows = 0
        self.altered: list[str] = []
        """The ids of rows that are not what was written, by the hash they carry."""
        self._sum = 0
        self._plain = len(layout.columns)
        self._hashed = hash_of_rows(layout)

    def add(self, rows: Sequence[Row], codes: Sequence[bytes]) -> None:
        """Add rows; ``codes`` are their vectors, for a table that has some."""
        self.rows += len(rows)
        for place, row in enumerate(rows):
            plain = row[: self._plain]
            values = (*plain, codes[place]) if codes else plain
            self._sum += int.from_bytes(row_hash(values), "big")
        self._sum %= 1 << _BITS
        if self._hashed is not None:
            places, expected = self._hashed
            for row in rows:
                own = [row[place] for place in places]
                if expected(own) != own[-1]:
                    self.altered.append(str(own[1]))

    @property
    def value(self) -> str:
        """The digest as people compare it."""
        return f"{self._sum:032x}"
