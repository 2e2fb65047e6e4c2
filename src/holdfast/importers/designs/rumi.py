"""Read the database of the design Rumi: a table of facts with free-form keys."""

from collections.abc import Iterator
from pathlib import Path

from holdfast.importers.databases import rows
from holdfast.importers.fields import moment
from holdfast.importers.records import Note, Record

COLUMNS = frozenset({"id", "key", "value", "source"})


def read_rumi(path: Path) -> Iterator[Record]:
    """Yield the facts, oldest first."""
    for row in rows(path, "SELECT * FROM facts ORDER BY id"):
        updated = row.get("updated_at")
        metadata = {"source": row["source"]} | ({"updated_at": updated} if updated and updated != row.get("created_at") else {})
        yield Note(
            id=str(row["id"]),
            text=str(row["value"]),
            kind="fact",
            key=str(row["key"]),
            metadata=metadata,
            created_at=moment(row.get("created_at")),
        )
