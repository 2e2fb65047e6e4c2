"""What a reranker is shown, and what it is asked: how well notes fit a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


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
