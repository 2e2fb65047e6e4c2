"""Thresholds of the vector index: when it switches to another search method, and how many rows each method reads.

The defaults suit every store. Other values serve tests and measurements with few rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Limits of one `VectorIndex`, fixed for its lifetime."""

    exact_limit: int = 4096
    """Maximum number of rows for the exact search, which up to here is about as fast as sketches."""
    bits_limit: int = 150_000
    """Maximum number of rows whose sketches are all compared. Up to here that takes less than a millisecond longer than cells,
    and the first search need not wait for cells to be built. At 100,000 rows that is half of its time.
    """
    few_allowed: int = 24
    """Up to this number times the square root of all rows, every allowed item is scored, which is cheaper than a sieve."""
    width_per_result: int = 20
    """Candidates by sketch per requested result. Measured on real sentences: they contain the true best."""
    width_per_root: int = 4
    """Additional candidates, times the square root of all rows, because with more rows sketches confuse more of them."""
    min_width: int = 1
    """Minimum number of candidates, at least 1, because a search with too few results multiplies it and repeats."""
    sample_per_cell: int = 32
    """Sample rows per cell for k-means: enough for a mean, few enough to learn in seconds."""
    min_read: int = 16_384
    """Minimum number of rows that a search of cells compares. Fewer would save little time and could miss good ones."""
    min_tail: int = 4096
    """Minimum length of the tail before it is sorted into the cells, which copies all sketches."""
    moved_limit: int = 4096
    """Maximum number of added or moved rows that each lookup of an item scans. Beyond it, the item column is sorted again."""


DEFAULT: Final = Tuning()
