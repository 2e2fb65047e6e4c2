"""Read the database of the design Lo-Bug: its conversation log, facts, summaries and base document.

The facts are in a virtual table of the SQLite extension sqlite-vec. The extension is not needed, because it keeps the
texts of the facts in an ordinary table.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.importers.databases import rows, tables
from holdfast.importers.fields import digest, moment
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.learning.summaries.progress import WAITING

COLUMNS = frozenset({"id", "role", "content", "created_at", "summarized"})
_FACTS = "memory_facts"
_AUXILIARY = f"{_FACTS}_auxiliary"
_FACT_COLUMNS = ("content", "source", "fact_type", "created_at")
"""Columns of the facts, in the order of the virtual table. In sqlite-vec's own table, they are value00, value01 and so on."""


def read_lobug(path: Path) -> Iterator[Record]:
    """Yield the facts, the summaries, the base document and the conversation log. Nothing is learned from the log."""
    known = tables(path)
    yield from _facts(path, known)
    if "memory_summaries" in known:
        for row in rows(path, "SELECT * FROM memory_summaries ORDER BY id"):
            covered = {"first_message": row["source_from_id"], "last_message": row["source_to_id"]}
            waiting = {} if row.get("incorporated", 1) else {WAITING: True}
            yield _note("summary", row, kind="summary", metadata={**covered, **waiting})
    if "memory_base" in known:
        for row in rows(path, "SELECT id, content, updated_at AS created_at FROM memory_base"):
            yield _note("base", row, kind="base", other_kind="profile")
    yield from _log(path)


def _facts(path: Path, known: Any) -> Iterator[Note]:
    if _AUXILIARY in known:
        named = ", ".join(f"value{number:02} AS {name}" for number, name in enumerate(_FACT_COLUMNS))
        query = f"SELECT rowid AS id, {named} FROM {_AUXILIARY} ORDER BY rowid"
    elif known.get(_FACTS):
        query = f"SELECT * FROM {_FACTS} ORDER BY id"
    else:
        return
    for row in rows(path, query):
        kept = {name: row[name] for name in ("source", "fact_type") if row.get(name)}
        yield _note("fact", row, kind="fact", metadata=kept)


def _note(what: str, row: dict[str, Any], **more: Any) -> Note:
    text, at = str(row["content"] or ""), moment(row["created_at"])
    return Note(id=f"{what}-{digest(at, text)}", text=text, created_at=at, **more)


def _log(path: Path) -> Iterator[Record]:
    first = True
    for row in rows(path, "SELECT * FROM conversation_log ORDER BY id"):
        at = moment(row["created_at"])
        if first:
            first = False
            yield Conversation(id=f"lobug-{digest(at, row['role'], row['content'])}", at=at, learn=False)
        yield Said(id=str(row["id"]), role=str(row["role"]), text=str(row["content"]), at=at)
