"""The words of a partition in memory, and BM25 over all of its windows.

What is found, and in which order, is the same as :func:`holdfast.stores.sql.bm25.rank` says, to the last bit.
"""

import itertools
import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from holdfast.protocols import Match, Space
from holdfast.stores.sql.bm25 import K1, B
from holdfast.stores.sql.connection import Row
from holdfast.stores.sqlite.choices import AllowedItems
from holdfast.stores.vector_index.rows import contains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = array[int]

Postings: TypeAlias = "Numbers"
"""For each window that holds a term its place and, after it, how often it does."""
WeightedTerms: TypeAlias = "tuple[float, list[tuple[int, list[Postings]]]]"
"""What a term is worth, and for each partition that has it where each of its spellings stands."""
FoundChunk: TypeAlias = tuple[float, int, int, int]
"""Score, item, window and partition; the first two as negatives, so that the best and newest come first."""

_MAX_SCALAR_CHUNKS = 512
"""Windows up to which they are scored one by one: numpy takes its time to begin."""
_OVERFETCH = 4
"""Windows looked at for each match that is wanted: an item may have several."""
_PER_TERM, _PER_WORD, _PER_CHUNK = 8, 140, 16
"""Bytes of a term in a window, of a word with all its places, and of a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """What tells one state of a partition from every other: items are numbered upwards, and no number is given twice.

    An addition raises the newest number; without one, a removal lowers the count. Archives alone are filled otherwise: an
    older wording goes there under the number it had.
    """

    chunks: int
    terms: int
    newest: int

    @property
    def nbytes(self) -> int:
        """How many bytes its terms take, whatever their words."""
        return _PER_TERM * self.terms


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTerms:
    """The windows of a partition as of one state, by what stands in them."""

    state: PartitionState
    items: "Numbers"
    chunks: "Numbers"
    lengths: "Numbers"
    places: Mapping[str, Postings]
    given: int = 0
    """How many items the whole file had ever held when this was read: more, at a later moment."""

    @classmethod
    def of(
        cls, rows: Sequence[Row], state: PartitionState, before: "PartitionTerms | None" = None, *, given: int = 0
    ) -> "PartitionTerms":
        """Take in (item, window, terms) of windows, after those that are known."""
        start = len(before.items) if before else 0
        new: dict[str, Postings] = {}
        lengths = array("I")
        for place, (_, _, text) in enumerate(rows, start):
            terms = text.split(" ") if text else []
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                held = new.get(term)
                if held is None:
                    held = new[term] = array("I")
                held.extend((place, count))
        items, windows = array("q", [row[0] for row in rows]), array("I", [row[1] for row in rows])
        if before is None:
            return cls(state=state, items=items, chunks=windows, lengths=lengths, places=new, given=given)
        return cls(
            state=state, given=given, items=before.items + items, chunks=before.chunks + windows, lengths=before.lengths + lengths,
            # Whoever searches what was known goes on with that: nothing of it is changed.
            places={**before.places, **{term: before.places.get(term, _NOWHERE) + held for term, held in new.items()}},
        )  # fmt: skip

    @property
    def is_whole(self) -> bool:
        """Whether this is what the state says, and not what another process made of it meanwhile."""
        terms = int(np.frombuffer(self.lengths, dtype=np.uint32).sum()) if self.lengths else 0
        newest = int(np.frombuffer(self.items, dtype=np.int64).max()) if self.items else 0
        return (len(self.items), terms, newest) == (self.state.chunks, self.state.terms, self.state.newest)

    @property
    def nbytes(self) -> int:
        """About how many bytes this takes, at most."""
        return self.state.nbytes + _PER_WORD * len(self.places) + _PER_CHUNK * len(self.items)


_NOWHERE: Postings = array("I")


def rank(
    words: Mapping[int, PartitionTerms],
    partitions: Mapping[int, Space],
    wanted: Sequence[frozenset[str]],
    *,
    limit: int,
    allowed: AllowedItems | None = None,
    excluded: Collection[int] = (),
) -> list[Match]:
    """Return the items whose windows fit the wanted terms best, as a share of what one full match would get."""
    total = sum(each.state.chunks for each in words.values())
    average = max(sum(each.state.terms for each in words.values()) / total, 1.0) if total else 1.0
    terms = _weighed(words, wanted, total)
    if total <= _MAX_SCALAR_CHUNKS:
        found = _one_by_one(words, terms, average)
        may = (one for one in found if -one[1] not in excluded and (allowed is None or -one[1] in allowed.items))
        best = _best_chunks(may)
    else:
        best = _at_once(words, terms, average, limit=limit, allowed=allowed, excluded=excluded)
    return [Match(-item, window, min(-score, 1.0), partitions[number]) for score, item, window, number in best[:limit]]


def _weighed(words: Mapping[int, PartitionTerms], wanted: Sequence[frozenset[str]], total: int) -> list[WeightedTerms]:
    """Return what each term is worth and where it stands, the rarest first."""
    found: list[tuple[int, list[tuple[int, list[Postings]]]]] = []
    for spellings in wanted:
        held = [(number, [each.places[one] for one in spellings if one in each.places]) for number, each in words.items()]
        # How common it is, by spelling, as the full-text index counts.
        found.append((sum(len(some) for _, each in held for some in each) // 2, [pair for pair in held if pair[1]]))
    found.sort(key=itemgetter(0))
    weights = [math.log1p((max(total - common, 0) + 0.5) / (common + 0.5)) for common, _ in found]
    full = sum(weights) or 1.0
    return [(weight * (K1 + 1) / full, held) for weight, (_, held) in zip(weights, found, strict=True)]


def _best_chunks(found: Iterable[FoundChunk]) -> list[FoundChunk]:
    """Return the best window of each item, the best item first."""
    best: dict[int, FoundChunk] = {}
    for one in sorted(found):
        best.setdefault(one[1], one)
    return list(best.values())


def _one_by_one(words: Mapping[int, PartitionTerms], terms: Sequence[WeightedTerms], average: float) -> Iterator[FoundChunk]:
    """Yield every window that holds one of the terms."""
    scores: dict[tuple[int, int], float] = {}
    for share, held in terms:
        for number, postings in held:
            counts: dict[int, int] = {}
            for each in postings:
                for row, count in zip(each[0::2], each[1::2], strict=True):
                    counts[row] = counts.get(row, 0) + count
            lengths = words[number].lengths
            for row, count in counts.items():
                norm = K1 * (1 - B + B * lengths[row] / average)
                scores[number, row] = scores.get((number, row), 0.0) + share * count / (count + norm)
    for (number, row), score in scores.items():
        yield -score, -words[number].items[row], words[number].chunks[row], number


def _at_once(
    words: Mapping[int, PartitionTerms],
    terms: Sequence[WeightedTerms],
    average: float,
    *,
    limit: int,
    allowed: AllowedItems | None,
    excluded: Collection[int],
) -> list[FoundChunk]:
    """Return the best windows of as many items as are wanted, or of all that hold one of the terms."""
    found: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
    gone = np.sort(np.fromiter(excluded, dtype=np.int64, count=len(excluded)))
    for number, each in words.items():
        scores = _scores(each, [(share, postings) for share, held in terms for n, postings in held if n == number], average)
        rows = np.flatnonzero(scores)
        items = np.frombuffer(each.items, dtype=np.int64)[rows]
        if allowed is not None:
            rows = rows[contains(allowed.ascending, items) & ~contains(gone, items)]
        elif excluded:
            rows = rows[~contains(gone, items)]
        found[number] = rows, scores[rows]
    every = np.concatenate([scores for _, scores in found.values()])
    width = _OVERFETCH * max(limit, 1)
    while True:
        min_score = np.partition(every, len(every) - width)[len(every) - width] if len(every) > width else 0.0
        best = _best_chunks(itertools.chain(*(_as_good(n, words[n], *found[n], min_score) for n in words)))
        if len(best) >= limit or width >= len(every):
            return best
        width *= 4


def _scores(words: PartitionTerms, terms: "Sequence[tuple[float, list[Postings]]]", average: float) -> "NDArray[np.float64]":
    """Return the score of every window: zero where it holds none of the terms."""
    lengths = np.frombuffer(words.lengths, dtype=np.uint32)
    scores = np.zeros(len(lengths))
    for share, postings in terms:
        rows, counts = _counted(postings)
        scores[rows] += share * counts / (counts + K1 * (1 - B + B * lengths[rows] / average))
    return scores


def _counted(postings: Sequence[Postings]) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """Return the windows that hold any of a term's spellings, and how often each holds them in all."""
    pairs = [np.frombuffer(each, dtype=np.uint32) for each in postings]
    if len(pairs) == 1:
        return pairs[0][0::2], pairs[0][1::2]
    rows = np.concatenate([each[0::2] for each in pairs])
    order = np.argsort(rows, kind="stable")
    rows, counts = rows[order], np.concatenate([each[1::2] for each in pairs])[order]
    first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    return rows[first], np.add.reduceat(counts, first)


def _as_good(
    number: int, words: PartitionTerms, rows: "NDArray[np.intp]", scores: "NDArray[np.float64]", min_score: float
) -> Iterator[FoundChunk]:
    """Yield the windows of a partition that score at least so much."""
    enough = scores >= min_score
    for row, score in zip(rows[enough].tolist(), scores[enough].tolist(), strict=True):
        yield -score, -words.items[row], words.chunks[row], number
