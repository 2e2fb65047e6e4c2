"""Filters as SQL. Every value is bound; only column names of our own are ever formatted."""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from holdfast.errors import InvalidInput
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Space
from holdfast.stores import partitions
from holdfast.stores.rows import dump, marks, stamp
from holdfast.types import Where

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$ne": "<>"}
_MEMORY_SPACES: tuple[Space, ...] = ("memory", "archive")
_MANY = 500


class Clauses:
    """A growing WHERE, with what it binds."""

    def __init__(self, sql: str, *values: object) -> None:
        self._parts = [sql]
        self.values: list[Any] = list(values)

    def add(self, sql: str, *values: object) -> None:
        """Require one thing more."""
        self._parts.append(sql)
        self.values.extend(values)

    def among(self, column: str, wanted: "Sequence[object] | set[Any] | frozenset[Any]") -> None:
        """Require a column to be one of these values; a long list is bound as one JSON array."""
        if len(wanted) > _MANY:
            self.add(f"{column} IN (SELECT value FROM json_each(?))", dump(list(wanted)))
        else:
            self.add(f"{column} IN ({marks(wanted)})", *wanted)

    @property
    def sql(self) -> str:
        """The conditions, joined."""
        return " AND ".join(self._parts)


def memory_clauses(connection: apsw.Connection, tenant: str, wanted: MemoryFilter) -> Clauses:
    """Return the conditions that pick the wanted memories."""
    clauses = Clauses("tenant = ?", tenant)
    _add_scope(clauses, connection, tenant, wanted)
    _add_time(clauses, wanted)
    for column, values in (("id", wanted.ids), ("item", wanted.items), ("kind", wanted.kinds), ("status", wanted.statuses)):
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
        made = Clauses("tenant = ?", tenant)
        made.among("source", list(wanted.sources))
        clauses.add(f"id IN (SELECT memory FROM provenance WHERE {made.sql})", *made.values)
    if wanted.where:
        add_metadata(clauses, wanted.where)
    return clauses


def _add_scope(clauses: Clauses, connection: apsw.Connection, tenant: str, wanted: MemoryFilter) -> None:
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
    if wanted.unused_since is not None:
        moment = stamp(wanted.unused_since)
        clauses.add("origin = 'auto' AND pinned = 0 AND updated_at < ?", moment)
        clauses.add("coalesce(last_used_at, 0) < ? AND coalesce(last_seen_at, 0) < ?", moment, moment)


def add_metadata(clauses: Clauses, where: Where) -> None:
    """Require metadata entries; the keys are bound like any value."""
    for key, wanted in where.items():
        if isinstance(wanted, Mapping):
            for name, value in wanted.items():
                if name not in _COMPARISONS:
                    known = ", ".join(_COMPARISONS)
                    raise InvalidInput(f"Unknown comparison {name!r} for metadata {key!r}; use one of {known}.")
                clauses.add(*_comparison(key, _COMPARISONS[name], value))
        elif isinstance(wanted, list | tuple | set | frozenset):
            choices = [_comparison(key, "=", value) for value in wanted]
            either = " OR ".join(sql for sql, *_ in choices) or "0"
            clauses.add(f"({either})", *(value for _, *values in choices for value in values))
        else:
            clauses.add(*_comparison(key, "=", wanted))


def _comparison(key: str, operator: str, value: object) -> tuple[Any, ...]:
    """Return one comparison with what it binds; JSON's types count: true is not 1, and '1' is not 1."""
    types, bound = _json_types(key, value)
    sql = (
        "EXISTS (SELECT 1 FROM json_each(metadata) AS entry WHERE entry.key = ? "
        f"AND entry.type IN ({marks(types)}) AND entry.value {'IS' if bound is None else operator} ?)"
    )
    return (sql, str(key), *types, bound)


def _json_types(key: str, value: object) -> tuple[list[str], object]:
    if value is None:
        return ["null"], None
    if isinstance(value, bool):
        return ["true", "false"], int(value)
    if isinstance(value, int | float):
        return ["integer", "real"], value
    if isinstance(value, str):
        return ["text"], value
    raise InvalidInput(f"Metadata {key!r} can be compared with text, numbers, booleans or None, not {type(value).__name__}.")


def message_clauses(connection: apsw.Connection, tenant: str, wanted: MessageFilter) -> Clauses:
    """Return the conditions that pick the wanted messages."""
    clauses = Clauses("tenant = ?", tenant)
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
    if wanted.after_seq:
        clauses.add("seq > ?", wanted.after_seq)
    if wanted.before is not None:
        clauses.add("at < ?", stamp(wanted.before))
    return clauses


def session_clauses(tenant: str, wanted: SessionFilter) -> Clauses:
    """Return the conditions that pick the wanted sessions."""
    clauses = Clauses("tenant = ?", tenant)
    if wanted.ids is not None:
        clauses.among("id", list(wanted.ids))
    if wanted.statuses is not None:
        clauses.among("status", list(wanted.statuses))
    for part in ("app", "user", "agent"):
        if part in wanted.owner:
            clauses.add(f"{part} = ?", wanted.owner[part])
    if wanted.idle_since is not None:
        clauses.add("last_at <= ?", stamp(wanted.idle_since))
    if wanted.active_since is not None:
        clauses.add("last_at >= ?", stamp(wanted.active_since))
    return clauses
