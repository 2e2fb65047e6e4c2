"""The interface of the compared libraries, and its implementation for Holdfast."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.protocols import Embedder, SearchFilter
from holdfast.services import services
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer

RESULTS = 10
"""Number of results per search."""
_PARTS = 10
"""Number of different values of the metadata field ``part``."""
_EVENTS = 4
"""Every fourth memory is an event; the others are facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One memory and its user."""

    number: int
    text: str
    vector: NDArray[np.float32]
    user: str

    @property
    def part(self) -> str:
        """Value of the metadata field ``part``, used for filters. Each value belongs to a tenth of all memories."""
        return f"part{self.number % _PARTS}"

    @property
    def kind(self) -> str:
        """Kind of the memory. A quarter of all memories are of kind ``event``, the others of kind ``fact``."""
        return "event" if self.number % _EVENTS == 0 else "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query of one user, with optional filters."""

    text: str
    vector: NDArray[np.float32]
    user: str
    part: str | None = None
    kind: str | None = None


class Side(Protocol):
    """Interface of a library under test."""

    name: str

    def put(self, rows: Sequence[Row]) -> None:
        """Store memories and their vectors durably, in as few steps as the library allows."""
        ...

    def find(self, query: Query) -> Sequence[str]:
        """Search, and return the texts of the results, best first."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Holdfast:
    """Holdfast under test, with the public ``recall``, which searches by meaning and by words."""

    name = "Holdfast"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.memory: Engine = open_engine(folder / "memory.db", embedder=embedder, worker="none")

    def put(self, rows: Sequence[Row]) -> None:
        """Store memories and their vectors in one durable transaction."""
        memory = self.memory
        puts = [Put(scope=Scope(user=r.user), kind=r.kind, text=r.text, metadata={"part": r.part}) for r in rows]
        with services(memory).store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="bench"), now=datetime.now(UTC))
            made = writer.apply(puts)
            tx.put_vectors("given", [(one.item, 0) for one in made], np.stack([row.vector for row in rows]))

    def rest(self) -> None:
        """Run all queued background work now, because no worker runs during the measurement."""
        while services(self.memory).scheduler.run_once():
            pass

    def find(self, query: Query) -> Sequence[str]:
        """Call the public ``recall``, which searches by meaning and by words."""
        where = None if query.part is None else {"part": query.part}
        kinds = None if query.kind is None else [query.kind]
        return [hit.text for hit in self.memory.recall(query.text, user=query.user, where=where, kinds=kinds, limit=RESULTS)]

    def by_vectors(self, query: Query, limit: int = 32) -> Sequence[Any]:
        """Search by meaning only, in the same way as ``recall``."""
        return services(self.memory).store.find_vectors("given", query.vector, _filter(query), limit=limit)

    def by_words(self, query: Query, limit: int = 32) -> Sequence[Any]:
        """Search by words only, in the same way as ``recall``."""
        return services(self.memory).store.find_text(
            query.text, _filter(query), languages=self.memory.preset.languages, limit=limit
        )

    def close(self) -> None:
        """Close the file."""
        self.memory.close()


def _filter(query: Query) -> SearchFilter:
    return SearchFilter(reader=Scope(user=query.user), spaces=["memory"])
