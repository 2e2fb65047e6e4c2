"""Made-up memories with made-up vectors: a vocabulary with common and rare words, vectors in clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_VOCABULARY = 20_000
_CENTRES = 400
_GLUE = ("the", "of", "to", "and", "in", "is", "my", "for", "with", "that")
_LETTERS = "bcdfghjklmnprstv", "aeiou"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, a unit vector for each, and questions of natural length with theirs."""

    texts: list[str]
    vectors: NDArray[np.float32]
    questions: list[str]
    question_vectors: NDArray[np.float32]


def make_corpus(size: int, *, questions: int, seed: int, dimensions: int = 384) -> Corpus:
    """Make ``size`` short texts and some questions near them."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    share = 1 / np.arange(60, _VOCABULARY + 60)
    share /= share.sum()
    drawn = rng.choice(_VOCABULARY, size=(size, 12), p=share)
    texts = [_sentence(words, row) for row in drawn]
    centres = rng.normal(size=(_CENTRES, dimensions))
    vectors = _unit(centres[rng.integers(0, _CENTRES, size)] + 0.7 * rng.normal(size=(size, dimensions)))
    about = rng.integers(0, size, questions)
    asked = [f"what is the {words[a]} of my {words[b]} with that {words[c]}" for a, b, c in drawn[about][:, [1, 4, 7]]]
    near = _unit(vectors[about] + 0.3 * rng.normal(size=(questions, dimensions)) / np.sqrt(dimensions) * 5)
    return Corpus(texts=texts, vectors=vectors, questions=asked, question_vectors=near)


def _words(rng: np.random.Generator) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        picks = rng.integers(0, 80, 8)
        made["".join(_LETTERS[n % 2][pick % len(_LETTERS[n % 2])] for n, pick in enumerate(picks[: 4 + picks[0] % 5]))] = None
    return list(made)


def _sentence(words: Sequence[str], picks: NDArray[np.int64]) -> str:
    return " ".join(f"{_GLUE[pick % 10]} {words[pick]}" if pick % 3 == 0 else words[pick] for pick in picks)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


class GivenVectors:
    """An embedder that knows its corpus by heart, so that what is measured is everything but embedding."""

    name = "given"
    calibration = (0.1, 0.8)

    def __init__(self, corpus: Corpus) -> None:
        self.dimensions = corpus.vectors.shape[1]
        self._known = dict(zip(corpus.texts, corpus.vectors, strict=True))
        self._asked = dict(zip(corpus.questions, corpus.question_vectors, strict=True))

    def embed(self, texts: Sequence[str], *, role: Literal["query", "document"]) -> NDArray[np.float32]:
        """Look the vectors up."""
        known = self._asked if role == "query" else self._known
        return np.stack([known[text] for text in texts])
