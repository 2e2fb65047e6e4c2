"""Ranking by words, the same for every store: which terms choose the candidates, and how these are scored.

Statistics are the reader's own partitions', so nobody's ranking depends on how others write.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from holdfast.protocols import Match, Space
from holdfast.stores.sql.connection import Row

Counted: TypeAlias = tuple[int, frozenset[str]]
"""A query term's spellings, and in how many windows any of them stands."""

MATCHES = 2000
"""About how many matching windows one query may rank."""
FEW_CHUNKS = 2
K1, B = 1.2, 0.75


def bound_of(*, filtered: bool, excluded: int) -> int | None:
    """Return how many matches are looked at; a filter must not lose rows behind better ones that it forbids: then all are."""
    return None if filtered else MATCHES + excluded * FEW_CHUNKS


def chosen(known: Sequence[Counted], bound: int | None) -> list[Counted]:
    """Return the terms that choose the candidates: from the rarest on, until they match about as many rows as we look at.

    A term that alone matches more tells little, and only its newest rows are seen.
    """
    taken: list[Counted] = []
    seen = 0
    for count, spellings in known:
        if bound is not None and seen and seen + count > bound:
            break
        seen += count
        taken.append((count, spellings))
    return taken


def rarity(count: int) -> float:
    """Return what a term adds to a candidate's weight."""
    return 1 / math.log(2 + count)


def is_ranked(known: Sequence[Counted], limit: int) -> bool:
    """Tell whether one term alone has more matches than are scored: how often and in how short a text it stands is all there is."""
    return len(known) == 1 and _scored(limit) < known[0][0] <= MATCHES


def _scored(limit: int) -> int:
    """Return how many are scored: the weights do not know how often a term stands in a window, nor how long that is."""
    return max(5 * limit // 2, 60)


def best_of(weights: Mapping[int, float], known: Sequence[Counted], limit: int) -> list[int]:
    """Return the candidates to score: those with the most weight of rare terms, and the newest among equals."""
    many = _scored(limit)
    if len(known) == 1:  # in order already
        return list(weights)[:many]
    return [row for _, row in sorted(((w, r) for r, w in weights.items()), reverse=True)[:many]]


def rank(
    read: Iterable[Row], partitions: Mapping[int, Space], wanted: Collection[Counted], totals: tuple[int, int], *, limit: int
) -> list[Match]:
    """Score (item, window, partition, terms) by BM25, as a share of what one full match would get; totals are windows and terms."""
    units, terms = totals
    average = max(terms / units, 1.0) if units else 1.0
    weights = [math.log1p((max(units - count, 0) + 0.5) / (count + 0.5)) for count, _ in wanted]
    full = sum(weights) or 1.0
    spellings_by_weight = [
        (weight * (K1 + 1) / full, sorted(spellings))
        for weight, (count, spellings) in zip(weights, wanted, strict=True)
        if count  # what stands nowhere need not be looked for, though it counts in a full match
    ]
    best: dict[int, tuple[float, int, int, int]] = {}
    for item, window, partition, text in read:
        spaced = f" {text.replace(' ', '  ')} "  # each term between spaces of its own
        norm = K1 * (1 - B + B * (len(spaced) - len(text) - 1) / average)
        score = 0.0
        for weight, spellings in spellings_by_weight:
            found = 0
            for spelling in spellings:
                if spelling in text:  # most are not; to look for it is half of what it takes to count it, or to split the text
                    found += spaced.count(f" {spelling} ")
            if found:
                score -= weight * found / (found + norm)
        if item not in best or score < best[item][0]:
            best[item] = (score, -item, window, partition)
    return [
        Match(-item, window, min(-score, 1.0), partitions[part]) for score, item, window, part in sorted(best.values())[:limit]
    ]
