"""A cross-encoder reranker. It reads query and text together, which is more accurate than comparing two vectors.

It takes 10 to 30 ms per pair: fast enough to rerank the best hits, too slow to search all texts.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.models.local.registry import RerankerSpec
from holdfast.models.local.runtime import check_runtime
from holdfast.protocols import Candidate
from holdfast.text.language import is_foreign

if TYPE_CHECKING:
    from holdfast.models.local.onnx import Network

__all__ = ["CrossEncoder"]

_MAX_QUESTION_TOKENS: Final = 64
"""Maximum number of tokens of a question. The remaining tokens of the network's input are for the text."""


class CrossEncoder:
    """Rates texts with a reranker of the registry. Its weights must be in ``directory`` before the first use."""

    computes = True
    """True, because the reranker computes in this process and does not wait for a server."""

    def __init__(self, spec: RerankerSpec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet.

        Rating the first text, or calling :meth:`load`, raises ``WeightsMissing`` if there are no weights.
        """
        self._spec = spec
        self._directory = directory

    @property
    def name(self) -> str:
        """The model's name in the registry."""
        return self._spec.name

    @cached_property
    def _network(self) -> "Network":
        check_runtime()
        from holdfast.models.local.onnx import Network  # noqa: PLC0415  (onnxruntime is heavy)

        return Network(self._spec, self._directory)

    def load(self) -> None:
        """Load the network now, instead of when the first question is asked."""
        self._network.load()

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> list[float | None]:
        """Return one rating from 0 to 1 per candidate.

        The rating is None if the question or the candidate's text is clearly not in English. ``asked_at`` is ignored, because
        the model does not use dates.
        """
        del asked_at  # the model does not use dates
        if is_foreign(question):
            return [None] * len(candidates)
        query_ids = self._network.encode(question, max_tokens=_MAX_QUESTION_TOKENS)
        return [None if is_foreign(candidate.text) else self._rate(query_ids, candidate.text) for candidate in candidates]

    def _rate(self, query_ids: Sequence[int], text: str) -> float:
        _start, *text_ids = self._network.encode(text, max_tokens=self._spec.max_tokens - len(query_ids) + 1)
        logit = float(self._network.run([*query_ids, *text_ids], second=len(query_ids)).item())
        low, high = self._spec.calibration
        return min(max((logit - low) / (high - low), 0.0), 1.0)
