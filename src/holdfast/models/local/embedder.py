"""An embedder that runs on the CPU. The default model takes about 160 MB of memory.

Each text is embedded alone. An int8 network computes its quantization scales over the whole input. In a batch, the vector
of a text would therefore depend on the other texts.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.models.embed_arguments import check_texts
from holdfast.models.local.onnx import Floats, Network
from holdfast.models.local.registry import ModelSpec
from holdfast.models.local.registry_embedder import RegistryEmbedder
from holdfast.protocols import Role

__all__ = ["LocalEmbedder"]


class LocalEmbedder(RegistryEmbedder):
    """Embeds texts with an embedder of the registry. Its weights must be in ``directory`` before the first use."""

    def __init__(self, spec: ModelSpec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet.

        Embedding the first text, or calling :meth:`load`, raises ``WeightsMissing`` if there are no weights.
        """
        self._spec: ModelSpec = spec
        self._network = Network(spec, directory)

    def load(self) -> None:
        """Load the network now, instead of when the first text is embedded."""
        self._network.load()

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """Return one unit vector per text, as rows. Texts longer than the model's input are truncated."""
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
