"""Cluster texts by their vectors, deterministically and with numpy only.

A row is the vector of one text. Vectors come from an embedder or, without an embedder, from the words of the texts.
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
"""Label of a row that belongs to no cluster. A row is the vector of one text."""
_DEFAULT_LANGUAGES = ("en", "es")
_DIMENSIONS = 1024
_WORD_WEIGHT = 0.7
"""Weight of the word vectors relative to the embedder's vectors."""
_MAX_RESTARTS = 8
_MAX_ITERATIONS = 30
_GOOD_ENOUGH_SHARE = 0.88
_MIN_GROUP_ROWS = 3
"""Minimum number of rows in a cluster."""
_MIN_CENTER_COSINE = 0.15
"""Minimum cosine of a row with its cluster's center. A row below it is an outlier and stays unplaced."""


def content_terms(text: str, *languages: str | None) -> frozenset[str]:
    """Return the stems of a text's words in the given languages, without stop words. The default is English and Spanish.

    To compare texts, pass the same languages for all of them. Do not pass the detected language of each text, because the
    language of a short text cannot be detected reliably.
    """
    return frozenset(term for language in languages or _DEFAULT_LANGUAGES for term in _content(text, language))


def common_language(texts: Iterable[str]) -> str | None:
    """Return the most frequent language of several texts, or None if no language is detected."""
    votes = Counter(filter(None, map(detect_language, texts)))
    return votes.most_common(1)[0][0] if votes else None


@lru_cache(maxsize=8192)
def _content(text: str, language: str | None) -> tuple[str, ...]:
    stops = {language, detect_language(text)} - {None} or set(_DEFAULT_LANGUAGES)

    def is_content(word: str) -> bool:
        return not any(is_stop_word(word, code) for code in stops)

    content = " ".join(word for word in text.split() if is_content(fold(word)))  # before stemming, which changes the words
    return tuple(filter(is_content, document_terms(content, language)))


def term_vectors(texts: Sequence[str]) -> RowVectors:
    """Return one unit vector per text, as the rows of a matrix. Texts on the same subject get similar vectors.

    Only terms that occur in at least two texts count, and rare terms weigh more. A text without such a term gets a row of
    zeros. Two short texts on one subject often have no term in common. Therefore each vector is moved toward terms that
    occur together with its own terms in other texts.
    """
    rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    language = common_language(texts)
    terms = [Counter(_content(text, language)) for text in texts]
    frequencies = Counter(term for counted in terms for term in counted)
    for row, counted in zip(rows, terms, strict=True):
        for term, count in counted.items():
            if frequencies[term] > 1:
                row[_dimension(term)] += (1 + np.log(count)) * np.log(1 + len(texts) / frequencies[term])
    rows = unit(rows)
    return unit(rows + unit(rows @ (rows.T @ rows)))


@lru_cache(maxsize=65536)
def _dimension(term: str) -> int:
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") % _DIMENSIONS


def unit(rows: RowVectors) -> RowVectors:
    """Scale each row to unit length. NaN and infinite values become 0, and a row of zeros stays zeros."""
    finite = np.nan_to_num(np.asarray(rows, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(finite, axis=-1, keepdims=True)
    scaled: RowVectors = np.divide(finite, lengths, out=np.zeros_like(finite), where=lengths > 1e-12)
    return scaled


def with_words(rows: RowVectors, texts: Sequence[str]) -> RowVectors:
    """Append a word vector to each of an embedder's vectors (``rows``), and scale the results to unit length.

    The word vector depends on the words of the text. It distinguishes texts that look alike to a small embedder.
    """
    if not len(rows):
        return rows
    return unit(np.hstack([unit(rows - rows.mean(axis=0)), _WORD_WEIGHT * term_vectors(texts)]))


def rows_for(count: int, vectors: RowVectors | None) -> RowVectors | None:
    """Return the vectors as rows of unit length, or None if there are no vectors.

    Raise ``InvalidInput`` if the number of rows is not ``count``.
    """
    if vectors is None:
        return None
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidInput(f"There are {count} texts, but the vectors have the shape {vectors.shape}. Pass one row per text.")
    return unit(vectors)


def k_means(rows: RowVectors, count: int) -> Labels:
    """Cluster unit rows into ``count`` clusters by cosine. Equal input gives equal output."""
    best: tuple[float, Labels] | None = None
    for seed in range(max(2, min(_MAX_RESTARTS, 2000 // max(len(rows), 1)))):  # fewer restarts for many rows, which cost more
        centers = _initial_centers(rows, count, np.random.default_rng(seed))
        labels = np.full(len(rows), UNPLACED, dtype=np.intp)
        for _ in range(_MAX_ITERATIONS):
            nearest = np.argmax(rows @ centers.T, axis=1)
            if np.array_equal(nearest, labels):
                break
            labels = nearest
            for label in range(count):
                members = rows[labels == label]
                if len(members):
                    centers[label] = unit(members.mean(axis=0))
        fit = float(np.einsum("ij,ij->", rows, centers[labels]))
        if best is None or fit > best[0] + 1e-6:
            best = (fit, labels)
    assert best is not None
    return best[1]


def _initial_centers(rows: RowVectors, count: int, generator: np.random.Generator) -> RowVectors:
    """Choose initial centers as k-means++ does: each center is likely to be far from the earlier centers."""
    chosen = [int(generator.integers(len(rows)))]
    while len(chosen) < count:
        distances = np.clip(1 - (rows @ rows[chosen].T).max(axis=1), 0, None).astype(np.float64) ** 2
        total = distances.sum()
        probabilities = distances / total if total > 0 else np.full(len(rows), 1 / len(rows))
        chosen.append(int(generator.choice(len(rows), p=probabilities)))
    return rows[chosen].copy()


def groups(rows: RowVectors, *, min_groups: int = 2, max_groups: int = 5) -> Labels:
    """Cluster rows and choose the number of clusters. Outliers get the label ``UNPLACED``.

    Clusters are numbered from 0, largest first. Among clusterings of about equal quality, the clustering with the
    fewest outliers is chosen, then the one with the most clusters. If no clustering is good, all rows are unplaced.
    """
    labels = np.full(len(rows), UNPLACED, dtype=np.intp)
    centered = unit(rows - rows.mean(axis=0)) if len(rows) else rows
    usable = np.flatnonzero(np.linalg.norm(rows, axis=1) * np.linalg.norm(centered, axis=1) > 0.5)
    if len(usable) < min_groups * _MIN_GROUP_ROWS:
        return labels
    centered = centered[usable]
    clusterings = [
        _tidy(centered, k_means(centered, count))
        for count in range(min_groups, min(max_groups, len(usable) // _MIN_GROUP_ROWS) + 1)
    ]
    scored = [(_separation(centered, clustering), clustering) for clustering in clusterings if clustering.max() + 1 >= min_groups]
    best = max((score for score, _ in scored), default=0.0)
    near_best = [clustering for score, clustering in scored if score >= _GOOD_ENOUGH_SHARE * best]
    if near_best:
        labels[usable] = min(near_best, key=lambda clustering: (np.count_nonzero(clustering == UNPLACED), -int(clustering.max())))
    return labels


def _tidy(rows: RowVectors, labels: Labels) -> Labels:
    """Mark outliers and clusters of one or two rows as unplaced, and number the remaining clusters by size."""
    kept = labels.copy()
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        center = unit(rows[members].mean(axis=0)) if len(members) else np.zeros(rows.shape[1], dtype=np.float32)
        kept[members[rows[members] @ center < _MIN_CENTER_COSINE]] = UNPLACED
        if np.count_nonzero(kept == label) < _MIN_GROUP_ROWS:
            kept[kept == label] = UNPLACED
    sizes = Counter(int(label) for label in kept if label != UNPLACED)
    order = {old: new for new, (old, _) in enumerate(sizes.most_common())}
    return np.array([order.get(int(label), UNPLACED) for label in kept], dtype=np.intp)


def _separation(rows: RowVectors, labels: Labels) -> float:
    """Return how well the clusters are separated.

    For each row, take its cosine with its own center minus its cosine with the nearest other center. An unplaced row counts
    as 0. The result is the mean over all rows.
    """
    centers = np.stack([unit(rows[labels == label].mean(axis=0)) for label in range(int(labels.max()) + 1)])
    near = rows @ centers.T
    placed = np.flatnonzero(labels != UNPLACED)
    own = near[placed, labels[placed]]
    near[placed, labels[placed]] = -np.inf
    return float((own - near[placed].max(axis=1)).sum() / len(rows))
