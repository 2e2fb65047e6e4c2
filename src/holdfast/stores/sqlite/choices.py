"""The items that a filter allows, kept until something is written: both arms of a recall ask for them, and so may the next.

In a scope of a hundred thousand memories, to find them takes many times as long as to search among them.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.stores.sqlite.dialect import FileConnection


class AllowedItems(NamedTuple):
    """The allowed items, to look one up and to walk in order."""

    items: frozenset[int]
    ascending: "NDArray[np.int64]"

    @classmethod
    def of(cls, items: frozenset[int]) -> "AllowedItems":
        """Allow these."""
        return cls(items, np.sort(np.fromiter(items, dtype=np.int64, count=len(items))))


class AllowedItemsCache:
    """What the last filter allowed, for as long as no connection but the asking one, which only reads, has written."""

    def __init__(self) -> None:
        self._kept: tuple[weakref.ref[FileConnection], int, Hashable, AllowedItems] | None = None

    def get(self, connection: "FileConnection", wanted: Hashable, read: Callable[[], Iterable[int]]) -> AllowedItems:
        """Return what a filter allows, read anew unless it is known still to hold."""
        # The version is read before the rows: a write in between makes what is kept old, never wrong.
        version = connection.pragma("data_version")
        kept = self._kept
        if kept is not None and kept[0]() is connection and kept[1:3] == (version, wanted):
            return kept[3]
        choice = AllowedItems.of(frozenset(read()))
        self._kept = (weakref.ref(connection), version, wanted, choice)
        return choice

    def clear(self) -> None:
        """Forget it."""
        self._kept = None
