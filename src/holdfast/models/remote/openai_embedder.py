"""Embeddings over HTTP, as OpenAI and the servers that imitate it offer them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.chat import Usage, usage_of
from holdfast.errors import AnswerInvalid, InvalidInput, ModelError
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

_TEXTS_AT_ONCE: Final = 64
_CHARACTERS_AT_ONCE: Final = 200_000
_NO_TEXT: Final = "(empty)"
"""Stands for a text of nothing, which servers refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTraits:
    """What is known of an embedding model by its name; ``calibration`` is as for every embedder."""

    dimensions: int | None = None
    calibration: tuple[float, float] = (0.2, 0.6)
    query_prefix: str = ""
    document_prefix: str = ""
    max_characters: int = 8000
    """Longer texts are cut: a server would refuse them."""
    resizable: bool = False
    """It makes shorter vectors on request."""


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
    """Return what is known of a model, whatever its publisher and its tag: ``nomic-ai/nomic-embed-text:v1.5``."""
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
        patience: RetryPolicy | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Remember what to call; the length of an unknown model's vectors is found out when it is first needed."""
        self._connection = ProviderConnection(service, package="openai", connect=connect_openai)
        self._traits = find_traits(service.model)
        self._resized = dimensions if self._traits.resizable and dimensions != self._traits.dimensions else None
        self._dimensions = dimensions or self._traits.dimensions
        self._calibration = calibration or self._traits.calibration
        self._price = price
        self._patience = patience or RetryPolicy()
        self._timeout = timeout
        self._counting = threading.Lock()
        self._usage = Usage()
        forks.register(self)

    def after_fork(self) -> None:
        """Make a new lock: the old one may be held by a thread that is not here."""
        self._counting = threading.Lock()

    @property
    def name(self) -> str:
        """The name that goes with every vector; vectors cut to another length have a name of their own."""
        name = self._connection.service.name
        return f"{name}@{self._resized}" if self._resized else name

    @property
    def dimensions(self) -> int:
        """The length of its vectors; where it is not known, the model is asked once."""
        if self._dimensions is None:
            self._dimensions = len(self._embed(["probe"])[0])
        return self._dimensions

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosine of a question with a typical unrelated document, and with a typical matching one."""
        return self._calibration

    @property
    def usage(self) -> Usage:
        """What all calls until now have cost."""
        with self._counting:
            return self._usage

    def load(self) -> None:
        """Ask for one vector now: what is wrong with the address, the key or the model shows at once."""
        self.embed(["probe"], role="document")

    def close(self) -> None:
        """Let go of open connections; the next text makes new ones."""
        self._connection.close()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return a unit vector for each text, one a row; a text longer than the model reads is cut."""
        if isinstance(texts, str):
            raise InvalidInput("embed() takes a list of texts, not one text")
        if role not in {"query", "document"}:
            raise InvalidInput(f"the role of a text is 'query' or 'document', not {role!r}")
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        prefix = self._traits.query_prefix if role == "query" else self._traits.document_prefix
        sent = [prefix + (well_formed(text[: self._traits.max_characters]).strip() or _NO_TEXT) for text in texts]
        return np.concatenate([self._embed(batch) for batch in _batches(sent)])

    def _embed(self, texts: list[str]) -> Vectors:
        request: dict[str, Any] = {"model": self._connection.service.model, "input": texts, "encoding_format": "float"}
        if self._resized:
            request["dimensions"] = self._resized
        budget = CallBudget(self._patience, timeout=self._timeout, price=self._price)
        try:
            answer = self._ask(request, budget)
            vectors = self._read(answer, len(texts))
        except ModelError as error:
            self._count(usage_of(error) if error.usage else budget.usage)
            budget.fail(error)
        self._count(budget.usage)
        return vectors

    def _ask(self, request: Mapping[str, Any], budget: CallBudget) -> Mapping[str, Any]:
        while True:
            try:
                answer = self._connection.json(_send, request, budget)
            except Fault as fault:
                budget.wait_and_call_again(fault)
            else:
                usage = as_mapping(answer.get("usage"))
                budget.spend((as_count(usage.get("prompt_tokens")), 0) if usage else None)
                return answer

    def _count(self, usage: Usage) -> None:
        with self._counting:
            self._usage += usage

    def _read(self, answer: Mapping[str, Any], count: int) -> Vectors:
        rows = [as_mapping(row) for row in as_list(answer.get("data"))]
        rows.sort(key=lambda row: as_count(row.get("index")))
        try:
            vectors = np.array([row.get("embedding") for row in rows], dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise self._invalid("its vectors are not lists of numbers of one length") from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise self._invalid(f"{count} vectors were asked for")
        if self._dimensions is not None and vectors.shape[1] != self._dimensions:
            raise self._invalid(f"vectors of {self._dimensions} numbers were expected, not of {vectors.shape[1]}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise self._invalid("a vector has no direction")
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _invalid(self, why: str) -> AnswerInvalid:
        return AnswerInvalid(f"{self.name} gave an answer that cannot be used: {why}.")


def _send(client: Any) -> Callable[..., Any]:
    return client.embeddings.with_streaming_response.create  # type: ignore[no-any-return]


def _batches(texts: list[str]) -> Iterator[list[str]]:
    """Cut a list so that a request is neither of too many texts nor too long."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) >= _TEXTS_AT_ONCE or sum(map(len, batch)) + len(text) > _CHARACTERS_AT_ONCE):
            yield batch
            batch = []
        batch.append(text)
    yield batch
