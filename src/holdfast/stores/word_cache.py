"""The words of partitions in memory, each as current as the last search that used it.

Most people have few texts. To look up each word of a question in the full-text index takes several times as long as to find them
here, where all that is asked of the file is whether anything has changed. Few texts are read when they are first asked for.
Many take a moment to read, so that is done while there is nothing else to do, and only once the full-text index was asked so
often that reading them would have been the cheaper way.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

from holdfast.protocols import Match, Space
from holdfast.stores.choices import Choice
from holdfast.stores.rows import marks
from holdfast.stores.sql import Row, fetch, fetch_value, once
from holdfast.stores.sqlite_dialect import FileConnection
from holdfast.stores.words import State, Words, rank

_FEW = 20_000
"""Terms of a partition that are read at once: a hundredth of a second."""
_PER_SEARCH = 100_000
"""Terms of a partition for each search of it that make it worth reading."""
_KEPT = 3_000_000
"""Terms kept in all, of all windows together: about thirteen bytes each."""


class WordCache:
    """This process's words."""

    def __init__(self, *, few: int = _FEW, per_search: int = _PER_SEARCH, kept: int = _KEPT) -> None:
        self._few = few
        self._per_search = per_search
        self._kept = kept
        self._lock = threading.Lock()
        self._words: OrderedDict[int, Words] = OrderedDict()
        self._wanted: dict[int, int] = {}
        """Partitions too large to be read at once, and how many terms searches have paid for."""
        self._total = 0
        self._scrubs = 0
        self._clearings = 0

    def __len__(self) -> int:
        """Return how many terms are kept."""
        return self._total

    @property
    def is_wanted(self) -> bool:
        """Whether something is searched that is not here."""
        return bool(self._wanted)

    def clear(self) -> None:
        """Forget everything, so that nothing erased lives on in memory."""
        with self._lock:
            self._words.clear()
            self._wanted.clear()
            self._total = 0
            self._clearings += 1

    def search(
        self,
        connection: FileConnection,
        tenant: str,
        partitions: Mapping[int, Space],
        wanted: Sequence[frozenset[str]],
        *,
        limit: int,
        allowed: Choice | None = None,
        excluded: Collection[int] = (),
    ) -> list[Match] | None:
        """Rank the windows that share terms with a query by BM25, the best of each item; None where not all are in memory."""
        if "archive" in partitions.values():
            return None
        self._let_go(_scrubs(connection))
        states = _states(connection, tenant, tuple(partitions))
        if sum(state.terms for state in states.values()) > self._kept:
            return None
        words: dict[int, Words] = {}
        for number, state in states.items():
            current = self._current(connection, tenant, number, state)
            if current is None:
                return None
            words[number] = current
        return rank(words, partitions, wanted, limit=limit, allowed=allowed, excluded=excluded)

    def read_wanted(self, connection: FileConnection, tenant: str) -> bool:
        """Read a partition that was searched often enough for that to pay; False if there is none."""
        with self._lock:
            asked = tuple(self._wanted)
        for number, state in _states(connection, tenant, asked).items() if asked else ():
            with self._lock:
                due = self._wanted.get(number, 0) >= state.terms
                if due:
                    del self._wanted[number]
            if due and self._few < state.terms <= self._kept:
                self._read(connection, tenant, number, state)
                return True
        return False

    def _let_go(self, scrubs: int) -> None:
        """Forget everything when somebody, in whichever process, has had something erased since."""
        if scrubs != self._scrubs:
            self.clear()
            self._scrubs = scrubs

    def _current(self, connection: FileConnection, tenant: str, number: int, state: State) -> Words | None:
        """Return a partition's words as of its present state; what was only added is read and added."""
        with self._lock:
            words = self._words.get(number)
            if words is not None:
                self._words.move_to_end(number)
        if words is not None and words.state == state:
            return words
        began = self._clearings
        grown = _grown(connection, tenant, number, words, state)
        if grown is not None:
            self._keep(number, grown, began)
            return grown
        if state.terms <= self._few:
            return self._read(connection, tenant, number, state)
        self._want(number, state)
        return None

    def _want(self, number: int, state: State) -> None:
        """Note that a partition is searched, and forget what is known of an earlier state of it."""
        with self._lock:
            self._wanted[number] = self._wanted.get(number, 0) + self._per_search
            words = self._words.get(number)
            if words is not None and words.state.newest <= state.newest:
                del self._words[number]
                self._total -= words.state.terms

    def _read(self, connection: FileConnection, tenant: str, number: int, state: State) -> Words:
        began = self._clearings
        words = Words.of(_units(connection, tenant, number, after=0), state)
        self._keep(number, words, began)
        return words

    def _keep(self, number: int, words: Words, began: int) -> None:
        """Keep a partition's words, at the cost of those not asked for longest."""
        if not words.is_whole:  # outside of one moment, something may have changed between the two questions
            return
        with self._lock:
            before = self._words.get(number)
            if began != self._clearings or (before is not None and before.state.newest > words.state.newest):
                return  # something was erased while this was read, or another thread sees a later moment than this one
            self._total += words.state.terms - (before.state.terms if before else 0)
            self._words[number] = words
            self._words.move_to_end(number)
            while self._total > self._kept:
                _, gone = self._words.popitem(last=False)
                self._total -= gone.state.terms


def _scrubs(connection: FileConnection) -> int:
    """Return how often something was erased from the file."""
    sql = "SELECT value FROM sequences WHERE name = 'scrub'"
    return once(connection, ("scrubs",), lambda: fetch_value(connection, sql) or 0)


def _states(connection: FileConnection, tenant: str, numbers: tuple[int, ...]) -> dict[int, State]:
    """Return what each partition holds now."""

    def read() -> dict[int, State]:
        newest = "SELECT max(item) FROM units WHERE units.tenant = partitions.tenant AND units.partition = partitions.partition"
        sql = f"SELECT partition, units, terms, ({newest}) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
        rows = fetch(connection, sql, (tenant, *numbers))
        return {number: State(windows=units, terms=terms, newest=last or 0) for number, units, terms, last in rows}

    return once(connection, ("states", tenant, numbers), read)


def _grown(connection: FileConnection, tenant: str, number: int, words: Words | None, state: State) -> Words | None:
    """Return a partition's words with those added since; None if that does not account for its present state."""
    if words is None or state.windows < words.state.windows or state.newest < words.state.newest:
        return None
    added = _units(connection, tenant, number, after=words.state.newest)
    return Words.of(added, state, words) if len(words.items) + len(added) == state.windows else None


def _units(connection: FileConnection, tenant: str, number: int, *, after: int) -> list[Row]:
    sql = "SELECT item, window, terms FROM units WHERE tenant = ? AND partition = ? AND item > ?"
    return fetch(connection, sql, (tenant, number, after))
