"""Convert between rows of the SQL tables and Python objects.

Each row of a message or memory contains a hash of its other values. The hash shows damage that SQLite's integrity
check misses: that check verifies only the structure of the file, so it misses most flipped bits in text.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, make_dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, cast

from holdfast.text.chunks import SEPARATOR
from holdfast.types import AppRecord, Author, ChangeRecord, Job, Memory, Message, Scope, SessionRecord, Spend

_SURROGATE = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

MEMORY_COLUMNS = (
    "item, id, revision, partition, kind, text, key, topic, importance, tags, metadata, origin, trust, sources, pinned, "
    "language, status, created_at, updated_at, valid_from, valid_to, expires_at, last_used_at, last_seen_at, retired_at, "
    "replaced_by, reason, content_hash, recorded_at, recorded_to, namespace, indexed, hash"
)
MESSAGE_COLUMNS = "seq, id, session, partition, role, speaker, client_id, text, at, origin, action, language, act, asks, asked, answers, payload, hash"
SESSION_COLUMNS = "id, app, user, agent, status, started_at, last_at, ended_at, digested_to, metadata"
JOB_COLUMNS = (
    "id, kind, payload, effect, state, priority, attempt, created_at, not_before, lease_until, worker, finished_at, cost, error"
)
SEARCHED_TEXT = "CASE WHEN indexed IS NOT NULL THEN indexed WHEN key IS NULL THEN text ELSE key || ': ' || text END"
"""SQL expression for the text by which a memory is found. It returns the same as the Python function ``searched_text``."""
SPEND_COLUMNS = "day, purpose, model, calls, input_tokens, output_tokens, seconds, cost, unpriced, energy"
APP_COLUMNS = "app, name, installed_at, uninstalled_at, sharing, metadata"
CHANGE_COLUMNS = "id, batch, at, action, memory, revision, actor, model, prompt, job, reason"

# Creating a frozen dataclass calls object.__setattr__ per field: for the thirty fields of a memory that takes as long as
# reading the row. A mutable class with the same slots is filled at a sixth of the cost; its __class__ is changed afterwards.
_MutableMemory: Any = make_dataclass("_MutableMemory", [field.name for field in fields(Memory)], slots=True)
_MutableMessage: Any = make_dataclass("_MutableMessage", [field.name for field in fields(Message)], slots=True)

_IN_PLACE = (21, 22, 23, 29)
"""Positions of the columns that can change without a new revision: expires_at, last_used_at, last_seen_at and recorded_to.

The hash of a memory row does not cover these columns.
"""
_HASHED_MEMORY_COLUMNS = 30
"""Number of columns at the start of a memory row that the hash covers, except those in ``_IN_PLACE``.

The two columns after these, namespace and indexed texts, are covered only if one of them is set. Older versions did not
have these columns, so the hashes of their rows stay valid.
"""
_HASHED_MESSAGE_COLUMNS = 12
"""Number of columns at the start of a message row that the hash covers.

The payload is covered, too, if the message has one. The other columns can be computed again from the messages.
"""
_PAYLOAD = MESSAGE_COLUMNS.split(", ").index("payload")


def to_time(value: int | None) -> datetime | None:
    """Convert stored microseconds since 1970 to a time. None stays None."""
    return None if value is None else _time(value)


def from_time(value: datetime | None) -> int | None:
    """Convert a time to microseconds since 1970 in UTC, for storage. None stays None."""
    return None if value is None else (value - _EPOCH) // _MICROSECOND


def stamp(value: datetime) -> int:
    """Convert a time to microseconds since 1970 in UTC, for storage."""
    return (value - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Convert stored microseconds since 1970 to a time."""
    return _time(value)


@lru_cache(maxsize=4096)  # most times of a memory are equal
def _time(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def dump(value: object) -> str:
    """Return a value as compact JSON. Keys are sorted, and non-ASCII letters are not escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def dump_payload(payload: object) -> str | None:
    """Return a payload as JSON, with its keys in their original order. Lone surrogates, which cannot be stored, are escaped."""
    if payload is None:
        return None
    dumped = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(payload, separators=(",", ":")) if _SURROGATE.search(dumped) else dumped


def dump_namespace(namespace: Sequence[str]) -> str:
    """Return the stored form of a namespace: each label, followed by a separator."""
    return "".join(label + SEPARATOR for label in namespace)


def load_namespace(stored: str) -> tuple[str, ...]:
    """Return the labels of a stored namespace."""
    return tuple(stored.split(SEPARATOR)[:-1]) if stored else ()


def dump_indexed(texts: Sequence[str] | None) -> str | None:
    """Return the stored form of ``Memory.indexed``, the texts that are searched instead of a memory's own text."""
    return None if texts is None else SEPARATOR.join(texts)


def searched_text(memory: Memory) -> str:
    """Return the text to index for a memory: its own text with the key, or the texts in ``Memory.indexed`` if there are any.

    Several texts are separated by ``SEPARATOR``. If the result is empty, the memory is not indexed.
    """
    own = dump_indexed(memory.indexed)
    return str(memory) if own is None else own


def _separated(stored: str) -> tuple[str, ...]:
    return tuple(stored.split(SEPARATOR)) if stored else ()


def row_hash(values: Sequence[object]) -> bytes:
    """Return the hash of a row's values. It covers the types of the values as well as their contents."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(tuple(values)).encode("utf-8", "surrogatepass"))
    return digest.digest()


def memory_hash(row: Sequence[Any]) -> bytes:
    """Compute the hash that a memory row should contain."""
    own = [value for place, value in enumerate(row[:_HASHED_MEMORY_COLUMNS]) if place not in _IN_PLACE]
    namespace, indexed = row[_HASHED_MEMORY_COLUMNS : _HASHED_MEMORY_COLUMNS + 2]
    return row_hash(own if namespace == "" and indexed is None else [*own, namespace, indexed])


def message_hash(row: Sequence[Any]) -> bytes:
    """Compute the hash that a message row should contain."""
    own = row[:_HASHED_MESSAGE_COLUMNS]
    return row_hash(own if row[_PAYLOAD] is None else [*own, row[_PAYLOAD]])


def memory_row(memory: Memory, partition: int) -> tuple[Any, ...]:
    """Convert a memory to a row in the order of ``MEMORY_COLUMNS``."""
    row = [
        memory.item, memory.id, memory.revision, partition, memory.kind, memory.text, memory.key, memory.topic,
        float(memory.importance), dump(list(memory.tags)), dump(dict(memory.metadata)), memory.origin, float(memory.trust),
        dump(list(memory.sources)), int(memory.pinned), memory.language, memory.status, stamp(memory.created_at),
        stamp(memory.updated_at), stamp(memory.valid_from), from_time(memory.valid_to), from_time(memory.expires_at),
        from_time(memory.last_used_at), from_time(memory.last_seen_at), from_time(memory.retired_at), memory.replaced_by,
        memory.reason, memory.content_hash, stamp(memory.recorded_at), from_time(memory.recorded_to),
        dump_namespace(memory.namespace), dump_indexed(memory.indexed), b"",
    ]  # fmt: skip
    row[-1] = memory_hash(row)
    return tuple(row)


def to_memory(row: Sequence[Any], scopes: Mapping[int, Scope]) -> Memory:
    """Convert a row in the order of ``MEMORY_COLUMNS`` to a memory. ``scopes`` maps the number of a partition to its scope."""
    memory = _MutableMemory(
        item=row[0], id=row[1], revision=row[2], scope=scopes[row[3]], kind=row[4], text=row[5], key=row[6], topic=row[7],
        importance=row[8], tags=_listed(row[9]), metadata={} if row[10] == "{}" else json.loads(row[10]), origin=row[11], trust=row[12],
        sources=_listed(row[13]), pinned=bool(row[14]), language=row[15], status=row[16], created_at=_time(row[17]),
        updated_at=_time(row[18]), valid_from=_time(row[19]), valid_to=to_time(row[20]), expires_at=to_time(row[21]),
        last_used_at=to_time(row[22]), last_seen_at=to_time(row[23]), retired_at=to_time(row[24]), replaced_by=row[25],
        reason=row[26], content_hash=row[27], recorded_at=_time(row[28]), recorded_to=to_time(row[29]), redacted=(),
        namespace=load_namespace(row[30]), indexed=None if row[31] is None else _separated(row[31]),
    )  # fmt: skip
    memory.__class__ = Memory
    return cast("Memory", memory)


def _listed(stored: str) -> tuple[str, ...]:
    return () if stored == "[]" else tuple(json.loads(stored))


def message_row(message: Message, partition: int) -> tuple[Any, ...]:
    """Convert a message to a row in the order of ``MESSAGE_COLUMNS``."""
    values = (
        message.seq, message.id, message.session, partition, message.role, message.speaker, message.client_id, message.text,
        stamp(message.at), message.origin, message.action, message.language, message.act,
        None if message.act is None else int(message.asks), message.asked, message.answers, dump_payload(message.payload),
    )  # fmt: skip
    return (*values, message_hash(values))


def to_message(row: Sequence[Any], scopes: Mapping[int, Scope]) -> Message:
    """Convert a row in the order of ``MESSAGE_COLUMNS`` to a message. ``scopes`` maps the number of a partition to its scope."""
    message = _MutableMessage(
        seq=row[0], id=row[1], session=row[2], scope=scopes[row[3]], role=row[4], speaker=row[5], client_id=row[6],
        text=row[7], at=_time(row[8]), origin=row[9], action=row[10], language=row[11], act=row[12],
        asks=bool(row[13]), asked=row[14], answers=row[15], payload=None if row[16] is None else json.loads(row[16]), redacted=(),
        consent=None,
    )  # fmt: skip
    message.__class__ = Message
    return cast("Message", message)


def to_spend(row: Sequence[Any]) -> Spend:
    """Convert a row in the order of ``SPEND_COLUMNS`` to a ``Spend``."""
    return Spend(
        day=row[0], purpose=row[1], model=row[2], calls=row[3], input_tokens=row[4], output_tokens=row[5], seconds=row[6],
        cost=row[7], unpriced=row[8], energy=row[9],
    )  # fmt: skip


def session_row(session: SessionRecord) -> tuple[Any, ...]:
    """Convert a session to a row in the order of ``SESSION_COLUMNS``."""
    scope = session.scope
    return (
        session.id, scope.app or "", scope.user or "", scope.agent or "", session.status, stamp(session.started_at),
        stamp(session.last_at), from_time(session.ended_at), session.digested_to, dump(dict(session.metadata)),
    )  # fmt: skip


def to_session(row: Sequence[Any], tenant: str) -> SessionRecord:
    """Convert a row in the order of ``SESSION_COLUMNS`` to a session."""
    return SessionRecord(
        id=row[0], scope=to_scope(tenant, row[1], row[2], row[3]), status=row[4], started_at=_time(row[5]),
        last_at=_time(row[6]), ended_at=to_time(row[7]), digested_to=row[8], metadata=json.loads(row[9]),
    )  # fmt: skip


def app_row(record: AppRecord) -> tuple[Any, ...]:
    """Convert an app record to a row in the order of ``APP_COLUMNS``."""
    return (
        record.app, record.name, from_time(record.installed_at), from_time(record.uninstalled_at),
        dump(list(record.shares_with)), dump(dict(record.metadata)),
    )  # fmt: skip


def to_app(row: Sequence[Any]) -> AppRecord:
    """Convert a row in the order of ``APP_COLUMNS`` to an app record."""
    return AppRecord(
        app=row[0], name=row[1], installed_at=to_time(row[2]), uninstalled_at=to_time(row[3]),
        shares_with=_listed(row[4]), metadata=json.loads(row[5]),
    )  # fmt: skip


def job_row(job: Job) -> tuple[Any, ...]:
    """Convert a job to a row in the order of ``JOB_COLUMNS``."""
    return (
        job.id, job.kind, dump(dict(job.payload)), job.effect, job.state, job.priority, job.attempt, stamp(job.created_at),
        stamp(job.not_before), from_time(job.lease_until), job.worker, from_time(job.finished_at), float(job.cost), job.error,
    )  # fmt: skip


def to_job(row: Sequence[Any]) -> Job:
    """Convert a row in the order of ``JOB_COLUMNS`` to a job."""
    return Job(
        id=row[0], kind=row[1], payload=json.loads(row[2]), effect=row[3], state=row[4], priority=row[5], attempt=row[6],
        created_at=_time(row[7]), not_before=_time(row[8]), lease_until=to_time(row[9]), worker=row[10],
        finished_at=to_time(row[11]), cost=row[12], error=row[13],
    )  # fmt: skip


def change_row(change: ChangeRecord) -> tuple[Any, ...]:
    """Convert a change to a row in the order of ``CHANGE_COLUMNS``."""
    author = change.author
    return (
        change.id, change.batch, stamp(change.at), change.action, change.memory, change.revision, author.actor, author.model,
        author.prompt, author.job, change.reason,
    )  # fmt: skip


def to_change(row: Sequence[Any], after: Memory | None) -> ChangeRecord:
    """Convert a row in the order of ``CHANGE_COLUMNS`` to a change. ``after`` is the revision that the change created, if any."""
    author = Author(actor=row[6], model=row[7], prompt=row[8], job=row[9])
    return ChangeRecord(
        id=row[0], batch=row[1], at=_time(row[2]), action=cast("Any", row[3]), memory=row[4], revision=row[5],
        author=author, reason=row[10], after=after,
    )  # fmt: skip


def to_scope(tenant: str, app: str, user: str, agent: str) -> Scope:
    """Convert stored parts of a scope to a scope. An empty stored part means that this part is shared."""
    return Scope(tenant=tenant, app=app or None, user=user or None, agent=agent or None)


def marks(values: Sequence[object] | set[Any] | frozenset[Any]) -> str:
    """Return one SQL placeholder (a question mark) for each value, separated by commas."""
    return ", ".join("?" * len(values))
