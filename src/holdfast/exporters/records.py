"""Convert the entries of an export to JSON objects, one per line of a JSONL file. ``docs/export.md`` documents the format.

Fields with their default value are left out. The order of the fields is fixed, so that equal data gives equal bytes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.exporters.entries import (
    COVERED,
    JOB_PLACES,
    SESSION_PLACES,
    Entry,
    JobEntry,
    MemoryEntry,
    MessageEntry,
    RevisionEntry,
    SessionEntry,
    SummarizedEntry,
)
from holdfast.exporters.selection import Selection
from holdfast.exporters.walk import effect_with
from holdfast.presets.plain_kinds import kind_to_json
from holdfast.types import AppRecord, ChangeRecord, Job, Kind, Message, Scope, Trace, UserProfile

FORMAT = "holdfast-export"
"""Value of ``type`` in the first line of an export."""
VERSION = 1
"""Version of the format. A reader refuses a higher version."""
TYPES = ("user", "app", "message", "session", "summarized", "memory", "job", "trace")
"""Types of the lines between the first and the last one, in their order."""


def to_line(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line of JSON in UTF-8. Characters that UTF-8 cannot encode are escaped."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def header(preset: str, selection: Selection, kinds: Sequence[Kind] = ()) -> dict[str, Any]:
    """Return the first record of an export: the format, its version, the preset and the selection.

    It also describes the plain kinds that programs added to the preset. Memories of a plain kind are stored exactly as given.
    """
    added = {"kinds": [kind_to_json(kind) for kind in kinds]} if kinds else {}
    return {"type": FORMAT, "version": VERSION, "preset": preset, **added, "selection": selection.parts}


def footer(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the last record of an export. A file without this record is incomplete.

    ``counts`` has the number of entries of each type.
    """
    return {"type": "end", "counts": dict(counts)}


def to_record(entry: Entry) -> dict[str, Any]:
    """Return an entry of an export as a JSON object. Its field ``type`` names the type of the entry."""
    name, encode = _ENCODERS[type(entry)]
    return {"type": name, **encode(entry)}


def iso(moment: datetime | None) -> str | None:
    """Return a time in ISO 8601, such as ``2026-03-01T12:00:00Z``. None stays None."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are neither None nor empty."""
    return {name: value for name, value in fields.items() if value is not None and value not in ([], {})}


def _scope(scope: Scope) -> dict[str, Any]:
    return _given({"user": scope.user, "app": scope.app, "agent": scope.agent})


def _user(profile: UserProfile) -> dict[str, Any]:
    return _given({"user": profile.user, "timezone": profile.timezone, "language": profile.language})


def _summarized(entry: SummarizedEntry) -> dict[str, Any]:
    return _scope(entry.scope) | {"up_to": entry.up_to}


def _memory(entry: MemoryEntry) -> dict[str, Any]:
    """Return the current revision of a memory, with the older revisions in ``earlier``."""
    own = {"id": entry.memory.id} | _scope(entry.memory.scope) | _revision(entry.revisions[-1])
    return own | _given({"earlier": [_revision(each) for each in entry.revisions[:-1]]})


def _app(app: AppRecord) -> dict[str, Any]:
    return _given(
        {
            "app": app.app,
            "name": app.name,
            "installed_at": iso(app.installed_at),
            "uninstalled_at": iso(app.uninstalled_at),
            "shares_with": list(app.shares_with),
            "metadata": dict(app.metadata),
        }
    )


def _message(entry: MessageEntry) -> dict[str, Any]:
    message: Message = entry.message
    own = {"id": message.id, "session": message.session, **_scope(message.scope), "role": message.role, "text": message.text}
    payload = {} if message.payload is None else {"payload": message.payload}
    return own | _given({"speaker": message.speaker, "client_id": message.client_id, "at": iso(message.at)}) | payload | _given(
        {
            "origin": message.origin,
            "action": message.action,
            "language": message.language,
            "act": message.act,
            "asks": message.asks or None,
            "asked": message.asked,
            "answers": entry.answers,
        }
    )  # fmt: skip


def _session(entry: SessionEntry) -> dict[str, Any]:
    session = entry.session
    metadata = {name: value for name, value in session.metadata.items() if name not in SESSION_PLACES}
    return {"id": session.id, **_scope(session.scope)} | _given(
        {
            "status": session.status,
            "started_at": iso(session.started_at),
            "last_at": iso(session.last_at),
            "ended_at": iso(session.ended_at),
            "metadata": metadata,
            "messages": dict(entry.places),
        }
    )


def _revision(entry: RevisionEntry) -> dict[str, Any]:
    memory = entry.memory
    metadata = {name: value for name, value in memory.metadata.items() if name not in entry.covers or name not in COVERED}
    found = {"revision": memory.revision, "kind": memory.kind, "text": memory.text}
    found |= _given(
        {
            "key": memory.key,
            "namespace": list(memory.namespace),
            "topic": memory.topic,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "metadata": metadata,
            "covers": dict(entry.covers),
            "origin": memory.origin,
            "trust": memory.trust,
            "sources": list(memory.sources),
            "pinned": memory.pinned or None,
            "language": memory.language,
            "status": None if memory.status == "live" else memory.status,
            "reason": memory.reason,
            "replaced_by": memory.replaced_by,
        }
    )
    if memory.indexed is not None:
        found["indexed"] = list(memory.indexed)
    times = ("created_at", "updated_at", "valid_from", "valid_to", "expires_at", "last_used_at", "last_seen_at", "retired_at")
    found |= _given({name: iso(getattr(memory, name)) for name in (*times, "recorded_at")})
    return found if entry.change is None else found | {"change": _change(entry.change)}


def _change(change: ChangeRecord) -> dict[str, Any]:
    author = change.author
    return _given(
        {
            "id": change.id,
            "batch": change.batch,
            "at": iso(change.at),
            "action": change.action,
            "actor": author.actor,
            "model": author.model,
            "prompt": author.prompt,
            "job": author.job,
            "reason": change.reason,
        }
    )


def _job(entry: JobEntry) -> dict[str, Any]:
    """Return a job. A running job is exported as queued, because its lease has no meaning in another store."""
    job: Job = entry.job
    payload = {name: value for name, value in job.payload.items() if value is not None and name not in JOB_PLACES}
    own = {"id": job.id, "kind": job.kind, "state": "queued" if job.state == "running" else job.state}
    return own | _given(
        {
            "payload": payload,
            "messages": dict(entry.places),
            "effect": effect_with(job.effect, entry.place),
            "priority": job.priority or None,
            "attempt": job.attempt or None,
            "created_at": iso(job.created_at),
            "not_before": iso(job.not_before),
            "finished_at": iso(job.finished_at),
            "cost": job.cost or None,
            "error": job.error,
        }
    )


def _trace(trace: Trace) -> dict[str, Any]:
    own = {"id": trace.id, **_scope(trace.scope), "at": iso(trace.at), "question": trace.question}
    return own | _given({"session": trace.session, "message": trace.message, "details": trace.details()})


_ENCODERS: Mapping[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    UserProfile: ("user", _user),
    AppRecord: ("app", _app),
    MessageEntry: ("message", _message),
    SessionEntry: ("session", _session),
    SummarizedEntry: ("summarized", _summarized),
    MemoryEntry: ("memory", _memory),
    JobEntry: ("job", _job),
    Trace: ("trace", _trace),
}
