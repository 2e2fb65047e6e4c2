"""Measure the similarity and the value of memories, and merge two texts into one without losing a detail."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.learning.topics.clusters import RowVectors, common_language, content_terms
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.details import details
from holdfast.types import Memory

_NEAR_DUPLICATE: Final = 0.7
_CHANCE_SIMILARITY: Final = 0.3
"""Similarity (0 to 1) that two unrelated texts can reach with one common word. Only a higher value counts as redundancy."""
_CONTAINED_SIMILARITY: Final = 0.9
_MIN_WORDS: Final = 3
"""Minimum number of words of a text that can count as contained in a longer text.

The words of a shorter text occur in too many other texts.
"""
_HALF_LIFE: Final = timedelta(days=30)
_NEGATIONS: Final = frozenset("no not never none without nor cannot nunca jamas sin tampoco ni nadie nada".split())
_WORD: Final = regex(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_NUMBER: Final = regex(r"\d+(?:[.,\u00a0\u202f]\d{3}(?!\d))*")
_GROUPING: Final = regex(r"\D")
_SENTENCE_ENDS: Final = ".!?…"


def similarities(texts: Sequence[str], rows: RowVectors | None) -> NDArray[np.float64]:
    """Return the pairwise similarity of texts, 0 to 1, by shared words and by cosine. The diagonal is 0.

    Embedders use different cosine ranges, so a cosine is scaled relative to the median cosine of these texts.
    """
    language = common_language(texts)
    terms = [_words(text, language) for text in texts]
    similarity = np.array([[_shared(one, other) for other in terms] for one in terms], dtype=np.float64).reshape(len(texts), -1)
    if rows is not None and len(texts) > 2:
        cosines = (rows @ rows.T).astype(np.float64)
        median = float(np.median(cosines[np.triu_indices(len(texts), 1)]))
        if median < 1 - 1e-6:
            similarity = np.maximum(similarity, np.clip((cosines - median) / (1 - median), 0, 1))
    np.fill_diagonal(similarity, 0)
    return similarity


def _words(text: str, language: str | None) -> frozenset[str]:
    """Return the stems of a text's content words, leaving out numbers. If the text contains only numbers, return the numbers."""
    terms = content_terms(text, language)
    return frozenset(term for term in terms if not any(c.isdigit() for c in term)) or terms


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the overlap of two word sets, 0 to 1.

    If the smaller set has at least three words and is contained in the larger set, the overlap is at least 0.9.
    """
    if not one or not other:
        return 0.0
    both, shorter = len(one & other), min(len(one), len(other))
    return max(both / len(one | other), _CONTAINED_SIMILARITY * both / shorter if shorter >= _MIN_WORDS else 0.0)


def near_duplicates(memories: Sequence[Memory], similarity: NDArray[np.float64]) -> Iterator[tuple[Memory, Memory]]:
    """Yield (older, newer) for each pair of near duplicates, most similar first. Pinned memories are skipped.

    Both memories must have the same scope, kind and key. The newer memory must be at least as trusted as the older one.
    """
    pairs = np.argwhere(np.triu(similarity, 1) >= _NEAR_DUPLICATE)
    for one, other in sorted(pairs.tolist(), key=lambda pair: (-similarity[pair[0], pair[1]], pair)):
        older, newer = sorted((memories[one], memories[other]), key=lambda memory: (memory.created_at, memory.id))
        comparable = (older.scope, older.kind, older.key) == (newer.scope, newer.kind, newer.key)
        if comparable and newer.trust >= older.trust and not older.pinned and not newer.pinned:
            yield older, newer


def join(older: str, newer: str, *, max_characters: int) -> str | None:
    """Combine two texts into one text.

    If one of the texts contains everything that the other says, return only the more complete text, whatever its length.
    Otherwise return both texts, the older one first. Return None if both together are longer than ``max_characters``.
    """
    if _covers(newer, older):
        return newer
    if _covers(older, newer):
        return older
    first = one_line(older)
    both = f"{first}{'' if first.endswith(tuple(_SENTENCE_ENDS)) else '.'} {one_line(newer)}"
    return both if len(both) <= max_characters else None


def _covers(text: str, other: str) -> bool:
    """Return True if ``text`` has all content words, names and numbers of ``other``, and the same number of negations."""
    return (
        content_terms(text) >= content_terms(other) and details(text) >= details(other) and _negations(text) == _negations(other)
    )


def _negations(text: str) -> int:
    words = [fold(word) for word in _WORD.findall(text)]
    return sum(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def long_numbers(text: str) -> frozenset[str]:
    """Return the numbers of three or more digits, without thousands separators.

    Shorter numbers are left out, because a text may spell them out ("twelve").
    """
    return frozenset(number for found in _NUMBER.findall(text) if len(number := _GROUPING.sub("", found)) >= 3)


def value(memory: Memory, memories: Sequence[Memory], redundancy: float) -> float:
    """Return the value of a memory: importance weighted by trust, plus recency and recent use, minus redundancy.

    Recency and recent use are measured from the latest time at which one of ``memories`` was created or used. ``redundancy``
    is the similarity, from 0 to 1, to the most similar other memory.
    """
    present = max(max(other.created_at, other.last_used_at or other.created_at) for other in memories)
    recency: float = 0.5 ** ((present - memory.created_at) / _HALF_LIFE)
    use: float = 0.5 ** ((present - memory.last_used_at) / _HALF_LIFE) if memory.last_used_at else 0.0
    repeated = max(0.0, redundancy - _CHANCE_SIMILARITY)
    return 0.5 * (memory.importance / 10) * (0.5 + memory.trust / 2) + 0.2 * recency + 0.2 * use - 0.2 * repeated
