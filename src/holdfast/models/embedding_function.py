"""Adapts a Python function to the embedder protocol. The function takes a text and returns a vector."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import AnswerInvalid, ModelError, ModelUnavailable
from holdfast.models.remote.faults import short
from holdfast.protocols import Role

__all__ = ["CallableEmbedder", "EmbeddingFunction"]

EmbeddingFunction: TypeAlias = Callable[[str], Sequence[float]]
"""Function that takes a text and returns its vector. All vectors must have the same length."""

_DEFAULT_CALIBRATION = (0.2, 0.6)
"""Calibration used for an embedder whose typical cosines are unknown."""


class CallableEmbedder:
    """A :class:`holdfast.protocols.Embedder` that calls a function. Queries and documents are embedded in the same way."""

    def __init__(
        self,
        function: EmbeddingFunction,
        *,
        name: str | None = None,
        dimensions: int | None = None,
        calibration: tuple[float, float] | None = None,
    ) -> None:
        """Wrap a function. ``name`` defaults to the function's name. Unknown dimensions are determined by a first call."""
        self.name = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self.calibration = calibration or _DEFAULT_CALIBRATION
        self._function = function
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        """Length of the vectors. If it is unknown, the function is called once to find it."""
        if self._dimensions is None:
            self._dimensions = len(self._vector("probe"))
        return self._dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return one unit vector per text, as rows."""
        del role  # the function does not distinguish queries from documents
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.stack([self._unit(text) for text in texts])

    def _unit(self, text: str) -> NDArray[np.float32]:
        vector = self._vector(text)
        if len(vector) != self.dimensions:
            raise AnswerInvalid(f"{self.name} returned {len(vector)} numbers; {self.dimensions} were expected.")
        length = np.linalg.norm(vector)
        if not np.isfinite(length) or length == 0:
            raise AnswerInvalid(f"{self.name} returned a vector whose length is zero or not finite.")
        unit: NDArray[np.float32] = (vector / length).astype(np.float32)
        return unit

    def _vector(self, text: str) -> NDArray[np.float64]:
        try:
            result: Any = self._function(text)
        except ModelError:
            raise
        except Exception as error:  # a custom function may raise anything
            raise ModelUnavailable(f"{self.name} raised {type(error).__name__}: {short(str(error))}") from error
        try:
            vector = np.asarray(result, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise AnswerInvalid(f"{self.name} returned {type(result).__name__}; it must return a list of numbers.") from error
        if vector.ndim != 1 or not vector.size:
            raise AnswerInvalid(f"{self.name} must return one non-empty list of numbers.")
        return vector
