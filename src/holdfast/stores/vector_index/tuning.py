"""Thresholds of the vector index: when it switches to another search method, and how many rows each method reads.

The defaults suit every store. Tests and measurements use other values, so that few rows are enough.
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

    Up to this number, comparing all sketches takes less than a millisecond longer than using cells, and the first search
    need not wait for the cells to be built. At 100,000 rows, that wait would be half of its time.
    """
    few_allowed: int = 24
    """If at most this number * sqrt(number of rows) items are allowed, all are scored, which is cheaper than a sieve."""
    width_per_result: int = 20
    """Number of candidates by sketch per requested result. In measurements with real sentences, they included the true best."""
    width_per_root: int = 4
    """Number of additional candidates per sqrt(number of rows). With more rows, sketches are less selective."""
    min_width: int = 1
    """Minimum number of candidates. It must be at least 1, because a search that finds too few results multiplies it."""
    sample_per_cell: int = 32
    """Number of sample rows per cell for k-means. It is enough for a good mean, and k-means still takes only seconds."""
    min_read: int = 16_384
    """Minimum number of rows that a search in cells compares. Fewer would save little time and could miss good rows."""
    min_tail: int = 4096
    """Minimum length of the tail before it is sorted into the cells. Sorting copies all sketches, so it should be rare."""
    moved_limit: int = 4096
    """Maximum number of added or moved rows, which each lookup of an item scans. Beyond it, the item column is sorted again."""


DEFAULT: Final = Tuning()
