"""In-memory vector index of one partition and one model, searched by cosine.

The vectors are stored elsewhere. The caller loads a `VectorIndex` and applies each later change to it. Vectors have unit
length and are stored as int8 codes with one scale each (`quantize`). An item can have several chunks; a search returns
each item once, with its best chunk.

Guarantees:

- A search from any thread sees each change completely or not at all.
- Similarities are cosines with an error of about 0.001. They are computed from the stored codes with sums in a fixed
  order, so equal vectors have equal similarities. Of equal results, the smaller item number comes first.
- Results are exact up to `Tuning.exact_limit` vectors, and whenever few items are allowed. Above that limit they contain
  at least 0.98 of the true best ten results.
- A search returns `k` results whenever `k` (allowed) items exist.
- Memory use is about 1.25 bytes per dimension and vector.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from holdfast.stores.vector_index.cells import CellSieve
from holdfast.stores.vector_index.rows import Chunks, Codes, Floats, Items, RowNumbers, VectorRows, contains
from holdfast.stores.vector_index.sieves import BitSieve, FloatSieve, Sieve, best_places
from holdfast.stores.vector_index.tuning import DEFAULT, Tuning

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["VectorIndex", "VectorMatch", "dequantize", "quantize"]

_ONE: Final = np.float32(1)
_LARGEST: Final = 127
"""Largest absolute value of an int8 code."""


class VectorMatch(NamedTuple):
    """A search result: an item, its chunk nearest to the query, and the cosine of that chunk and the query."""

    item: int
    chunk: int
    similarity: float


def quantize(vectors: Floats) -> tuple[Codes, Floats]:
    """Return int8 codes and one scale per vector, where `scale * code` approximates the vector. A zero vector has scale 0."""
    vectors = np.asarray(vectors, np.float32)
    if vectors.ndim != 2:
        raise ValueError(f"quantize needs a matrix with one vector per row, not an array of {vectors.ndim} dimensions")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector contains NaN or infinity")
    scales: Floats = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_LARGEST)
    divisors = np.where(scales > 0, scales, np.float32(1))
    codes = np.clip(np.rint(vectors / divisors[:, None]), -_LARGEST, _LARGEST)
    return codes.astype(np.int8), scales


def dequantize(codes: Codes, scales: Floats) -> Floats:
    """Compute vectors from their codes and scales. Each number differs from the original by at most half the vector's scale."""
    vectors: Floats = codes.astype(np.float32) * scales[:, None]
    return vectors


class VectorIndex:
    """Searchable vectors of one partition. Any thread may search or change the index.

    The index does not read the store. The caller must apply every change of the stored vectors to it.
    """

    __slots__ = ("_lock", "_rows", "_sieve", "_tuning")

    def __init__(self, dimensions: int, *, tuning: Tuning = DEFAULT) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, not {dimensions}")
        self._lock = Lock()
        self._tuning = tuning
        self._rows = VectorRows(dimensions, tuning)
        self._sieve: Sieve | None = None

    def __len__(self) -> int:
        return self._rows.count

    @property
    def dimensions(self) -> int:
        """Number of dimensions of each vector."""
        return self._rows.dimensions

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, including search structures."""
        with self._lock:
            return self._rows.nbytes + (self._sieve.nbytes if self._sieve else 0)

    # --- changes ------------------------------------------------------------------------------------

    def load(self, items: Items, chunks: Chunks, codes: Codes, scales: Floats) -> None:
        """Add or replace many vectors. If an (item, chunk) pair occurs twice, the last one wins.

        ``codes`` and ``scales`` are the vectors in the form that :func:`quantize` returns.
        """
        self._check(items, chunks, codes, scales)
        last = _last_of_each(items, chunks)
        if last is not None:
            items, chunks, codes, scales = items[last], chunks[last], codes[last], scales[last]
        with self._lock:
            here = self._rows.items[self._rows.find_all(np.unique(items))]
            known = contains(np.unique(here), items)
            for place in np.flatnonzero(known):
                self._put(int(items[place]), int(chunks[place]), codes[place], float(scales[place]))
            if not known.all():
                new = ~known if known.any() else slice(None)
                self._append(items[new], chunks[new], codes[new], scales[new])

    def put(self, item: int, chunk: int, code: Codes, scale: float) -> None:
        """Add a vector, or replace the vector with the same item and chunk.

        ``code`` and ``scale`` are the vector in the form that :func:`quantize` returns.
        """
        scales = np.array([scale], np.float32)
        self._check(np.array([item]), np.array([chunk], np.int32), code[None, :], scales)
        with self._lock:
            self._put(item, chunk, code, scale)

    def remove(self, item: int) -> int:
        """Remove all chunks of an item. Return the number of chunks removed."""
        with self._lock:
            rows = self._rows.find(item)
            for row in rows[::-1].tolist():  # from the end, so that no move affects a row that is still to be removed
                moved = self._rows.remove(row)
                if self._sieve:
                    self._sieve.removed(row, moved)
            return len(rows)

    def prepare(self) -> None:
        """Build the search structures now instead of in the next search. After loading a million vectors, this takes seconds."""
        with self._lock:
            self._current_sieve()

    # --- searches ---------------------------------------------------------------------------------------------

    def search(self, query: Floats, k: int, *, allowed: Items | None = None) -> list[VectorMatch]:
        """Return the `k` items nearest to the query, best first. If `allowed` is given, search only these items.

        The search is fastest if `allowed` is in ascending order without duplicates.
        """
        query = self._unit(query)
        if allowed is not None:
            allowed = _ascending(np.asarray(allowed, np.int64))
        with self._lock:
            if k <= 0 or not self._rows.count:
                return []
            if allowed is None:
                return self._search_all(query, k)
            return self._search_allowed(query, k, allowed)

    def vectors_of(self, items: Sequence[int] | Items) -> Floats:
        """Return a matrix with the vector of each item's first chunk. The row of a missing item is zero."""
        vectors = np.zeros((len(items), self.dimensions), np.float32)
        with self._lock:
            for place, item in enumerate(items):
                rows = self._rows.find(int(item))
                if len(rows):
                    first = rows[self._rows.chunks[rows].argmin()]
                    vectors[place] = self._rows.vectors(slice(first, first + 1))[0]
        return vectors

    def first_codes(self, items: Sequence[int]) -> tuple[list[int], Codes]:
        """Return two values: those of the given items whose first chunk has a vector, and the int8 codes of these vectors."""
        with self._lock:
            rows = self._rows.find_all(np.array(sorted(set(items)), np.int64))
            rows = rows[self._rows.chunks[rows] == 0]
            return self._rows.items[rows].tolist(), self._rows.codes[rows]

    # --- inside the lock ------------------------------------------------------------------------------------

    def _put(self, item: int, chunk: int, code: Codes, scale: float) -> None:
        rows = self._rows.find(item)
        same = rows[self._rows.chunks[rows] == chunk]
        if not len(same):
            self._append(np.array([item]), np.array([chunk], np.int32), code[None, :], np.array([scale], np.float32))
            return
        self._rows.overwrite(int(same[0]), code, scale)
        if self._sieve:
            self._sieve.changed(int(same[0]))

    def _append(self, items: Items, chunks: Chunks, codes: Codes, scales: Floats) -> None:
        start = self._rows.append(items, chunks, codes, scales)
        if self._sieve:
            self._sieve.added(start)

    def _current_sieve(self) -> Sieve:
        if self._sieve is None or not self._sieve.fits():
            self._sieve = None  # free the old one's memory first
            if self._rows.count <= self._tuning.exact_limit:
                self._sieve = FloatSieve(self._rows, self._tuning)
            elif self._rows.count <= self._tuning.bits_limit:
                self._sieve = BitSieve(self._rows, self._tuning)
            else:
                self._sieve = CellSieve(self._rows, self._tuning)
        return self._sieve

    def _search_all(self, query: Floats, k: int) -> list[VectorMatch]:
        sieve = self._current_sieve()
        want = sieve.width(k)
        while want < self._rows.count:
            found = self._rank(query, k, sieve.candidates(query, want))
            if len(found) == k:
                return found
            want *= 4  # chunks of the same few items filled the candidates
        return self._rank(query, k, np.arange(self._rows.count))

    def _search_allowed(self, query: Floats, k: int, allowed: Items) -> list[VectorMatch]:
        count = self._rows.count
        if len(allowed) > self._tuning.few_allowed * count**0.5:
            sieve = self._current_sieve()
            width = sieve.width(k)
            want = int(width * max(1.0, count / len(allowed)))
            while want < count:
                rows = sieve.candidates(query, want)
                rows = rows[contains(allowed, self._rows.items[rows])]
                if len(rows) >= width // 2:
                    found = self._rank(query, k, rows)
                    if len(found) == k:
                        return found
                want *= 4  # the allowed items are far from the query: take more candidates
        return self._rank(query, k, self._rows.find_all(allowed))

    def _rank(self, query: Floats, k: int, rows: RowNumbers) -> list[VectorMatch]:
        """Return the best `k` items among these rows, by exact similarity."""
        take = k + 8
        if len(rows) <= 2 * take:
            return self._exact_rank(query, k, rows)
        products = self._rows.products(rows, query)
        while take < len(rows):
            found = self._exact_rank(query, k, rows[best_places(products, take)])
            if len(found) == k:
                return found
            take *= 4
        return self._exact_rank(query, k, rows)

    def _exact_rank(self, query: Floats, k: int, rows: RowNumbers) -> list[VectorMatch]:
        losses = np.maximum(np.minimum(-self._rows.exact_products(rows, query), _ONE), -_ONE)
        items, chunks = self._rows.items.take(rows), self._rows.chunks.take(rows)
        best: dict[int, VectorMatch] = {}
        # There are nearly always few rows, and then Python sorts tuples faster than numpy sorts arrays.
        for loss, item, chunk in sorted(zip(losses.tolist(), items.tolist(), chunks.tolist(), strict=True)):
            if item not in best:
                best[item] = VectorMatch(item, chunk, 0.0 - loss)
                if len(best) == k:
                    break
        return list(best.values())

    # --- input checks ----------------------------------------------------------------------

    def _check(self, items: Items, chunks: Chunks, codes: Codes, scales: Floats) -> None:
        if codes.dtype != np.int8 or codes.shape != (len(items), self.dimensions):
            raise ValueError(f"codes must be int8 with {self.dimensions} per row, not {codes.dtype} of shape {codes.shape}")
        if chunks.shape != items.shape or scales.shape != items.shape:
            raise ValueError("items, chunks and scales must have the same length")
        if not np.isfinite(scales).all():
            raise ValueError("a scale is NaN or infinite")

    def _unit(self, query: Floats) -> Floats:
        query = np.asarray(query, np.float32)
        if query.shape != (self.dimensions,):
            raise ValueError(f"the query must have {self.dimensions} numbers, not shape {query.shape}")
        exact = query.astype(np.float64)  # squares of very large or small float32 numbers overflow or underflow
        length = np.sqrt(exact @ exact)
        if not np.isfinite(length):
            raise ValueError("the query contains NaN or infinity")
        return (exact / length).astype(np.float32) if length > 0 else query


def _ascending(items: Items) -> Items:
    return items if bool(np.all(items[1:] > items[:-1])) else np.unique(items)


def _last_of_each(items: Items, chunks: Chunks) -> RowNumbers | None:
    """Return the positions of the last vector of each (item, chunk) pair, or None if no pair is repeated."""
    order = np.lexsort((chunks, items))  # stable: the last of equal pairs stays last
    ordered_items, ordered_chunks = items[order], chunks[order]
    last = np.ones(len(items), np.bool_)
    last[:-1] = (ordered_items[1:] != ordered_items[:-1]) | (ordered_chunks[1:] != ordered_chunks[:-1])
    return None if last.all() else np.sort(order[last])
