"""Read memories of mem0: JSON as returned by its API, its local Qdrant folder, its history database, or its data folder.

The history database also has the latest messages of each conversation. They become sessions from which nothing is
learned, because mem0 has learned from them already.

A local Qdrant folder contains pickled points. They are unpickled with stand-ins for Qdrant's classes. No other class or
function is ever called.
"""

import io
import json
import pickle
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from holdfast.errors import InvalidInput
from holdfast.importers.databases import is_database, rows, tables
from holdfast.importers.fields import Fields, moment
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.types.translatable import translatable

STORAGE = "storage.sqlite"
HISTORY = "history.db"
_HISTORY_COLUMNS = frozenset({"memory_id", "new_memory", "event"})
_MESSAGE_COLUMNS = frozenset({"id", "session_scope", "role", "content", "created_at"})
_WITHOUT_MEMORIES = ("migrations", "_entities")
"""Suffixes of the names of collections without memories. mem0 uses these for telemetry and for its entities."""
_ESCAPED = (("%26", "&"), ("%3D", "="), ("%25", "%"))
_TEXT = ("memory", "data", "text")
_SCOPES = ("user_id", "agent_id", "app_id", "run_id", "actor_id")
_TAKEN = frozenset(
    {*_TEXT, *_SCOPES, "id", "hash", "created_at", "updated_at", "metadata", "categories", "score", "text_lemmatized"}
)


def looks_like_memory(item: Any) -> bool:
    """Return True if a JSON object is a memory of mem0."""
    return isinstance(item, Mapping) and "id" in item and isinstance(item.get("memory"), str)


def collections(path: Path) -> dict[str, Path]:
    """Return the database of each collection with memories, by the collection's name.

    The path is a Qdrant folder, the folder of one collection, or a folder that contains a Qdrant folder.
    """
    patterns = (f"collection/*/{STORAGE}", f"*/{STORAGE}", f"*/collection/*/{STORAGE}")
    found = next(filter(None, (sorted(path.glob(pattern)) for pattern in patterns)), [])
    own = [path / STORAGE] if (path / STORAGE).is_file() else []
    return {file.parent.name: file for file in [*own, *found] if not file.parent.name.endswith(_WITHOUT_MEMORIES)}


def history_in(path: Path) -> Path | None:
    """Return the path of the history database: ``path`` itself, or the file in the folder ``path``. None if there is none."""
    file = path / HISTORY if path.is_dir() else path
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        known = tables(file) if is_database(opened.read(100)) else {}
    return file if known.get("history", frozenset()) >= _HISTORY_COLUMNS else None


def read_folder(path: Path, collection: str) -> Iterator[Record]:
    """Yield the memories in a folder, and the messages of its history database.

    The memories are read from the folder's Qdrant collection. If there is no collection, they are read from the history
    database, which does not say whose memories they are.
    """
    history = history_in(path)
    if collections(path) or history is None:
        yield from read_qdrant(path, collection)
    else:
        yield from read_history(history)
    if history is not None:
        yield from read_messages(history)


def read_messages(path: Path) -> Iterator[Record]:
    """Yield the messages in a history database of mem0, which keeps only the latest messages of each conversation.

    The messages with the same ``session_scope``, such as ``user_id=ana&run_id=r1``, form one conversation.
    """
    if not tables(path).get("messages", frozenset()) >= _MESSAGE_COLUMNS:
        return
    current = None
    for row in rows(path, "SELECT * FROM messages ORDER BY session_scope, created_at, rowid"):
        scope, at = str(row["session_scope"] or ""), moment(row["created_at"])
        if scope != current:
            current = scope
            parts = dict(part.partition("=")[::2] for part in scope.split("&"))
            run = _unescaped(parts.get("run_id"))
            yield Conversation(
                id=f"mem0 {scope}".strip(),
                at=at,
                metadata={"run_id": run} if run else {},
                learn=False,
                user=_unescaped(parts.get("user_id")),
                agent=_unescaped(parts.get("agent_id")),
            )
        speaker = str(row["name"]) if row.get("name") else None
        yield Said(id=str(row["id"]), role=str(row["role"] or "user"), text=str(row["content"] or ""), at=at, speaker=speaker)


def _unescaped(value: str | None) -> str | None:
    for escaped, sign in _ESCAPED:
        value = value and value.replace(escaped, sign)
    return value or None


def read_json(path: Path) -> Iterator[Record]:
    """Yield the memories of a JSON file: a list, or an object with ``results`` or ``memories``."""
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except ValueError as error:
        raise InvalidInput(
            translatable(
                "import.bad_json", "{file} is not valid JSON: {error}. Nothing was imported.", file=path.name, error=str(error)
            )
        ) from error
    relations: Any = []
    if isinstance(found, Mapping):
        relations = found.get("relations") or []
        found = found.get("results") or found.get("memories") or []
    users: set[str | None] = set()
    for number, item in enumerate(found, 1):
        note = _note(Fields(item, f"{path.name}, memory {number}"))
        users.add(note.user)
        yield note
    only_user = users.pop() if len(users) == 1 else None
    for number, item in enumerate(relations if isinstance(relations, list) else [], 1):
        yield _relation(Fields(item, f"{path.name}, relation {number}"), only_user)


def read_qdrant(path: Path, collection: str) -> Iterator[Record]:
    """Yield the memories of a local Qdrant folder. If the folder has only one collection, ``collection`` is ignored."""
    found = collections(path)
    if len(found) == 1:
        collection = next(iter(found))
    if collection not in found:
        raise InvalidInput(f"{path} has no collection {collection!r}. Its collections are: {', '.join(found) or 'none'}.")
    for number, row in enumerate(rows(found[collection], "SELECT id, point FROM points ORDER BY rowid"), 1):
        point = _unpickled(row["point"], f"{collection}, point {number}")
        payload = getattr(point, "payload", None)
        yield _note(Fields({"id": str(getattr(point, "id", row["id"])), **(payload or {})}, f"{collection}, point {number}"))


def read_history(path: Path) -> Iterator[Record]:
    """Yield the current memories according to a history database. The database does not say whose memories they are."""
    present: dict[str, tuple[str, Any]] = {}
    for row in rows(path, "SELECT memory_id, new_memory, event, created_at, updated_at FROM history ORDER BY rowid"):
        id = str(row["memory_id"])
        if row["event"] == "DELETE":
            present.pop(id, None)
        elif row["new_memory"]:
            first = present[id][1] if id in present else row["created_at"] or row["updated_at"]
            present[id] = (str(row["new_memory"]), first)
    for id, (text, at) in present.items():
        yield Note(id=id, text=text, created_at=moment(at))


def _relation(item: Fields, only_user: str | None) -> Note:
    """Convert a relation of mem0's graph to a memory. The names of its fields differ between versions of mem0.

    A relation often names no user. It then belongs to ``only_user``, the only user of the memories in the file.
    """
    start, end = item.name("source"), item.maybe("target") or item.name("destination")
    verb = item.maybe("relationship") or item.name("relation")
    known = {"from": start, "relation": verb, "to": end}
    text = " ".join(part.replace("_", " ") for part in (start, verb, end))
    return Note(id=f"relation {start} {verb} {end}", text=text, metadata=known, user=item.maybe("user_id") or only_user)


def _note(item: Fields) -> Note:
    values = item.values
    text = next((values[name] for name in _TEXT if isinstance(values.get(name), str)), None)
    if text is None:
        raise item.fail(translatable("import.memory_empty", "the memory has no text."))
    metadata = {name: value for name, value in values.items() if name not in _TAKEN and value is not None}
    metadata |= item.mapping("metadata")
    metadata |= {name: values[name] for name in ("run_id", "actor_id", "updated_at") if isinstance(values.get(name), str)}
    return Note(
        id=item.name("id"),
        text=text,
        metadata=metadata,
        tags=item.texts("categories"),
        created_at=item.maybe_time("created_at"),
        user=item.maybe("user_id"),
        agent=item.maybe("agent_id"),
        app=item.maybe("app_id"),
    )


class _Stub:
    """Stand-in for every Qdrant class. It stores the attributes of an object."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        return super().__new__(cls)

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        values = state.get("__dict__", state) if isinstance(state, Mapping) else {}
        self.__dict__.update({str(name): value for name, value in values.items()})


class _Unpickler(pickle.Unpickler):
    """Reads pickled points without running code: only stand-ins for Qdrant's classes are created."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".", maxsplit=1)[0] in ("qdrant_client", "pydantic", "pydantic_core"):
            return _Stub
        if (module, name) in (("builtins", "set"), ("builtins", "frozenset")):
            return {"set": set, "frozenset": frozenset}[name]
        raise pickle.UnpicklingError(f"it contains {module}.{name}, which is not data")


def _unpickled(data: bytes, place: str) -> Any:
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, TypeError, ValueError, sqlite3.Error) as error:
        raise InvalidInput(f"{place} cannot be read: {error}. Nothing was imported.") from error
