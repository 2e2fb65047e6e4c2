"""Embeddings over HTTP, from OpenAI and compatible servers."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.chat import Usage, usage_of
from holdfast.errors import AnswerInvalid, ModelError
from holdfast.models.embed_arguments import check_texts
from holdfast.models.remote.connection import ProviderConnection
from holdfast.models.remote.faults import Service
from holdfast.models.remote.http import as_count, as_list, as_mapping, well_formed
from holdfast.models.remote.openai_chat import connect_openai
from holdfast.models.remote.prices import Price
from holdfast.models.remote.retrying import CallBudget, Fault, RetryPolicy
from holdfast.protocols import Role
from holdfast.runtime import forks

__all__ = ["KNOWN", "EmbeddingTraits", "OpenAIEmbedder", "find_traits"]

Vectors: TypeAlias = NDArray[np.float32]

_MAX_TEXTS: Final = 64
"""Maximum number of texts per request."""
_MAX_CHARACTERS: Final = 200_000
"""Maximum number of characters per request."""
_NO_TEXT: Final = "(empty)"
"""Text that is sent instead of an empty one, because servers reject empty texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTraits:
    """Known properties of an embedding model. For ``calibration``, see :attr:`holdfast.protocols.Embedder.calibration`."""

    dimensions: int | None = None
    calibration: tuple[float, float] = (0.2, 0.6)
    query_prefix: str = ""
    document_prefix: str = ""
    max_characters: int = 8000
    """Maximum number of characters per text. Longer texts are truncated, because servers would reject them."""
    resizable: bool = False
    """True if the model can return shorter vectors on request."""


KNOWN: Final[Mapping[str, EmbeddingTraits]] = MappingProxyType(
    {
        "text-embedding-3-small": EmbeddingTraits(dimensions=1536, calibration=(0.1, 0.45), resizable=True),
        "text-embedding-3-large": EmbeddingTraits(dimensions=3072, calibration=(0.1, 0.5), resizable=True),
        "nomic-embed-text": EmbeddingTraits(
            dimensions=768, calibration=(0.5, 0.72), query_prefix="search_query: ", document_prefix="search_document: "
        ),
        "mxbai-embed-large": EmbeddingTraits(
            dimensions=1024,
            calibration=(0.4, 0.7),
            query_prefix="Represent this sentence for searching relevant passages: ",
            max_characters=1500,
        ),
        "all-minilm": EmbeddingTraits(dimensions=384, calibration=(0.05, 0.45), max_characters=800),
        "bge-m3": EmbeddingTraits(dimensions=1024, calibration=(0.4, 0.65)),
    }
)


def find_traits(model: str) -> EmbeddingTraits:
    """Return the known properties of a model. If the model is unknown, return the default properties.

    The publisher and the tag in a name are ignored: ``nomic-ai/nomic-embed-text:v1.5`` is found as ``nomic-embed-text``.
    """
    bare = model.rpartition("/")[2].partition(":")[0].casefold()
    for known in sorted(KNOWN, key=len, reverse=True):
        if bare == known or bare.startswith((f"{known}-", f"text-embedding-{known}")):
            return KNOWN[known]
    return EmbeddingTraits()


class OpenAIEmbedder:
    """A :class:`holdfast.protocols.Embedder` over HTTP. Safe to use from several threads and after a fork."""

    def __init__(
        self,
        service: Service,
        *,
        dimensions: int | None = None,
        calibration: tuple[float, float] | None = None,
        price: Price | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Store the arguments. If the vector length of the model is unknown, the first call determines it."""
        self._connection = ProviderConnection(service, package="openai", connect=connect_openai)
        self._traits = find_traits(service.model)
        self._resized = dimensions if self._traits.resizable and dimensions != self._traits.dimensions else None
        self._dimensions = dimensions or self._traits.dimensions
        self._calibration = calibration or self._traits.calibration
        self._price = price
        self._retry_policy = retry_policy or RetryPolicy()
        self._timeout = timeout
        self._counting = threading.Lock()
        self._usage = Usage()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock, because in the child process a thread that no longer exists may hold the old lock."""
        self._counting = threading.Lock()

    @property
    def name(self) -> str:
        """The name stored with every vector. Vectors of a custom length get their own name, ``NAME@LENGTH``."""
        name = self._connection.service.name
        return f"{name}@{self._resized}" if self._resized else name

    @property
    def dimensions(self) -> int:
        """Length of the vectors. If it is unknown, the model is called once to find it."""
        if self._dimensions is None:
            self._dimensions = len(self._embed(["probe"])[0])
        return self._dimensions

    @property
    def calibration(self) -> tuple[float, float]:
        """Two typical cosines: of a query with an unrelated document, and of a query with a matching document."""
        return self._calibration

    @property
    def usage(self) -> Usage:
        """The tokens, time and cost of all calls so far."""
        with self._counting:
            return self._usage

    def load(self) -> None:
        """Request one vector now, to detect a wrong URL, key or model early."""
        self.embed(["probe"], role="document")

    def connect(self) -> None:
        """Import the provider's package and create the client. No request is sent."""
        self._connection.client()

    def close(self) -> None:
        """Close open connections. The next call opens new connections."""
        self._connection.close()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one unit vector per text, as rows. Texts longer than the model's input are truncated."""
        check_texts(texts, role)
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        prefix = self._traits.query_prefix if role == "query" else self._traits.document_prefix
        sent = [prefix + (well_formed(text[: self._traits.max_characters]).strip() or _NO_TEXT) for text in texts]
        return np.concatenate([self._embed(batch) for batch in _batches(sent)])

    def _embed(self, texts: list[str]) -> Vectors:
        request: dict[str, Any] = {"model": self._connection.service.model, "input": texts, "encoding_format": "float"}
        if self._resized:
            request["dimensions"] = self._resized
        budget = CallBudget(self._retry_policy, timeout=self._timeout, price=self._price)
        try:
            response = self._call(request, budget)
            vectors = self._read(response, len(texts))
        except ModelError as error:
            self._count(usage_of(error) if error.usage else budget.usage)
            budget.fail(error)
        self._count(budget.usage)
        return vectors

    def _call(self, request: Mapping[str, Any], budget: CallBudget) -> Mapping[str, Any]:
        while True:
            try:
                response = self._connection.json(_send, request, budget)
            except Fault as fault:
                budget.wait_before_retry(fault)
            else:
                usage = as_mapping(response.get("usage"))
                budget.spend((as_count(usage.get("prompt_tokens")), 0) if usage else None)
                return response

    def _count(self, usage: Usage) -> None:
        with self._counting:
            self._usage += usage

    def _read(self, response: Mapping[str, Any], count: int) -> Vectors:
        rows = [as_mapping(row) for row in as_list(response.get("data"))]
        rows.sort(key=lambda row: as_count(row.get("index")))
        try:
            vectors = np.array([row.get("embedding") for row in rows], dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise self._invalid("the vectors are not lists of numbers of equal length") from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise self._invalid(f"{count} vectors were requested, but {len(vectors)} returned")
        if self._dimensions is not None and vectors.shape[1] != self._dimensions:
            raise self._invalid(f"the vectors have {vectors.shape[1]} numbers instead of {self._dimensions}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise self._invalid("the length of a vector is zero or not finite")
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _invalid(self, reason: str) -> AnswerInvalid:
        return AnswerInvalid(f"{self.name} returned an unusable response: {reason}.")


def _send(client: Any) -> Callable[..., Any]:
    return client.embeddings.with_streaming_response.create  # type: ignore[no-any-return]


def _batches(texts: list[str]) -> Iterator[list[str]]:
    """Split a list of texts into batches, so that each request stays within the limits on texts and characters."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) >= _MAX_TEXTS or sum(map(len, batch)) + len(text) > _MAX_CHARACTERS):
            yield batch
            batch = []
        batch.append(text)
    yield batch
