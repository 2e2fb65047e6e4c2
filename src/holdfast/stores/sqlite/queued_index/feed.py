"""Keeping an index outside the file in step with it: builds are begun, opened, checked, fed from the queue, and let go.

Each batch of changes has a mark. The file notes it before and after, the index in between. Killed at any point, the same
batch is carried over again; a store that was put back to an earlier moment does not know the index's mark, and builds anew.
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
    """How much is done when."""

    beside: int = 512
    """Waiting vectors that a search looks through by itself."""
    ahead: int = 0
    """Waiting vectors over and above those that a search carries over first: none, as Chroma may take seconds over one."""
    step: int = 256
    """Changes that are carried over at once."""
    rest: float = 30.0
    """Seconds for which an index that could not be used is left alone."""
    furthest: int = 4096
    """The most that a search asks of the index to fill its list; after that it asks the one in memory."""


class IndexFeed:
    """The indexes of one tenant's models in one place."""

    def __init__(self, connections: SQLiteConnections, tenant: str, place: IndexPlace, pace: Pace) -> None:
        self.tenant = tenant
        self.place = place
        self._connections = connections
        self._pace = pace
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Begin anew, in a child as at first; what the parent has open stays the parent's."""
        self._lock = threading.RLock()
        self._open: dict[int, tuple[str, ExternalIndex]] = {}
        self._verified: set[str] = set()

    @property
    def connection(self) -> apsw.Connection:
        """This thread's connection for reading."""
        return self._connections.reader()

    # --- builds ---------------------------------------------------------------------------------------------

    def build(self, model: int) -> Build | None:
        """Return the build that counts, beginning one where there is none of this place; None where that cannot be now."""
        found = queue.builds(self.connection, self.tenant).get(model)
        if found is not None and self._is_ours(found):
            return found
        try:
            return self.begin(model)
        except StoreError as error:  # somebody is writing, perhaps this very thread: the next search begins it
            _log.debug("No build begun: %s", error)
            return None

    def begin(self, model: int) -> Build:
        """Begin a build, which all vectors wait for; the one before is let go."""
        with self._connections.writing_at_once() as writer:
            old = queue.builds(writer, self.tenant).get(model)
            new = queue.begin(writer, self.tenant, model, place=self.place.name, home=self.place.home)
        self._let_go(model, old)
        return new

    def models(self) -> list[int]:
        """Return the wanted models, after letting go of the indexes of others."""
        wanted = queue.models(self.connection, self.tenant)
        builds = queue.builds(self.connection, self.tenant)
        for model in set(builds) - set(wanted):
            with self._connections.writing_at_once() as writer:
                queue.end(writer, self.tenant, model)
            self._let_go(model, builds[model])
        self.close(all_but={build.build for build in builds.values()})
        return wanted

    def _is_ours(self, build: Build) -> bool:
        return (build.place, build.home) == (self.place.name, self.place.home)

    def _let_go(self, model: int, build: Build | None) -> None:
        with self._lock:
            _, index = self._open.pop(model, ("", None))
            if index is not None:
                index.close()
        if build is not None and self._is_ours(build):
            self.place.discard(build.build, lambda: queue.builds_of_all(self.connection))

    def close(self, *, all_but: Collection[str] = ()) -> None:
        """Let go of what is open, and does not count any more."""
        with self._lock:
            for model, (build, index) in list(self._open.items()):
                if build not in all_but:
                    del self._open[model]
                    index.close()

    # --- opening --------------------------------------------------------------------------------------------

    def opened(self, build: Build) -> ExternalIndex:
        """Return the index of a build, sound as far as can be told."""
        with self._lock:
            name, index = self._open.get(build.model, ("", None))
            if index is None or name != build.build:
                self.close(all_but={held for model, (held, _) in self._open.items() if model != build.model})
                index = self._open_build(build)
                self._open[build.model] = (build.build, index)
        if build.build not in self._verified:
            self._verify(build, index)
        return index

    def _open_build(self, build: Build) -> ExternalIndex:
        index = self.place.open(build)
        if index.mark not in (build.mark, build.next or build.mark):
            index.close()
            raise IndexInvalid("it is of another moment than the store")
        return index

    def _verify(self, build: Build, index: ExternalIndex) -> None:
        """Once, when nothing waits: does the index have as much as the file, and find what is there?"""
        if not build.mark or self.waits(build.model):
            return
        have, want = index.count(), queue.count(self.connection, self.tenant, build.model)
        if have != want and not self.waits(build.model):
            raise IndexInvalid(f"it has {have} vectors and the store {want}")
        for key, stored in queue.some_stored(self.connection, self.tenant, build.model, 3).items():
            (vector,) = vectors([stored])
            near = queue.stored(self.connection, self.tenant, build.model, index.search(vector, [key.partition], 8))
            # Another one may be the same; none may be far.
            if not near or float(np.max(vectors(near.values()) @ vector)) < 0.98 * float(vector @ vector):
                raise IndexInvalid("it does not find what it was given")
        self._verified.add(build.build)

    # --- feeding --------------------------------------------------------------------------------------------

    def waits(self, model: int) -> bool:
        """Tell whether any change waits."""
        return bool(queue.waiting(self.connection, self.tenant, model, limit=1))

    def carry(self, build: Build, partitions: Collection[int] | None = None) -> bool:
        """Bring one batch of changes to the index; False where somebody else is at it."""
        index = self.opened(build)
        try:
            with index.applying():
                return self._carry(index, build.model, partitions)
        except IndexBusy:
            return False
        except (IndexUnavailable, IndexInvalid):
            raise
        except StoreError as error:  # somebody is writing: the same batch is carried over again
            _log.debug("Nothing carried over: %s", error)
            return False

    def _carry(self, index: ExternalIndex, model: int, partitions: Collection[int] | None) -> bool:
        connection = self.connection
        build = queue.builds(connection, self.tenant).get(model)
        changes = queue.waiting(connection, self.tenant, model, partitions=partitions, limit=self._pace.step)
        if build is None or not changes:
            return build is not None
        present = queue.stored(connection, self.tenant, model, [change.key for change in changes])
        mark = secrets.token_hex(8)
        with self._connections.writing_at_once(durable=False) as writer:
            queue.intend(writer, self.tenant, build, mark)
        index.note(mark)
        if present:
            index.add(list(present), vectors(present.values()))
        if gone := [change.key for change in changes if change.key not in present]:
            index.remove(gone)
        with self._connections.writing_at_once(durable=False) as writer:
            queue.done(writer, self.tenant, build, changes, mark)
        return True

    def carry_all(self, build: Build) -> bool:
        """Bring all that waits to the index; False where somebody else is at it."""
        while self.waits(build.model):
            if not self.carry(build):
                return False
        return True

    def strays(self, build: Build) -> int:
        """Count the vectors that the index and the file do not have in common, but for those that wait."""
        if not build.mark:
            return 0
        index = self.opened(build)
        waiting = {change.key for change in queue.waiting(self.connection, self.tenant, build.model, limit=-1)}
        return len((index.keys() ^ queue.keys_of(self.connection, self.tenant, build.model)) - waiting)


def vectors(stored: Iterable[StoredVector]) -> "NDArray[np.float32]":
    """Return stored vectors as one matrix."""
    listed = list(stored)
    codes = np.frombuffer(b"".join(each.code for each in listed), dtype=np.int8).reshape(len(listed), -1)
    return dequantize(codes, np.array([each.scale for each in listed], dtype=np.float32))
