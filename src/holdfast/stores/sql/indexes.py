"""Interfaces through which a transaction writes the full-text index and the vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TextIndex(Protocol):
    """Interface for writing the full-text index."""

    def index(
        self, connection: Any, tenant: str, place: tuple[int, int], text: str, language: str | None, *, heading: str = ""
    ) -> int:
        """Index the chunks of an item in a partition, and return the number of chunks."""
        ...

    def unindex(self, connection: Any, tenant: str, item: int) -> None:
        """Remove an item's chunks from the index."""
        ...

    def move(self, connection: Any, tenant: str, item: int, new_item: int, partition: int) -> int:
        """Move an item's chunks to another item number and partition, and return the number of chunks."""
        ...


class VectorTable(Protocol):
    """Interface for writing the vectors, and the queue of chunks that have no vector yet."""

    def want(self, connection: Any, tenant: str, partition: int, item: int, chunks: int) -> None:
        """Queue the chunks of a new item for embedding with every model in use."""
        ...

    def put(
        self, connection: Any, tenant: str, name: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]"
    ) -> int:
        """Store the vectors of chunks that are still queued for embedding, and return the number of stored vectors."""
        ...

    def remove(self, connection: Any, tenant: str, partition: int, item: int) -> int:
        """Remove an item's vectors and return their number."""
        ...

    def move(self, connection: Any, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
        """Move an item's vectors to another partition and item number."""
        ...

    def use_model(self, connection: Any, tenant: str, name: str) -> int:
        """Register an embedding model. If it is new, queue every chunk for it. Return the number of chunks left to embed."""
        ...

    def drop_model(self, connection: Any, tenant: str, name: str) -> None:
        """Remove an embedding model, its vectors, and its queue of chunks to embed."""
        ...
