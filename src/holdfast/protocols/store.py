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
        """A message for people if vector search cannot use its index now, for example an index on a server. Otherwise None."""
        ...

    def preload(self) -> None:
        """Import the modules that the first search needs, so that it is as fast as later searches."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """Start a transaction. It is durable when the ``with`` block ends. If the block raises, the transaction is rolled back.

        Use ``durable=False`` for data that can be recomputed, such as vectors. A power failure may lose such a transaction.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads in the ``with`` block see the same state of the store.

        The block must not wait for other work, such as the call of a model. In a store without snapshots, each read may see
        the newest data.
        """
        ...

    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Return the best matches by BM25 from the partitions that the reader may see. Any text is a valid query."""
        ...

    def find_vectors(self, model: str, query: "Vectors", where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the items with the highest cosine from the partitions that the reader may see.

        An item has one vector per chunk. Its best chunk counts.
        """
        ...

    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List the chunks that have no vector of this model, newest first.

        ``windows`` is a collection of (item, chunk) pairs. If it is given, only these chunks are considered.
        """
        ...

    def count_missing_vectors(self, model: str, *, reader: Scope) -> int:
        """Count the items that a reader may see and that have a chunk without a vector of this model."""
        ...

    def vector_lengths(self, model: str) -> set[int]:
        """Return the different lengths of the stored vectors of a model. This reads every vector of the model."""
        ...

    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the text of one chunk of an item."""
        ...

    def similarities(self, model: str, items: Sequence[int]) -> "Vectors | None":
        """Return a matrix with the cosine of each pair of items. If a vector is missing, the cosine is 0."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Return statistics of the store, such as the number of memories."""
        ...

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the integrity of the files. With ``deep``, also check the hash of every row."""
        ...

    def tidy(self) -> bool:
        """Run one short step of index maintenance. Return True if there is more to do."""
        ...

    def room(self) -> AbstractContextManager[Callable[[], object]]:
        """Free reserved disk space for the writes of the ``with`` block, so that they succeed even if the disk is full.

        Yield a function that frees space again. It can be called between two writes. A store on a server does nothing here.
        """
        ...

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        """Overwrite removed data on disk. Then scan the files for ``needles``, which are pieces of the removed data.

        ``files`` are other files to scan, such as topic pages. Return two values: True if everything was overwritten, and
        the names of the files in which a needle was found. A needle that also occurs in a stored row is not reported.
        Places that the store cannot overwrite or search are reported, too, as :class:`Unreachable` names.

        With ``rewrite=False``, files are not rewritten, and the first value is False if removed data may remain. A scrub is
        expensive and can serve several erasures, so ``when`` can let it wait; see ``ScrubTime``.
        """
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store. It does not contain removed data."""
        ...

    def open_copy(self, path: Path) -> "Store":
        """Open a file that contains a copy of this store, with the same tenant and, if there is one, the same encryption key."""
        ...

    def backups(self) -> list[str]:
        """List the recorded backups of this store."""
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
        """Wait until jobs are queued, and return their tenants.

        Return None if a notification may have been missed; the caller must then check all tenants.
        """
        ...
