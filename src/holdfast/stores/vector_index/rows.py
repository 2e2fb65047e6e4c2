"""The plain table under a vector index: one row per (item, window), in memory, as dense numpy columns.

Rows are numbered 0 to `count - 1` with no holes: removing one moves the last row into its place, so every
scan is over one contiguous slice and memory is given back. Finding an item's rows needs no Python object per
row (a dictionary of a million pairs would weigh half as much as the vectors): a sorted copy of the item
column answers, and the few rows added or moved since it was made are looked at directly.

Not thread-safe by itself; `VectorIndex` holds the lock.
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
"""Rows turned into floats at a time: 256 x 384 floats stay in the second-level cache."""
_TAIL_SHARE: Final = 16


class VectorRows:
    """Items, windows, codes and scales of `count` vectors; `codes[row] * scales[row]` is the vector."""

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
        """Bytes held, spare capacity included."""
        columns: list[NDArray[Any]] = [*self._columns(), self._sorted, self._order, self._moved]
        return sum(column.nbytes for column in columns)

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.items, self.chunks, self.codes, self.scales

    # --- changing ---------------------------------------------------------------------------------------

    def append(self, items: Items, chunks: Chunks, codes: Codes, scales: Floats) -> int:
        """Add rows whose (item, window) pairs are not yet here; return the first new row number."""
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
        """Give an existing row another vector."""
        self.codes[row] = code
        self.scales[row] = scale

    def remove(self, row: int) -> int:
        """Take a row out; return which row now has its number (itself when it was the last)."""
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
        # In place by realloc, which for large blocks remaps pages: no second copy of 400 MB on a 2 GB board.
        # Safe without the reference check because no view of a column outlives the lock.
        for column in self._columns():
            column.resize((capacity, *column.shape[1:]), refcheck=False)

    def _settle(self) -> None:
        """Sort the item column anew, so that every present row is found by binary search."""
        items = self.items[: self.count]
        self._order = np.argsort(items, kind="stable").astype(np.int32)
        self._sorted = items[self._order]
        self._single = bool(np.all(self._sorted[1:] != self._sorted[:-1]))
        self._settled = self.count
        self._moved_count = 0

    # --- finding ----------------------------------------------------------------------------------------

    def find(self, item: int) -> RowNumbers:
        """Return the rows of one item, ascending; none when it is not here."""
        low = np.searchsorted(self._sorted, item)
        high = np.searchsorted(self._sorted, item, side="right")
        tail = np.flatnonzero(self.items[self._settled : self.count] == item) + self._settled
        return self._present(np.concatenate((self._order[low:high], tail, self._moved[: self._moved_count])), item)

    def find_all(self, items: Items) -> RowNumbers:
        """Return the rows of any of these items (given ascending, without repeats), ascending."""
        settled = self._settled_rows(items)
        if len(self._sorted) == self._settled == self.count and not self._moved_count:
            settled.sort()
            return settled
        tail = np.arange(self._settled, self.count)
        rows = np.unique(np.concatenate((settled, tail, self._moved[: self._moved_count])))
        rows = rows[rows < self.count]
        return rows[contains(items, self.items[rows])]

    def _present(self, rows: RowNumbers, item: int) -> RowNumbers:
        """Keep the rows that are this item's now: since the sort, rows went and others took their numbers."""
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

    # --- reading ----------------------------------------------------------------------------------------

    def vectors(self, rows: RowNumbers | slice) -> Floats:
        """Return the float vectors of these rows."""
        vectors = self.codes[rows].astype(np.float32)
        vectors *= self.scales[rows, None]
        return vectors

    def products(self, rows: RowNumbers, query: Floats) -> Floats:
        """Return the query's inner product with each row, fast; the last digits depend on the neighbours."""
        products = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = self.codes.take(rows[start : start + _BLOCK], axis=0).astype(np.float32)
            # Not a matrix product: that would wake the linear algebra library's threads, which then spin for a while.
            np.vecdot(block, query, out=products[start : start + _BLOCK])
        products *= self.scales[rows]
        return products

    def exact_products(self, rows: RowNumbers, query: Floats) -> Floats:
        """Return the same, each row summed in one order: equal vectors give equal numbers anywhere."""
        products: Floats = np.einsum("ij,j->i", self.codes.take(rows, axis=0).astype(np.float32), query)
        products *= self.scales.take(rows)
        return products


def contains(ascending: Items, values: Items) -> NDArray[np.bool_]:
    """Return which of `values` occur in `ascending`."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    places = np.searchsorted(ascending, values)
    places[places == len(ascending)] = 0
    equal: NDArray[np.bool_] = ascending[places] == values
    return equal
