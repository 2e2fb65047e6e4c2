"""The seam for an index of vectors outside the file: what it must do, and how it fails.

The table ``vectors`` is the truth. An index holds copies of its vectors under their keys, never a text, and is fed
from a queue (``queued_index``). Losing one costs a rebuild, and meanwhile the index in memory answers.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class IndexUnavailable(StoreError):
    """The index cannot be used now: another process has it, or its server does not answer."""


class IndexBusy(IndexUnavailable):
    """Another process has it."""


class IndexInvalid(StoreError):
    """The index is missing, damaged, or not of this moment, and must be built anew."""


class VectorKey(NamedTuple):
    """Which vector of a model."""

    partition: int
    item: int
    chunk: int


class Build(NamedTuple):
    """One build of an index, as the file knows it."""

    model: int
    place: str
    home: str
    build: str
    mark: str
    next: str
    removed: int


class ExternalIndex(Protocol):
    """One build of an index of one model's vectors."""

    @property
    def mark(self) -> str:
        """The mark of the last changes it took, wholly or in part."""
        ...

    def applying(self) -> AbstractContextManager[None]:
        """Be the only one to change it; raises `IndexUnavailable` where another process is at it."""
        ...

    def note(self, mark: str) -> None:
        """Keep the mark of the changes that come now."""
        ...

    def add(self, keys: Sequence[VectorKey], vectors: "NDArray[np.float32]") -> None:
        """Take vectors in, in the place of those it has under these keys."""
        ...

    def remove(self, keys: Sequence[VectorKey]) -> None:
        """Let go of vectors; those it does not have are passed over."""
        ...

    def search(self, query: "NDArray[np.float32]", partitions: Collection[int], limit: int) -> list[VectorKey]:
        """Return about the nearest by cosine, of these partitions alone; fewer than ``limit`` means that these are all."""
        ...

    def count(self) -> int:
        """Count its vectors."""
        ...

    def keys(self) -> set[VectorKey]:
        """Return what it has."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class IndexPlace(Protocol):
    """Where builds of indexes are kept."""

    @property
    def name(self) -> str:
        """What the file records of it."""
        ...

    @property
    def home(self) -> str:
        """Whose file a build must have been made for; '' where a copy of the file takes a copy of the index along."""
        ...

    def open(self, build: Build) -> ExternalIndex:
        """Open a build, a new one empty."""
        ...

    def discard(self, build: str, counting: Callable[[], Collection[str]]) -> None:
        """Remove a build that does not count any more, if it can be removed now; ``counting`` names those that do."""
        ...

    def describe(self) -> str:
        """Say where it is, for people."""
        ...
