"""The words of a partition in memory, and BM25 over all of its windows.

What is found, and in which order, is the same as :func:`holdfast.stores.bm25.rank` says, to the last bit.
"""

import itertools
import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from holdfast.protocols import Match, Space
from holdfast.stores.bm25 import K1, B
from holdfast.stores.choices import Choice
from holdfast.stores.sql import Row
from holdfast.stores.vector_rows import contains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Postings: TypeAlias = array[int]
    """For each window that holds a term: its place, in the upper half of the number, and how often, in the lower."""
    Held: TypeAlias = tuple[int, NDArray[np.intp], NDArray[np.float64]]
    """A partition, which of its windows hold a term, and how often each does."""

_HALF = 32
_LOWER = np.uint64((1 << _HALF) - 1)
_SEVERAL = 4
"""Windows looked at for each match that is wanted: an item may have several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What tells one state of a partition from every other: items are numbered upwards, and no number is given twice.

    An addition raises the newest number; without one, a removal lowers the count. Archives alone are filled otherwise: an
    older wording goes there under the number it had.
    """

    windows: int
    terms: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The windows of a partition as of one state, by what stands in them."""

    state: State
    items: "NDArray[np.int64]"
    windows: "NDArray[np.int64]"
    lengths: "NDArray[np.int64]"
    places: "Mapping[str, Postings]"

    @classmethod
    def of(cls, rows: Sequence[Row], state: State, before: "Words | None" = None) -> "Words":
        """Take in (item, window, terms) of windows, after those that are known."""
        start = len(before.items) if before else 0
        new: dict[str, Postings] = {}
        lengths = np.zeros(len(rows), dtype=np.int64)
        for number, (_, _, text) in enumerate(rows):
            terms = text.split(" ") if text else []
            lengths[number] = len(terms)
            for term, count in Counter(terms).items():
                held = new.get(term)
                if held is None:
                    held = new[term] = array("Q")
                held.append(start + number << _HALF | count)
        items, windows = (np.array([row[column] for row in rows], dtype=np.int64) for column in (0, 1))
        if before is None:
            return cls(state=state, items=items, windows=windows, lengths=lengths, places=new)
        # Whoever searches what was known goes on with that: nothing of it is changed.
        places = {**before.places, **{term: before.places.get(term, _NOWHERE) + held for term, held in new.items()}}
        return cls(
            state=state,
            items=np.concatenate((before.items, items)),
            windows=np.concatenate((before.windows, windows)),
            lengths=np.concatenate((before.lengths, lengths)),
            places=places,
        )

    @property
    def is_whole(self) -> bool:
        """Whether this is what the state says, and not what another process made of it meanwhile."""
        newest = int(self.items.max()) if len(self.items) else 0
        return (len(self.items), int(self.lengths.sum()), newest) == (self.state.windows, self.state.terms, self.state.newest)


_NOWHERE: "Postings" = array("Q")


def rank(
    words: Mapping[int, Words],
    partitions: Mapping[int, Space],
    wanted: Sequence[frozenset[str]],
    *,
    limit: int,
    allowed: Choice | None = None,
    excluded: Collection[int] = (),
) -> list[Match]:
    """Return the items whose windows fit the wanted terms best, as a share of what one full match would get."""
    scores = _scored(words, wanted)
    found = {number: np.flatnonzero(values) for number, values in scores.items()}
    if allowed is not None:
        found = {number: rows[contains(allowed.ascending, words[number].items[rows])] for number, rows in found.items()}
    if excluded:
        gone = np.sort(np.fromiter(excluded, dtype=np.int64, count=len(excluded)))
        found = {number: rows[~contains(gone, words[number].items[rows])] for number, rows in found.items()}
    many = sum(map(len, found.values()))
    width = _SEVERAL * limit
    while True:
        best: dict[int, tuple[float, int, int, int]] = {}
        for score, item, window, number in sorted(_best(words, scores, found, width)):
            best.setdefault(item, (score, item, window, number))
        if len(best) >= limit or width >= many:
            break
        width *= 4
    chosen = itertools.islice(best.values(), limit)
    return [Match(-item, window, min(-score, 1.0), partitions[number]) for score, item, window, number in chosen]


def _best(
    words: Mapping[int, Words],
    scores: "Mapping[int, NDArray[np.float64]]",
    found: "Mapping[int, NDArray[np.intp]]",
    width: int,
) -> Iterator[tuple[float, int, int, int]]:
    """Yield score, item, window and partition of about so many of each partition's best windows; the first two as negatives."""
    for number, rows in found.items():
        values, each = scores[number][rows], words[number]
        if len(rows) > width:
            enough = values >= np.partition(values, len(rows) - width)[len(rows) - width]
            rows, values = rows[enough], values[enough]  # noqa: PLW2901
        yield from zip(
            (-values).tolist(),
            (-each.items[rows]).tolist(),
            each.windows[rows].tolist(),
            itertools.repeat(number),
            strict=False,
        )


def _scored(words: Mapping[int, Words], wanted: Sequence[frozenset[str]]) -> "dict[int, NDArray[np.float64]]":
    """Return the score of every window: zero where it holds none of the terms."""
    total = sum(each.state.windows for each in words.values())
    average = max(sum(each.state.terms for each in words.values()) / total, 1.0) if total else 1.0
    scores = {number: np.zeros(len(each.items)) for number, each in words.items()}
    found = sorted((_held(words, spellings) for spellings in wanted), key=itemgetter(0))
    weights = [math.log1p((max(total - common, 0) + 0.5) / (common + 0.5)) for common, _ in found]
    full = sum(weights) or 1.0
    for weight, (_, held) in zip(weights, found, strict=True):
        share = weight * (K1 + 1) / full
        for number, rows, counts in held:
            norms = K1 * (1 - B + B * words[number].lengths[rows] / average)
            scores[number][rows] += share * counts / (counts + norms)
    return scores


def _held(words: Mapping[int, Words], spellings: frozenset[str]) -> "tuple[int, list[Held]]":
    """Return how common a term is, by spelling as the full-text index counts, and which windows hold it."""
    common = 0
    held: list[Held] = []
    for number, each in words.items():
        some = [each.places[spelling] for spelling in spellings if spelling in each.places]
        if some:
            common += sum(map(len, some))
            held.append((number, *_counted(some)))
    return common, held


def _counted(postings: "Sequence[Postings]") -> "tuple[NDArray[np.intp], NDArray[np.float64]]":
    """Return the windows that hold any of a term's spellings, and how often each holds them in all."""
    codes = np.concatenate([np.frombuffer(each, dtype=np.uint64) for each in postings])
    if len(postings) > 1:
        codes.sort()
    rows = (codes >> np.uint64(_HALF)).astype(np.intp)
    counts = (codes & _LOWER).astype(np.float64)
    if len(postings) > 1:
        first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        rows, counts = rows[first], np.add.reduceat(counts, first)
    return rows, counts
