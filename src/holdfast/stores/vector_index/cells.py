"""Candidate search above 150,000 rows: only the cells (clusters of rows) nearest to the query are compared.

The first search after loading learns a few hundred cell centers by k-means on a sample, which takes seconds for a
million rows. Each row belongs to its nearest center. Sketches (short bit codes of the vectors) are stored in cell order,
so a cell is one slice of memory. A search selects the nearest cells until these cells hold a fixed share of all rows. It
compares the query with the sketches in these cells. `VectorIndex` then scores the rows with the best sketches.

New and changed rows are appended after the cells, in the tail. Every search compares the tail as well. A long tail is
sorted into the cells. Once half of the rows have changed since the centers were learned, `fits()` returns False and the
index builds a new `CellSieve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from holdfast.stores.vector_index.sieves import PASS, Sketcher, Sketches, best_places, sketch_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.stores.vector_index.rows import Floats, RowNumbers, VectorRows
    from holdfast.stores.vector_index.tuning import Tuning

    Places = NDArray[np.int32]

_CELLS: Final = 512
"""Maximum number of cells (clusters of rows)."""
_ROUNDS: Final = 5
"""Number of k-means iterations."""
_SHARE_READ: Final = 0.25
"""Share of all rows that one search compares with the query.

Measured on real sentences, the nearest tenth of the rows contains 0.94 of the true best ten results. A fifth of
the rows contains 0.98, and a quarter contains 0.99.
"""
_TAIL_SHARE: Final = 32
"""The tail (new rows that are not in a cell yet) is sorted into the cells once it is longer than 1/32 of all places.

A place is a position at which a sketch is stored. The tail must also be longer than `Tuning.min_tail`.
"""
_GONE: Final = -1
"""Value of `_row_at` for a free place, which is a position whose row was removed or moved."""


class CellSieve:
    """Candidate search that compares the query only with the rows in the nearest cells (clusters of rows).

    The sketches (short bit codes) of the rows are in `_sketches`, one cell after the other. After the last cell comes the tail,
    which has the sketches of new rows that are not in a cell yet. A *place* is a position in `_sketches`. `_row_at[place]` is
    the row stored there, or -1 if the place is free. `_place_of[row]` is the place of a row.
    """

    __slots__ = (
        "_built",
        "_centers",
        "_changes",
        "_place_of",
        "_row_at",
        "_rows",
        "_sketcher",
        "_sketches",
        "_starts",
        "_tuning",
        "_used",
    )

    def __init__(self, rows: VectorRows, tuning: Tuning) -> None:
        self._rows = rows
        self._tuning = tuning
        self._built = rows.count
        self._changes = 0
        self._sketcher = Sketcher(rows)
        self._centers = _Centers(_learn(rows, tuning.sample_per_cell))
        self._place_of: Places = np.empty(0, np.int32)
        self._sketches = Sketches.empty(self._sketcher.words, 0)
        self._row_at: Places = np.empty(0, np.int32)
        self._starts = np.zeros(len(self._centers) + 1, np.intp)
        self._used = 0
        self.added(0)
        self._sort_in()
        self._changes = 0

    @property
    def nbytes(self) -> int:
        """Size in bytes of the sketches, the cell centers, and the arrays that map rows to positions and back."""
        arrays: tuple[NDArray[Any], ...] = (self._row_at, self._place_of, self._centers.vectors)
        return self._sketches.nbytes + sum(array.nbytes for array in arrays)

    def fits(self) -> bool:
        """Return True if this candidate search is still usable, False if it must be rebuilt.

        It must be rebuilt if the number of rows falls to ``bits_limit / 2``. It must also be rebuilt after many changes: more
        than half the number of rows from which the centers were learned.
        """
        return self._rows.count > self._tuning.bits_limit // 2 and self._changes <= self._built // 2

    def width(self, k: int) -> int:
        """Return how many candidates to request, so that they almost surely include the best `k` rows.

        The caller then scores the candidates exactly.
        """
        return sketch_width(self._rows, k, self._tuning)

    # --- following the rows ---------------------------------------------------------------------------------

    def added(self, start: int) -> None:
        """Update this candidate search for new rows. Their numbers are `start` and above.

        Their sketches (short bit codes) are appended to the tail, the part after the cells.
        """
        count = self._rows.count
        self._changes += count - start
        if count > len(self._place_of):
            self._place_of = _grown(self._place_of, count)
        for low in range(start, count, PASS):
            high = min(low + PASS, count)
            self._append(np.arange(low, high), self._rows.vectors(slice(low, high)))

    def changed(self, row: int) -> None:
        """Update this candidate search for a row whose vector was replaced.

        Its old sketch (short bit code) is dropped, and its new sketch is appended to the tail, the part after the cells.
        """
        self._changes += 1
        self._row_at[self._place_of[row]] = _GONE
        self._append(np.array([row]), self._rows.vectors(slice(row, row + 1)))

    def removed(self, row: int, moved: int) -> None:
        """Update this candidate search for the removal of a row.

        The last row, whose number was `moved`, now has the number `row`.
        """
        self._changes += 1
        self._row_at[self._place_of[row]] = _GONE
        if row != moved:
            place = self._place_of[moved]
            self._row_at[place] = row
            self._place_of[row] = place

    def _append(self, rows: RowNumbers, vectors: Floats) -> None:
        used = self._used + len(rows)
        if used > len(self._row_at):
            self._row_at = _grown(self._row_at, max(used, self._rows.count))
            self._sketches = self._sketches.grown(len(self._row_at), self._used)
        self._sketches[self._used : used] = self._sketcher.sketch(vectors)
        self._row_at[self._used : used] = rows
        self._place_of[rows] = np.arange(self._used, used)
        self._used = used

    # --- searching ------------------------------------------------------------------------------------------

    def candidates(self, query: Floats, want: int) -> RowNumbers:
        """Return about `want` rows: those whose sketches (short bit codes) are most similar to the query.

        Only the rows in the cells nearest to the query, and the new rows in the tail, are compared.
        """
        tail = int(self._used - self._starts[-1])
        if tail > max(self._tuning.min_tail, self._used // _TAIL_SHARE):
            self._sort_in()
        read = max(self._tuning.min_read, int(_SHARE_READ * self._used), 2 * want)
        slices = [*self._nearest_cells(query, read), slice(self._starts[-1], self._used)]
        rows = np.concatenate([self._row_at[part] for part in slices])
        sketches = Sketches.joined([self._sketches[part] for part in slices])
        best = rows[best_places(self._sketcher.estimates(sketches, query), want)]
        found: RowNumbers = best[best != _GONE].astype(np.intp)
        return found

    def _nearest_cells(self, query: Floats, read: int) -> list[slice]:
        """Return the cells nearest to the query, as slices of `_sketches`. Take just enough cells to hold `read` rows."""
        order = np.argsort(-self._centers.closeness(query[None, :])[0])
        held = np.cumsum((self._starts[1:] - self._starts[:-1])[order])
        near = order[: int(np.searchsorted(held, read)) + 1]
        return list(map(slice, self._starts[near], self._starts[near + 1]))

    def _sort_in(self) -> None:
        """Move the sketches (short bit codes) of new rows from the tail, the part after the cells, into their cells.

        Positions whose row was removed or moved are dropped.
        """
        sorted_end = int(self._starts[-1])
        cells = np.empty(self._used, np.int32)
        cells[:sorted_end] = np.repeat(np.arange(len(self._centers)), np.diff(self._starts))
        for low in range(sorted_end, self._used, PASS):
            rows = self._row_at[low : min(low + PASS, self._used)]
            cells[low : low + len(rows)] = self._centers.nearest(self._rows.vectors(np.maximum(rows, 0)))
        cells[self._row_at[: self._used] == _GONE] = len(self._centers)
        alive = np.bincount(cells, minlength=len(self._centers))[: len(self._centers)]
        order = np.argsort(cells, kind="stable")[: alive.sum()]
        self._sketches = self._sketches.ordered(order)
        self._row_at = self._row_at[order]
        self._used = len(order)
        self._starts[1:] = np.cumsum(alive)
        self._place_of[self._row_at] = np.arange(self._used)


class _Centers:
    """The cell centers. Nearness to a center is measured by distance, not by cosine.

    A center is a mean of unit vectors, so it is shorter than unit length, and its inner product with a vector is not a
    cosine.
    """

    __slots__ = ("_half", "vectors")

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors
        self._half = np.einsum("ij,ij->i", vectors, vectors) / np.float32(2)

    def __len__(self) -> int:
        return len(self.vectors)

    def closeness(self, vectors: Floats) -> Floats:
        """Return the closeness of each vector (row) to each center (column) as a matrix. A larger value means nearer."""
        closeness: Floats = vectors @ self.vectors.T
        closeness -= self._half
        return closeness

    def nearest(self, vectors: Floats) -> RowNumbers:
        """Return the index of each vector's nearest center."""
        nearest: RowNumbers = self.closeness(vectors).argmax(axis=1)
        return nearest


def _learn(rows: VectorRows, sample_per_cell: int) -> Floats:
    """Learn the centers by k-means on a sample. The seed is fixed, so the same rows always produce the same cells."""
    cells = min(_CELLS, max(1, rows.count // sample_per_cell))
    size = min(rows.count, cells * sample_per_cell)
    chosen = np.random.default_rng(0).choice(rows.count, size, replace=False)
    sample = rows.vectors(chosen)
    centers = sample[:cells].copy()
    for _ in range(_ROUNDS):
        nearest = np.concatenate([_Centers(centers).nearest(sample[low : low + PASS]) for low in range(0, size, PASS)])
        order = np.argsort(nearest, kind="stable")
        held, starts = np.unique(nearest[order], return_index=True)
        sizes = np.diff(np.append(starts, size)).astype(np.float32)
        # A center to which no row is nearest stays where it is.
        centers[held] = np.add.reduceat(sample[order], starts, axis=0) / sizes[:, None]
    return centers


def _grown(places: Places, min_rows: int) -> Places:
    """Return a copy of an array with room for at least `min_rows` entries.

    Except on the first allocation, the copy has an eighth of spare capacity.
    """
    grown = np.full(min_rows + (min_rows // 8 if len(places) else 0), _GONE, np.int32)
    grown[: len(places)] = places
    return grown
