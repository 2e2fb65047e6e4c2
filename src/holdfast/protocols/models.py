"""Protocols for clocks, embedders and rerankers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""A unit vector, or an array with one unit vector per row. The type is written as a string to avoid an import of numpy."""
Role: TypeAlias = Literal["query", "document"]
"""The role in which a text is embedded: as a query, or as a document to be found."""


class Clock(Protocol):
    """Source of the current time. The engine gets the time only from its clock."""

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of embedders with different names are never compared."""

    @property
    def name(self) -> str:
        """Name stored with every vector of this embedder."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def calibration(self) -> tuple[float, float]:
        """Two typical cosines of this embedder: the cosine of two unrelated texts, and the cosine of two matching texts."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        """Return one vector per text. ``role`` says whether the texts are queries or documents.

        An embedder can embed queries and documents in different ways.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A search result for a reranker to rate: its text and time."""

    text: str
    at: datetime | None = None


class Reranker(Protocol):
    """Rates how well candidates answer a question. A custom reranker must have ``name`` and ``rate``."""

    @property
    def name(self) -> str:
        """Name of the reranker, shown in logs and in the reasons of a hit."""
        ...

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        """Return one rating from 0 to 1 per candidate, in the same order. The rating is None if a candidate was not rated.

        ``asked_at`` is the time of the question.
        """
        ...
