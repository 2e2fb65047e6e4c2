"""Searching with an index outside the file.

A search asks the index, adds what still waits for it, and ranks by the vectors in the file: nothing new is missed, and
nothing that is gone is found. Whenever the index cannot answer, the one in memory does.
"""

import logging
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from holdfast.errors import StoreError
from holdfast.protocols import Match, Space
from holdfast.stores.chroma.protocol import Build, IndexInvalid, IndexPlace, IndexUnavailable, VectorKey
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.embeddings import IndexCache
from holdfast.stores.sqlite.queued_index import queue
from holdfast.stores.sqlite.queued_index.feed import IndexFeed, Pace
from holdfast.stores.sqlite.queued_index.queue import StoredVector
from holdfast.stores.vector_index.index import VectorIndex as Ranking
from holdfast.types import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = logging.getLogger("holdfast")
_LOSSES = 3
"""Rebuilds that one process begins because the index was damaged; after that it does without."""


class QueuedIndex:
    """Searches one tenant's vectors in an index that is fed from the queue."""

    def __init__(
        self, connections: SQLiteConnections, tenant: str, *, memory: IndexCache, place: IndexPlace, pace: Pace | None = None
    ) -> None:
        self._pace = pace or Pace()
        self._memory = memory
        self._feed = IndexFeed(connections, tenant, place, self._pace)
        self._losses = 0
        self._rest_until = 0.0
        self._told = ""

    @property
    def place(self) -> IndexPlace:
        """Where the index is."""
        return self._feed.place

    def search(
        self,
        connection: FileConnection,
        tenant: str,
        model: int,
        query: "NDArray[np.float32]",
        partitions: Mapping[int, Space],
        *,
        limit: int,
        allowed: "NDArray[np.int64] | None" = None,
        excluded: Collection[int] = (),
    ) -> list[Match]:
        """Rank the items of the partitions by cosine."""
        found = None
        if partitions and self._may_try():
            try:
                found = self._find(model, query, partitions, limit + len(excluded), allowed)
            except IndexUnavailable as error:
                self._leave_alone(error)
            except IndexInvalid as error:
                self._begin_again(model, error)
        if found is None:
            return self._memory.search(
                connection, tenant, model, query, partitions, limit=limit, allowed=allowed, excluded=excluded
            )
        return [match for match in found if match.item not in excluded][:limit]

    def _find(
        self,
        model: int,
        query: "NDArray[np.float32]",
        partitions: Mapping[int, Space],
        limit: int,
        allowed: "NDArray[np.int64] | None",
        *,
        again: bool = True,
    ) -> list[Match] | None:
        """Return the nearest by what the index knows and what waits; None where that may not be all."""
        build = self._caught_up(model, partitions)
        if build is None:
            return None
        connection, tenant = self._feed.connection, self._feed.tenant
        waiting = {change.key for change in queue.waiting(connection, tenant, model, partitions=partitions, limit=-1)}
        index = self._feed.opened(build) if build.mark else None
        wide = limit + min(len(waiting), limit) + 8
        while wide <= self._pace.furthest:
            keys = index.search(query, partitions, wide) if index else []
            stored = queue.stored(connection, tenant, model, {*keys, *waiting})
            matches = _ranked(stored, query, partitions, limit, allowed)
            if len(keys) < wide and queue.settled(connection, tenant, model, list(partitions)) - {*keys, *waiting}:
                # All there is, it says, and yet something is missing. It may have come while we searched; not twice.
                if again:
                    return self._find(model, query, partitions, limit, allowed, again=False)
                raise IndexInvalid("it does not find all that it was given")
            if len(keys) < wide or len(matches) >= limit:
                return matches
            wide *= 4
        return None

    def _caught_up(self, model: int, partitions: Collection[int]) -> Build | None:
        """Return the build, if little enough waits for it; where the search may take a step that makes it so, it does."""
        build = self._feed.build(model)
        if build is None:
            return None
        most = self._pace.beside + self._pace.ahead
        count = len(queue.waiting(self._feed.connection, self._feed.tenant, model, partitions=partitions, limit=most + 1))
        if count <= self._pace.beside:
            return build
        if count > most or not self._feed.carry(build, partitions):
            return None
        return self._feed.build(model)

    # --- when it fails --------------------------------------------------------------------------------------

    def _may_try(self) -> bool:
        return self._losses < _LOSSES and time.monotonic() >= self._rest_until

    def _leave_alone(self, error: IndexUnavailable) -> None:
        self._rest_until = time.monotonic() + self._pace.rest
        if self._told != str(error):
            self._told = str(error)
            _log.warning("The index at %s cannot be used (%s); searching in memory.", self.place.describe(), error)

    def _begin_again(self, model: int, error: IndexInvalid) -> None:
        self._losses += 1
        _log.warning("The index at %s is built anew: %s.", self.place.describe(), error)
        try:
            self._feed.begin(model)
        except StoreError as other:
            _log.debug("Not now: %s", other)

    # --- looking after it -----------------------------------------------------------------------------------

    def tidy(self) -> bool:
        """Carry over some of what waits; False when there is nothing, or it cannot be done now."""
        if not self._may_try():
            return False
        try:
            models = self._feed.models()
        except StoreError:  # somebody is writing
            return False
        for model in models:
            try:
                build = self._feed.build(model)
                if build is not None and self._feed.waits(model):
                    return self._feed.carry(build)
            except IndexUnavailable as error:
                self._leave_alone(error)
                return False
            except IndexInvalid as error:
                self._begin_again(model, error)
                return True
        return False

    def rebuild(self) -> int:
        """Build every index anew from the file, with no embedding; returns how many vectors that were."""
        models = self._feed.models()
        for model in models:
            build = self._feed.begin(model)
            if not self._feed.carry_all(build):
                raise IndexUnavailable(
                    f"The index at {self.place.describe()} could not be built: another program writes. Try again."
                )
        self._losses, self._rest_until, self._told = 0, 0.0, ""
        return sum(queue.count(self._feed.connection, self._feed.tenant, model) for model in models)

    def empty_queue(self) -> bool:
        """Carry over all that waits, and make sure that the index holds nothing else; False where that cannot be now."""
        try:
            for build in queue.builds(self._feed.connection, self._feed.tenant).values():
                if not self._feed.carry_all(build) or self._feed.strays(build):
                    return False
        except (IndexUnavailable, IndexInvalid) as error:
            _log.warning("The index at %s could not be checked: %s", self.place.describe(), error)
            return False
        return True

    def check(self, *, deep: bool) -> Finding:
        """Say how the index is."""
        builds = queue.builds(self._feed.connection, self._feed.tenant)
        waiting = sum(queue.count_waiting(self._feed.connection, self._feed.tenant, model) for model in builds)
        where = f"{self.place.name.partition(':')[0]} at {self.place.describe()}"
        try:
            strays = sum(self._feed.strays(build) for build in builds.values()) if deep else 0
            if not deep:
                for build in builds.values():
                    self._feed.opened(build)
        except IndexUnavailable as error:
            return Finding(check="index", ok=True, detail=f"{where}: {error}; this process searches in memory")
        except IndexInvalid as error:
            return Finding(check="index", ok=True, detail=f"{where}: {error}; the next search builds it anew")
        if strays:
            detail = f"{where}: {strays} vectors differ from the store's"
            return Finding(check="index", ok=False, detail=detail, remedy="holdfast doctor --rebuild-index")
        return Finding(check="index", ok=True, detail=f"{where}, {waiting} changes wait")

    def release(self) -> None:
        """Let go of what is open; the next search opens it again."""
        self._feed.close()


def _ranked(
    stored: Mapping[VectorKey, StoredVector],
    query: "NDArray[np.float32]",
    partitions: Mapping[int, Space],
    limit: int,
    allowed: "NDArray[np.int64] | None",
) -> list[Match]:
    """Rank candidates as the index in memory would: by exact cosine, each item once."""
    if not stored:
        return []
    keys = list(stored)
    ranking = Ranking(len(stored[keys[0]].code))
    ranking.load(
        np.array([key.item for key in keys], dtype=np.int64),
        np.array([key.chunk for key in keys], dtype=np.int32),
        np.frombuffer(b"".join(each.code for each in stored.values()), dtype=np.int8).reshape(len(keys), -1),
        np.array([each.scale for each in stored.values()], dtype=np.float32),
    )
    space = {key.item: partitions[key.partition] for key in keys}
    return [Match(item, window, score, space[item]) for item, window, score in ranking.search(query, limit, allowed=allowed)]
