"""Properties and argument checks shared by the embedders of the registry."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.errors import InvalidInput
from holdfast.protocols import Role


class EmbedderSpec(Protocol):
    """The registry entry of an embedder."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of its vectors."""
        ...

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosines of a typical unrelated pair and of a typical matching pair."""
        ...


class RegistryEmbedder:
    """Base class of embedders whose name, dimensions and calibration are in the registry."""

    _spec: EmbedderSpec

    @property
    def name(self) -> str:
        """The name stored with every vector of this embedder."""
        return self._spec.name

    @property
    def dimensions(self) -> int:
        """Length of its vectors."""
        return self._spec.dimensions

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosines of a query with a typical unrelated document and with a typical matching one."""
        return self._spec.calibration


def check_texts(texts: Sequence[str], role: Role) -> None:
    """Raise ``InvalidInput`` if ``texts`` is a single string or the role is unknown."""
    if isinstance(texts, str):
        raise InvalidInput("embed() takes a list of texts, not a single text.")
    if role not in {"query", "document"}:
        raise InvalidInput(f"The role must be 'query' or 'document', not {role!r}.")
