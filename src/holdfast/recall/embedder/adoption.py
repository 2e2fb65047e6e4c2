"""Check vectors that another program computed: which stored texts they belong to, and whether the same model computed them."""

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.protocols import MissingVector, Vectors

_MIN_COSINE = 0.9
"""Minimum cosine between a given vector and our own vector of the same text. Below it, the models differ.

The cosine is near 1 for the same model with weights of another precision, and about 0 for another model.
"""


def unit_vectors(
    waiting: Sequence[MissingVector], vectors: Mapping[str, bytes], dimensions: int
) -> "dict[tuple[int, int], Vectors]":
    """Return the given vectors of chunks, scaled to unit length.

    ``waiting`` lists the chunks, and ``vectors`` maps texts to vectors. The keys of the result are pairs: the number of the
    item, and the number of the chunk in the item. A chunk is left out if ``vectors`` has no vector for its text, or if the
    vector is invalid or has a wrong length.
    """
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
    """Return True if the given vectors come from the same model as our own vectors of the same texts.

    Each given vector must be close to our own vector of the same text.
    """
    return bool(np.all(np.sum(own * np.stack(given), axis=1) >= _MIN_COSINE))
