"""Translate filters into SQL. The SQL text contains only our own column names. All values are bound as parameters."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Space
from holdfast.stores.sql import partitions
from holdfast.stores.sql.connection import Connection, SQLDialect
from holdfast.stores.sql.rows import stamp
from holdfast.types import Where

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$ne": "<>"}
_MEMORY_SPACES: tuple[Space, ...] = ("memory", "archive")


class Clauses:
    """A WHERE clause under construction, with its bound values."""

    def __init__(self, dialect: SQLDialect, sql: str, *values: object) -> None:
        self.dialect = dialect
        self._parts = [sql]
        self.values: list[Any] = list(values)

    def add(self, sql: str, *values: object) -> None:
        """Add a condition with its bound values."""
        self._parts.append(sql)
        self.values.extend(values)

    def among(self, column: str, values: Collection[object]) -> None:
        """Add the condition that a column equals one of the values."""
        self.add(*self.dialect.among(column, list(values)))

    def pairs(self, columns: str, pairs: Collection[tuple[int, int]]) -> None:
        """Add the condition that two columns together equal one of the pairs. There must be at least one pair."""
        self.add(f"({columns}) IN (VALUES {', '.join(['(?, ?)'] * len(pairs))})", *itertools.chain.from_iterable(pairs))

    @property
    def sql(self) -> str:
        """The conditions, joined with AND."""
        return " AND ".join(self._parts)


def memory_clauses(connection: Connection, tenant: str, wanted: MemoryFilter) -> Clauses:
    """Return the conditions of a memory filter."""
    clauses = Clauses(connection.dialect, "tenant = ?", tenant)
    _add_scope(clauses, connection, tenant, wanted)
    _add_time(clauses, wanted)
    # Few memories are pinned but many may have the kind: an expression keeps the planner from using the index on kind.
    kind = "(kind || '')" if wanted.pinned else "kind"
    for column, values in (("id", wanted.ids), ("item", wanted.items), (kind, wanted.kinds), ("status", wanted.statuses)):
        if values is not None:
            clauses.among(column, list(values))
    for column, value in (("key", wanted.key), ("topic", wanted.topic), ("content_hash", wanted.content_hash)):
        if value is not None:
            clauses.add(f"{column} = ?", value)
    if wanted.has_topic or wanted.topic is not None:
        clauses.add("topic IS NOT NULL")
    if wanted.pinned is not None:
        clauses.add(f"pinned = {int(wanted.pinned)}")
    if wanted.sources is not None:
        derived = Clauses(connection.dialect, "tenant = ?", tenant)
        derived.among("source", list(wanted.sources))
        clauses.add(f"id IN (SELECT memory FROM provenance WHERE {derived.sql})", *derived.values)
    if wanted.where:
        add_metadata(clauses, wanted.where)
    return clauses


def _add_scope(clauses: Clauses, connection: Connection, tenant: str, wanted: MemoryFilter) -> None:
    if wanted.reader is not None:
        clauses.among("partition", list(partitions.visible(connection, wanted.reader, _MEMORY_SPACES, apps=wanted.apps)))
    if wanted.exactly is not None:
        found = [partitions.exact(connection, wanted.exactly, space) for space in _MEMORY_SPACES]
        clauses.among("partition", [number for number in found if number is not None])
    if wanted.owner:
        clauses.among("partition", partitions.owned(connection, tenant, wanted.owner, _MEMORY_SPACES))


def _add_time(clauses: Clauses, wanted: MemoryFilter) -> None:
    if wanted.known_at is not None:
        moment = stamp(wanted.known_at)
        clauses.add("recorded_at <= ? AND (recorded_to IS NULL OR recorded_to > ?)", moment, moment)
    else:
        clauses.add("recorded_to IS NULL")
    if wanted.as_of is not None:
        moment = stamp(wanted.as_of)
        clauses.add("valid_from <= ? AND (valid_to IS NULL OR valid_to > ?)", moment, moment)
        clauses.add("(expires_at IS NULL OR expires_at > ?)", moment)
    if wanted.expired_by is not None:
        clauses.add("expires_at <= ?", stamp(wanted.expired_by))
    if wanted.unexpired_at is not None:
        clauses.add("(expires_at IS NULL OR expires_at > ?)", stamp(wanted.unexpired_at))
    if wanted.retired_before is not None:
        clauses.add("retired_at < ?", stamp(wanted.retired_before))
        if wanted.statuses is not None and "live" not in wanted.statuses:
            clauses.add("status <> 'live'")  # literal, as in the partial index: the planner cannot match bound values to it
    if wanted.unused_since is not None:
        moment = stamp(wanted.unused_since)
        clauses.add("origin = 'auto' AND pinned = 0 AND updated_at < ?", moment)
        clauses.add("coalesce(last_used_at, 0) < ? AND coalesce(last_seen_at, 0) < ?", moment, moment)


def add_metadata(clauses: Clauses, where: Where) -> None:
    """Add conditions on metadata entries. The names of the entries are bound as parameters, too."""
    for key, wanted in where.items():
        if isinstance(wanted, Mapping):
            for name, value in wanted.items():
                if name not in _COMPARISONS:
                    known = ", ".join(_COMPARISONS)
                    raise InvalidInput(f"Unknown comparison {name!r} for metadata {key!r}. Use one of {known}.")
                clauses.add(*_comparison(clauses.dialect, key, _COMPARISONS[name], value))
        elif isinstance(wanted, list | tuple | set | frozenset):
            choices = [_comparison(clauses.dialect, key, "=", value) for value in wanted]
            either = " OR ".join(sql for sql, *_ in choices) or "1 = 0"
            clauses.add(f"({either})", *(value for _, *values in choices for value in values))
        else:
            clauses.add(*_comparison(clauses.dialect, key, "=", wanted))


def _comparison(dialect: SQLDialect, key: str, operator: str, value: object) -> tuple[Any, ...]:
    """Return one comparison with its bound values.

    Values of different JSON types are never equal. For example, true equals neither 1 nor '1'.
    """
    if value is not None and not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise InvalidInput(f"Metadata {key!r} cannot be compared with {kind}. Use text, a number, a boolean or None.")
    return dialect.metadata_entry(str(key), operator, value)


def message_clauses(connection: Connection, tenant: str, wanted: MessageFilter) -> Clauses:
    """Return the conditions of a message filter."""
    clauses = Clauses(connection.dialect, "tenant = ?", tenant)
    if wanted.session is not None:
        clauses.add("session = ?", wanted.session)
    if wanted.owner:
        clauses.among("partition", partitions.owned(connection, tenant, wanted.owner, ["message"]))
    if wanted.reader is not None:
        clauses.among("partition", list(partitions.visible(connection, wanted.reader, ["message"])))
    if wanted.exactly is not None:
        number = partitions.exact(connection, wanted.exactly, "message")
        clauses.among("partition", [] if number is None else [number])
    for column, values in (("id", wanted.ids), ("seq", wanted.seqs)):
        if values is not None:
            clauses.among(column, list(values))
    if wanted.client_id is not None:
        clauses.add("client_id = ?", wanted.client_id)
    if wanted.actions is not None:
        _add_actions(clauses, wanted.actions)
    _add_place(clauses, wanted)
    return clauses


def _add_place(clauses: Clauses, wanted: MessageFilter) -> None:
    """Add the conditions on the sequence numbers and the times of messages."""
    if wanted.after_seq:
        clauses.add("seq > ?", wanted.after_seq)
    if wanted.up_to_seq is not None:
        clauses.add("seq <= ?", wanted.up_to_seq)
    if wanted.before is not None:
        clauses.add("at < ?", stamp(wanted.before))
    said_in(clauses, "at", wanted.said)


def _add_actions(clauses: Clauses, actions: Collection[str | None]) -> None:
    named = [action for action in actions if action is not None]
    either = [f"action IN ({', '.join('?' * len(named))})"] if named else []
    if None in actions:
        either.append("action IS NULL")
    clauses.add(f"({' OR '.join(either) or '1 = 0'})", *named)


def said_in(clauses: Clauses, column: str, intervals: Sequence[tuple[datetime, datetime]]) -> None:
    """Add the condition that a timestamp lies in one of the intervals. Without intervals, no condition is added."""
    if not intervals:
        return
    either = " OR ".join(f"{column} >= ? AND {column} < ?" for _ in intervals)
    clauses.add(f"({either})", *(stamp(moment) for interval in intervals for moment in interval))


def session_clauses(connection: Connection, tenant: str, wanted: SessionFilter) -> Clauses:
    """Return the conditions of a session filter."""
    clauses = Clauses(connection.dialect, "tenant = ?", tenant)
    if wanted.ids is not None:
        clauses.among("id", list(wanted.ids))
    if wanted.statuses is not None:
        clauses.among("status", list(wanted.statuses))
    for part in ("app", "user", "agent"):
        if part in wanted.owner:
            clauses.add(f"{part} = ?", wanted.owner[part])
        if wanted.exactly is not None:
            clauses.add(f"{part} = ?", getattr(wanted.exactly, part) or "")
    if wanted.idle_since is not None:
        clauses.add("last_at <= ?", stamp(wanted.idle_since))
    if wanted.active_since is not None:
        clauses.add("last_at >= ?", stamp(wanted.active_since))
    return clauses
