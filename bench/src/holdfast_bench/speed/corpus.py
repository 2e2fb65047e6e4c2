"""Generates synthetic memories and vectors: a vocabulary with common and rare words, and clustered vectors."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.protocols import Embedder

_VOCABULARY = 20_000
_CENTERS = 400
_GLUE = ("the", "of", "to", "and", "in", "is", "my", "for", "with", "that")
_LETTERS = "bcdfghjklmnprstv", "aeiou"
_BATCH = 10_000
"""Number of vectors generated at a time. A million at once would need gigabytes of temporary memory."""
_TEMPLATES = (
    "what is the {} of my {} with that {}",
    "do you remember what i told you about the {} and when we were at the {} with {}",
    "which {} did i say that i like, and is it the one for {} or the one that is in the {}",
)
"""Sentence templates for natural questions. They contain stop words, as real questions do."""
_counter = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts and questions of natural length, each with a unit vector."""

    texts: list[str]
    vectors: NDArray[np.float32]
    questions: list[str]
    question_vectors: NDArray[np.float32]


def make_corpus(size: int, *, questions: int, seed: int, dimensions: int = 384) -> Corpus:
    """Generate ``size`` short texts, and questions that are similar to some of them."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    share = 1 / np.arange(60, _VOCABULARY + 60)
    share /= share.sum()
    drawn = rng.choice(_VOCABULARY, size=(size, 12), p=share)
    texts = [_sentence(words, row) for row in drawn.tolist()]
    centers = rng.standard_normal((_CENTERS, dimensions), np.float32)
    vectors = np.empty((size, dimensions), np.float32)
    for start in range(0, size, _BATCH):
        part = vectors[start : start + _BATCH]
        part[:] = centers[rng.integers(0, _CENTERS, len(part))]
        part += np.float32(0.7) * rng.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    targets = rng.integers(0, size, questions)
    texts_of_questions = [
        _TEMPLATES[n % len(_TEMPLATES)].format(*(words[pick] for pick in drawn[row, [1, 4, 7]])) for n, row in enumerate(targets)
    ]
    question_vectors = vectors[targets] + np.float32(1.5 / np.sqrt(dimensions)) * rng.standard_normal(
        (questions, dimensions), np.float32
    )
    question_vectors /= np.linalg.norm(question_vectors, axis=1, keepdims=True)
    return Corpus(texts=texts, vectors=vectors, questions=texts_of_questions, question_vectors=question_vectors)


def _words(rng: np.random.Generator) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        picks = rng.integers(0, 80, 8)
        made["".join(_LETTERS[n % 2][pick % len(_LETTERS[n % 2])] for n, pick in enumerate(picks[: 4 + picks[0] % 5]))] = None
    return list(made)


def _sentence(words: Sequence[str], picks: Sequence[int]) -> str:
    return " ".join(f"{_GLUE[pick % 10]} {words[pick]}" if pick % 3 == 0 else words[pick] for pick in picks)


def embed_afresh(embedder: Embedder, questions: Sequence[str]) -> None:
    """Embed the questions with a new number appended to each, so that no embedding comes from a cache."""
    embedder.embed([f"{question} {next(_counter)}" for question in questions], role="query")


class GivenVectors:
    """An embedder that looks up the vectors of a corpus, so that embedding is excluded from the measurement.

    If ``real`` is given, that embedder also embeds each query, to measure recall end to end.
    """

    name = "given"
    calibration = (0.1, 0.8)
    computes = True

    def __init__(self, corpus: Corpus, *, real: Embedder | None = None) -> None:
        self.dimensions = corpus.vectors.shape[1]
        self.real = real
        self._corpus = corpus
        self._known = {text: number for number, text in enumerate(corpus.texts)}
        self._questions = {text: number for number, text in enumerate(corpus.questions)}

    def embed(self, texts: Sequence[str], *, role: Literal["query", "document"]) -> NDArray[np.float32]:
        """Look up the vectors of texts in the corpus.

        Other texts, such as those used to identify a model, get the first vector.
        """
        if role == "query":
            if self.real is not None:
                embed_afresh(self.real, texts)
            return self._corpus.question_vectors[[self._questions.get(text, 0) for text in texts]]
        return self._corpus.vectors[[self._known.get(text, 0) for text in texts]]
