"""What every embedder of the registry tells of itself, and what it takes."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.errors import InvalidInput
from holdfast.protocols import Role


class EmbedderSpec(Protocol):
    """What the registry knows of an embedder."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosine of a typical unrelated pair, and of a typical matching one."""
        ...


class RegistryEmbedder:
    """An embedder that is what its entry in the registry says."""

    _spec: EmbedderSpec

    @property
    def name(self) -> str:
        """The name that goes with every vector it makes."""
        return self._spec.name

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return self._spec.dimensions

    @property
    def calibration(self) -> tuple[float, float]:
        """The cosine of a question with a typical unrelated document, and with a typical matching one."""
        return self._spec.calibration


def check_texts(texts: Sequence[str], role: Role) -> None:
    """Refuse what is no list of texts, and a role that there is not."""
    if isinstance(texts, str):
        raise InvalidInput("embed() takes a list of texts, not one text")
    if role not in {"query", "document"}:
        raise InvalidInput(f"the role of a text is 'query' or 'document', not {role!r}")
