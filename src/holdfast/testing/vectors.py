"""An embedder without weights: texts that share words are near, others are not."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from holdfast.protocols import Role
from holdfast.text.language import detect_language, is_stop_word
from holdfast.text.terms import document_terms

if TYPE_CHECKING:
    from holdfast.protocols import Vectors


class HashEmbedder:
    """A bag of stemmed words, each hashed to one signed dimension. The same everywhere, and fast."""

    calibration = (0.0, 0.6)

    def __init__(self, name: str = "hash-256", dimensions: int = 256) -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":  # noqa: ARG002  (questions are read like documents)
        """Embed each text; one without words has a vector of its own."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            language = detect_language(text) or "en"
            for term in document_terms(text, language):
                if not is_stop_word(term, language):
                    place, sign = _place(term)
                    row[place % self.dimensions] += sign
            if not row.any():
                row[0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


@lru_cache(maxsize=65536)
def _place(term: str) -> tuple[int, int]:
    """Return a term's dimension, before it is folded to the vector's length, and its sign."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest[:7], "little"), 1 if digest[7] & 1 else -1
