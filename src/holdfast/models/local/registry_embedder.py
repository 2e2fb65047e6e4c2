"""Properties shared by the embedders of the registry."""

from typing import Protocol


class EmbedderSpec(Protocol):
    """Interface of a registry entry for an embedder."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of the embedder's vectors."""
        ...

    @property
    def calibration(self) -> tuple[float, float]:
        """Two cosines: of a typical pair of unrelated texts, and of a typical pair of matching texts."""
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
        """Length of the embedder's vectors."""
        return self._spec.dimensions

    @property
    def calibration(self) -> tuple[float, float]:
        """Two cosines of a query: with a typical unrelated document, and with a typical matching document."""
        return self._spec.calibration
