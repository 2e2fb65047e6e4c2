"""Reads from the SQL tables. The same code runs inside and outside a transaction; only the connection differs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter

from holdfast.filters import check_page
from holdfast.protocols import AppChanges, DayCount, MemoryFilter, MessageFilter, MessagePlace, SessionFilter
from holdfast.stores.sql import partitions, vector_tables
from holdfast.stores.sql.connection import Row, cached_fetch, fetch, guarded
from holdfast.stores.sql.filters import Clauses, memory_clauses, message_clauses, session_clauses
from holdfast.stores.sql.leases import next_job
from holdfast.stores.sql.rows import (
    APP_COLUMNS,
    CHANGE_COLUMNS,
    JOB_COLUMNS,
    MEMORY_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    SPEND_COLUMNS,
    load_namespace,
    marks,
    moment,
    stamp,
    to_app,
    to_change,
    to_job,
    to_memory,
    to_message,
    to_scope,
    to_session,
    to_spend,
)
from holdfast.stores.sql.traces import TraceReads
from holdfast.types import (
    AppRecord,
    ChangeRecord,
    Job,
    JobState,
    Memory,
    Message,
    Scope,
    SessionRecord,
    Spend,
    UserProfile,
    UserRecord,
)

_CHANGED_AT = itemgetter(MEMORY_COLUMNS.split(", ").index("updated_at"), 0)
"""Sort key of listed memories: time of the last change, then item number."""


class SQLReads(TraceReads):
    """The read methods of a store."""

    def session(self, id: str, scope: Scope | None = None) -> SessionRecord | None:
        """Return the session with this id in a scope, or None if there is none.

        Without a scope, also return None if several scopes have a session with this id.
        """
        found = self.sessions(SessionFilter(ids=(id,), exactly=scope))
        return found[0] if len(found) == 1 else None

    @guarded
    def count_missing_vectors(self, model: str, *, reader: Scope) -> int:
        """Count the items that a reader may see and that have a chunk without a vector of this model."""
        seen = partitions.visible(self.connection, reader, ("memory", "message"))
        return vector_tables.count_missing(self.connection, self.tenant, model, seen)

    @guarded
    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List the sessions that a filter selects, most recently active first."""
        clauses = session_clauses(self.connection, self.tenant, wanted)
        order = "last_at DESC, id DESC" if wanted.after_id is None else "id"
        rows = self._rows(
            f"SELECT {SESSION_COLUMNS} FROM sessions WHERE {clauses.sql} ORDER BY {order} LIMIT ? OFFSET ?",
            (*clauses.values, self._limit(wanted.limit), wanted.offset),
        )
        return [to_session(row, self.tenant) for row in rows]

    @guarded
    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List the messages that a filter selects, oldest first."""
        clauses = message_clauses(self.connection, self.tenant, wanted)
        order, limit = ("seq DESC", wanted.newest) if wanted.oldest is None else ("seq", wanted.oldest)
        rows = self._rows(
            f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE {clauses.sql} ORDER BY {order} LIMIT ?",
            (*clauses.values, self._limit(limit)),
        )
        if wanted.oldest is None:
            rows.reverse()
        scopes = partitions.scopes_of(self.connection, self.tenant, {row[3] for row in rows})
        return [to_message(row, scopes) for row in rows if row[3] in scopes]

    @guarded
    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the memories that a filter selects, each in its current revision.

        If the filter has ``known_at``, list the revisions that were current at that time.
        """
        if wanted.pinned and wanted.reader and not self._has_pinned(wanted.reader):
            return []
        clauses = memory_clauses(self.connection, self.tenant, wanted)
        sql = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE {clauses.sql}"
        if wanted.after_id is not None:
            page = (*clauses.values, self._limit(wanted.limit), wanted.offset)
            return self._to_memories(self._rows(f"{sql} ORDER BY id LIMIT ? OFFSET ?", page))
        if wanted.is_selective and wanted.limit is None and not wanted.offset:
            # Sorting a few rows here is faster than in the database, which copies whole rows to sort them.
            rows = sorted(self._rows(sql, clauses.values), key=_CHANGED_AT, reverse=wanted.newest_first)
            return self._to_memories(rows)
        direction = "DESC" if wanted.newest_first else "ASC"
        # A selective filter must use its own index instead of scanning the index on updated_at; "+" rules that out.
        plus = "+" if wanted.is_selective else ""
        order = f"ORDER BY {plus}updated_at {direction}, item {direction} LIMIT ? OFFSET ?"
        return self._to_memories(self._rows(f"{sql} {order}", (*clauses.values, self._limit(wanted.limit), wanted.offset)))

    def _has_pinned(self, reader: Scope) -> bool:
        """Return True if a reader sees any pinned memory.

        The result is cached, because every recall needs the pinned memories and most readers have none.
        """

        def has_any() -> bool:
            clauses = Clauses(self.connection.dialect, "tenant = ?", self.tenant)
            clauses.among("partition", list(partitions.visible(self.connection, reader, ("memory", "archive"))))
            sql = f"SELECT 1 FROM memories WHERE {clauses.sql} AND recorded_to IS NULL AND pinned = 1 LIMIT 1"
            return bool(self._rows(sql, clauses.values))

        return cached_fetch(self.connection, ("pinned", reader), has_any)

    @guarded
    def count_memories(self, wanted: MemoryFilter) -> int:
        """Count the memories that :meth:`memories` would list without a limit.

        During a snapshot, one count is cached: that of all matching memories, expired or not. The expired ones are counted
        each time and subtracted, which is fast because they are few and indexed.
        """
        clauses = memory_clauses(self.connection, self.tenant, replace(wanted, unexpired_at=None))
        sql = f"SELECT count(*) FROM memories WHERE {clauses.sql}"
        key = (sql, *map(str, clauses.values))
        total = cached_fetch(self.connection, key, lambda: int(self._rows(sql, clauses.values)[0][0]))
        if wanted.unexpired_at is None:
            return total
        clauses.add(
            "item IN (SELECT item FROM memories WHERE tenant = ? AND expires_at <= ?"
            f"{'' if wanted.known_at else ' AND recorded_to IS NULL'})",
            self.tenant,
            stamp(wanted.unexpired_at),
        )
        return total - int(self._rows(f"SELECT count(*) FROM memories WHERE {clauses.sql}", clauses.values)[0][0])

    @guarded
    def namespaces(self, wanted: MemoryFilter) -> list[tuple[str, ...]]:
        """List the distinct namespaces of the memories that a filter selects, sorted by their labels."""
        clauses = memory_clauses(self.connection, self.tenant, wanted)
        clauses.add("namespace <> ''")
        rows = self._rows(f"SELECT DISTINCT namespace FROM memories WHERE {clauses.sql}", clauses.values)
        return sorted(load_namespace(row[0]) for row in rows)

    @guarded
    def keys(self, wanted: MemoryFilter) -> list[str]:
        """List the distinct keys of the memories that a filter selects, sorted."""
        clauses = memory_clauses(self.connection, self.tenant, wanted)
        clauses.add("key IS NOT NULL")
        rows = self._rows(f"SELECT DISTINCT key FROM memories WHERE {clauses.sql}", clauses.values)
        return sorted(row[0] for row in rows)

    @guarded
    def places(self, seqs: Collection[int]) -> list[MessagePlace]:
        """Return the fields of messages that recall needs, such as session, speaker, time and dialogue act.

        ``seqs`` are the sequence numbers of the messages. The text of a message is included only if the message contains a
        question, or if its dialogue act (question, statement, ...) is unknown.
        """
        clauses = Clauses(self.connection.dialect, "tenant = ?", self.tenant)
        clauses.among("seq", list(seqs))
        text = "CASE WHEN act IS NULL OR asks = 1 THEN text END"
        sql = f"SELECT seq, session, role, speaker, at, act, language, {text}, origin FROM messages WHERE {clauses.sql}"
        return [
            MessagePlace(seq, session, role, speaker, moment(at), act, language, text, origin)
            for seq, session, role, speaker, at, act, language, text, origin in self._rows(sql, clauses.values)
        ]

    @guarded
    def revisions(self, id: str) -> list[Memory]:
        """List all revisions of a memory, oldest first."""
        sql = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE tenant = ? AND id = ? ORDER BY revision"
        return self._to_memories(self._rows(sql, (self.tenant, id)))

    @guarded
    def changes(self, *, memory: str | None = None, batch: str | None = None, id: str | None = None) -> list[ChangeRecord]:
        """List the changes of one memory or of one batch, oldest first. With a change id, list only that change."""
        column, value = next((c, v) for c, v in (("memory", memory), ("batch", batch), ("id", id)) if v is not None)
        rows = self._rows(
            f"SELECT {CHANGE_COLUMNS} FROM changes WHERE tenant = ? AND {column} = ? ORDER BY at, id", (self.tenant, value)
        )
        made = {(m.id, m.revision): m for memory_id in {row[4] for row in rows} for m in self.revisions(memory_id)}
        return [to_change(row, made.get((row[4], row[5]))) for row in rows]

    @guarded
    def jobs(
        self,
        *,
        states: Collection[JobState] | None = None,
        ids: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
    ) -> list[Job]:
        """List jobs, oldest first."""
        check_page(limit=limit)
        sql, values = f"SELECT {JOB_COLUMNS} FROM jobs WHERE tenant = ?", [self.tenant]
        for column, wanted in (("state", states), ("id", ids), ("kind", kinds)):
            if wanted is not None:
                sql += f" AND {column} IN ({marks(list(wanted))})"
                values.extend(wanted)
        return [to_job(row) for row in self._rows(f"{sql} ORDER BY created_at, id LIMIT ?", (*values, self._limit(limit)))]

    @guarded
    def next_job(
        self,
        *,
        now: datetime,
        until: datetime | None = None,
        kinds: Collection[str] | None = None,
        exclusive: Collection[str] = (),
    ) -> Job | None:
        """Return the job that a worker would lease now, or None if there is none. The job is not leased.

        The arguments have the same meaning as in ``Transaction.lease_job``. By default, ``until`` equals ``now``.
        """
        return next_job(self.connection, self.tenant, now=now, until=until or now, kinds=kinds, exclusive=exclusive)

    @guarded
    def user(self, user: str) -> UserProfile:
        """Return the profile of a user. An unknown user has the default profile."""
        rows = self._rows("SELECT timezone, language FROM users WHERE tenant = ? AND user = ?", (self.tenant, user))
        return UserProfile(user=user, timezone=rows[0][0], language=rows[0][1]) if rows else UserProfile(user=user)

    @guarded
    def user_names(self, *, limit: int | None = None, offset: int = 0) -> list[str]:
        """List all users who have a profile, memories (live or retired), sessions or messages, sorted by code point."""
        # A partition may outlive its rows, so it does not prove that the user still has data.
        within = "tenant = partitions.tenant AND {0}.partition = partitions.partition"
        rows = self._rows(
            "SELECT user FROM (SELECT user FROM users WHERE tenant = ? "
            "UNION SELECT user FROM sessions WHERE tenant = ? AND user <> '' "
            "UNION SELECT user FROM partitions WHERE tenant = ? AND user <> '' AND ("
            f"EXISTS (SELECT 1 FROM memories WHERE memories.{within.format('memories')} AND memories.recorded_to IS NULL) "
            f"OR EXISTS (SELECT 1 FROM messages WHERE messages.{within.format('messages')}))) AS named "
            "ORDER BY user LIMIT ? OFFSET ?",
            (self.tenant, self.tenant, self.tenant, self._limit(limit), offset),
        )
        return [row[0] for row in rows]

    @guarded
    def user_records(self, names: Collection[str], *, unexpired_at: datetime) -> list[UserRecord]:
        """Return the number of live memories, the number of sessions and the last activity of each user, ordered by name.

        ``names`` are the users. An unknown user has zero memories and sessions. Memories that have expired by
        ``unexpired_at`` are not counted.
        """
        sessions = Clauses(self.connection.dialect, "tenant = ?", self.tenant)
        sessions.among("user", names)
        session_rows = self._rows(
            f"SELECT user, count(*), max(last_at) FROM sessions WHERE {sessions.sql} GROUP BY user", sessions.values
        )
        owners = Clauses(self.connection.dialect, "partitions.tenant = ?", self.tenant)
        owners.among("partitions.user", names)
        memory_rows = self._rows(
            "SELECT partitions.user, count(*) FILTER (WHERE memories.status = 'live' AND "
            "(memories.expires_at IS NULL OR memories.expires_at > ?)), max(memories.updated_at) FROM partitions CROSS JOIN memories "
            "ON memories.tenant = partitions.tenant AND memories.partition = partitions.partition "
            f"AND memories.recorded_to IS NULL WHERE {owners.sql} GROUP BY partitions.user",
            (stamp(unexpired_at), *owners.values),
        )
        by_session, by_memory = ({row[0]: row[1:] for row in rows} for rows in (session_rows, memory_rows))
        records = []
        for name in sorted(set(names)):
            count, last_session = by_session.get(name, (0, None))
            live, last_change = by_memory.get(name, (0, None))
            # An import writes memories now about long ago, so a session says more about when the user was there.
            last = last_change if last_session is None else last_session
            records.append(UserRecord(user=name, memories=live, sessions=count, last_at=None if last is None else moment(last)))
        return records

    @guarded
    def app(self, app: str) -> AppRecord | None:
        """Return the record of an app, or None if it was never installed."""
        rows = self._rows(f"SELECT {APP_COLUMNS} FROM apps WHERE tenant = ? AND app = ?", (self.tenant, app))
        return to_app(rows[0]) if rows else None

    @guarded
    def apps(self) -> list[AppRecord]:
        """List the apps that have a record, ordered by name."""
        return [
            to_app(row) for row in self._rows(f"SELECT {APP_COLUMNS} FROM apps WHERE tenant = ? ORDER BY app", (self.tenant,))
        ]

    @guarded
    def apps_sharing_with(self, app: str) -> list[str]:
        """List the other installed apps that share their memories with this app, ordered by name."""
        rows = self._rows(
            "SELECT app FROM apps WHERE tenant = ? AND sharing <> '[]' AND uninstalled_at IS NULL AND app <> ? "
            f"AND {self.connection.dialect.is_shared_with()} ORDER BY app",
            (self.tenant, app, app),
        )
        return [row[0] for row in rows]

    @guarded
    def memories_by_app(self, *, unexpired_at: datetime) -> Mapping[str, int]:
        """Count the live memories per app. Apps without live memories are left out.

        Memories that have expired by ``unexpired_at`` are not counted.
        """
        rows = self._rows(
            "SELECT partitions.app, count(*) FROM partitions CROSS JOIN memories ON memories.tenant = partitions.tenant "
            "AND memories.partition = partitions.partition AND memories.recorded_to IS NULL AND memories.status = 'live' "
            "AND (memories.expires_at IS NULL OR memories.expires_at > ?) "
            "WHERE partitions.tenant = ? AND partitions.app <> '' AND partitions.space = 'memory' GROUP BY partitions.app",
            (stamp(unexpired_at), self.tenant),
        )
        return {row[0]: row[1] for row in rows}

    @guarded
    def memories_by_day(self, *, since: datetime) -> list[DayCount]:
        """Count the memories created since a given time, per day and kind, oldest day first. Removed memories are left out."""
        day = self.connection.dialect.day_of("changes.at")
        rows = self._rows(
            f"SELECT {day}, memories.kind, count(*) FROM changes CROSS JOIN memories "
            "ON memories.tenant = changes.tenant AND memories.id = changes.memory AND memories.revision = changes.revision "
            "WHERE changes.tenant = ? AND changes.at >= ? AND changes.action = 'created' GROUP BY 1, 2 ORDER BY 1, 2",
            (self.tenant, stamp(since)),
        )
        return [DayCount(*row) for row in rows]

    @guarded
    def changes_by_app(self, *, since: datetime) -> list[AppChanges]:
        """For each app and actor, count the created memories and the batches of changes since a given time.

        The actor is the program or person that made the changes, such as ``digest`` or ``user``.
        """
        rows = self._rows(
            "SELECT partitions.app, changes.actor, count(*) FILTER (WHERE changes.action = 'created'), count(DISTINCT changes.batch) "
            "FROM changes CROSS JOIN memories ON memories.tenant = changes.tenant AND memories.id = changes.memory "
            "AND memories.revision = changes.revision CROSS JOIN partitions ON partitions.tenant = memories.tenant "
            "AND partitions.partition = memories.partition AND partitions.app <> '' "
            "WHERE changes.tenant = ? AND changes.at >= ? GROUP BY partitions.app, changes.actor ORDER BY 1, 2",
            (self.tenant, stamp(since)),
        )
        return [AppChanges(*row) for row in rows]

    @guarded
    def setting(self, name: str) -> str | None:
        """Return a persistent setting of the engine by name, or None if it is not set."""
        rows = self._rows("SELECT value FROM settings WHERE tenant = ? AND name = ?", (self.tenant, name))
        return rows[0][0] if rows else None

    @guarded
    def settings(self, prefix: str) -> dict[str, str]:
        """Return the persistent settings whose names start with a prefix, as a dict from name to value."""
        sql = "SELECT name, value FROM settings WHERE tenant = ? AND name >= ? AND name < ? ORDER BY name"
        return dict(self._rows(sql, (self.tenant, prefix, prefix + "\U0010ffff")))

    @guarded
    def scopes(self) -> list[Scope]:
        """List the scopes that have or had data."""
        sql = (
            "SELECT app, user, agent FROM partitions WHERE tenant = ? UNION SELECT app, user, agent FROM sessions WHERE tenant = ? "
            "UNION SELECT '', user, '' FROM users WHERE tenant = ? UNION SELECT app, '', '' FROM apps WHERE tenant = ?"
        )
        return [to_scope(self.tenant, *row) for row in self._rows(sql, (self.tenant,) * 4)]

    @guarded
    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the part of ``text`` that a chunk covers. ``text`` is the whole text of the item."""
        span = self._rows(
            "SELECT start, length FROM units WHERE tenant = ? AND item = ? AND window = ?", (self.tenant, item, chunk)
        )
        return text[span[0][0] : span[0][0] + span[0][1]] if span else text

    @guarded
    def models(self) -> list[str]:
        """List the embedding models in use."""
        sql = "SELECT name FROM models WHERE tenant = ? ORDER BY model"
        return cached_fetch(self.connection, ("models", self.tenant), lambda: [row[0] for row in self._rows(sql, (self.tenant,))])

    @guarded
    def spend(self, *, since: str = "") -> list[Spend]:
        """List the costs of model calls, ordered by day.

        ``since`` is the first day, as YYYY-MM-DD. By default, all days are listed.
        """
        rows = self._rows(f"SELECT {SPEND_COLUMNS} FROM spend WHERE tenant = ? AND day >= ? ORDER BY day", (self.tenant, since))
        return [to_spend(row) for row in rows]

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return fetch(self.connection, sql, values)

    def _to_memories(self, rows: Sequence[Row]) -> list[Memory]:
        scopes = partitions.scopes_of(self.connection, self.tenant, {row[3] for row in rows})
        # A scope may be erased between the two queries; its rows are dropped then.
        return [to_memory(row, scopes) for row in rows if row[3] in scopes]

    def _limit(self, limit: int | None) -> int | None:
        return self.connection.dialect.no_limit if limit is None else limit
