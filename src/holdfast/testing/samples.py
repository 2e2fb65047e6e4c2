"""Factories for test records, with a default for every field."""

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from holdfast.protocols import Store
from holdfast.types import Author, ChangeRecord, Job, Memory, Message, Scope, SessionRecord

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SHARED = Scope()
ANA = Scope(user="ana")
BOB = Scope(user="bob")

OpenStore: TypeAlias = Callable[..., Store]
"""Type of a function that opens the same store once more and returns it. ``tenant`` selects another tenant."""
Alter: TypeAlias = Callable[[str, str], None]
"""Type of a function that damages a store. It replaces a stored text with another of the same length, bypassing the store."""
RowCounts: TypeAlias = Callable[[], Mapping[str, int]]
"""Type of a function that returns the number of rows of every table."""

_numbers = itertools.count(1)


def a_session(id: str = "ses_1", *, scope: Scope = ANA, at: datetime = AT, **more: Any) -> SessionRecord:
    """Return an open session. ``more`` are other fields of the record."""
    return SessionRecord(id=id, scope=scope, started_at=at, last_at=more.pop("last_at", at), **more)


def a_message(text: str, *, scope: Scope = ANA, session: str = "ses_1", at: datetime = AT, **more: Any) -> Message:
    """Return a user's message with a new id. ``more`` are other fields of the message, and can replace the id and the role."""
    id = more.pop("id", None) or f"msg_{next(_numbers)}"
    return Message(id=id, session=session, scope=scope, role=more.pop("role", "user"), text=text, at=at, **more)


def a_memory(text: str, *, scope: Scope = ANA, at: datetime = AT, **more: Any) -> Memory:
    """Return a live fact with a new id. All its times are ``at`` by default.

    ``more`` are other fields of the memory, and can replace the id, the kind and the times.
    """
    times = {name: more.pop(name, at) for name in ("created_at", "updated_at", "valid_from", "recorded_at")}
    id = more.pop("id", None) or f"mem_{next(_numbers)}"
    return Memory(id=id, scope=scope, kind=more.pop("kind", "fact"), text=text, **times, **more)


def a_change(memory: Memory, *, batch: str = "bat_1", **more: Any) -> ChangeRecord:
    """Return a record of the change that created the given revision of a memory. ``more`` are other fields of the record."""
    values = {"action": "created", "at": AT, "author": Author(actor="test"), **more}
    return ChangeRecord(id=f"chg_{next(_numbers):06}", batch=batch, memory=memory.id, revision=memory.revision, **values)


def a_job(effect: str, *, at: datetime = AT, **more: Any) -> Job:
    """Return a job that is due at ``at``.

    ``effect`` identifies the result of the job. ``more`` are other fields of the job.
    """
    id = more.pop("id", None) or f"job_{next(_numbers):06}"
    values = {"kind": "digest", "payload": {}, "not_before": at, **more}
    return Job(id=id, effect=effect, created_at=at, **values)


def remember(store: Store, *memories: Memory) -> list[Memory]:
    """Store memories in one transaction, and return them as stored."""
    with store.write() as tx:
        return [tx.add_revision(memory) for memory in memories]


def say(store: Store, *messages: Message) -> list[Message]:
    """Store messages in one transaction, and return them as stored. Missing sessions are created."""
    with store.write() as tx:
        for message in messages:
            if tx.session(message.session, message.scope) is None:
                tx.add_session(a_session(message.session, scope=message.scope, at=message.at))
        return [tx.add_message(message) for message in messages]
