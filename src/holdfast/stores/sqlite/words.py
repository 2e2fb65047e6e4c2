"""An in-memory inverted index of a partition's words, and BM25 ranking of the partition's chunks.

The index maps each word to its postings: the chunks that contain the word, with the number of occurrences. The
ranking gives exactly the results of :func:`holdfast.stores.sql.bm25.rank`, in the same order.
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
from holdfast.stores.sqlite.allowed_items import AllowedItems
from holdfast.stores.vector_index.rows import contains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = array[int]

Postings: TypeAlias = "Numbers"
"""The chunks that contain one term, as a flat array of pairs: the row number of the chunk, and the term's count in it."""
WeightedTerms: TypeAlias = "tuple[float, list[tuple[int, list[Postings]]]]"
"""The weight of one query term and, for each partition, the postings of each spelling of the term."""
FoundChunk: TypeAlias = tuple[float, int, int, int]
"""A scored chunk: score, item, chunk and partition.

Score and item are negated, so that sorting puts the best score first and, of equal scores, the newest item first.
"""

_MAX_SCALAR_CHUNKS = 512
"""Maximum number of chunks that are scored in plain Python. For so few chunks, plain Python is faster than numpy."""
_OVERFETCH = 4
"""Number of chunks examined per requested match. It is more than 1, because an item can have several chunks."""
_PER_TERM, _PER_WORD, _PER_CHUNK = 8, 140, 16
"""Estimated bytes per posting, per distinct word, and per chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """Counts that show whether a partition changed since it was read.

    Item numbers increase and are never reused. So an addition raises ``newest``, and a removal without an addition lowers
    ``chunks``. Archive partitions are an exception: an archived revision keeps its old number, so adding it does not always
    raise ``newest``.
    """

    chunks: int
    terms: int
    newest: int

    @property
    def nbytes(self) -> int:
        """Estimated size of the partition's postings in bytes."""
        return _PER_TERM * self.terms


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTerms:
    """An inverted index of the chunks in one partition. ``state`` has the counts of the partition when the index was read."""

    state: PartitionState
    items: "Numbers"
    chunks: "Numbers"
    lengths: "Numbers"
    places: Mapping[str, Postings]
    last_item: int = 0
    """Highest item number in the store file when this index was read.

    Of two copies of the index, the one with the higher number is newer.
    """

    @classmethod
    def of(
        cls, rows: Sequence[Row], state: PartitionState, before: "PartitionTerms | None" = None, *, last_item: int = 0
    ) -> "PartitionTerms":
        """Build an index from rows of (item, chunk, terms).

        ``before`` is an older index of the same partition, or None. If given, its chunks come first in the new index, followed by
        the rows. ``before`` itself is not changed. ``state`` has the counts of the partition, and ``last_item`` is the highest
        item number in the store file. Both were read shortly before the rows.
        """
        start = len(before.items) if before else 0
        new: dict[str, Postings] = {}
        lengths = array("I")
        for place, (_, _, text) in enumerate(rows, start):
            terms = text.split(" ") if text else []
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                postings = new.get(term)
                if postings is None:
                    postings = new[term] = array("I")
                postings.extend((place, count))
        items, chunks = array("q", [row[0] for row in rows]), array("I", [row[1] for row in rows])
        if before is None:
            return cls(state=state, items=items, chunks=chunks, lengths=lengths, places=new, last_item=last_item)
        return cls(
            state=state,
            last_item=last_item,
            items=before.items + items,
            chunks=before.chunks + chunks,
            lengths=before.lengths + lengths,
            # Copied, not changed: other threads may be searching `before`.
            places={**before.places, **{term: before.places.get(term, _NOWHERE) + added for term, added in new.items()}},
        )

    @property
    def is_whole(self) -> bool:
        """True if the chunks in this index match the counts in ``state``.

        The counts and the chunks are read in two steps. If another process wrote in between, they do not match.
        """
        terms = int(np.frombuffer(self.lengths, dtype=np.uint32).sum()) if self.lengths else 0
        newest = int(np.frombuffer(self.items, dtype=np.int64).max()) if self.items else 0
        return (len(self.items), terms, newest) == (self.state.chunks, self.state.terms, self.state.newest)

    @property
    def nbytes(self) -> int:
        """Estimated maximum size of this index in bytes."""
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
    """Return the ``limit`` items whose chunks match the query best, best first. ``wanted`` has the spellings of each query term.

    A chunk of average length that contains every term once scores 1. Higher scores are cut to 1. Only items in ``allowed`` are
    returned, or all items if it is None. Items in ``excluded`` are left out.
    """
    total = sum(each.state.chunks for each in words.values())
    average = max(sum(each.state.terms for each in words.values()) / total, 1.0) if total else 1.0
    terms = _weighted(words, wanted, total)
    if total <= _MAX_SCALAR_CHUNKS:
        found = _score_rows(words, terms, average)
        visible = (one for one in found if -one[1] not in excluded and (allowed is None or -one[1] in allowed.items))
        best = _best_chunks(visible)
    else:
        best = _score_arrays(words, terms, average, limit=limit, allowed=allowed, excluded=excluded)
    return [Match(-item, chunk, min(-score, 1.0), partitions[number]) for score, item, chunk, number in best[:limit]]


def _weighted(words: Mapping[int, PartitionTerms], wanted: Sequence[frozenset[str]], total: int) -> list[WeightedTerms]:
    """Return the weight and the postings of each query term, rarest term first.

    ``wanted`` has the spellings of each query term. ``total`` is the number of chunks in the partitions.
    """
    found: list[tuple[int, list[tuple[int, list[Postings]]]]] = []
    for spellings in wanted:
        held = [(number, [each.places[one] for one in spellings if one in each.places]) for number, each in words.items()]
        # Document frequency, summed over spellings as the full-text index counts it.
        found.append((sum(len(some) for _, each in held for some in each) // 2, [pair for pair in held if pair[1]]))
    found.sort(key=itemgetter(0))
    weights = [math.log1p((max(total - frequency, 0) + 0.5) / (frequency + 0.5)) for frequency, _ in found]
    full = sum(weights) or 1.0
    return [(weight * (K1 + 1) / full, held) for weight, (_, held) in zip(weights, found, strict=True)]


def _best_chunks(found: Iterable[FoundChunk]) -> list[FoundChunk]:
    """Return the best chunk of each item, best item first."""
    best: dict[int, FoundChunk] = {}
    for one in sorted(found):
        best.setdefault(one[1], one)
    return list(best.values())


def _score_rows(words: Mapping[int, PartitionTerms], terms: Sequence[WeightedTerms], average: float) -> Iterator[FoundChunk]:
    """Yield every chunk that contains a query term, with its score. The scores are computed in plain Python.

    ``average`` is the average number of terms in a chunk.
    """
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


def _score_arrays(
    words: Mapping[int, PartitionTerms],
    terms: Sequence[WeightedTerms],
    average: float,
    *,
    limit: int,
    allowed: AllowedItems | None,
    excluded: Collection[int],
) -> list[FoundChunk]:
    """Return the best chunk of each of the best items. The scores are computed with numpy.

    At least ``limit`` items are returned, or all items that contain a term if there are fewer. Only items in ``allowed`` are
    returned, or all items if it is None. Items in ``excluded`` are left out. ``average`` is the average number of terms in a
    chunk.
    """
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
        best = _best_chunks(itertools.chain(*(_at_least(n, words[n], *found[n], min_score) for n in words)))
        if len(best) >= limit or width >= len(every):
            return best
        width *= 4


def _scores(words: PartitionTerms, terms: "Sequence[tuple[float, list[Postings]]]", average: float) -> "NDArray[np.float64]":
    """Return the score of every chunk. It is 0 if the chunk contains none of the terms.

    ``average`` is the average number of terms in a chunk.
    """
    lengths = np.frombuffer(words.lengths, dtype=np.uint32)
    scores = np.zeros(len(lengths))
    for share, postings in terms:
        rows, counts = _counted(postings)
        scores[rows] += share * counts / (counts + K1 * (1 - B + B * lengths[rows] / average))
    return scores


def _counted(postings: Sequence[Postings]) -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """Return the chunks that contain a query term in any of its spellings, and the number of occurrences in each chunk."""
    pairs = [np.frombuffer(each, dtype=np.uint32) for each in postings]
    if len(pairs) == 1:
        return pairs[0][0::2], pairs[0][1::2]
    rows = np.concatenate([each[0::2] for each in pairs])
    order = np.argsort(rows, kind="stable")
    rows, counts = rows[order], np.concatenate([each[1::2] for each in pairs])[order]
    first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    return rows[first], np.add.reduceat(counts, first)


def _at_least(
    number: int, words: PartitionTerms, rows: "NDArray[np.intp]", scores: "NDArray[np.float64]", min_score: float
) -> Iterator[FoundChunk]:
    """Yield the chunks of a partition that score at least ``min_score``.

    ``number`` is the number of the partition, and ``words`` its index. ``rows`` are the positions of chunks in this index,
    and ``scores`` the scores of these chunks.
    """
    enough = scores >= min_score
    for row, score in zip(rows[enough].tolist(), scores[enough].tolist(), strict=True):
        yield -score, -words.items[row], words.chunks[row], number
