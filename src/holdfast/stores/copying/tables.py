"""Which tables a copy takes along, and what of a table belongs to one database alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.stores.sql.counts import HASHED, Expected

COPIED = (
    "settings", "users", "apps", "keys", "partitions", "sessions", "messages", "memories", "provenance", "changes", "jobs",
    "units", "models", "vectors", "unembedded", "spend", "idempotency", "backups",
)  # fmt: skip
"""In this order: what was said before what was learned, texts before their vectors."""

LEFT_OUT: Mapping[str, str] = {
    "migrations": "the target's own schema",
    "sequences": "set from the source's numbers at the end",
    "fulltext": "made again from units.terms",
    "vocabulary": "a view of the full text",
    "postings": "made again from units.terms",
    "vector_log": "for processes that have this very file open",
    "indexes": "an index outside the file is built anew",
    "index_queue": "an index outside the file is built anew",
    "copying": "a copy's own bookmarks",
}
"""Tables of either database that are not copied, and why."""

MADE_BY_OPENING = frozenset({"settings", "models"})
"""What merely opening a memory writes: a target with nothing else counts as empty."""

NUMBERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "item": (("memories", "item"), ("messages", "seq")),
    "partition": (("partitions", "partition"),),
    "model": (("models", "model"),),
}
"""Numbers that are never given twice, and the columns that hold them."""

OF_THE_FILE: Mapping[str, frozenset[str]] = {"partitions": frozenset({"version"})}
"""Columns that say something of one database's own state: not copied, and not compared."""

VECTOR_COLUMNS = frozenset({"scale", "code", "embedding"})
"""How a vector is kept, which differs: compared by its int8 codes, which are the same on both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """A table as a copy reads it: the columns both sides have, those the vector is in, and the key."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    vector: tuple[str, ...] = ()

    @property
    def selected(self) -> tuple[str, ...]:
        """All columns, in the order of a row."""
        return self.columns + self.vector

    def key_of(self, row: Sequence[Any]) -> list[Any]:
        """Return what stands in a row's key."""
        return [row[self.columns.index(name)] for name in self.key]


def layout_of(table: str, columns: Sequence[str], key: Sequence[str]) -> TableLayout:
    """Return how a table is read, from what the database says of it."""
    own = OF_THE_FILE.get(table, frozenset())
    vector = tuple(name for name in columns if table == "vectors" and name in VECTOR_COLUMNS)
    plain = tuple(sorted(name for name in columns if name not in own and name not in vector))
    return TableLayout(table=table, columns=plain, key=tuple(key), vector=vector)


def hash_of_rows(layout: TableLayout) -> tuple[list[int], Expected] | None:
    """Return where a row's own hashed values are and what its hash must be; None for rows without one."""
    for table, columns, expected in HASHED:
        if table == layout.table:
            return [layout.columns.index(name) for name in columns.split(", ")], expected
    return None
