"""The tables that are copied between stores, and the columns that need special handling or are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.stores.sql.counts import HASHED, Expected

COPIED = (
    "settings", "users", "apps", "keys", "partitions", "sessions", "messages", "memories", "provenance", "changes", "jobs",
    "units", "models", "vectors", "unembedded", "spend", "idempotency", "traces", "backups",
)  # fmt: skip
"""Tables to copy, in this order. Messages come before the memories derived from them, and texts before their vectors."""

LEFT_OUT: Mapping[str, str] = {
    "migrations": "the target has its own schema",
    "sequences": "set from the source's numbers at the end",
    "fulltext": "rebuilt from units.terms",
    "vocabulary": "a view of the full text",
    "postings": "rebuilt from units.terms",
    "vector_log": "only for processes that have the source file open",
    "indexes": "an external index is rebuilt",
    "index_queue": "an external index is rebuilt",
    "scrubs": "a record of work on one database",
    "copying": "bookmarks of the copy itself",
}
"""Tables that are not copied, each with the reason. Some exist only in SQLite stores or only in PostgreSQL stores."""

MADE_BY_OPENING = frozenset({"settings", "models"})
"""Tables that get rows when a new store is opened. A target with rows only in these tables counts as empty."""

NUMBERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "item": (("memories", "item"), ("messages", "seq")),
    "partition": (("partitions", "partition"),),
    "model": (("models", "model"),),
}
"""Sequences whose numbers are never reused. Each is listed with the (table, column) pairs that contain its numbers."""

LOCAL_COLUMNS: Mapping[str, frozenset[str]] = {"partitions": frozenset({"version"})}
"""Columns that are neither copied nor compared, by table. Their values have a meaning only within one database."""

VECTOR_COLUMNS = frozenset({"scale", "code", "embedding"})
"""Columns that store vectors. Each database has its own format, so vectors are compared by int8 codes (quantized form)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """The columns of a table in the source or the target of a copy.

    ``columns`` are the columns that source and target have in common. ``vector`` are the columns that store a vector; they differ
    between source and target. ``key`` is the primary key.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    vector: tuple[str, ...] = ()

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of all columns, in the order in which rows are read."""
        return self.columns + self.vector

    def key_of(self, row: Sequence[Any]) -> list[Any]:
        """Return the key values of a row."""
        return [row[self.columns.index(name)] for name in self.key]


def layout_of(table: str, columns: Sequence[str], key: Sequence[str]) -> TableLayout:
    """Build the layout of a table from its columns and its primary key in the database."""
    local = LOCAL_COLUMNS.get(table, frozenset())
    vector = tuple(name for name in columns if table == "vectors" and name in VECTOR_COLUMNS)
    shared = tuple(sorted(name for name in columns if name not in local and name not in vector))
    return TableLayout(table=table, columns=shared, key=tuple(key), vector=vector)


def hash_of_rows(layout: TableLayout) -> tuple[list[int], Expected] | None:
    """Return how the row hash of a table is computed: the positions of the hashed columns, and the hash function.

    Return None if the rows of this table have no hash.
    """
    for table, columns, expected in HASHED:
        if table == layout.table:
            return [layout.columns.index(name) for name in columns.split(", ")], expected
    return None
