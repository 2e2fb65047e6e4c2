"""Interfaces through which a transaction writes the full-text index and the vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class IndexedText(NamedTuple):
    """The text of an item that is to be indexed, with its language."""

    item: int
    text: str
    language: str | None
    heading: str = ""
    """Additional text for all chunks of the item, such as the speaker's name and the day. Its terms are added to each chunk."""


class TextIndex(Protocol):
    """Interface for writing the full-text index."""

    def index(self, connection: Any, tenant: str, partition: int, texts: Sequence[IndexedText]) -> list[tuple[int, int]]:
        """Index the texts of items in a partition. Return their chunks as pairs of item number and chunk number."""
        ...

    def unindex(self, connection: Any, tenant: str, item: int) -> None:
        """Remove an item's chunks from the index."""
        ...

    def move(self, connection: Any, tenant: str, item: int, new_item: int, partition: int) -> int:
        """Move an item's chunks to the item number ``new_item`` and to ``partition``. Return the number of chunks."""
        ...


class VectorTable(Protocol):
    """Interface for writing the vectors, and the queue of chunks that have no vector yet."""

    def want(self, connection: Any, tenant: str, partition: int, chunks: Sequence[tuple[int, int]]) -> None:
        """Queue chunks of new items for embedding with every model in use. A chunk is a pair of item number and chunk number."""
        ...

    def put(
        self, connection: Any, tenant: str, name: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]"
    ) -> int:
        """Store the vectors of chunks that are still queued for embedding, and return the number of stored vectors.

        ``name`` is the name of the embedding model. A chunk is a pair of item number and chunk number. ``vectors`` has one
        row per chunk.
        """
        ...

    def remove(self, connection: Any, tenant: str, partition: int, item: int) -> int:
        """Remove an item's vectors and return their number."""
        ...

    def move(self, connection: Any, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
        """Move an item's vectors to another partition and item number. ``old`` and ``new`` are (partition, item) pairs."""
        ...

    def use_model(self, connection: Any, tenant: str, name: str) -> int:
        """Register the embedding model ``name``, and return the number of chunks left to embed.

        If the model is new, every chunk is queued for it.
        """
        ...

    def drop_model(self, connection: Any, tenant: str, name: str) -> None:
        """Remove the embedding model ``name``, its vectors, and its queue of chunks to embed."""
        ...
