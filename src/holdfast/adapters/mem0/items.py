"""Convert between the arguments and results of mem0 and Holdfast's memories."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

import holdfast
from holdfast.adapters.mem0 import filters as mem0_filters
from holdfast.adapters.mem0.filters import ENTITIES, Filters

Item: TypeAlias = dict[str, Any]

log = logging.getLogger("holdfast")
_PROMOTED = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")
"""Entries of a memory's metadata that mem0's results have at the top level instead of under ``metadata``."""
_IDENTITY = frozenset({"user_id", "agent_id", "run_id", "actor_id"})
_EVENTS = {"created": "ADD", "revised": "UPDATE", "restored": "UPDATE", "retired": "DELETE"}


def read_filters(filters: Filters | None, **entities: str | None) -> Item:
    """Return the filters, with the entities given as arguments added. Raise InvalidInput if the result names no entity.

    The entities of mem0 are ``user_id``, ``agent_id`` and ``run_id``.
    """
    mem0_filters.check(filters or {})
    wanted: Item = {**(filters or {}), **{name: value for name, value in entities.items() if value is not None}}
    for name in ENTITIES:
        if isinstance(wanted.get(name), str | int):
            wanted[name] = read_entity(wanted[name])
    if not mem0_filters.entities_named(wanted):
        example = "Example: filters={'user_id': 'u1'}"
        raise holdfast.InvalidInput(f"filters must contain at least one of: user_id, agent_id, run_id. {example}")
    return wanted


def read_limit(limit: int) -> int:
    """Return ``limit``, the maximum number of results. Raise InvalidInput if it is not an integer of at least 0."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise holdfast.InvalidInput(f"top_k must be a whole number, 0 or more, not {limit!r}.")
    return limit


def read_entity(value: Any) -> str | None:
    """Return the id of a user, agent or run as text without outer spaces. None stays None."""
    if value is None:
        return None
    trimmed = str(value).strip()
    if not trimmed:
        raise holdfast.InvalidInput("An id of a user, agent or run cannot be empty.")
    return trimmed


def read_messages(given: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Item]:
    """Return messages with a role and a text. Parts of a message that are not text are left out."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, Mapping | list | tuple):
        raise holdfast.InvalidInput("messages must be a text, a dict, or a list of dicts.")
    found = []
    for number, message in enumerate([given] if isinstance(given, Mapping) else given):
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, list):
            content = "\n".join(part["text"] for part in content if isinstance(part, Mapping) and part.get("type") == "text")
        if not isinstance(message, Mapping) or not message.get("role") or not isinstance(content, str):
            raise holdfast.InvalidInput(f"messages[{number}] needs a role and a content.")
        if content.strip():
            found.append({**message, "content": content})
    return found


def without_identity(metadata: Mapping[str, Any]) -> Item:
    """Return metadata without ``user_id``, ``agent_id`` and similar ids. Only the arguments of a call can set these ids."""
    ignored = sorted(_IDENTITY & set(metadata))
    if ignored:
        log.warning("metadata cannot set %s; they were ignored.", ", ".join(ignored))
    return {name: value for name, value in metadata.items() if name not in _IDENTITY}


def namespace_of(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the namespace for the agent and the run in ``extra``, under the names ``agent_id`` and ``run_id``.

    The namespace is empty if ``extra`` has neither. The same text can be stored once per namespace, so each agent and
    each run has its own memories.
    """
    labels = [f"{name}={extra[name]}" for name in ("agent_id", "run_id") if extra.get(name)]
    return ("mem0", *labels) if labels else ()


def read_expiration(value: date | str | None) -> str | None:
    """Return a date of expiry in the form YYYY-MM-DD. None stays None."""
    if isinstance(value, datetime):
        value = value.date()
    try:
        return None if value is None else date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise holdfast.InvalidInput("expiration_date must be a date in the form YYYY-MM-DD.") from error


def read_moment(value: datetime | str | float) -> datetime:
    """Return the time of a timestamp: seconds since 1970, an ISO text, or a time. Times without a zone are treated as UTC."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def is_expired(memory: holdfast.Memory) -> bool:
    """Return True if the expiration date of a memory is before today."""
    until = memory.metadata.get("expiration_date")
    return isinstance(until, str) and until < datetime.now(UTC).date().isoformat()


def payload_of(memory: holdfast.Memory) -> Item:
    """Return a memory as a dict with everything that a filter can use: its metadata, ids, times and text."""
    core = {"id": memory.id, "data": memory.text, "memory": memory.text, "hash": _hash(memory), "user_id": memory.scope.user}
    times = {"created_at": memory.created_at.isoformat(), "updated_at": memory.updated_at.isoformat()}
    return {**memory.metadata, **core, **times}


def _hash(memory: holdfast.Memory) -> str:
    return hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest()


def memory_item(memory: holdfast.Memory, **more: Any) -> Item:
    """Return a memory in mem0's format, a dict. The entries in ``more``, such as ``score``, are added to it."""
    payload = payload_of(memory)
    rest = {name: value for name, value in memory.metadata.items() if name not in _PROMOTED}
    item = {"id": memory.id, "memory": memory.text, "hash": payload["hash"], "metadata": rest or None, **more}
    item |= {name: payload[name] for name in ("created_at", "updated_at")}
    return item | {name: payload[name] for name in _PROMOTED if payload.get(name) is not None}


def hit_item(hit: holdfast.Hit, *, explain: bool) -> Item:
    """Return a hit in mem0's format, with its score. With ``explain``, add the score of each search that found it."""
    assert hit.memory is not None
    details = {"score_details": {reason.arm: reason.score for reason in hit.why}} if explain else {}
    return {**memory_item(hit.memory, score=hit.score), **details}


def change_item(change: holdfast.ChangeRecord, old: str | None, new: str | None) -> Item:
    """Return a change in the format of mem0's history. ``old`` and ``new`` are the memory's text before and after the change."""
    after = change.after
    return {
        "id": change.id,
        "memory_id": change.memory,
        "old_memory": old,
        "new_memory": new,
        "event": _EVENTS[change.action],
        "created_at": after.created_at.isoformat() if after else None,
        "updated_at": change.at.isoformat(),
        "is_deleted": change.action == "retired",
        "actor_id": after.metadata.get("actor_id") if after else None,
        "role": after.metadata.get("role") if after else None,
    }
