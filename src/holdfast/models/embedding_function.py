"""Any Python function as an embedder: it is given a text and returns its vector."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import AnswerInvalid, ModelError, ModelUnavailable
from holdfast.models.remote.faults import short
from holdfast.protocols import Role

__all__ = ["CallableEmbedder", "EmbeddingFunction"]

EmbeddingFunction: TypeAlias = Callable[[str], Sequence[float]]
"""Takes a text and returns its vector, of any length but always the same."""

_DEFAULT_CALIBRATION = (0.2, 0.6)
"""The calibration of an embedder of which nothing is known."""


class CallableEmbedder:
    """A :class:`holdfast.protocols.Embedder` made of a function. Questions and documents are the same to it."""

    def __init__(
        self,
        function: EmbeddingFunction,
        *,
        name: str | None = None,
        dimensions: int | None = None,
        calibration: tuple[float, float] | None = None,
    ) -> None:
        """Take a function; its own name serves where none is given, and its vectors' length is seen at the first text."""
        self.name = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self.calibration = calibration or _DEFAULT_CALIBRATION
        self._function = function
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        """The length of its vectors; where it is not known, the function is asked once."""
        if self._dimensions is None:
            self._dimensions = len(self._vector("probe"))
        return self._dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return a unit vector for each text, one a row."""
        del role  # a function has one way
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return np.stack([self._unit(text) for text in texts])

    def _unit(self, text: str) -> NDArray[np.float32]:
        vector = self._vector(text)
        if len(vector) != self.dimensions:
            raise AnswerInvalid(f"{self.name} returned {len(vector)} numbers; vectors of {self.dimensions} were expected.")
        length = np.linalg.norm(vector)
        if not np.isfinite(length) or length == 0:
            raise AnswerInvalid(f"{self.name} returned a vector that has no direction.")
        unit: NDArray[np.float32] = (vector / length).astype(np.float32)
        return unit

    def _vector(self, text: str) -> NDArray[np.float64]:
        try:
            answer: Any = self._function(text)
        except ModelError:
            raise
        except Exception as error:  # the edge: a function of the caller's own may raise anything
            raise ModelUnavailable(f"{self.name} raised {type(error).__name__}: {short(str(error))}") from error
        try:
            vector = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise AnswerInvalid(f"{self.name} returned {type(answer).__name__}; it must return numbers.") from error
        if vector.ndim != 1 or not vector.size:
            raise AnswerInvalid(f"{self.name} must return one list of numbers.")
        return vector
