"""Translate filters into SQL. The SQL text contains only Holdfast's own column names. All values are bound as parameters."""

import itertools
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from holdfast.protocols import MemoryFilter, MessageFilter, SearchFilter, SessionFilter, Space
from holdfast.stores.sql import partitions
from holdfast.stores.sql.connection import Connection, SQLDialect
from holdfast.stores.sql.metadata import metadata_condition
from holdfast.stores.sql.rows import dump_namespace, stamp
from holdfast.types import Where

_MEMORY_SPACES: tuple[Space, ...] = ("memory", "archive")
_FORGOTTEN_BY_WISH: Final = "action LIKE 'forgotten:%'"
"""SQL condition for messages that a user's wish has hidden. It must equal the condition of the index ``messages_forgotten``."""


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
    """Return the SQL conditions of a memory filter."""
    clauses = Clauses(connection.dialect, "tenant = ?", tenant)
    _add_scope(clauses, connection, tenant, wanted)
    _add_time(clauses, wanted)
    _add_page(clauses, wanted.after_id)
    # Few memories are pinned but many may have the kind: an expression keeps the planner from using the index on kind.
    kind = "(kind || '')" if wanted.pinned else "kind"
    for column, values in (("id", wanted.ids), ("item", wanted.items), (kind, wanted.kinds), ("status", wanted.statuses)):
        if values is not None:
            clauses.among(column, list(values))
    _add_keys(clauses, wanted)
    add_namespace(clauses, wanted.namespace, wanted.namespace_prefix)
    for column, value in (("topic", wanted.topic), ("content_hash", wanted.content_hash)):
        if value is not None:
            clauses.add(f"{column} = ?", value)
    if wanted.has_topic or wanted.topic is not None:
        clauses.add("topic IS NOT NULL")
    if wanted.min_trust is not None:
        clauses.add("trust >= ?", wanted.min_trust)
    if wanted.pinned is not None:
        clauses.add(f"pinned = {int(wanted.pinned)}")
    if wanted.sources is not None:
        derived = Clauses(connection.dialect, "tenant = ?", tenant)
        derived.among("source", list(wanted.sources))
        clauses.add(f"id IN (SELECT memory FROM provenance WHERE {derived.sql})", *derived.values)
    if wanted.where:
        add_metadata(clauses, wanted.where)
    return clauses


def _add_keys(clauses: Clauses, wanted: MemoryFilter) -> None:
    if wanted.key is not None:
        clauses.add(*clauses.dialect.key_equals(wanted.key))
    if wanted.keys is not None:
        conditions = [clauses.dialect.key_equals(key) for key in wanted.keys]
        values = itertools.chain.from_iterable(condition[1:] for condition in conditions)
        clauses.add(" OR ".join(str(condition[0]) for condition in conditions).join("()") if conditions else "0 = 1", *values)


def _add_scope(clauses: Clauses, connection: Connection, tenant: str, wanted: MemoryFilter) -> None:
    if wanted.reader is not None:
        clauses.among("partition", list(partitions.visible(connection, wanted.reader, _MEMORY_SPACES, apps=wanted.apps)))
    if wanted.exactly is not None:
        found = [partitions.exact(connection, wanted.exactly, space) for space in _MEMORY_SPACES]
        clauses.among("partition", [number for number in found if number is not None])
    if wanted.owner:
        clauses.among("partition", partitions.owned(connection, tenant, wanted.owner, _MEMORY_SPACES))


def _add_page(clauses: Clauses, after_id: str | None) -> None:
    """Add the condition that selects ids greater than ``after_id``, the last id of the previous page."""
    if after_id is not None:
        clauses.add("id > ?", after_id)


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


def item_clauses(dialect: SQLDialect, tenant: str, where: SearchFilter, partitions: Collection[int]) -> Clauses:
    """Return the SQL conditions of a search filter on memories: on kind, metadata and namespace.

    The conditions select only current revisions in the given partitions.
    """
    clauses = Clauses(dialect, "tenant = ?", tenant)
    clauses.among("partition", list(partitions))
    clauses.add("recorded_to IS NULL")
    if where.kinds is not None:
        clauses.among("kind", list(where.kinds))
    if where.where:
        add_metadata(clauses, where.where)
    add_namespace(clauses, where.namespace, where.namespace_prefix)
    return clauses


def add_namespace(clauses: Clauses, exact: Sequence[str] | None, prefix: Sequence[str]) -> None:
    """Add the condition that the namespace equals ``exact``, if given, and that it starts with ``prefix``, if given.

    The SQL text includes ``namespace <> ''``, the condition of a partial index, so that the planner can use this index.
    """
    if exact is not None:
        clauses.add("namespace = ? AND namespace <> ''" if exact else "namespace = ?", dump_namespace(exact))
    if prefix:
        first = dump_namespace(prefix)
        # Each label ends with the separator, so that all namespaces below a prefix lie between these two.
        clauses.add("namespace >= ? AND namespace < ? AND namespace <> ''", first, first[:-1] + chr(ord(first[-1]) + 1))


def add_metadata(clauses: Clauses, where: Where) -> None:
    """Add the condition that the metadata matches a filter."""
    clauses.add(*metadata_condition(clauses.dialect, where))


def message_clauses(connection: Connection, tenant: str, wanted: MessageFilter) -> Clauses:
    """Return the SQL conditions of a message filter."""
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
    if wanted.forgotten_by_wish:
        clauses.add(_FORGOTTEN_BY_WISH)
    _add_place(clauses, wanted)
    return clauses


def _add_place(clauses: Clauses, wanted: MessageFilter) -> None:
    """Add the conditions on the sequence numbers and times of messages."""
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
    """Add the condition that a timestamp column lies in one of the intervals. Without intervals, no condition is added."""
    if not intervals:
        return
    either = " OR ".join(f"{column} >= ? AND {column} < ?" for _ in intervals)
    clauses.add(f"({either})", *(stamp(moment) for interval in intervals for moment in interval))


def session_clauses(connection: Connection, tenant: str, wanted: SessionFilter) -> Clauses:
    """Return the SQL conditions of a session filter."""
    clauses = Clauses(connection.dialect, "tenant = ?", tenant)
    if wanted.ids is not None:
        clauses.among("id", list(wanted.ids))
    _add_page(clauses, wanted.after_id)
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
