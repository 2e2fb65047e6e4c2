"""Interface of an external vector index, and its errors.

The ``vectors`` table is authoritative. An index holds copies of its vectors under their keys, never text, and is fed
from a queue (``queued_index``). If the index is lost, it is rebuilt, and meanwhile searches run in memory.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class IndexUnavailable(StoreError):
    """The index cannot be used now: another process is using it, or its server does not answer."""


class IndexBusy(IndexUnavailable):
    """Another process is using the index."""


class IndexInvalid(StoreError):
    """The index is missing, damaged, or does not match the store, and must be rebuilt."""


class VectorKey(NamedTuple):
    """Identifies one vector of a model."""

    partition: int
    item: int
    chunk: int


class Build(NamedTuple):
    """One build of an index, as recorded in the file."""

    model: int
    place: str
    """Name of the place that holds it."""
    home: str
    """Path of the store it belongs to, or '' if it is copied along with the store."""
    build: str
    """Random name of the build."""
    mark: str
    """Mark of the last batch that was applied, '' if there was none."""
    next: str
    """Mark of a batch that is being applied, '' if there is none."""
    removed: int
    """Number of vectors removed since the build started. Its files may still contain them."""


class ExternalIndex(Protocol):
    """One build of an external index of one model's vectors."""

    @property
    def mark(self) -> str:
        """Mark of the last batch that was applied, completely or in part."""
        ...

    def applying(self) -> AbstractContextManager[None]:
        """Hold the exclusive right to change the index. Raises `IndexBusy` if another process is changing it."""
        ...

    def note(self, mark: str) -> None:
        """Store the mark of the batch that follows."""
        ...

    def add(self, keys: Sequence[VectorKey], vectors: "NDArray[np.float32]") -> None:
        """Add vectors, or replace those with the same keys."""
        ...

    def remove(self, keys: Sequence[VectorKey]) -> None:
        """Remove vectors. Ignores keys that it does not have."""
        ...

    def search(self, query: "NDArray[np.float32]", partitions: Collection[int], limit: int) -> list[VectorKey]:
        """Return the approximate nearest vectors by cosine, only from these partitions.

        Fewer than ``limit`` results mean that the partitions have no more vectors.
        """
        ...

    def count(self) -> int:
        """Count the vectors."""
        ...

    def keys(self) -> set[VectorKey]:
        """Return the keys of all vectors."""
        ...

    def close(self) -> None:
        """Close the index."""
        ...


class IndexPlace(Protocol):
    """A place where builds of indexes are kept."""

    @property
    def name(self) -> str:
        """Name of the place, as recorded in the file."""
        ...

    @property
    def home(self) -> str:
        """Path of the store that a build belongs to. Empty if the index is copied along with the file."""
        ...

    def open(self, build: Build) -> ExternalIndex:
        """Open a build. A new build is empty."""
        ...

    def discard(self, build: str, current: Callable[[], Collection[str]]) -> None:
        """Remove a build that is no longer current, if possible now. ``current`` returns the names of the current builds."""
        ...

    def describe(self) -> str:
        """Return the location as text for messages to people."""
        ...
