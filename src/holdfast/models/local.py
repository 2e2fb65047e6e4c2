"""An embedder that runs on this machine's processor: about 160 MB with the default model.

Each text is embedded on its own, because an int8 network scales by its whole input: in a batch, a text's vector would
change with its neighbours.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from holdfast.models.described import Described, check_texts
from holdfast.models.networks import Floats, Network
from holdfast.models.registry import ModelSpec
from holdfast.protocols import Role

__all__ = ["LocalEmbedder"]

_CACHED_QUERIES: Final = 256
_LONGEST_CACHED: Final = 2000


class LocalEmbedder(Described):
    """Embeds texts with a model of the registry, whose weights must be in ``directory`` by the first use."""

    def __init__(self, spec: ModelSpec, directory: Path) -> None:
        """Remember what to load; ``WeightsMissing`` comes with the first text, or with :meth:`load`."""
        self._spec: ModelSpec = spec
        self._network = Network(spec, directory)
        self._asked = _Questions()

    def load(self) -> None:
        """Load the network now rather than with the first text."""
        self._network.load()

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """Return a unit vector for each text, one a row; a text longer than the model reads is cut."""
        check_texts(texts, role)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._query(text) if role == "query" else self._run(text)
        return vectors

    def _query(self, text: str) -> Floats:
        if self._asked.pid != os.getpid():  # after a fork, the lock may be held by a thread that is gone
            self._asked = _Questions()
        vector = self._asked.recall(text)
        if vector is None:
            vector = self._run(self._spec.query_prefix + text)
            self._asked.keep(text, vector)
        return vector

    def _run(self, text: str) -> Floats:
        tokens = self._network.run(self._network.encode(text, max_tokens=self._spec.max_tokens))
        pooled = tokens[0] if self._spec.pooling == "cls" else tokens.mean(axis=0)
        unit: Floats = (pooled / max(float(np.linalg.norm(pooled)), 1e-12)).astype(np.float32)
        return unit


@dataclass(slots=True)
class _Questions:
    """The questions that one process was asked last."""

    pid: int = field(default_factory=os.getpid)
    _vectors: OrderedDict[str, Floats] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, text: str) -> Floats | None:
        """Return the vector of a question asked lately."""
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def keep(self, text: str, vector: Floats) -> None:
        """Keep the vector of a question, at the cost of the one that was not asked for longest."""
        if len(text) > _LONGEST_CACHED:
            return
        with self._lock:
            self._vectors[text] = vector
            while len(self._vectors) > _CACHED_QUERIES:
                self._vectors.popitem(last=False)
