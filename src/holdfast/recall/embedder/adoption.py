"""Check vectors that another program computed: find the texts they belong to, and whether they are of the same model."""

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.protocols import MissingVector, Vectors

_MIN_COSINE = 0.9
"""Minimum cosine between a vector and our own of the same text. Weights of another precision are close; another model gives about 0."""


def unit_vectors(
    waiting: Sequence[MissingVector], vectors: Mapping[str, bytes], dimensions: int
) -> "dict[tuple[int, int], Vectors]":
    """Return the vectors of the chunks whose text has one, as unit vectors. Vectors of another length are left out."""
    found: dict[tuple[int, int], Vectors] = {}
    for chunk in waiting:
        given = vectors.get(chunk.text)
        if given is None or len(given) != 4 * dimensions:
            continue
        vector = np.frombuffer(given, dtype="<f4").astype(np.float32)
        length = float(np.linalg.norm(vector))
        if np.isfinite(length) and length > 0:
            found[chunk.item, chunk.chunk] = vector / length
    return found


def is_same_model(own: "Vectors", given: "Sequence[Vectors]") -> bool:
    """Return True if all given vectors are close to our own vectors of the same texts."""
    return bool(np.all(np.sum(own * np.stack(given), axis=1) >= _MIN_COSINE))
