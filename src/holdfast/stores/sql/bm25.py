"""BM25 ranking, the same for every store: choose candidates by their rarest terms, then score them.

Term statistics come only from the partitions the reader may see, so a ranking does not depend on other users' texts.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from holdfast.protocols import Match, Space
from holdfast.stores.sql.connection import Row

Counted: TypeAlias = tuple[int, frozenset[str]]
"""A query term: the number of chunks that contain it, and its spellings."""

MATCHES = 2000
"""Approximate maximum number of matching chunks that one query reads."""
FEW_CHUNKS = 2
"""Additional matches to read per excluded item: about the number of its chunks."""
K1, B = 1.2, 0.75
"""BM25 constants: saturation of the term frequency, and influence of the text length."""


def bound_of(*, filtered: bool, excluded: int) -> int | None:
    """Return the maximum number of matches to read, or None for all.

    A filtered search reads all of them, because a filter could exclude every match within the limit.
    """
    return None if filtered else MATCHES + excluded * FEW_CHUNKS


def chosen(known: Sequence[Counted], bound: int | None) -> list[Counted]:
    """Return the terms that select the candidates: the rarest ones, until together they match about ``bound`` chunks.

    The rarest term is always used. If it alone matches more, only its newest chunks are read.
    """
    taken: list[Counted] = []
    total = 0
    for count, spellings in known:
        if bound is not None and total and total + count > bound:
            break
        total += count
        taken.append((count, spellings))
    return taken


def rarity(count: int) -> float:
    """Return the weight that a term adds to a candidate that contains it."""
    return 1 / math.log(2 + count)


def is_ranked(known: Sequence[Counted], limit: int) -> bool:
    """Return True if the database should order the matches by BM25 itself.

    That is the case for a single term with more matches than are scored: all candidates have the same weight then, and only
    term frequency and text length tell them apart.
    """
    return len(known) == 1 and _scored(limit) < known[0][0] <= MATCHES


def _scored(limit: int) -> int:
    """Return the number of candidates to score: more than the limit, because the weights ignore frequency and length."""
    return max(5 * limit // 2, 60)


def best_of(weights: Mapping[int, float], known: Sequence[Counted], limit: int) -> list[int]:
    """Return the candidates to score: those with the highest summed rarity, newest first among equals."""
    count = _scored(limit)
    if len(known) == 1:  # already in order
        return list(weights)[:count]
    return [row for _, row in sorted(((w, r) for r, w in weights.items()), reverse=True)[:count]]


def rank(
    read: Iterable[Row], partitions: Mapping[int, Space], query: Collection[Counted], totals: tuple[int, int], *, limit: int
) -> list[Match]:
    """Score rows of (item, chunk, partition, terms) by BM25, as a fraction of the score of a full match.

    ``totals`` are the numbers of chunks and of terms in the partitions. Returns the best chunk of each item.
    """
    units, terms = totals
    average = max(terms / units, 1.0) if units else 1.0
    weights = [math.log1p((max(units - count, 0) + 0.5) / (count + 0.5)) for count, _ in query]
    full = sum(weights) or 1.0
    spellings_by_weight = [
        (weight * (K1 + 1) / full, sorted(spellings))
        for weight, (count, spellings) in zip(weights, query, strict=True)
        if count  # terms without a match need no search, but they count in a full match
    ]
    best: dict[int, tuple[float, int, int, int]] = {}
    for item, window, partition, text in read:
        spaced = f" {text.replace(' ', '  ')} "  # two spaces between terms, so that counting " term " misses no neighbor
        norm = K1 * (1 - B + B * (len(spaced) - len(text) - 1) / average)
        score = 0.0
        for weight, spellings in spellings_by_weight:
            frequency = 0
            for spelling in spellings:
                if spelling in text:  # usually False, and half the cost of counting or splitting
                    frequency += spaced.count(f" {spelling} ")
            if frequency:
                score -= weight * frequency / (frequency + norm)
        if item not in best or score < best[item][0]:
            best[item] = (score, -item, window, partition)
    return [
        Match(-item, window, min(-score, 1.0), partitions[part]) for score, item, window, part in sorted(best.values())[:limit]
    ]
