"""An embedder for tests that needs no model. Texts with words in common have similar vectors."""

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
    """Embeds a text as a bag of stemmed words. The hash of a word selects a dimension of the vector and a sign.

    It is fast and returns the same vectors on every machine.
    """

    calibration = (0.0, 0.6)
    computes = True
    """True, because the embedder computes in this process. A recall waits for such an embedder without a time limit."""

    def __init__(self, name: str = "hash-256", dimensions: int = 256) -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":  # noqa: ARG002  (queries are embedded like documents)
        """Embed each text. All texts without words have the same vector."""
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
    """Return a hash and a sign (1 or -1) for a term (a stemmed word). The hash selects the term's dimension in the vector."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest[:7], "little"), 1 if digest[7] & 1 else -1
