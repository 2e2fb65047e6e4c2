"""A cross-encoder: a network that reads a question and a text together, and so tells better than two vectors whether they fit.

It reads one pair at a time, 10 to 30 ms each: enough to look again at the best hits, not to find them.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.models.local.registry import RerankerSpec
from holdfast.protocols import Candidate
from holdfast.text.language import is_foreign

if TYPE_CHECKING:
    from holdfast.models.local.onnx import Network

__all__ = ["CrossEncoder"]

_MAX_QUESTION_TOKENS: Final = 64
"""Tokens of a question; the rest of the network's room is the text's."""


class CrossEncoder:
    """Rates texts with a model of the registry, whose weights must be in ``directory`` by the first use."""

    computes = True
    """It works in this process, and waits for nobody."""

    def __init__(self, spec: RerankerSpec, directory: Path) -> None:
        """Remember what to load; ``WeightsMissing`` comes with the first question, or with :meth:`load`."""
        self._spec = spec
        self._directory = directory

    @property
    def name(self) -> str:
        """What it is called in the registry."""
        return self._spec.name

    @cached_property
    def _network(self) -> "Network":
        from holdfast.models.local.onnx import Network  # noqa: PLC0415  (onnxruntime is heavy, and may never be needed)

        return Network(self._spec, self._directory)

    def load(self) -> None:
        """Load the network now rather than with the first question."""
        self._network.load()

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> list[float | None]:
        """Return how well each text fits, 0 to 1; none for what is not in English, of which it knows nothing."""
        del asked_at  # a text stands for itself here
        if is_foreign(question):
            return [None] * len(candidates)
        asked = self._network.encode(question, max_tokens=_MAX_QUESTION_TOKENS)
        return [None if is_foreign(note.text) else self._rate(asked, note.text) for note in candidates]

    def _rate(self, asked: Sequence[int], text: str) -> float:
        _beginning, *said = self._network.encode(text, max_tokens=self._spec.max_tokens - len(asked) + 1)
        logit = float(self._network.run([*asked, *said], second=len(asked)).item())
        low, high = self._spec.calibration
        return min(max((logit - low) / (high - low), 0.0), 1.0)
