"""The words of partitions in memory, each as current as the last search that used it.

Most people have few texts. To look up each word of a question in the full-text index takes several times as long as to find them
here, where all that is asked of the file is whether anything has changed. Few texts are read when they are first asked for.
Many take a moment to read, so that is done while there is nothing else to do, and only once the full-text index was asked so
often that reading them would have been the cheaper way.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from holdfast.protocols import Match, Space
from holdfast.stores.sql.connection import Row, cached_fetch, fetch
from holdfast.stores.sql.rows import marks
from holdfast.stores.sqlite.choices import AllowedItems
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.words import PartitionState, PartitionTerms, rank

_EAGER_TERMS = 20_000
"""Terms of a partition that are read at once: in a hundredth of a second, or two."""
_TERMS_PER_SEARCH = 10_000
"""Terms that could have been read in about the time that a search of the full-text index takes longer than one in memory."""
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes kept in all."""


class _Moment(NamedTuple):
    """When a search began: after how many items of the file, and how many times that this cache was emptied."""

    given: int
    clearings: int


class WordCache:
    """This process's words."""

    def __init__(self, *, few: int = _EAGER_TERMS, per_search: int = _TERMS_PER_SEARCH, kept: int = _MAX_BYTES) -> None:
        self._few = few
        self._per_search = per_search
        self._kept = kept
        self._lock = threading.Lock()
        self._words: OrderedDict[int, PartitionTerms] = OrderedDict()
        self._wanted: dict[int, int] = {}
        """Partitions too large to be read at once, and how many terms searches have paid for."""
        self._total = 0
        self._scrubs = 0
        self._clearings = 0

    @property
    def terms(self) -> int:
        """How many terms are kept."""
        with self._lock:
            return sum(words.state.terms for words in self._words.values())

    @property
    def nbytes(self) -> int:
        """About how many bytes are kept."""
        return self._total

    @property
    def is_used(self) -> bool:
        """Whether there is anything here, or anything that should be."""
        return bool(self._words or self._wanted)

    def clear(self) -> None:
        """Forget everything, so that nothing erased lives on in memory."""
        with self._lock:
            self._words, self._wanted, self._total = OrderedDict(), {}, 0
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
        """Rank the windows that share terms with a query by BM25, the best of each item; None where not all are in memory."""
        if "archive" in partitions.values():
            return None
        moment = self._begin(connection)
        words: dict[int, PartitionTerms] = {}
        for number, state in _states(connection, tenant, tuple(partitions)).items():
            current = self._current(connection, tenant, number, state, moment)
            if current is None:
                return None
            words[number] = current
        return rank(words, partitions, wanted, limit=limit, allowed=allowed, excluded=excluded)

    def read_wanted(self, connection: FileConnection, tenant: str) -> bool:
        """Read a partition that was searched often enough for that to pay, and forget what was erased; False if there is none."""
        moment = self._begin(connection)
        with self._lock:
            asked = tuple(self._wanted)
        states = _states(connection, tenant, asked) if asked else {}
        for number in asked:
            state = states.get(number)
            if state is not None and not self._is_due(number, state):
                continue
            with self._lock:
                self._wanted.pop(number, None)
            if state is not None and state.terms > self._few:
                self._read(connection, tenant, number, state, moment)
                return True
        return False

    def _is_due(self, number: int, state: PartitionState) -> bool:
        """Tell whether a wanted partition is to be read, or has become one of those that are read at once."""
        with self._lock:
            return self._wanted.get(number, 0) >= state.terms or state.terms <= self._few

    def _begin(self, connection: FileConnection) -> _Moment:
        """Forget everything if somebody, in whichever process, has had something erased since; returns what holds now."""
        clearings = self._clearings
        scrubs, given = _counters(connection)
        if scrubs != self._scrubs:
            self.clear()
            self._scrubs = scrubs
            clearings += 1
        return _Moment(given, clearings)

    def _current(
        self, connection: FileConnection, tenant: str, number: int, state: PartitionState, moment: _Moment
    ) -> PartitionTerms | None:
        """Return a partition's words as of its present state; what was only added is read and added."""
        with self._lock:
            words = self._words.get(number)
            if words is not None:
                self._words.move_to_end(number)
        if words is not None and words.state == state:
            return words
        added = _added(connection, tenant, number, words, state)
        if words is not None and added is not None:
            return self._keep(number, PartitionTerms.of(added, state, words, given=moment.given), moment)
        if state.terms <= self._few:
            return self._read(connection, tenant, number, state, moment)
        if state.nbytes <= self._kept:
            self._want(number, moment)
        return None

    def _want(self, number: int, moment: _Moment) -> None:
        """Note that a partition is searched, and forget what is known of an earlier state of it."""
        with self._lock:
            self._wanted[number] = self._wanted.get(number, 0) + self._per_search
            words = self._words.get(number)
            if words is not None and words.given <= moment.given:
                del self._words[number]
                self._total -= words.nbytes

    def _read(
        self, connection: FileConnection, tenant: str, number: int, state: PartitionState, moment: _Moment
    ) -> PartitionTerms:
        return self._keep(
            number, PartitionTerms.of(_units(connection, tenant, number, after=0), state, given=moment.given), moment
        )

    def _keep(self, number: int, words: PartitionTerms, moment: _Moment) -> PartitionTerms:
        """Keep a partition's words, at the cost of those not asked for longest; returns them."""
        # Outside of one moment, something may have changed between the two questions.
        if not words.is_whole or words.nbytes > self._kept:
            return words
        with self._lock:
            before = self._words.get(number)
            # Something was erased while this was read, or another thread sees a later moment than this one.
            if self._clearings != moment.clearings or (before is not None and before.given > moment.given):
                return words
            self._total += words.nbytes - (before.nbytes if before else 0)
            self._words[number] = words
            self._words.move_to_end(number)
            while self._total > self._kept:
                _, gone = self._words.popitem(last=False)
                self._total -= gone.nbytes
        return words


def _counters(connection: FileConnection) -> tuple[int, int]:
    """Return how often something was erased from the file, and how many items were ever added to it."""
    sql = "SELECT name, value FROM sequences WHERE name IN ('scrub', 'item')"

    def read() -> tuple[int, int]:
        values: dict[str, int] = dict(fetch(connection, sql))
        return values.get("scrub", 0), values.get("item", 0)

    return cached_fetch(connection, ("counters",), read)


def _states(connection: FileConnection, tenant: str, numbers: tuple[int, ...]) -> dict[int, PartitionState]:
    """Return what each partition holds now."""

    def read() -> dict[int, PartitionState]:
        newest = "SELECT max(item) FROM units WHERE units.tenant = partitions.tenant AND units.partition = partitions.partition"
        sql = f"SELECT partition, units, terms, ({newest}) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
        rows = fetch(connection, sql, (tenant, *numbers))
        return {number: PartitionState(chunks=units, terms=terms, newest=last or 0) for number, units, terms, last in rows}

    return cached_fetch(connection, ("states", tenant, numbers), read)


def _added(
    connection: FileConnection, tenant: str, number: int, words: PartitionTerms | None, state: PartitionState
) -> list[Row] | None:
    """Return the windows added since; None if they do not account for the present state."""
    if words is None or state.chunks < words.state.chunks or state.newest < words.state.newest:
        return None
    added = _units(connection, tenant, number, after=words.state.newest)
    return added if len(words.items) + len(added) == state.chunks else None


def _units(connection: FileConnection, tenant: str, number: int, *, after: int) -> list[Row]:
    sql = "SELECT item, window, terms FROM units WHERE tenant = ? AND partition = ? AND item > ?"
    return fetch(connection, sql, (tenant, number, after))
