"""An embedder that runs on this machine's processor: about 160 MB with the default model.

Each text is embedded on its own, because an int8 network scales by its whole input: in a batch, a text's vector would
change with its neighbours.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.models.local.described import RegistryEmbedder, check_texts
from holdfast.models.local.onnx import Floats, Network
from holdfast.models.local.registry import ModelSpec
from holdfast.protocols import Role

__all__ = ["LocalEmbedder"]


class LocalEmbedder(RegistryEmbedder):
    """Embeds texts with a model of the registry, whose weights must be in ``directory`` by the first use."""

    def __init__(self, spec: ModelSpec, directory: Path) -> None:
        """Remember what to load; ``WeightsMissing`` comes with the first text, or with :meth:`load`."""
        self._spec: ModelSpec = spec
        self._network = Network(spec, directory)

    def load(self) -> None:
        """Load the network now rather than with the first text."""
        self._network.load()

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """Return a unit vector for each text, one a row; a text longer than the model reads is cut."""
        check_texts(texts, role)
        prefix = self._spec.query_prefix if role == "query" else ""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._run(prefix + text)
        return vectors

    def _run(self, text: str) -> Floats:
        tokens = self._network.run(self._network.encode(text, max_tokens=self._spec.max_tokens))
        pooled = tokens[0] if self._spec.pooling == "cls" else tokens.mean(axis=0)
        unit: Floats = (pooled / max(float(np.linalg.norm(pooled)), 1e-12)).astype(np.float32)
        return unit
