"""Protocols of a clock, an embedder and a reranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""One unit vector, or one per row. The alias is a string, so that this module does not import numpy."""
Role: TypeAlias = Literal["query", "document"]
"""How an embedder treats a text: as a query, or as a document to be found."""


class Clock(Protocol):
    """Source of the current time. The engine uses no other."""

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
        """Cosine of a typical unrelated pair of texts, and of a typical matching pair."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        """Return one vector per text. Queries and documents may be embedded differently."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A search result for a reranker to rate: its text and its time."""

    text: str
    at: datetime | None = None


class Reranker(Protocol):
    """Rates candidates against a question. A custom reranker needs only these two members."""

    @property
    def name(self) -> str:
        """Name in the reasons of a hit and in logs."""
        ...

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        """Return one rating per candidate, in the same order: from 0 to 1, or None for no rating."""
        ...
