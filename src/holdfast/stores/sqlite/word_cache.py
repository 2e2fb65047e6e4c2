"""In-memory cache of the words in each partition. An entry is brought up to date when a search uses it.

Most users have few texts. Finding words in memory is several times faster than looking up each word of a query in the full-text
index. The SQLite file is then read only to see whether the partition changed.

A small partition is loaded on its first search. A large partition takes longer to load, so it is loaded while the process is
idle, and only after many searches. For each search, the cache adds the time that the search would have saved if the partition
had been in memory. The partition is loaded once this sum exceeds the time that loading takes.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from holdfast.protocols import Match, Space
from holdfast.stores.sql.connection import Row, cached_fetch, fetch
from holdfast.stores.sql.rows import marks
from holdfast.stores.sqlite.allowed_items import AllowedItems
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.words import PartitionState, PartitionTerms, rank

_EAGER_TERMS = 20_000
"""A partition with at most this many terms is loaded on its first search. Loading that many takes 10 to 20 ms."""
_TERMS_PER_SEARCH = 10_000
"""Number of terms that can be loaded in the time that a search saves if its partition is already in memory."""
_MAX_BYTES = 32 * 1024 * 1024
"""Maximum size of the cache in bytes."""


class _SearchStart(NamedTuple):
    """State of the cache and the store file at the start of a search.

    ``last_item`` is the highest item number in the store file. ``clearings`` counts how often the cache was cleared. A later
    comparison with these values shows whether another thread cleared or updated the cache during the search.
    """

    last_item: int
    clearings: int


class WordCache:
    """Cache of the words of partitions, shared by the threads of this process."""

    def __init__(
        self, *, eager_terms: int = _EAGER_TERMS, terms_per_search: int = _TERMS_PER_SEARCH, max_bytes: int = _MAX_BYTES
    ) -> None:
        self._eager_terms = eager_terms
        self._terms_per_search = terms_per_search
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._words: OrderedDict[int, PartitionTerms] = OrderedDict()
        self._waiting: dict[int, int] = {}
        """Large partitions that are not loaded yet. Each is mapped to a number, to which every search adds ``terms_per_search``.

        A partition is loaded once this number reaches the number of terms in the partition.
        """
        self._total = 0
        self._scrubs = 0
        self._clearings = 0

    @property
    def terms(self) -> int:
        """Number of cached terms."""
        with self._lock:
            return sum(words.state.terms for words in self._words.values())

    @property
    def nbytes(self) -> int:
        """Approximate size of the cache in bytes."""
        return self._total

    @property
    def is_used(self) -> bool:
        """True if the cache holds a partition, or a partition waits to be loaded."""
        return bool(self._words or self._waiting)

    def clear(self) -> None:
        """Drop all entries, so that no erased data stays in memory."""
        with self._lock:
            self._words, self._waiting, self._total = OrderedDict(), {}, 0
            self._clearings += 1

    def search(
        self,
        connection: FileConnection,
        tenant: str,
        partitions: Mapping[int, Space],
        wanted: Sequence[frozenset[str]],
        *,
        limit: int,
        allowed: AllowedItems | None = None,
        excluded: Collection[int] = (),
    ) -> list[Match] | None:
        """Rank by BM25 the items that have a term in common with the query. An item is ranked by its best chunk.

        ``wanted`` has the spellings of each query term. Only items in ``allowed`` are returned, or all items if it is None.
        Items in ``excluded`` are left out. Return None if a partition is an archive, or if a partition is not in memory and is
        too large to be loaded now.
        """
        if "archive" in partitions.values():
            return None
        start = self._begin(connection)
        words: dict[int, PartitionTerms] = {}
        for number, state in _states(connection, tenant, tuple(partitions)).items():
            current = self._current(connection, tenant, number, state, start)
            if current is None:
                return None
            words[number] = current
        return rank(words, partitions, wanted, limit=limit, allowed=allowed, excluded=excluded)

    def load_waiting(self, connection: FileConnection, tenant: str) -> bool:
        """Load one large partition that was searched often enough. Return False if there is none."""
        start = self._begin(connection)
        with self._lock:
            waiting = tuple(self._waiting)
        states = _states(connection, tenant, waiting) if waiting else {}
        for number in waiting:
            state = states.get(number)
            if state is not None and not self._is_due(number, state):
                continue
            with self._lock:
                self._waiting.pop(number, None)
            if state is not None and state.terms > self._eager_terms:
                self._load(connection, tenant, number, state, start)
                return True
        return False

    def _is_due(self, number: int, state: PartitionState) -> bool:
        """Return True if a partition need not wait any longer.

        Either it was searched often enough to be loaded now, or it has become so small that its next search loads it. ``number``
        is the number of the partition, and ``state`` has its current counts.
        """
        with self._lock:
            return self._waiting.get(number, 0) >= state.terms or state.terms <= self._eager_terms

    def _begin(self, connection: FileConnection) -> _SearchStart:
        """Clear the cache if any process erased data since the last search. Return the state at the start of this search."""
        clearings = self._clearings
        scrubs, last_item = _counters(connection)
        if scrubs != self._scrubs:
            self.clear()
            self._scrubs = scrubs
            clearings += 1
        return _SearchStart(last_item, clearings)

    def _current(
        self, connection: FileConnection, tenant: str, number: int, state: PartitionState, start: _SearchStart
    ) -> PartitionTerms | None:
        """Return the up-to-date words of a partition, or None if the partition is too large to be loaded now.

        ``number`` is the number of the partition, and ``state`` has its current counts. If only additions were made since the
        words were cached, and the additions are small, only the new chunks are read.
        """
        with self._lock:
            words = self._words.get(number)
            if words is not None:
                self._words.move_to_end(number)
        if words is not None and words.state == state:
            return words
        is_little = words is not None and state.terms - words.state.terms <= self._eager_terms
        added = _added(connection, tenant, number, words, state) if is_little else None
        if words is not None and added is not None:
            return self._keep(number, PartitionTerms.of(added, state, words, last_item=start.last_item), start)
        if state.terms <= self._eager_terms:
            return self._load(connection, tenant, number, state, start)
        if state.nbytes <= self._max_bytes:
            self._count_search(number, start)
        return None

    def _count_search(self, number: int, start: _SearchStart) -> None:
        """Record that a large partition was searched while its words were not in memory.

        Partitions that are searched often are loaded later. An outdated cache entry of the partition is dropped.
        """
        with self._lock:
            self._waiting[number] = self._waiting.get(number, 0) + self._terms_per_search
            words = self._words.get(number)
            if words is not None and words.last_item <= start.last_item:
                del self._words[number]
                self._total -= words.nbytes

    def _load(
        self, connection: FileConnection, tenant: str, number: int, state: PartitionState, start: _SearchStart
    ) -> PartitionTerms:
        return self._keep(
            number, PartitionTerms.of(_units(connection, tenant, number, after=0), state, last_item=start.last_item), start
        )

    def _keep(self, number: int, words: PartitionTerms, start: _SearchStart) -> PartitionTerms:
        """Cache a partition's words, unless they are outdated or too large, and return them.

        Evict the least recently used partitions beyond the size limit.
        """
        # Without a snapshot, another process may have written between the two reads.
        if not words.is_whole or words.nbytes > self._max_bytes:
            return words
        with self._lock:
            before = self._words.get(number)
            # Data was erased while this was read, or another thread has cached a newer state.
            if self._clearings != start.clearings or (before is not None and before.last_item > start.last_item):
                return words
            self._total += words.nbytes - (before.nbytes if before else 0)
            self._words[number] = words
            self._words.move_to_end(number)
            while self._total > self._max_bytes:
                _, evicted = self._words.popitem(last=False)
                self._total -= evicted.nbytes
        return words


def _counters(connection: FileConnection) -> tuple[int, int]:
    """Return the number of erasures in the file so far, and the file's highest item number."""
    sql = "SELECT name, value FROM sequences WHERE name IN ('scrub', 'item')"

    def read() -> tuple[int, int]:
        values: dict[str, int] = dict(fetch(connection, sql))
        return values.get("scrub", 0), values.get("item", 0)

    return cached_fetch(connection, ("counters",), read)


def _states(connection: FileConnection, tenant: str, numbers: tuple[int, ...]) -> dict[int, PartitionState]:
    """Return the ``PartitionState`` of each partition: counts that show whether the partition has changed since it was cached."""

    def read() -> dict[int, PartitionState]:
        newest = "SELECT max(item) FROM units WHERE units.tenant = partitions.tenant AND units.partition = partitions.partition"
        sql = f"SELECT partition, units, terms, ({newest}) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
        rows = fetch(connection, sql, (tenant, *numbers))
        return {number: PartitionState(chunks=units, terms=terms, newest=last or 0) for number, units, terms, last in rows}

    return cached_fetch(connection, ("states", tenant, numbers), read)


def _added(
    connection: FileConnection, tenant: str, number: int, words: PartitionTerms | None, state: PartitionState
) -> list[Row] | None:
    """Return the chunks that were added to a partition since its words were cached.

    ``words`` are the cached words, and ``state`` has the current counts of the partition. Return None if nothing was cached,
    or if the partition also changed in other ways. Then all its chunks must be read again.
    """
    if words is None or state.chunks < words.state.chunks or state.newest < words.state.newest:
        return None
    added = _units(connection, tenant, number, after=words.state.newest)
    terms = words.state.terms + sum(len(text.split(" ")) for _, _, text in added if text)
    return added if (len(words.items) + len(added), terms) == (state.chunks, state.terms) else None


def _units(connection: FileConnection, tenant: str, number: int, *, after: int) -> list[Row]:
    sql = "SELECT item, window, terms FROM units WHERE tenant = ? AND partition = ? AND item > ?"
    return fetch(connection, sql, (tenant, number, after))
