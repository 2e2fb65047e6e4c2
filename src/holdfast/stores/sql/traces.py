"""Reads and writes of traces."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.protocols import TraceFilter
from holdfast.stores.sql.connection import fetch, fetch_value, guarded, upsert
from holdfast.stores.sql.filters import Clauses
from holdfast.stores.sql.keys import AccessReads, AccessWrites
from holdfast.stores.sql.rows import dump, stamp, to_scope, to_time
from holdfast.text.clean import fold
from holdfast.types import Scope, Trace

_COLUMNS = "id, app, user, agent, session, message, at, question, items, body"
_PARTS = ("app", "user", "agent")
_BATCH = 500
"""Number of ids that are bound in one statement."""


class TraceReads(AccessReads):
    """The methods of a store that read traces."""

    @guarded
    def traces(self, wanted: TraceFilter) -> list[Trace]:
        """List the traces that a filter selects, newest first."""
        clauses = Clauses(self.connection.dialect, "tenant = ?", self.tenant)
        if wanted.ids is not None:
            clauses.among("id", list(wanted.ids))
        for part in _PARTS:
            if part in wanted.owner:
                clauses.add(f"{part} = ?", wanted.owner[part])
            if wanted.exactly is not None:
                clauses.add(f"{part} = ?", getattr(wanted.exactly, part) or "")
        if wanted.session is not None:
            clauses.add("session = ?", wanted.session)
        if wanted.messages is not None:
            clauses.among("message", list(wanted.messages))
        limit = 2**62 if wanted.limit is None else wanted.limit
        rows = fetch(
            self.connection,
            f"SELECT {_COLUMNS} FROM traces WHERE {clauses.sql} ORDER BY at DESC, id DESC LIMIT ? OFFSET ?",
            (*clauses.values, limit, wanted.offset),
        )
        return [_to_trace(row, self.tenant) for row in rows]

    @guarded
    def has_traces(self, *, before: datetime) -> bool:
        """Return True if there are traces that are older than a given time."""
        sql = "SELECT EXISTS (SELECT 1 FROM traces WHERE tenant = ? AND at < ?)"
        return bool(fetch_value(self.connection, sql, (self.tenant, stamp(before))))


class TraceWrites(TraceReads, AccessWrites):
    """The methods of a transaction that write traces."""

    def add_trace(self, trace: Trace) -> None:
        """Store a trace."""
        self.connection.execute(upsert("traces", _COLUMNS), (self.tenant, *_trace_row(trace)))

    def remove_traces(
        self,
        *,
        before: datetime | None = None,
        keep: int | None = None,
        ids: Collection[str] = (),
        owner: Mapping[str, str] | None = None,
        items: Collection[str] = (),
        texts: Collection[str] = (),
    ) -> int:
        """Remove each trace that at least one of the arguments selects, and return the number of removed traces.

        ``before`` selects the traces older than this time, and ``keep`` all traces except the newest ``keep``. ``ids`` selects
        traces by their id, and ``owner`` by their user, app or agent. ``items`` selects the traces that list one of these items,
        and ``texts`` the traces whose question contains one of these texts.
        """
        removed = 0
        if before is not None:
            removed += self._delete("at < ?", stamp(before))
        if keep is not None:
            sql = "SELECT id FROM traces WHERE tenant = ? ORDER BY at DESC, id DESC LIMIT ? OFFSET ?"
            ids = {*ids, *(row[0] for row in fetch(self.connection, sql, (self.tenant, 2**62, keep)))}
        if owner:
            removed += self._delete(" AND ".join(f"{part} = ?" for part in owner), *owner.values())
        if items or texts:
            ids = {*ids, *self._mentioning(set(items), [fold(text) for text in texts])}
        for batch in _batches(ids):
            removed += self._delete(*self.connection.dialect.among("id", batch))
        return removed

    def _mentioning(self, items: set[str], texts: Sequence[str]) -> list[str]:
        """Return the ids of traces that list one of the items, or whose question contains one of the texts."""
        rows = fetch(self.connection, "SELECT id, question, items FROM traces WHERE tenant = ?", (self.tenant,))
        found = []
        for id, question, listed in rows:
            folded = fold(question) if texts else ""
            if not items.isdisjoint(listed.split()) or any(text in folded for text in texts):
                found.append(id)
        return found

    def remove_traces_of_session(self, session: str, scope: Scope) -> None:
        """Remove the traces of a session."""
        self._delete("session = ? AND app = ? AND user = ? AND agent = ?", session, *_stored(scope))

    def remove_traces_of_messages(self, messages: Collection[str]) -> None:
        """Remove the traces whose question is one of these messages. ``messages`` are message ids.

        Some traces do not record which message was their question. Such traces are also removed if they belong to the session of
        one of the messages.
        """
        for batch in _batches(messages):
            among = self.connection.dialect.among
            condition, *ids = among("id", batch)
            sql = f"SELECT DISTINCT session FROM messages WHERE tenant = ? AND {condition}"
            sessions = [row[0] for row in fetch(self.connection, sql, (self.tenant, *ids))]
            of_sessions, *names = among("session", sessions)
            of_messages, *ids = among("message", batch)
            if sessions:
                self._delete(f"{of_sessions} AND ({of_messages} OR message IS NULL)", *names, *ids)

    def _delete(self, condition: str, *values: object) -> int:
        self.connection.execute(f"DELETE FROM traces WHERE tenant = ? AND {condition}", (self.tenant, *values))
        return self.connection.changes()


def _batches(values: Collection[str]) -> list[list[str]]:
    ordered = sorted(values)
    return [ordered[start : start + _BATCH] for start in range(0, len(ordered), _BATCH)]


def _stored(scope: Scope) -> tuple[str, ...]:
    return tuple(getattr(scope, part) or "" for part in _PARTS)


def _trace_row(trace: Trace) -> tuple[Any, ...]:
    return (
        trace.id, *_stored(trace.scope), trace.session, trace.message, stamp(trace.at), trace.question,
        " ".join(sorted(trace.items)), dump(trace.details()),
    )  # fmt: skip


def _to_trace(row: Sequence[Any], tenant: str) -> Trace:
    at = to_time(row[6])
    assert at is not None
    scope = to_scope(tenant, row[1], row[2], row[3])
    return Trace.of(json.loads(row[9]), id=row[0], scope=scope, at=at, question=row[7], session=row[4], message=row[5])
