"""Read the database of a program that follows the apps design: the memories of its apps."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.databases import rows
from holdfast.importers.fields import Fields, moment
from holdfast.importers.records import Note, Record
from holdfast.learning.related_conversations import CONVERSATION, RELATED

COLUMNS = frozenset({"id", "app_id", "content", "created_at", "updated_at", "source_conversation_id", "metadata"})
_FIELDS = ("importance", "tags")
"""Entries of the design's metadata that are fields of a memory."""
_NAMES = {"relatedConversations": RELATED}
"""Maps the design's names of other metadata entries to the engine's names, where they differ."""


def read_apps(path: Path) -> Iterator[Record]:
    """Yield the memories of all apps, oldest first. Each memory keeps its app."""
    for row in rows(path, "SELECT * FROM app_memories ORDER BY id"):
        place = f"{path.name}, memory {row['id']}"
        known = Fields(_metadata(row["metadata"], place), place)
        more: dict[str, Any] = {_NAMES.get(name, name): each for name, each in known.values.items() if name not in _FIELDS}
        if row["updated_at"] and row["updated_at"] != row["created_at"]:
            more["updated_at"] = str(row["updated_at"])
        if row["source_conversation_id"]:
            more[CONVERSATION] = str(row["source_conversation_id"])
        yield Note(
            id=str(row["id"]),
            text=str(row["content"]),
            kind="memory",
            tags=known.texts("tags"),
            importance=min(max(known.number("importance"), 0.0), 10.0) if known.values.get("importance") is not None else None,
            metadata=more,
            created_at=moment(row["created_at"]),
            app=str(row["app_id"]),
        )


def _metadata(text: str | None, place: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise InvalidInput(f"{place}: the metadata is not valid JSON. Nothing was imported.") from error
