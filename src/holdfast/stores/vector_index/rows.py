"""The table of a vector index: one row per (item, chunk), as dense numpy columns in memory.

Rows are numbered 0 to `count - 1` without gaps: a removal moves the last row into the free place. So every scan covers
one contiguous slice, and memory can shrink. The rows of an item are found by binary search in a sorted copy of the item
column, plus a scan of the few rows added or moved since it was sorted. A dictionary would be simpler, but for a million
pairs it would take half as much memory as the vectors.

Not thread-safe; `VectorIndex` holds the lock.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from holdfast.stores.vector_index.tuning import Tuning

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]
Items = NDArray[np.int64]
Chunks = NDArray[np.int32]
RowNumbers = NDArray[np.intp]

_BLOCK: Final = 256
"""Number of rows converted to floats at a time. 256 rows of 384 floats fit into the second-level cache of the CPU."""
_TAIL_SHARE: Final = 16
"""After additions, the sorted copy of the item column is built again if more than 1/16 of the rows are not in it.

The number of these rows must also be greater than `Tuning.moved_limit`.
"""


class VectorRows:
    """Items, chunks, codes and scales of `count` vectors. A vector is `codes[row] * scales[row]`."""

    __slots__ = (
        "_moved",
        "_moved_count",
        "_moved_limit",
        "_order",
        "_settled",
        "_single",
        "_sorted",
        "chunks",
        "codes",
        "count",
        "dimensions",
        "items",
        "scales",
    )

    def __init__(self, dimensions: int, tuning: Tuning) -> None:
        self.dimensions = dimensions
        self.count = 0
        self.items: Items = np.empty(0, np.int64)
        self.chunks: Chunks = np.empty(0, np.int32)
        self.codes: Codes = np.empty((0, dimensions), np.int8)
        self.scales: Floats = np.empty(0, np.float32)
        self._moved: RowNumbers = np.empty(16, np.intp)
        self._moved_limit = tuning.moved_limit
        self._settled = 0
        self._settle()

    @property
    def nbytes(self) -> int:
        """Size of the columns in bytes, including spare capacity."""
        columns: list[NDArray[Any]] = [*self._columns(), self._sorted, self._order, self._moved]
        return sum(column.nbytes for column in columns)

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.items, self.chunks, self.codes, self.scales

    # --- changes ---------------------------------------------------------------------------------------

    def append(self, items: Items, chunks: Chunks, codes: Codes, scales: Floats) -> int:
        """Add rows whose (item, chunk) pairs are new. Returns the first new row number."""
        start, end = self.count, self.count + len(items)
        if end > len(self.items):
            self._resize(max(end, start + start // 8 + 8) if start else end)
        for column, values in zip(self._columns(), (items, chunks, codes, scales), strict=True):
            column[start:end] = values
        self.count = end
        if end - self._settled > max(self._moved_limit, end // _TAIL_SHARE):
            self._settle()
        return start

    def overwrite(self, row: int, code: Codes, scale: float) -> None:
        """Replace the vector of a row."""
        self.codes[row] = code
        self.scales[row] = scale

    def remove(self, row: int) -> int:
        """Remove a row by moving the last row into its place. Return the number that the moved row had before."""
        last = self.count - 1
        if row != last:
            for column in self._columns():
                column[row] = column[last]
        self.count = last
        self._settled = min(self._settled, last)
        if row < self._settled:
            self._note_moved(row)
        if last * 2 < len(self.items) - 64:
            self._resize(last + last // 8)
        return last

    def _note_moved(self, row: int) -> None:
        if self._moved_count == self._moved_limit:
            self._settle()
            return
        if self._moved_count == len(self._moved):
            self._moved = np.resize(self._moved, 2 * len(self._moved))
        self._moved[self._moved_count] = row
        self._moved_count += 1

    def _resize(self, capacity: int) -> None:
        # realloc remaps the pages of large blocks: no second copy of 400 MB on a board with 2 GB.
        # No view of a column outlives the lock, so the reference check is not needed.
        for column in self._columns():
            column.resize((capacity, *column.shape[1:]), refcheck=False)

    def _settle(self) -> None:
        """Build the sorted copy of the item column again, so that binary search finds every row."""
        items = self.items[: self.count]
        self._order = np.argsort(items, kind="stable").astype(np.int32)
        self._sorted = items[self._order]
        self._single = bool(np.all(self._sorted[1:] != self._sorted[:-1]))
        self._settled = self.count
        self._moved_count = 0

    # --- lookups ----------------------------------------------------------------------------------------

    def find(self, item: int) -> RowNumbers:
        """Return the row numbers of one item in ascending order. The result is empty if the item has no rows."""
        low = np.searchsorted(self._sorted, item)
        high = np.searchsorted(self._sorted, item, side="right")
        tail = np.flatnonzero(self.items[self._settled : self.count] == item) + self._settled
        return self._present(np.concatenate((self._order[low:high], tail, self._moved[: self._moved_count])), item)

    def find_all(self, items: Items) -> RowNumbers:
        """Return the rows of these items in ascending order. The items must be ascending and unique."""
        settled = self._settled_rows(items)
        if len(self._sorted) == self._settled == self.count and not self._moved_count:
            settled.sort()
            return settled
        tail = np.arange(self._settled, self.count)
        rows = np.unique(np.concatenate((settled, tail, self._moved[: self._moved_count])))
        rows = rows[rows < self.count]
        return rows[contains(items, self.items[rows])]

    def _present(self, rows: RowNumbers, item: int) -> RowNumbers:
        """Return those of the given rows that still belong to the item.

        After a removal, a row number can belong to another item, or to none.
        """
        rows = rows[rows < self.count]
        return np.unique(rows[self.items[rows] == item])

    def _settled_rows(self, items: Items) -> RowNumbers:
        low = np.searchsorted(self._sorted, items)
        if self._single:
            low = low[: np.searchsorted(low, len(self._sorted))]
            hits = self._sorted[low] == items[: len(low)]
            single: RowNumbers = self._order[low[hits]].astype(np.intp)
            return single
        lengths = np.searchsorted(self._sorted, items, side="right") - low
        starts = np.cumsum(lengths) - lengths
        offsets = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        rows: RowNumbers = self._order[np.repeat(low, lengths) + offsets].astype(np.intp)
        return rows

    # --- vectors ----------------------------------------------------------------------------------------

    def vectors(self, rows: RowNumbers | slice) -> Floats:
        """Return the float vectors of these rows."""
        vectors = self.codes[rows].astype(np.float32)
        vectors *= self.scales[rows, None]
        return vectors

    def products(self, rows: RowNumbers, query: Floats) -> Floats:
        """Return the query's inner product with each row.

        This is fast, but the last digits can depend on the position of a row. So equal vectors may have slightly different
        products.
        """
        products = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = self.codes.take(rows[start : start + _BLOCK], axis=0).astype(np.float32)
            # Not a matrix product: BLAS would start its threads, which keep spinning for a while.
            np.vecdot(block, query, out=products[start : start + _BLOCK])
        products *= self.scales[rows]
        return products

    def exact_products(self, rows: RowNumbers, query: Floats) -> Floats:
        """Return the query's inner product with each row. The sums use a fixed order, so equal vectors have equal products."""
        products: Floats = np.einsum("ij,j->i", self.codes.take(rows, axis=0).astype(np.float32), query)
        products *= self.scales.take(rows)
        return products


def contains(ascending: Items, values: Items) -> NDArray[np.bool_]:
    """Return a boolean mask that is True for the `values` that occur in the sorted array `ascending`."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    places = np.searchsorted(ascending, values)
    places[places == len(ascending)] = 0
    equal: NDArray[np.bool_] = ascending[places] == values
    return equal
