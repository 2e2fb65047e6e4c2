"""Thresholds of the vector index: when it switches to another search method, and how many rows each method reads.

The defaults suit every store. Tests use other values, so that a few rows are enough to test each method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Thresholds of one `VectorIndex`, fixed for its lifetime."""

    exact_limit: int = 4096
    """Maximum number of rows for exact search. Up to this number, exact search is about as fast as comparing sketches."""
    bits_limit: int = 150_000
    """Maximum number of rows for the search that compares all sketches. A larger index uses cells.

    Up to this number, comparing all sketches takes less than a millisecond longer than using cells. In return, the first
    search need not wait until cells are built. At 100,000 rows, building them would take half of the first search's time.
    """
    few_allowed: int = 24
    """If a filter allows at most this number times sqrt(number of rows) items, all allowed items are scored.

    For so few items, a candidate search would be slower.
    """
    width_per_result: int = 20
    """Number of candidates that sketches select per requested result.

    On real sentences, this many candidates included the true best results.
    """
    width_per_root: int = 4
    """Number of additional candidates per sqrt(number of rows). With more rows, sketches are less selective."""
    min_width: int = 1
    """Minimum number of candidates, at least 1.

    A search that finds too few results multiplies the number of candidates by four and tries again. With 0 candidates,
    the search would never end.
    """
    sample_per_cell: int = 32
    """Number of sample rows per cell for k-means. They are enough for good cell centers, and k-means still takes only seconds."""
    min_read: int = 16_384
    """Minimum number of rows that a search in cells compares. Comparing fewer would save little time and could miss good rows."""
    min_tail: int = 4096
    """The tail (rows not in a cell yet) is sorted into the cells only if it is longer than this number of rows.

    Sorting copies all sketches, so it should be rare.
    """
    moved_limit: int = 4096
    """Number of added or moved rows after which the sorted copy of the item column is built again.

    These rows are not in the copy, so each lookup scans them. For added rows, `rows._TAIL_SHARE` can allow more.
    """


DEFAULT: Final = Tuning()
