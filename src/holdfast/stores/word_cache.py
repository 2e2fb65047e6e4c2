"""The words of small partitions, in memory.

Most people have few texts. To look up each word of a question in the full-text index takes several times as long as to find them
here, where all that is asked of the file is whether anything has changed.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from holdfast.protocols import Match, Space
from holdfast.stores.bm25 import K1, B
from holdfast.stores.rows import marks
from holdfast.stores.sql import Row, fetch, fetch_value, once
from holdfast.stores.sqlite_dialect import FileConnection

_SMALL = 512
"""Windows that a reader may see for them to be searched here; with more, a common word has more matches than are worth counting."""
_KEPT = 150_000
"""Terms kept in all, of all windows together: 30 to 70 bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What tells one state of a partition from every other: items are numbered upwards, and no number is given twice.

    An addition raises the newest number; without one, a removal lowers the count. Archives alone are filled otherwise: an
    older wording goes there under the number it had.
    """

    windows: int
    terms: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The windows of a partition as of one state, by what stands in them."""

    state: _State
    windows: Sequence[tuple[int, int]]
    """Item and window of each."""
    lengths: Sequence[int]
    places: Mapping[str, tuple[int, ...]]
    """The windows that a term stands in, each as often as it does."""

    @property
    def is_whole(self) -> bool:
        """Whether this is what the state says, and not what another process made of it meanwhile."""
        newest = max((item for item, _ in self.windows), default=0)
        return (len(self.windows), sum(self.lengths), newest) == (self.state.windows, self.state.terms, self.state.newest)


class WordCache:
    """This process's words of small partitions, each as current as the last search that used it."""

    def __init__(self, *, small: int = _SMALL, kept: int = _KEPT) -> None:
        self._small = small
        self._kept = kept
        self._lock = threading.Lock()
        self._words: OrderedDict[int, _Words] = OrderedDict()
        self._total = 0
        self._scrubs = 0

    def __len__(self) -> int:
        """Return how many terms are kept."""
        return self._total

    def clear(self) -> None:
        """Forget everything, so that nothing erased lives on in memory."""
        with self._lock:
            self._words.clear()
            self._total = 0

    def search(
        self,
        connection: FileConnection,
        tenant: str,
        partitions: Mapping[int, Space],
        wanted: Sequence[frozenset[str]],
        *,
        limit: int,
        allowed: Collection[int] | None = None,
        excluded: Collection[int] = (),
    ) -> list[Match] | None:
        """Rank the windows that share terms with a query by BM25, the best of each item; None where there is too much to search."""
        if "archive" in partitions.values():
            return None
        self._let_go(_scrubs(connection))
        states = _states(connection, tenant, tuple(partitions))
        total = sum(state.windows for state in states.values())
        if total > self._small:
            return None
        words = {number: self._current(connection, tenant, number, state) for number, state in states.items()}
        average = max(sum(state.terms for state in states.values()) / total, 1.0) if total else 1.0
        found = _scored(words, wanted, total, average)
        best: dict[int, tuple[float, int, int, int]] = {}
        for (number, row), score in found.items():
            item, window = words[number].windows[row]
            if item in excluded or (allowed is not None and item not in allowed):
                continue
            ranked = (-score, -item, window, number)
            if item not in best or ranked < best[item]:
                best[item] = ranked
        return [Match(-i, window, min(-s, 1.0), partitions[number]) for s, i, window, number in sorted(best.values())[:limit]]

    def _let_go(self, scrubs: int) -> None:
        """Forget everything when somebody, in whichever process, has had something erased since."""
        if scrubs != self._scrubs:
            self.clear()
            self._scrubs = scrubs

    def _current(self, connection: FileConnection, tenant: str, number: int, state: _State) -> _Words:
        """Return a partition's words as of its present state; what was only added is read and added."""
        with self._lock:
            words = self._words.get(number)
            if words is not None:
                self._words.move_to_end(number)
        if words is None or words.state != state:
            words = _grown(connection, tenant, number, words, state) or _read(connection, tenant, number, state)
            if words.is_whole:  # outside of one moment, something may have changed between the two questions
                self._keep(number, words)
        return words

    def _keep(self, number: int, words: _Words) -> None:
        """Keep a partition's words, at the cost of those not asked for longest."""
        with self._lock:
            before = self._words.get(number)
            if before is not None and before.state.newest > words.state.newest:
                return  # another thread sees a later moment than this one
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


def _states(connection: FileConnection, tenant: str, numbers: tuple[int, ...]) -> dict[int, _State]:
    """Return what each partition holds now."""

    def read() -> dict[int, _State]:
        newest = "SELECT max(item) FROM units WHERE units.tenant = partitions.tenant AND units.partition = partitions.partition"
        sql = f"SELECT partition, units, terms, ({newest}) FROM partitions WHERE tenant = ? AND partition IN ({marks(numbers)})"
        rows = fetch(connection, sql, (tenant, *numbers))
        return {number: _State(windows=units, terms=terms, newest=last or 0) for number, units, terms, last in rows}

    return once(connection, ("states", tenant, numbers), read)


def _read(connection: FileConnection, tenant: str, number: int, state: _State) -> _Words:
    """Read a partition whole."""
    return _with(None, _units(connection, tenant, number, after=0), state)


def _grown(connection: FileConnection, tenant: str, number: int, words: _Words | None, state: _State) -> _Words | None:
    """Return a partition's words with those added since; None if that does not account for its present state."""
    if words is None or state.windows < words.state.windows or state.newest < words.state.newest:
        return None
    added = _units(connection, tenant, number, after=words.state.newest)
    return _with(words, added, state) if len(words.windows) + len(added) == state.windows else None


def _units(connection: FileConnection, tenant: str, number: int, *, after: int) -> list[Row]:
    sql = "SELECT item, window, terms FROM units WHERE tenant = ? AND partition = ? AND item > ?"
    return fetch(connection, sql, (tenant, number, after))


def _with(words: _Words | None, added: Sequence[Row], state: _State) -> _Words:
    """Return words with those of more windows."""
    windows = list(words.windows) if words else []
    lengths = list(words.lengths) if words else []
    places = dict(words.places) if words else {}
    new: dict[str, list[int]] = {}
    for item, window, terms in added:
        said = terms.split(" ") if terms else []
        for term in said:
            new.setdefault(term, []).append(len(windows))
        windows.append((item, window))
        lengths.append(len(said))
    for term, rows in new.items():
        places[term] = (*places.get(term, ()), *rows)
    return _Words(state=state, windows=windows, lengths=lengths, places=places)


def _scored(
    words: Mapping[int, _Words], wanted: Sequence[frozenset[str]], total: int, average: float
) -> dict[tuple[int, int], float]:
    """Return the BM25 score of each window that holds any term, as a share of what one full match would get.

    Counted and added up as :func:`holdfast.stores.bm25.rank` does, to the last bit: what is equal there is equal here.
    """
    found = sorted((_counted(words, spellings) for spellings in wanted), key=itemgetter(0))
    weights = [math.log1p((max(total - common, 0) + 0.5) / (common + 0.5)) for common, _ in found]
    full = sum(weights) or 1.0
    scores: dict[tuple[int, int], float] = {}
    for weight, (_, counts) in zip(weights, found, strict=True):
        share = weight * (K1 + 1) / full
        for place, count in counts.items():
            number, row = place
            norm = K1 * (1 - B + B * words[number].lengths[row] / average)
            scores[place] = scores.get(place, 0.0) + share * count / (count + norm)
    return scores


def _counted(words: Mapping[int, _Words], spellings: frozenset[str]) -> tuple[int, dict[tuple[int, int], int]]:
    """Return how common a term is, by spelling as the full-text index counts, and how often it stands in each window."""
    counts: dict[tuple[int, int], int] = {}
    common = 0
    for number, each in words.items():
        for spelling in spellings:
            rows = each.places.get(spelling)
            if rows is not None:
                common += len(set(rows))
                for row in rows:
                    counts[number, row] = counts.get((number, row), 0) + 1
    return common, counts
