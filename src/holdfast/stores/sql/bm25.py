"""BM25 ranking for the SQL stores. The rarest query terms select candidates, then all terms score the candidates.

Term statistics come only from the partitions that the reader may see, so other users' texts do not affect a ranking.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from holdfast.protocols import Match, Space
from holdfast.stores.sql.connection import Row

Counted: TypeAlias = tuple[int, frozenset[str]]
"""A query term, as a pair: the number of chunks that contain the term, and the set of the term's spellings."""

MATCHES = 2000
"""Approximate maximum number of matching chunks that a search reads."""
FEW_CHUNKS = 2
"""Number of additional matching chunks that a search reads per excluded item, because chunks of excluded items are of no use."""
K1, B = 1.2, 0.75
"""BM25 constants. ``K1`` sets the saturation of the term frequency, ``B`` the influence of the text length."""


def bound_of(*, filtered: bool, excluded: int) -> int | None:
    """Return the maximum number of matching chunks that a search reads, or None for no maximum.

    ``excluded`` is the number of items that are left out of the results. Each excluded item raises the maximum, because the
    search may read its chunks in vain. A filtered search has no maximum, because the filter could exclude every chunk that
    was read.
    """
    return None if filtered else MATCHES + excluded * FEW_CHUNKS


def chosen(known: Sequence[Counted], bound: int | None) -> list[Counted]:
    """Return the rarest terms of a query. Only chunks that contain one of these terms become candidates.

    Terms are taken, rarest first, as long as together they match at most ``bound`` chunks. The rarest term is always taken.
    ``known`` has the terms of the query, rarest first.
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
    """Return the weight of a query term for the selection of candidates. Rare terms have a high weight.

    ``count`` is the number of chunks that contain the term.
    """
    return 1 / math.log(2 + count)


def is_ranked(known: Sequence[Counted], limit: int) -> bool:
    """Return True if the database itself should order the matching chunks by BM25.

    With several terms, candidates are selected by the rarity of their terms. With a single term, all matching chunks have
    the same rarity. So the database orders them, if there are more of them than candidates to score. If there are more than
    ``MATCHES``, ordering them would take too long, and the result is False.

    ``known`` has each query term with the number of chunks that contain it. ``limit`` is the number of results of the search.
    """
    return len(known) == 1 and _scored(limit) < known[0][0] <= MATCHES


def _scored(limit: int) -> int:
    """Return the number of candidates to score for ``limit`` results.

    The number is higher than ``limit``, because candidates are selected by rarity. Rarity ignores term frequency and text length,
    so the best chunks by BM25 are not always the best by rarity.
    """
    return max(5 * limit // 2, 60)


def best_of(weights: Mapping[int, float], known: Sequence[Counted], limit: int) -> list[int]:
    """Return the row numbers of the candidates to score: those with the highest weight. Of equal weights, newer rows come first.

    ``weights`` maps the row number of each candidate to its weight, which is the sum of the rarities of its terms. ``known``
    are the terms of the query. If there is only one term, the candidates in ``weights`` must already be in order. ``limit``
    is the number of results of the search.
    """
    count = _scored(limit)
    if len(known) == 1:  # already in order
        return list(weights)[:count]
    return [row for _, row in sorted(((w, r) for r, w in weights.items()), reverse=True)[:count]]


def rank(
    read: Iterable[Row], partitions: Mapping[int, Space], query: Collection[Counted], totals: tuple[int, int], *, limit: int
) -> list[Match]:
    """Score rows of (item, chunk, partition, terms) by BM25. Return the best ``limit`` items, each with its best chunk.

    A chunk of average length that contains every term once scores 1. Higher scores are cut to 1. ``query`` has each query
    term with the number of chunks that contain it. ``totals`` contains the number of chunks and the number of terms in the
    partitions.
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
