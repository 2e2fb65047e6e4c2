"""Apply the queued changes to an external vector index, and manage the index's builds.

A build is one complete construction of an index from the stored vectors. Changes are applied in batches. Each
batch has a random id, called its mark. First the SQLite file records the mark, then the index records it. After
the changes are applied, the SQLite file records that the batch is done. If the process dies at any point, the same
batch is applied again. If the SQLite file was restored to an earlier state, it does not contain the mark that the
index recorded. The index is then rebuilt.
"""

import logging
import secrets
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw
import numpy as np

from holdfast.errors import StoreError
from holdfast.runtime import forks
from holdfast.stores.chroma.protocol import Build, ExternalIndex, IndexBusy, IndexInvalid, IndexPlace, IndexUnavailable
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.queued_index import queue
from holdfast.stores.sqlite.queued_index.queue import StoredVector
from holdfast.stores.vector_index.index import dequantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Limits on the work of one search in an external index, and of one update of the index."""

    max_scanned: int = 512
    """Maximum number of queued vectors that one search compares with the query itself, because they are not in the index yet.

    If more vectors are queued, see ``max_applied_first``.
    """
    max_applied_first: int = 0
    """Number of queued vectors beyond ``max_scanned`` with which a search still uses the index.

    Such a search first applies a batch of changes to the index. If even more vectors are queued, the search runs in memory.
    The default is 0, because applying a batch to Chroma can take seconds.
    """
    batch_size: int = 256
    """Maximum number of changes per batch."""
    retry_seconds: float = 60.0
    """Maximum pause, in seconds, before an unavailable index is tried again.

    The first pause takes one second, and each further pause is twice as long as the one before.
    """
    max_results: int = 4096
    """Maximum number of results that a search requests from the index. If these are not enough, the search runs in memory."""


class IndexFeed:
    """Applies queued changes to the external indexes of one tenant, and manages the builds of these indexes.

    There is one index per embedding model.
    """

    def __init__(self, connections: SQLiteConnections, tenant: str, place: IndexPlace, pace: Pace) -> None:
        self.tenant = tenant
        self.place = place
        self._connections = connections
        self._pace = pace
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Drop the references to the open indexes in a forked child. The indexes stay open in the parent."""
        self._lock = threading.RLock()
        self._open: dict[int, tuple[str, ExternalIndex]] = {}
        self._verified: set[str] = set()

    @property
    def connection(self) -> apsw.Connection:
        """This thread's read-only connection."""
        return self._connections.reader()

    # --- builds ---------------------------------------------------------------------------------------------

    def build(self, model: int) -> Build | None:
        """Return the current build of a model's index. If there is no build in the configured folder or on the server, start one.

        Return None if no build can be started now, for example because another thread is writing.
        """
        found = queue.builds(self.connection, self.tenant).get(model)
        if found is not None and self._is_ours(found):
            return found
        try:
            return self.start_build(model)
        except StoreError as error:  # a thread is writing, perhaps this one: the next search starts the build
            _log.debug("No index build started: %s", error)
            return None

    def start_build(self, model: int) -> Build:
        """Start a new build of a model's index, queue all vectors for it, and discard the previous build."""
        with self._connections.try_writing() as writer:
            old = queue.builds(writer, self.tenant).get(model)
            new = queue.start_build(writer, self.tenant, model, place=self.place.name, home=self.place.home)
        self._discard(model, old)
        return new

    def models(self) -> list[int]:
        """Return the ids of the embedding models in use, and discard the builds of models that are no longer used."""
        in_use = queue.models(self.connection, self.tenant)
        builds = queue.builds(self.connection, self.tenant)
        for model in set(builds) - set(in_use):
            with self._connections.try_writing() as writer:
                queue.drop_build(writer, self.tenant, model)
            self._discard(model, builds[model])
        self.close(keep={build.build for build in builds.values()})
        return in_use

    def _is_ours(self, build: Build) -> bool:
        return (build.place, build.home) == (self.place.name, self.place.home)

    def _discard(self, model: int, build: Build | None) -> None:
        with self._lock:
            _, index = self._open.pop(model, ("", None))
            if index is not None:
                index.close()
        if build is not None and self._is_ours(build):
            self.place.discard(build.build, lambda: queue.builds_of_all(self.connection))

    def close(self, *, keep: Collection[str] = ()) -> None:
        """Close all open indexes except the builds in ``keep``."""
        with self._lock:
            for model, (build, index) in list(self._open.items()):
                if build not in keep:
                    del self._open[model]
                    index.close()

    # --- opening --------------------------------------------------------------------------------------------

    def opened(self, build: Build) -> ExternalIndex:
        """Return the open index of a build. On first use, open the index and verify it."""
        index = self._opened(build)
        if index is None:
            index = self._keep_open(build, self._open_build(build))  # without the lock, because a server may hang
        if build.build not in self._verified:
            self._verify(build, index)
        return index

    def _opened(self, build: Build) -> ExternalIndex | None:
        with self._lock:
            name, index = self._open.get(build.model, ("", None))
            return index if name == build.build else None

    def _keep_open(self, build: Build, index: ExternalIndex) -> ExternalIndex:
        """Register an index that was just opened, and return it. Close the index of the model's older build.

        If another thread has opened the same build meanwhile, close this index and return the other thread's index.
        """
        with self._lock:
            other = self._opened(build)
            if other is not None:
                index.close()
                return other
            self.close(keep={held for model, (held, _) in self._open.items() if model != build.model})
            self._open[build.model] = (build.build, index)
        return index

    def _open_build(self, build: Build) -> ExternalIndex:
        index = self.place.open(build)
        if index.mark not in (build.mark, build.next or build.mark):
            index.close()
            raise IndexInvalid("it does not match the state of the store")
        return index

    def _verify(self, build: Build, index: ExternalIndex) -> None:
        """Raise ``IndexInvalid`` if the index does not match the store. While changes are queued, the index is not verified.

        The index must have as many vectors as the store, and must find a few sample vectors.
        """
        if not build.mark or self.has_queued(build.model):
            return
        have, expected = index.count(), queue.count(self.connection, self.tenant, build.model)
        if have != expected and not self.has_queued(build.model):
            raise IndexInvalid(f"it has {have} vectors but the store has {expected}")
        for key, stored in queue.some_stored(self.connection, self.tenant, build.model, 3).items():
            (vector,) = vectors([stored])
            near = queue.stored(self.connection, self.tenant, build.model, index.search(vector, [key.partition], 8))
            # The nearest one need not be this vector, since several can be equal, but it must be as near.
            if not near or float(np.max(vectors(near.values()) @ vector)) < 0.98 * float(vector @ vector):
                raise IndexInvalid("it does not find vectors that it contains")
        self._verified.add(build.build)

    # --- applying changes --------------------------------------------------------------------------------------------

    def has_queued(self, model: int) -> bool:
        """Return True if changes of this embedding model's vectors are queued and not applied to the index yet."""
        return bool(queue.waiting(self.connection, self.tenant, model, limit=1))

    def apply_batch(self, build: Build, partitions: Collection[int] | None = None) -> bool:
        """Apply one batch of queued changes to the index of a build. Return False if another thread or process is writing.

        Also return False if the build no longer exists. With ``partitions``, apply only changes of these partitions.
        """
        index = self.opened(build)
        try:
            with index.applying():
                return self._apply_batch(index, build.model, partitions)
        except IndexBusy:
            return False
        except (IndexUnavailable, IndexInvalid):
            raise
        except StoreError as error:  # another thread is writing: the batch is applied again later
            _log.debug("No changes applied to the index: %s", error)
            return False

    def _apply_batch(self, index: ExternalIndex, model: int, partitions: Collection[int] | None) -> bool:
        connection = self.connection
        build = queue.builds(connection, self.tenant).get(model)
        changes = queue.waiting(connection, self.tenant, model, partitions=partitions, limit=self._pace.batch_size)
        if build is None or not changes:
            return build is not None
        present = queue.stored(connection, self.tenant, model, [change.key for change in changes])
        mark = secrets.token_hex(8)
        with self._connections.try_writing(durable=False) as writer:
            queue.start_batch(writer, self.tenant, build, mark)
        index.note(mark)
        if present:
            index.add(list(present), vectors(present.values()))
        if gone := [change.key for change in changes if change.key not in present]:
            index.remove(gone)
        with self._connections.try_writing(durable=False) as writer:
            queue.finish_batch(writer, self.tenant, build, changes, mark)
        return True

    def apply_all(self, build: Build) -> bool:
        """Apply all queued changes to the index of a build.

        Return False if another thread or process is writing, or if the build no longer exists.
        """
        while self.has_queued(build.model):
            if not self.apply_batch(build):
                return False
        return True

    def count_differences(self, build: Build) -> int:
        """Count the vectors that are only in the index of a build, or only in the SQLite file.

        Vectors with a queued change are not counted. The result is 0 if no batch of changes was applied to the build yet.
        """
        if not build.mark:
            return 0
        index = self.opened(build)
        waiting = {change.key for change in queue.waiting(self.connection, self.tenant, build.model, limit=-1)}
        return len((index.keys() ^ queue.keys_of(self.connection, self.tenant, build.model)) - waiting)


def vectors(stored: Iterable[StoredVector]) -> "NDArray[np.float32]":
    """Return stored vectors as one float matrix, with one vector per row."""
    listed = list(stored)
    codes = np.frombuffer(b"".join(each.code for each in listed), dtype=np.int8).reshape(len(listed), -1)
    return dequantize(codes, np.array([each.scale for each in listed], dtype=np.float32))
