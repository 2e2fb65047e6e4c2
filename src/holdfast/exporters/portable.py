"""Write an export in the format Portable AI Memory (PAM) 1.0.

It is a zip file with ``memory-store.json`` and one file per conversation. PAM defines fewer fields than Holdfast. The other
fields are in the ``metadata`` of a memory and in the ``raw_metadata`` of a conversation or message.
"""

import hashlib
import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any, cast

from holdfast.exporters.canonical_json import MAX_INTEGER, canonical
from holdfast.exporters.entries import MemoryEntry, SessionEntry
from holdfast.exporters.records import iso
from holdfast.exporters.selection import Selection
from holdfast.exporters.walk import Walk
from holdfast.types import Memory, Message, Scope
from holdfast.version import __version__

_TYPES = frozenset("fact preference skill context relationship goal instruction identity environment project".split())
"""Memory types of PAM. A kind with another name becomes a custom type."""
_STATUSES = {"live": "active", "superseded": "superseded", "forgotten": "retracted", "expired": "archived", "proposed": "draft"}
_METHODS = {"explicit": "explicit_user_input", "import": "api_export", "file": "manual"}
_ROLES = frozenset({"user", "assistant", "system", "tool"})
_PLATFORM = "holdfast"
_SCHEMA_VERSION = "1.0"
_NOT_IN_TAG = re.compile(r"[^a-z0-9_-]+")


class _Buffer(io.RawIOBase):
    """A write-only file. :meth:`taken` returns the written bytes piece by piece."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        taken, self._parts = b"".join(self._parts), []
        return taken


def write_portable(walk: Walk, *, selection: Selection, now: datetime) -> Iterator[bytes]:
    """Yield the bytes of an export in the format PAM, a zip file."""
    buffer = _Buffer()
    stamp = now.timetuple()[:6]
    with zipfile.ZipFile(cast("IO[bytes]", buffer), "w", zipfile.ZIP_DEFLATED) as bundle:
        derived: dict[str, list[str]] = {}
        with bundle.open(_member("memory-store.json", stamp), "w") as file:
            for part in _memory_store(walk, derived, selection=selection, now=now):
                file.write(part.encode("utf-8", "replace"))
                yield buffer.taken()
        for number, entry in enumerate(walk.sessions(), 1):
            with bundle.open(_member(_conversation_file(number), stamp), "w") as file:
                for part in _conversation(walk, entry):
                    file.write(part.encode("utf-8", "replace"))
                    yield buffer.taken()
    yield buffer.taken()


def _member(name: str, stamp: tuple[int, ...]) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, cast("tuple[int, int, int, int, int, int]", stamp))
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    return info


def _conversation_id(session: str, scope: Scope) -> str:
    """Return a unique id for a conversation. The session's own id is unique only within its scope."""
    return "/".join([*(part for part in (scope.user, scope.app, scope.agent) if part), session])


def _conversation_file(number: int) -> str:
    return f"conversations/{number:06d}.json"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _memory_store(walk: Walk, derived: dict[str, list[str]], *, selection: Selection, now: datetime) -> Iterator[str]:
    """Yield the JSON of ``memory-store.json`` in pieces.

    Also add the id of each memory to ``derived``, in the list of the session that the memory comes from.
    """
    first = {
        "schema": "portable-ai-memory",
        "schema_version": _SCHEMA_VERSION,
        "exported_by": f"holdfast/{_version()}",
        "export_date": iso(now),
        "owner": {"id": selection.owner.get("user") or "holdfast"},
        "export_type": "full",
    }
    yield _dump(first)[:-1] + ', "memories": ['
    checksum, count = hashlib.sha256(b"["), 0
    for entry in walk.memories():
        memory = _memory(walk, entry, derived)
        separator = "," if count else ""
        checksum.update((separator + canonical(memory)).encode("utf-8", "replace"))
        yield f"{separator}\n{_dump(memory)}"
        count += 1
    checksum.update(b"]")
    yield '], "conversations_index": ['
    for number, session in enumerate(walk.sessions(again=True), 1):
        yield ("," if number > 1 else "") + "\n" + _dump(_index_entry(session, number, derived))
    integrity = {"canonicalization": "RFC8785", "checksum": f"sha256:{checksum.hexdigest()}", "total_memories": count}
    yield f'], "integrity": {_dump(integrity)}}}\n'


def _version() -> str:
    """Return Holdfast's version as three numbers, as PAM requires."""
    return ".".join([*re.findall(r"\d+", __version__), "0", "0", "0"][:3])


def _memory(walk: Walk, entry: MemoryEntry, derived: dict[str, list[str]]) -> dict[str, Any]:
    memory = entry.memory
    kind = memory.kind if memory.kind in _TYPES else "custom"
    content = str(memory).strip() or "(empty)"
    custom = {"custom_type": memory.kind} if kind == "custom" else {}
    tags = [tag for tag in dict.fromkeys(_tag(tag) for tag in memory.tags) if tag]
    return {
        "id": memory.id,
        "type": kind,
        **custom,
        "status": _STATUSES[memory.status],
        "content": content,
        "content_hash": _content_hash(content),
        "tags": tags,
        "confidence": {"current": memory.trust},
        "temporal": _temporal(walk, memory),
        "provenance": _provenance(walk, entry, derived),
        "metadata": _metadata(entry),
    }


def _tag(tag: str) -> str:
    return _NOT_IN_TAG.sub("-", tag.casefold()).strip("-_")


def _content_hash(content: str) -> str:
    normalized = re.sub(r"\s+", " ", unicodedata.normalize("NFC", content.strip().lower()))
    return f"sha256:{hashlib.sha256(normalized.encode()).hexdigest()}"


def _temporal(walk: Walk, memory: Memory) -> dict[str, Any]:
    until = memory.valid_to if memory.valid_to and memory.valid_to >= memory.valid_from else None
    updated = memory.updated_at if memory.updated_at >= memory.created_at else None
    replaced = memory.replaced_by if memory.status == "superseded" else None
    found = {
        "created_at": iso(memory.created_at),
        "updated_at": iso(updated),
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(until),
        "superseded_by": replaced if replaced and walk.has_memory(replaced) else None,
    }
    return _without_none(found)


def _provenance(walk: Walk, entry: MemoryEntry, derived: dict[str, list[str]]) -> dict[str, Any]:
    memory, first = entry.memory, entry.revisions[0]
    said = next((message for source in memory.sources if (message := walk.message(source)) is not None), None)
    if said is not None:
        derived.setdefault(_conversation_id(said.session, said.scope), []).append(memory.id)
    model = first.change.author.model if first.change else None
    return _without_none(
        {
            "platform": _PLATFORM,
            "platform_user_id": memory.scope.user,
            "conversation_ref": _conversation_id(said.session, said.scope) if said else None,
            "message_ref": said.id if said else None,
            "extraction_method": "llm_inference" if model else _METHODS.get(memory.origin),
            "extracted_at": iso(first.memory.recorded_at),
        }
    )


def _metadata(entry: MemoryEntry) -> dict[str, Any]:
    memory = entry.memory
    earlier = [
        {"revision": each.memory.revision, "text": each.memory.text, "recorded_at": iso(each.memory.recorded_at)}
        for each in entry.revisions[:-1]
    ]
    own = {
        "app": memory.scope.app,
        "agent": memory.scope.agent,
        "key": memory.key,
        "topic": memory.topic,
        "namespace": list(memory.namespace) or None,
        "importance": memory.importance,
        "pinned": memory.pinned or None,
        "expires_at": iso(memory.expires_at),
        "tags": list(memory.tags) or None,
        "sources": list(memory.sources) or None,
        "metadata": dict(memory.metadata) or None,
        "earlier": earlier or None,
    }
    language = {"language": memory.language} if memory.language else {}
    return language | {"holdfast": _plain(_without_none(own))}


def _plain(value: Any) -> Any:
    """Return a JSON value without nulls. Integers too large for canonical JSON are converted to strings."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    is_large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER
    return str(value) if is_large else value


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _times(entry: SessionEntry) -> dict[str, Any]:
    session = entry.session
    updated = session.last_at if session.last_at >= session.started_at else None
    return _without_none({"created_at": iso(session.started_at), "updated_at": iso(updated)})


def _index_entry(entry: SessionEntry, number: int, derived: Mapping[str, list[str]]) -> dict[str, Any]:
    id = _conversation_id(entry.session.id, entry.session.scope)
    return {
        "id": id,
        "platform": _PLATFORM,
        "temporal": _times(entry),
        "derived_memories": derived.get(id, []),
        "storage": {"type": "file", "ref": _conversation_file(number), "format": "json"},
    }


def _conversation(walk: Walk, entry: SessionEntry) -> Iterator[str]:
    """Yield the JSON of a conversation in pieces."""
    session = entry.session
    scope = _without_none({"user": session.scope.user, "app": session.scope.app, "agent": session.scope.agent})
    first = {
        "schema": "portable-ai-memory-conversation",
        "schema_version": _SCHEMA_VERSION,
        "id": _conversation_id(session.id, session.scope),
        "provider": {"name": _PLATFORM, "conversation_id": session.id},
        "temporal": _times(entry),
        "raw_metadata": {**scope, "status": session.status, "metadata": dict(session.metadata)},
    }
    yield _dump(first)[:-1] + ', "messages": ['
    separator = ""
    for said in walk.messages(session=session):
        yield f"{separator}\n{_dump(_message(said.message))}"
        separator = ","
    yield "]}\n"


def _message(message: Message) -> dict[str, Any]:
    role = message.role if message.role in _ROLES else "user"
    raw = _without_none(
        {
            "role": None if role == message.role else message.role,
            "speaker": message.speaker,
            "origin": message.origin,
            "action": message.action,
            "payload": message.payload,
        }
    )
    return _without_none(
        {
            "id": message.id,
            "provider_message_id": message.client_id,
            "role": role,
            "content": {"type": "text", "text": message.text},
            "created_at": iso(message.at),
            "raw_metadata": raw,
        }
    )
