"""Functions that embed texts. All of them use the one embedding model of the process, which is set at the start."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.config.models import make_embedder
from holdfast.errors import ModelUnavailable
from holdfast.presets.lobug import LOBUG
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder

__all__ = ["configure_embeddings", "configured", "embed", "embed_batch"]

_DEFAULT = MemoryConfig().embedding_model
_lock = threading.Lock()
_embedder: Embedder | None = None


def configure_embeddings(model: str | Embedder | Callable[[str], Any] = _DEFAULT, *, url: str | None = None) -> None:
    """Set the embedding model of this process.

    ``model`` is an embedder, a function, the name of a model in Ollama, or a name that ``holdfast models`` lists. The
    name ``none`` removes the model. Raises :class:`holdfast.ModelError` if the model cannot be loaded. The previous
    model then stays in use.
    """
    global _embedder  # noqa: PLW0603  (one model per process, as in the design)
    if isinstance(model, str):
        named = MemoryConfig(embedding_model=model).applied_to(LOBUG).embedder
        source = make_embedder(named or f"ollama:{model}", url)
    else:
        source = make_embedder(model, url, preset=LOBUG)
    loaded = source.load() if source is not None else None
    with _lock:
        _embedder = loaded


def configured() -> bool:
    """Return True if this process has an embedding model."""
    return _embedder is not None


def embed(text: str) -> list[float]:
    """Return the vector of a text."""
    return embed_batch([text])[0]


def embed_batch(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of several texts, in the same order."""
    if _embedder is None:
        raise ModelUnavailable("No embedding model is set. Call configure_embeddings first.")
    if not texts:
        return []
    return [[float(number) for number in row] for row in _embedder.embed(list(texts), role="document")]
