"""The numbers that decide when the vector index goes from one way of searching to the next, and how far each looks.

The defaults suit every store; other values serve to see each way at work on few rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Limits and widths of one `VectorIndex`, fixed for its life."""

    exact_limit: int = 4096
    """Up to so many rows the float product is about as fast as sketches, and it is exact."""
    bits_limit: int = 150_000
    """Up to here comparing the sketches of all rows takes less than a millisecond more than choosing cells first, and a first
    search need not wait until there are cells: at 100,000 rows that is half of its time."""
    few_allowed: int = 24
    """Times the root of all vectors: up to that many allowed items, scoring each is cheaper than sieving."""
    width_per_result: int = 20
    """Candidates by sketch for each result wanted: so many hold the true best, as measured on real sentences."""
    width_per_root: int = 4
    """Candidates more, times the root of all rows: the more rows, the more of them sketches confuse."""
    min_width: int = 1
    """Candidates in any case; at least 1, since a search that finds too little multiplies the number and asks again."""
    sample_per_cell: int = 32
    """Rows from which each cell's centre is learned: enough for a mean, few enough to learn in seconds."""
    min_read: int = 16_384
    """Rows one search of cells compares at least: comparing fewer saves little time and may miss good ones."""
    min_tail: int = 4096
    """Newcomers that wait behind the cells before it is worth the copy to sort them in."""
    moved_limit: int = 4096
    """Rows added or moved that every lookup of an item goes through before it is worth sorting the items anew."""


DEFAULT: Final = Tuning()
