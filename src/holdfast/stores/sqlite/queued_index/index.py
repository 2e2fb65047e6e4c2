"""Search with an external vector index.

Changes of vectors wait in a queue until they are applied to the index. A search gets candidates from the index and
from the queue. It ranks them by the vectors in the SQLite file, so new vectors are found and removed vectors are
not. If the index cannot be used, the search uses the in-memory index.
"""

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from holdfast.errors import StoreError
from holdfast.protocols import Match, Space
from holdfast.runtime.bounded_calls import BoundedCalls, NotAnswered
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.wait_budget import current_budget, note
from holdfast.stores.chroma.protocol import Build, IndexInvalid, IndexPlace, IndexUnavailable, VectorKey
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.embeddings import IndexCache
from holdfast.stores.sqlite.queued_index import queue
from holdfast.stores.sqlite.queued_index.feed import IndexFeed, Pace
from holdfast.stores.sqlite.queued_index.queue import StoredVector
from holdfast.stores.vector_index.index import VectorIndex as Ranking
from holdfast.types import Finding
from holdfast.types.translatable import translatable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = logging.getLogger("holdfast")
_MAX_REBUILDS = 3
"""Maximum number of times that a process rebuilds a damaged index. After that, searches use the in-memory index."""
_MAX_UNREACHED = 16
"""Maximum number of vectors that the index contains but that a search does not find.

A graph index like Chroma's can contain a few vectors that no search reaches. The store then compares these vectors with
the query itself. If there are more than this maximum, the index is rebuilt.
"""

_FIRST_PAUSE_SECONDS = 1.0
"""Time in seconds for which the index is not used after its first failure. Each further failure doubles the time."""


class QueuedIndex:
    """Searches one tenant's vectors in an external index. Changes reach the index through the queue in the SQLite file."""

    def __init__(
        self, connections: SQLiteConnections, tenant: str, *, memory: IndexCache, place: IndexPlace, pace: Pace | None = None
    ) -> None:
        self._pace = pace or Pace()
        self._memory = memory
        self._feed = IndexFeed(connections, tenant, place, self._pace)
        self._rebuilds = 0
        retry_seconds = self._pace.retry_seconds
        self._breaker = CircuitBreaker(first_pause=min(_FIRST_PAUSE_SECONDS, retry_seconds), max_pause=retry_seconds)
        self._calls = BoundedCalls(self._breaker)
        self._last_warning = ""

    @property
    def place(self) -> IndexPlace:
        """The folder or server that holds the index."""
        return self._feed.place

    @property
    def notice(self) -> str | None:
        """A notice for the user if the index is on a server and cannot be used now, otherwise None.

        There is no notice for an index in a folder, not even while another process is using it.
        """
        problem = self._breaker.problem
        if problem is None or not self.place.is_remote:
            return None
        return translatable(
            "notice.own_vectors",
            "Searched the store's own vectors, because the index cannot be used: {problem}.",
            problem=problem.rstrip("."),
        )

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
        """Rank the items of the partitions by cosine with the query, and return the best ``limit``.

        Only items in ``allowed`` are returned, or all items if it is None. Items in ``excluded`` are left out. If the
        external index cannot be used or finds too few items, the search runs in memory.
        """
        found = None
        if partitions and self._is_usable():
            try:
                found = self._find(model, query, partitions, limit + len(excluded), allowed)
            except IndexUnavailable as error:
                self._back_off(error)
            except IndexInvalid as error:
                self._start_rebuild(model, error)
        if self.notice is not None:
            note(self.notice)
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
        retry: bool = True,
    ) -> list[Match] | None:
        """Return the items nearest to the query. With ``allowed``, only these items are returned.

        Vectors in the index and queued vectors, which are not in the index yet, are compared. Return None if the index cannot be
        used now or finds too few items.

        The index may fail to find some of its vectors. Up to ``_MAX_UNREACHED`` such vectors are compared directly with the
        query. If there are more, search once more, with ``retry=False``. If there are still more, raise ``IndexInvalid``.
        """
        build = self._searchable_build(model, partitions)
        if build is None:
            return None
        connection, tenant = self._feed.connection, self._feed.tenant
        waiting = {change.key for change in queue.waiting(connection, tenant, model, partitions=partitions, limit=-1)}
        width = limit + min(len(waiting), limit) + 8
        while width <= self._pace.max_results:
            keys = self._search_index(build, query, partitions, width) if build.mark else []
            complete = len(keys) < width
            missing = queue.indexed_keys(connection, tenant, model, list(partitions)) - {*keys, *waiting} if complete else set()
            if len(missing) > _MAX_UNREACHED:
                # The index returned all it has, yet vectors are missing. They may be newer than this search, but not twice.
                if retry:
                    return self._find(model, query, partitions, limit, allowed, retry=False)
                raise IndexInvalid("it does not find all vectors that it contains")
            stored = queue.stored(connection, tenant, model, {*keys, *waiting, *missing})
            matches = _ranked(stored, query, partitions, limit, allowed)
            if complete or len(matches) >= limit:
                return matches
            width *= 4
        return None

    def _search_index(
        self, build: Build, query: "NDArray[np.float32]", partitions: Collection[int], limit: int
    ) -> list[VectorKey]:
        """Return the keys of the nearest vectors in the index.

        Raise ``IndexUnavailable`` if the index is on a server that does not respond within the time limit of the recall.
        """
        budget = current_budget()
        if budget is None or not self.place.is_remote:
            keys = self._feed.opened(build).search(query, partitions, limit)
            self._breaker.succeed()
            return keys
        self.place.load()
        try:
            return self._calls.run(
                lambda: self._feed.opened(build).search(query, partitions, limit),
                budget,
                service=f"Chroma at {self.place.describe()}",
            )
        except NotAnswered as error:
            raise IndexUnavailable(str(error)) from error

    def _searchable_build(self, model: int, partitions: Collection[int]) -> Build | None:
        """Return the current build of a model's index, or None if a search cannot use the index now.

        A search can use the index if at most ``max_scanned`` changes are queued for the partitions. If more are queued, one batch
        is applied first. If this is not possible, or if more than ``max_scanned + max_applied_first`` changes are queued, return
        None.
        """
        build = self._feed.build(model)
        if build is None:
            return None
        max_queued = self._pace.max_scanned + self._pace.max_applied_first
        count = len(queue.waiting(self._feed.connection, self._feed.tenant, model, partitions=partitions, limit=max_queued + 1))
        if count <= self._pace.max_scanned:
            return build
        if count > max_queued or not self._feed.apply_batch(build, partitions):
            return None
        return self._feed.build(model)

    # --- failures --------------------------------------------------------------------------------------

    def _is_usable(self) -> bool:
        return self._rebuilds < _MAX_REBUILDS and not self._breaker.is_open

    def _back_off(self, error: IndexUnavailable) -> None:
        self._breaker.fail(str(error))
        if self._last_warning != str(error):
            self._last_warning = str(error)
            _log.warning("The index at %s cannot be used: %s. Searches run in memory.", self.place.describe(), error)

    def _start_rebuild(self, model: int, error: IndexInvalid) -> None:
        self._rebuilds += 1
        self._breaker.succeed()  # the index answers
        _log.warning("The index at %s will be rebuilt, because %s. No data is lost.", self.place.describe(), error)
        try:
            self._feed.start_build(model)
        except StoreError as other:
            _log.debug("Rebuild postponed: %s", other)

    # --- maintenance -----------------------------------------------------------------------------------

    def tidy(self) -> bool:
        """Apply one batch of queued changes. Return False if nothing is queued or the index cannot be updated now."""
        if not self._is_usable():
            return False
        try:
            models = self._feed.models()
        except StoreError:  # another thread is writing
            return False
        for model in models:
            try:
                build = self._feed.build(model)
                if build is not None and self._feed.has_queued(model):
                    applied = self._feed.apply_batch(build)
                    self._breaker.succeed()
                    return applied
            except IndexUnavailable as error:
                self._back_off(error)
                return False
            except IndexInvalid as error:
                self._start_rebuild(model, error)
                return True
        return False

    def rebuild(self) -> int:
        """Rebuild every index from the stored vectors. No text is embedded again. Return the number of vectors."""
        models = self._feed.models()
        for model in models:
            build = self._feed.start_build(model)
            if not self._feed.apply_all(build):
                raise IndexUnavailable(
                    f"The index at {self.place.describe()} could not be rebuilt: another thread or process is writing. "
                    "Searches run in memory meanwhile. Try again."
                )
        self._rebuilds, self._last_warning = 0, ""
        self._breaker.succeed()
        return sum(queue.count(self._feed.connection, self._feed.tenant, model) for model in models)

    def sync(self) -> bool:
        """Apply all queued changes. Return True if afterwards the index has the same vectors as the SQLite file."""
        try:
            for build in queue.builds(self._feed.connection, self._feed.tenant).values():
                if not self._feed.apply_all(build) or self._feed.count_differences(build):
                    return False
        except (IndexUnavailable, IndexInvalid) as error:
            _log.warning("The index at %s could not be checked: %s", self.place.describe(), error)
            return False
        return True

    def check(self, *, deep: bool) -> Finding:
        """Check the index, and return the finding. With ``deep``, also compare its vector keys with those in the SQLite file."""
        builds = queue.builds(self._feed.connection, self._feed.tenant)
        waiting = sum(queue.count_waiting(self._feed.connection, self._feed.tenant, model) for model in builds)
        where = f"{self.place.name.partition(':')[0]} at {self.place.describe()}"
        try:
            differences = sum(self._feed.count_differences(build) for build in builds.values()) if deep else 0
            if not deep:
                for build in builds.values():
                    self._feed.opened(build)
        except IndexUnavailable as error:
            detail = translatable("index.away", "{place}: {error}; searches run in memory", place=where, error=str(error))
            return Finding(check="index", ok=True, detail=detail)
        except IndexInvalid as error:
            detail = translatable("index.invalid", "{place}: {error}; the next search rebuilds it", place=where, error=str(error))
            return Finding(check="index", ok=True, detail=detail)
        if differences:
            detail = translatable("index.differs", "{place}: vectors that differ from the store: {n}", place=where, n=differences)
            remedy = translatable("index.rebuild", "holdfast doctor --rebuild-index")
            return Finding(check="index", ok=False, detail=detail, remedy=remedy)
        return Finding(
            check="index", ok=True, detail=translatable("index.ok", "{place}, changes queued: {n}", place=where, n=waiting)
        )

    def release(self) -> None:
        """Close the open indexes. The next search opens them again."""
        self._feed.close()


def _ranked(
    stored: Mapping[VectorKey, StoredVector],
    query: "NDArray[np.float32]",
    partitions: Mapping[int, Space],
    limit: int,
    allowed: "NDArray[np.int64] | None",
) -> list[Match]:
    """Rank candidates by exact cosine and return the best ``limit`` items, each with its best chunk.

    ``stored`` contains the vectors of the candidates. With ``allowed``, only these items are returned.
    """
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
