"""What is compared: a side keeps memories with their vectors, and finds them by a question and its vector."""

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

FOUND = 10
"""Results a search gives."""
_PARTS = 10
_EVENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One memory, and whose it is."""

    number: int
    text: str
    vector: NDArray[np.float32]
    user: str

    @property
    def part(self) -> str:
        """An entry of its metadata: a tenth of all memories have the same."""
        return f"part{self.number % _PARTS}"

    @property
    def kind(self) -> str:
        """What kind of memory it is: a fourth are events."""
        return "event" if self.number % _EVENTS == 0 else "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question of one user."""

    text: str
    vector: NDArray[np.float32]
    user: str
    part: str | None = None
    kind: str | None = None


class Side(Protocol):
    """Something that remembers."""

    name: str

    def put(self, rows: Sequence[Row]) -> None:
        """Store memories and their vectors, durably, in the fewest steps it has."""
        ...

    def find(self, asked: Asked) -> Sequence[str]:
        """Return the texts found, best first."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class Holdfast:
    """Ours: recall as everyone calls it, by meaning and by words."""

    name = "Holdfast"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.memory: Engine = open_engine(folder / "memory.db", embedder=embedder, second="none", worker="none")

    def put(self, rows: Sequence[Row]) -> None:
        """Store memories and their vectors in one transaction, on disk when this returns."""
        memory = self.memory
        puts = [Put(scope=Scope(user=r.user), kind=r.kind, text=r.text, metadata={"part": r.part}) for r in rows]
        with services(memory).store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="bench"), now=datetime.now(UTC))
            made = writer.apply(puts)
            tx.put_vectors("given", [(one.item, 0) for one in made], np.stack([row.vector for row in rows]))

    def rest(self) -> None:
        """Do what is done in the background when nobody asks; here no worker runs beside what is measured."""
        while services(self.memory).scheduler.run_once():
            pass

    def find(self, asked: Asked) -> Sequence[str]:
        """Recall, all of it."""
        where = None if asked.part is None else {"part": asked.part}
        kinds = None if asked.kind is None else [asked.kind]
        return [hit.text for hit in self.memory.recall(asked.text, user=asked.user, where=where, kinds=kinds, limit=FOUND)]

    def by_vectors(self, asked: Asked, limit: int = 32) -> Sequence[Any]:
        """Search by meaning alone, as recall does."""
        return services(self.memory).store.find_vectors("given", asked.vector, _whose(asked), limit=limit)

    def by_words(self, asked: Asked, limit: int = 32) -> Sequence[Any]:
        """Search by words alone, as recall does."""
        return services(self.memory).store.find_text(
            asked.text, _whose(asked), languages=self.memory.preset.languages, limit=limit
        )

    def close(self) -> None:
        """Close the file."""
        self.memory.close()


def _whose(asked: Asked) -> SearchFilter:
    return SearchFilter(reader=Scope(user=asked.user), spaces=["memory"])
