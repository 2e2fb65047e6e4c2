"""How alike memories are, what one is worth beside the others, and how two become one without losing a detail."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.learning.topics.clusters import RowVectors, common_language, content_terms
from holdfast.text.clean import fold, one_line
from holdfast.text.details import details
from holdfast.types import Memory

_NEAR_DUPLICATE: Final = 0.7
_CHANCE_LIKENESS: Final = 0.3
"""Likeness that means nothing: a word in common."""
_PART_LIKENESS: Final = 0.9
_MIN_WORDS: Final = 3
"""A text of fewer words is a part of too many others."""
_HALF_LIFE: Final = timedelta(days=30)
_NEGATIONS: Final = frozenset("no not never none without nor cannot nunca jamas sin tampoco ni nadie nada".split())
_WORD: Final = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_NUMBER: Final = re.compile(r"\d+(?:[.,\u00a0\u202f]\d{3}(?!\d))*")
_GROUPING: Final = re.compile(r"\D")
_SENTENCE_ENDS: Final = ".!?…"


def likeness(texts: Sequence[str], rows: RowVectors | None) -> NDArray[np.float64]:
    """Return how alike each two texts are, 0 to 1, by shared words and by meaning; nothing is like itself.

    Embedders differ in what a cosine means, so it is read against the middle of these very texts.
    """
    language = common_language(texts)
    terms = [_words(text, language) for text in texts]
    alike = np.array([[_shared(one, other) for other in terms] for one in terms], dtype=np.float64).reshape(len(texts), -1)
    if rows is not None and len(texts) > 2:
        cosines = (rows @ rows.T).astype(np.float64)
        usual = float(np.median(cosines[np.triu_indices(len(texts), 1)]))
        if usual < 1 - 1e-6:
            alike = np.maximum(alike, np.clip((cosines - usual) / (1 - usual), 0, 1))
    np.fill_diagonal(alike, 0)
    return alike


def _words(text: str, language: str | None) -> frozenset[str]:
    """Return the stems that tell what a text is about; numbers do not, unless there is nothing else."""
    terms = content_terms(text, language)
    return frozenset(term for term in terms if not any(c.isdigit() for c in term)) or terms


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two texts have in common; one that is a part of the other is nearly the same."""
    if not one or not other:
        return 0.0
    both, shorter = len(one & other), min(len(one), len(other))
    return max(both / len(one | other), _PART_LIKENESS * both / shorter if shorter >= _MIN_WORDS else 0.0)


def near_duplicates(memories: Sequence[Memory], alike: NDArray[np.float64]) -> Iterator[tuple[Memory, Memory]]:
    """Yield (older, newer) of the pairs that say nearly the same, the most alike first; pinned ones are in none.

    Only memories of one sort and one key are merged, and nothing is merged into what is believed more.
    """
    pairs = np.argwhere(np.triu(alike, 1) >= _NEAR_DUPLICATE)
    for one, other in sorted(pairs.tolist(), key=lambda pair: (-alike[pair[0], pair[1]], pair)):
        older, newer = sorted((memories[one], memories[other]), key=lambda memory: (memory.created_at, memory.id))
        same_sort = (older.scope, older.kind, older.key) == (newer.scope, newer.kind, newer.key)
        if same_sort and newer.trust >= older.trust and not older.pinned and not newer.pinned:
            yield older, newer


def join(older: str, newer: str, *, max_characters: int) -> str | None:
    """Return one text that says what both say: the one that has it all, else one after the other; None if that is too long."""
    if _covers(newer, older):
        return newer
    if _covers(older, newer):
        return older
    first = one_line(older)
    both = f"{first}{'' if first.endswith(tuple(_SENTENCE_ENDS)) else '.'} {one_line(newer)}"
    return both if len(both) <= max_characters else None


def _covers(text: str, other: str) -> bool:
    """Tell whether a text has every meaningful word, name and number of another, and denies as much."""
    return content_terms(text) >= content_terms(other) and details(text) >= details(other) and _denied(text) == _denied(other)


def _denied(text: str) -> int:
    words = [fold(word) for word in _WORD.findall(text)]
    return sum(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def long_numbers(text: str) -> frozenset[str]:
    """Return the numbers of three digits and more, however they are grouped: the ones nobody writes as words."""
    return frozenset(number for found in _NUMBER.findall(text) if len(number := _GROUPING.sub("", found)) >= 3)


def value(memory: Memory, among: Sequence[Memory], redundancy: float) -> float:
    """Return what a memory is worth beside others: its importance and trust, how new and how used it is, less what others say too."""
    present = max(max(other.created_at, other.last_used_at or other.created_at) for other in among)
    newness: float = 0.5 ** ((present - memory.created_at) / _HALF_LIFE)
    used: float = 0.5 ** ((present - memory.last_used_at) / _HALF_LIFE) if memory.last_used_at else 0.0
    repeated = max(0.0, redundancy - _CHANCE_LIKENESS)
    return 0.5 * (memory.importance / 10) * (0.5 + memory.trust / 2) + 0.2 * newness + 0.2 * used - 0.2 * repeated
