"""Sorting texts into groups that belong together: small, deterministic, nothing but numpy.

Vectors come from an embedder, or are made here from the words themselves, so that everything that groups works
without a model too.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidInput
from holdfast.text.clean import fold
from holdfast.text.language import detect_language, is_stop_word
from holdfast.text.terms import document_terms

RowVectors: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.intp]

UNPLACED = -1
"""The label of a row that belongs to no group."""
_USUAL = ("en", "es")
_WIDTH = 1024
_WORD_WEIGHT = 0.7
"""What words weigh beside meaning."""
_STARTS = 8
_ROUNDS = 30
_GOOD_ENOUGH_SHARE = 0.88
_MIN_GROUP_ROWS = 3
"""A group of fewer rows than this is no group."""
_MIN_CENTER_COSINE = 0.15
"""A row whose cosine with its group's centre is below this only stands where it had to stand."""


def content_terms(text: str, *languages: str | None) -> frozenset[str]:
    """Return the stems of a text that carry meaning, as in these languages; in the usual ones when none is given.

    Texts that are compared must be stemmed alike: a short one does not tell its language.
    """
    return frozenset(term for language in languages or _USUAL for term in _content(text, language))


def common_language(texts: Iterable[str]) -> str | None:
    """Return the language that several texts are mostly in, if that shows."""
    votes = Counter(filter(None, map(detect_language, texts)))
    return votes.most_common(1)[0][0] if votes else None


@lru_cache(maxsize=8192)
def _content(text: str, language: str | None) -> tuple[str, ...]:
    stops = {language, detect_language(text)} - {None} or set(_USUAL)

    def means_something(word: str) -> bool:
        return not any(is_stop_word(word, code) for code in stops)

    said = " ".join(word for word in text.split() if means_something(fold(word)))  # before stemming hides what they were
    return tuple(filter(means_something, document_terms(said, language)))


def term_vectors(texts: Sequence[str]) -> RowVectors:
    """Return a unit row for each text, from the words it shares with others; a text that shares none is all zeros.

    Rare words weigh more. Short texts rarely share a word even when they belong together, so each row is drawn
    towards the words that stand beside its own in other texts.
    """
    rows = np.zeros((len(texts), _WIDTH), dtype=np.float32)
    language = common_language(texts)
    terms = [Counter(_content(text, language)) for text in texts]
    spread = Counter(term for counted in terms for term in counted)
    for row, counted in zip(rows, terms, strict=True):
        for term, count in counted.items():
            if spread[term] > 1:
                row[_place(term)] += (1 + np.log(count)) * np.log(1 + len(texts) / spread[term])
    rows = unit(rows)
    return unit(rows + unit(rows @ (rows.T @ rows)))


@lru_cache(maxsize=65536)
def _place(term: str) -> int:
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % _WIDTH


def unit(rows: RowVectors) -> RowVectors:
    """Scale each row to length one; a row of zeros, or of what is no number, becomes zeros."""
    finite = np.nan_to_num(np.asarray(rows, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(finite, axis=-1, keepdims=True)
    scaled: RowVectors = np.divide(finite, lengths, out=np.zeros_like(finite), where=lengths > 1e-12)
    return scaled


def with_words(rows: RowVectors, texts: Sequence[str]) -> RowVectors:
    """Return an embedder's rows with the texts' words beside them: words tell apart what a small embedder finds alike."""
    if not len(rows):
        return rows
    return unit(np.hstack([unit(rows - rows.mean(axis=0)), _WORD_WEIGHT * term_vectors(texts)]))


def rows_for(count: int, vectors: RowVectors | None) -> RowVectors | None:
    """Return the vectors as unit rows, after checking that there is one for each text."""
    if vectors is None:
        return None
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidInput(f"There are {count} texts, but vectors of shape {vectors.shape}; give one row for each.")
    return unit(vectors)


def k_means(rows: RowVectors, count: int) -> Labels:
    """Put unit rows into ``count`` groups by cosine; the same rows always give the same groups."""
    best: tuple[float, Labels] | None = None
    for seed in range(max(2, min(_STARTS, 2000 // max(len(rows), 1)))):  # many rows tell more, and cost more
        centres = _far_apart(rows, count, np.random.default_rng(seed))
        labels = np.full(len(rows), UNPLACED, dtype=np.intp)
        for _ in range(_ROUNDS):
            nearest = np.argmax(rows @ centres.T, axis=1)
            if np.array_equal(nearest, labels):
                break
            labels = nearest
            for place in range(count):
                members = rows[labels == place]
                if len(members):
                    centres[place] = unit(members.mean(axis=0))
        fit = float(np.einsum("ij,ij->", rows, centres[labels]))
        if best is None or fit > best[0] + 1e-6:
            best = (fit, labels)
    assert best is not None
    return best[1]


def _far_apart(rows: RowVectors, count: int, chance: np.random.Generator) -> RowVectors:
    """Choose rows to start from, each probably far from those before it."""
    chosen = [int(chance.integers(len(rows)))]
    while len(chosen) < count:
        away = np.clip(1 - (rows @ rows[chosen].T).max(axis=1), 0, None).astype(np.float64) ** 2
        total = away.sum()
        odds = away / total if total > 0 else np.full(len(rows), 1 / len(rows))
        chosen.append(int(chance.choice(len(rows), p=odds)))
    return rows[chosen].copy()


def groups(rows: RowVectors, *, min_groups: int = 2, max_groups: int = 5) -> Labels:
    """Sort rows into as many groups as suits them best; what fits nowhere is ``UNPLACED``.

    Groups are numbered from 0, the largest first; of groupings about as good, the
    one that leaves the fewest out is taken, and then the finest. All rows are unplaced when no grouping makes sense.
    """
    labels = np.full(len(rows), UNPLACED, dtype=np.intp)
    apart = unit(rows - rows.mean(axis=0)) if len(rows) else rows
    told = np.flatnonzero(np.linalg.norm(rows, axis=1) * np.linalg.norm(apart, axis=1) > 0.5)
    if len(told) < min_groups * _MIN_GROUP_ROWS:
        return labels
    apart = apart[told]
    tried = [
        _tidy(apart, k_means(apart, count)) for count in range(min_groups, min(max_groups, len(told) // _MIN_GROUP_ROWS) + 1)
    ]
    scored = [(_separation(apart, each), each) for each in tried if each.max() + 1 >= min_groups]
    best = max((score for score, _ in scored), default=0.0)
    good = [each for score, each in scored if score >= _GOOD_ENOUGH_SHARE * best]
    if good:
        labels[told] = min(good, key=lambda each: (np.count_nonzero(each == UNPLACED), -int(each.max())))
    return labels


def _tidy(rows: RowVectors, labels: Labels) -> Labels:
    """Leave out stragglers and groups of one or two, and number the rest by size."""
    kept = labels.copy()
    for place in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == place)
        centre = unit(rows[members].mean(axis=0)) if len(members) else np.zeros(rows.shape[1], dtype=np.float32)
        kept[members[rows[members] @ centre < _MIN_CENTER_COSINE]] = UNPLACED
        if np.count_nonzero(kept == place) < _MIN_GROUP_ROWS:
            kept[kept == place] = UNPLACED
    sizes = Counter(int(label) for label in kept if label != UNPLACED)
    order = {old: new for new, (old, _) in enumerate(sizes.most_common())}
    return np.array([order.get(int(label), UNPLACED) for label in kept], dtype=np.intp)


def _separation(rows: RowVectors, labels: Labels) -> float:
    """Return how much nearer rows are to their own group's centre than to the next, on average; strays count nothing."""
    centres = np.stack([unit(rows[labels == place].mean(axis=0)) for place in range(int(labels.max()) + 1)])
    near = rows @ centres.T
    placed = np.flatnonzero(labels != UNPLACED)
    own = near[placed, labels[placed]]
    near[placed, labels[placed]] = -np.inf
    return float((own - near[placed].max(axis=1)).sum() / len(rows))
