"""Cache of the items that a search filter allows.

The text search and the vector search of one recall need the same set of items. The next recall may need the same
set, too. In a scope of 100,000 memories, reading the set takes many times as long as searching within it.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.stores.sqlite.dialect import FileConnection


class AllowedItems(NamedTuple):
    """The items that a filter allows, both as a set for lookups and as a sorted array for numpy."""

    items: frozenset[int]
    ascending: "NDArray[np.int64]"

    @classmethod
    def of(cls, items: frozenset[int]) -> "AllowedItems":
        """Build the set and the array from item numbers."""
        return cls(items, np.sort(np.fromiter(items, dtype=np.int64, count=len(items))))


class AllowedItemsCache:
    """Caches the items that the last filter allowed, until another connection writes to the file.

    SQLite's ``data_version`` reveals such writes. It does not reveal the connection's own writes, so only read-only
    connections use the cache.
    """

    def __init__(self) -> None:
        self._cached: tuple[weakref.ref[FileConnection], int, Hashable, AllowedItems] | None = None

    def get(self, connection: "FileConnection", query: Hashable, read: Callable[[], Iterable[int]]) -> AllowedItems:
        """Return the items that a filter allows. ``query`` identifies the filter.

        If the items are not cached, or the cached items are outdated, call ``read``, which returns the item numbers.
        """
        # Read the version before the rows: after a write in between, the entry counts as outdated and is read again.
        version = connection.pragma("data_version")
        cached = self._cached
        if cached is not None and cached[0]() is connection and cached[1:3] == (version, query):
            return cached[3]
        items = AllowedItems.of(frozenset(read()))
        self._cached = (weakref.ref(connection), version, query, items)
        return items

    def clear(self) -> None:
        """Drop the cached items of the last filter."""
        self._cached = None
