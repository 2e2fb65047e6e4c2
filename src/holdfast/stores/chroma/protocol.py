"""Interface of an external vector index, and its errors.

The ``vectors`` table of the store is authoritative. An index contains copies of these vectors, each with its key, and
never text. Changes reach the index through a queue (``queued_index``). If the index is lost, it is rebuilt. Until the
index is rebuilt, searches use an in-memory index.
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
    """Key of one vector among the vectors of an embedding model.

    It consists of the partition, the item number, and the number of the chunk in the item.
    """

    partition: int
    item: int
    chunk: int


class Build(NamedTuple):
    """One build (complete version) of an index, as recorded in the store's file."""

    model: int
    place: str
    """Name of the :class:`IndexPlace` that stores this build."""
    home: str
    """Path of the store that the build belongs to. A copy of the store has another path, so the copy does not use this build.

    The path is empty for an index in a folder, because each store has its own folder.
    """
    build: str
    """Random name of the build."""
    mark: str
    """Mark (random id) of the last batch of changes that was applied. Empty if no batch was applied yet."""
    next: str
    """Mark (random id) of the batch of changes that is being applied. Empty if no batch is being applied."""
    removed: int
    """Number of vectors removed since the build started. The build's files may still contain data of the removed vectors."""


class ExternalIndex(Protocol):
    """One build (complete version) of an external index. It contains the vectors of one model."""

    @property
    def mark(self) -> str:
        """Mark (random id) of the last batch of changes that was begun on this index.

        It is possible that only a part of the batch was applied, for example if the process was killed.
        """
        ...

    def applying(self) -> AbstractContextManager[None]:
        """Context manager: hold the lock for changing the index. Raise `IndexBusy` if another process holds the lock."""
        ...

    def note(self, mark: str) -> None:
        """Record in the index the mark (random id) of the batch of changes that will be applied next."""
        ...

    def add(self, keys: Sequence[VectorKey], vectors: "NDArray[np.float32]") -> None:
        """Add vectors. Vectors with the same keys are replaced."""
        ...

    def remove(self, keys: Sequence[VectorKey]) -> None:
        """Remove the vectors with these keys. Unknown keys are ignored."""
        ...

    def search(self, query: "NDArray[np.float32]", partitions: Collection[int], limit: int) -> list[VectorKey]:
        """Return the keys of the ``limit`` vectors in these partitions that are nearest to the query by cosine, approximately.

        If fewer than ``limit`` keys are returned, the index has found no further vectors in these partitions.
        """
        ...

    def count(self) -> int:
        """Return the number of vectors in the index."""
        ...

    def keys(self) -> set[VectorKey]:
        """Return the keys of all vectors in the index."""
        ...

    def close(self) -> None:
        """Close the index."""
        ...


class IndexPlace(Protocol):
    """A place that stores builds of indexes, such as a folder or a server."""

    @property
    def name(self) -> str:
        """Name of the place, as recorded in the store's file."""
        ...

    @property
    def is_remote(self) -> bool:
        """True if the index is on a server, so that a search may have to wait for the server."""
        ...

    def load(self) -> None:
        """Import the modules that a search needs. No connection is made."""
        ...

    @property
    def home(self) -> str:
        """Path of the store that the builds belong to, or "" if the place is a folder.

        A folder needs no such path, because each store has its own folder.
        """
        ...

    def open(self, build: Build) -> ExternalIndex:
        """Open a build. If the build is new, create it empty."""
        ...

    def discard(self, build: str, current: Callable[[], Collection[str]]) -> None:
        """Remove the given build (version of an index). Failures are ignored.

        If the place is a folder, also remove all other builds in it, except the builds that ``current`` returns.
        """
        ...

    def describe(self) -> str:
        """Return the location of the index as text for messages to users."""
        ...
