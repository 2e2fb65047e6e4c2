"""Protocols of a clock, an embedder and a reranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""One unit vector, or one per row. A string, so that importing this module does not import numpy."""
Role: TypeAlias = Literal["query", "document"]
"""How an embedder should treat a text: as a query, or as a document to be found."""


class Clock(Protocol):
    """Tells the time; the only source of it in the engine."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of two names are never compared."""

    @property
    def name(self) -> str:
        """The name that goes with every vector it makes."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosine of a typical unrelated pair, and of a typical matching one."""
        ...

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        """Embed each text on its own; questions and documents may be treated differently."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that was found: what it says, and when it was said."""

    text: str
    at: datetime | None = None


class Reranker(Protocol):
    """Rates notes beside a question. An object of your own needs no more than this."""

    @property
    def name(self) -> str:
        """What it is called in a hit's reasons and in logs."""
        ...

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        """Return for each note, in their order, how well it fits: 0 to 1, or None for no opinion."""
        ...
