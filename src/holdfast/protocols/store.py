"""The protocol of a store. Its read methods are in ``reads.py``, its transactions in ``transaction.py``."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from holdfast.filters import (
    Match,
    MissingVector,
    SearchFilter,
)
from holdfast.protocols.models import Vectors
from holdfast.protocols.reads import Reads
from holdfast.protocols.transaction import Transaction
from holdfast.types import (
    Finding,
    Scope,
)

SCRUB = "scrub"
"""Name of the store setting that records whether erased bytes must still be overwritten.

``pending``: they must be overwritten. ``log``: only the store's log may still contain them. ``done``: they are overwritten. A
scrub may have to wait until an open read ends. It may also wait to serve several erasures at once.
"""
ScrubTime: TypeAlias = Literal["now", "due", "later"]
"""When to scrub. ``now``: at once. ``due``: only if the next scrub is due. ``later``: the store decides, at once or in the background."""


class Unreachable(str):
    """Name of a place that a scrub cannot overwrite or search, such as a database server's log. Scrubbing again does not help."""

    __slots__ = ()


class Store(Reads, Protocol):
    """Stores all data of one tenant. Safe to use from several threads. Some stores also allow several processes."""

    @property
    def tenant(self) -> str:
        """The tenant whose rows this store reads and writes."""
        ...

    @property
    def location(self) -> str:
        """Path or URL of the store, for display."""
        ...

    @property
    def is_local(self) -> bool:
        """True if the store runs in this process and does not wait for a server."""
        ...

    @property
    def search_notice(self) -> str | None:
        """A message for people if vector search cannot use its index now, or None.

        For example, the message says that the server of the index cannot be reached.
        """
        ...

    def preload(self) -> None:
        """Import the modules that the first search needs, so that it is as fast as later searches."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """Start a transaction. The transaction is durable when the ``with`` block ends, and rolled back if the block raises.

        Use ``durable=False`` for data that can be recomputed, such as vectors. A power failure can undo such a transaction.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads in the ``with`` block see the same state of the store.

        The block must not wait for slow work, such as a call of a model. In a store without snapshots, later reads in the
        block can see newer data.
        """
        ...

    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Return the best matches by BM25. Any text is a valid query. ``languages`` are the possible languages of the query.

        Only partitions that ``where.reader`` may read are searched.
        """
        ...

    def find_vectors(self, model: str, query: "Vectors", where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the items with the highest cosine. Only partitions that ``where.reader`` may read are searched.

        An item has one vector per chunk. The cosine of an item is the cosine of its best chunk.
        """
        ...

    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List at most ``limit`` chunks that have no vector of this model.

        With ``reader``, only chunks that this scope may read are listed. Then chunks of memories come before chunks of
        messages, and chunks of newer items before those of older items. Without ``reader``, the order is not defined. With
        ``windows``, only the given chunks are considered. Each entry of ``windows`` is a pair: the number of the item, and
        the number of the chunk in the item.
        """
        ...

    def count_missing_vectors(self, model: str, *, reader: Scope) -> int:
        """Count the items with at least one chunk that has no vector of this model. Only items that ``reader`` may read count."""
        ...

    def vector_lengths(self, model: str) -> set[int]:
        """Return the different lengths of the stored vectors of a model. This reads every vector of the model."""
        ...

    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the text of one chunk of an item. ``text`` is the whole text of the item."""
        ...

    def similarities(self, model: str, items: Sequence[int]) -> "Vectors | None":
        """Return a matrix with the cosine of each pair of items. If an item has no vector, its cosines are 0.

        Return None if none of the items has a vector.
        """
        ...

    def stats(self) -> Mapping[str, Any]:
        """Return statistics of the store, such as the number of memories."""
        ...

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the integrity of the store, and return the findings. With ``deep``, also check the hash of every row."""
        ...

    def tidy(self) -> bool:
        """Do one short step of maintenance that keeps searches fast. Return True if there is more to do."""
        ...

    def room(self) -> AbstractContextManager[Callable[[], object]]:
        """Free reserved disk space for the writes of the ``with`` block, so that they succeed even if the disk is full.

        The context manager yields a function. Call the function between two writes to free the space that the first write
        used temporarily. A store on a server frees no space, and its function does nothing.
        """
        ...

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        """Overwrite removed data on disk. Then scan the files for ``needles``, which are pieces of the removed data.

        Return two values. The first is True if all removed data was overwritten. The second lists the files in which a needle
        was found. It also lists the places that the store cannot overwrite or search, as :class:`Unreachable` names. A needle
        that also occurs in a stored row is not reported.

        ``files`` are other files to scan, such as topic pages. ``when`` says whether the store may postpone the scrub (see
        ``ScrubTime``): a scrub is expensive, and one scrub can serve several erasures.

        With ``rewrite=False``, the store does not rewrite its files. The exception is a file in which a needle is found: if the
        store can rewrite this file, it does so. The first value is False if a file may still contain removed data.
        """
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store. It does not contain removed data."""
        ...

    def open_copy(self, path: Path) -> "Store":
        """Open a file that contains a copy of this store, with the same tenant and, if there is one, the same encryption key."""
        ...

    def backups(self) -> list[str]:
        """Return the paths of the backups that were made of this store."""
        ...

    def close(self) -> None:
        """Close the files or connections."""
        ...


@runtime_checkable
class JobNotifier(Protocol):
    """A store that notifies workers when any process queues a job, so that they need not poll."""

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job of this tenant is queued. Return False if no job was queued within ``seconds``."""
        ...

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until a job of any tenant is queued, but at most ``seconds``. Return the tenants with new jobs.

        The result is empty if no job was queued in time. It is None if a notification may have been missed; the caller must
        then check all tenants.
        """
        ...
