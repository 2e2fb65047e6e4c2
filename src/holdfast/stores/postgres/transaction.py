"""A write transaction on PostgreSQL, with the locks that serialize writes for the same user."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from holdfast.protocols import SCRUB, MemoryFilter, MessageFilter, SessionFilter
from holdfast.stores.postgres import vectors
from holdfast.stores.postgres.errors import translated
from holdfast.stores.postgres.fulltext import Postings
from holdfast.stores.postgres.locks import Locks
from holdfast.stores.postgres.scrub_schedule import REQUESTED
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import vector_tables
from holdfast.stores.sql.connection import R, fetch, fetch_value
from holdfast.stores.sql.transaction import SQLTransaction
from holdfast.types import (
    AppRecord,
    Job,
    JobState,
    KeyRecord,
    Memory,
    Message,
    Scope,
    SessionRecord,
    StoredResponse,
    Trace,
    UserProfile,
)


class _Scoped(Protocol):
    @property
    def scope(self) -> Scope: ...


S = TypeVar("S", bound=_Scoped)


class PostgresTransaction(SQLTransaction):
    """A write transaction. It reads a user's rows only while it holds that user's lock. The store commits the transaction."""

    _vectors = vectors
    _by_partition = ("unembedded", "vectors", "partitions")
    _row_lock = "FOR UPDATE"
    _free_row_lock = "FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: PostgresSession, *, tenant: str) -> None:
        super().__init__(connection, tenant=tenant)
        self._session = connection
        self._postings = self._text = Postings()
        self._locks = Locks(connection, tenant)
        self._sessions: set[str] = set()
        self.has_new_jobs = False

    def guard(self, query: Callable[[], R]) -> R:
        """Call ``query`` and return its result. PostgreSQL's errors are raised as Holdfast errors."""
        with translated():
            return query()

    def finish(self) -> None:
        """Write the counts of chunks and terms that were collected during the transaction."""
        self._postings.finish(self._session, self.tenant)

    # --- locks ------------------------------------------------------------------------------------------

    def _read_locked(self, query: Callable[[], list[S]]) -> list[S]:
        """Run a query, lock the users whose rows it finds, and return the rows.

        If a lock is new, the query is repeated, because the rows may have changed before the lock was taken.
        """
        while True:
            found = query()
            if not self._locks.hold({_user(row.scope.user) for row in found}):
                return found

    def _hold_owner(self, owner: Mapping[str, str]) -> None:
        """Lock the user that ``owner`` names. If it names only an app or agent, lock the whole tenant.

        The whole tenant is locked because any user may write data of that app or agent.
        """
        if "user" in owner:
            self._locks.hold([_user(owner["user"])])
        elif owner:
            self._locks.hold_all()

    def _hold_session(self, id: str) -> None:
        """Lock the user to whom a session belongs. If the session does not exist yet, lock the session id."""
        if id not in self._sessions and not self.sessions(SessionFilter(ids=(id,))):
            self._locks.hold([f"session {id}"])
        self._sessions.add(id)

    def _hold_owners(self, table: str, ids: Collection[str]) -> None:
        rows = fetch(
            self._session,
            f"SELECT DISTINCT partitions.user FROM {table} JOIN partitions ON partitions.tenant = {table}.tenant "
            f"AND partitions.partition = {table}.partition WHERE {table}.tenant = ? AND {table}.id = ANY(?)",
            (self.tenant, list(ids)),
        )
        self._locks.hold({_user(row[0]) for row in rows})

    # --- reading under locks ----------------------------------------------------------------------------

    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List the sessions that a filter selects, most recently active first."""
        self._hold_owner(wanted.owner)
        found = self._read_locked(lambda: super(PostgresTransaction, self).sessions(wanted))
        missing = {*(wanted.ids or ())} - {session.id for session in found}
        if missing and self._locks.hold({f"session {id}" for id in missing}):
            return self.sessions(wanted)
        return found

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List the messages that a filter selects, oldest first."""
        if wanted.session is not None:
            self._hold_session(wanted.session)
        return self._read(wanted, super().messages)

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the memories that a filter selects, each in its current revision.

        If the filter has ``known_at``, list the revisions that were current at that time.
        """
        return self._read(wanted, super().memories)

    def _read(self, wanted: "MemoryFilter | MessageFilter", query: Callable[..., list[S]]) -> list[S]:
        self._hold_owner(wanted.owner)
        for scope in (wanted.exactly, wanted.reader):
            if scope is not None:
                self._locks.hold([_user(scope.user)])
        # A reader also sees shared rows; locking their owners would make all users wait.
        return query(wanted) if wanted.reader is not None else self._read_locked(lambda: query(wanted))

    def revisions(self, id: str) -> list[Memory]:
        """List all revisions of a memory, oldest first."""
        return self._read_locked(lambda: super(PostgresTransaction, self).revisions(id))

    def jobs(
        self,
        *,
        states: Collection[JobState] | None = None,
        ids: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
    ) -> list[Job]:
        """List jobs, oldest first. Jobs that are selected by id are locked until the transaction ends."""
        if ids is not None:
            self._session.execute(
                "SELECT 1 FROM jobs WHERE tenant = ? AND id = ANY(?) ORDER BY id FOR UPDATE", (self.tenant, list(ids))
            )
        return super().jobs(states=states, ids=ids, kinds=kinds, limit=limit)

    def user(self, user: str) -> UserProfile:
        """Return the profile of a user. An unknown user has the default profile."""
        self._locks.hold([_user(user)])
        return super().user(user)

    def app(self, app: str) -> AppRecord | None:
        """Return the record of an app, or None if it was never installed."""
        self._locks.hold([f"app {app}"])
        return super().app(app)

    def setting(self, name: str) -> str | None:
        """Return a persistent setting of the engine by name, or None if it is not set."""
        self._locks.hold([f"setting {name}"])
        return super().setting(name)

    def set_setting(self, name: str, value: str) -> None:
        """Store a persistent setting of the engine.

        If the setting requests a scrub, also record the number of this transaction. Only a scrub that begins after this
        transaction covers its erasures.
        """
        super().set_setting(name, value)
        if (name, value) == (SCRUB, "pending"):
            super().set_setting(REQUESTED, str(fetch_value(self._session, "SELECT pg_current_xact_id()::text")))

    def access_key(self, id: str) -> KeyRecord | None:
        """Return the access key that this tenant stores under an id, or None if there is no such key."""
        self._locks.hold([f"key {id}"])
        return super().access_key(id)

    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return the stored response for an idempotency key of a principal, or None if there is none."""
        self._locks.hold([f"answer {principal} {key}"])
        return super().stored_response(principal, key)

    # --- writing under locks ----------------------------------------------------------------------------

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        self._locks.hold([_user(session.scope.user)])
        super().add_session(session)

    def set_session(self, session: SessionRecord) -> None:
        """Replace the record of a session."""
        self._locks.hold([_user(session.scope.user)])
        super().set_session(session)

    def new_seqs(self, scope: Scope, count: int) -> Sequence[int]:
        """Return ``count`` new sequence numbers for messages, in ascending order.

        The user of ``scope`` is locked, so that the numbers of this user's messages increase in commit order.
        """
        self._locks.hold([_user(scope.user)])
        return super().new_seqs(scope, count)

    def add_trace(self, trace: Trace) -> None:
        """Store a trace. The user of the trace is locked, so that no trace is added while the user's data is erased."""
        self._locks.hold([_user(trace.scope.user)])
        super().add_trace(trace)

    def add_revision(self, memory: Memory) -> Memory:
        """Store a new current revision of a memory. The previous revision is archived, with its terms and vectors."""
        self._locks.hold([_user(memory.scope.user)])
        return super().add_revision(memory)

    def set_action(self, messages: Collection[str], action: str | None, *, instead_of: str | None = None) -> None:
        """Set the action of messages. Only messages whose current action is ``instead_of`` (None for no action) are changed.

        An action is a marker such as ``forgotten``. A message with an action is used neither for extraction nor for recall. If
        the new action marks messages as off the record, they are also removed from the indexes.
        """
        self._hold_owners("messages", messages)
        super().set_action(messages, action, instead_of=instead_of)

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Remove all sources of a memory except the given ones, in every revision of the memory."""
        self._hold_owners("memories", [id])
        super().set_sources(id, sources)

    def _update_present(self, column: str, value: int | None, ids: Collection[str]) -> None:
        # No user lock: every recall updates last_used_at. Locking the rows in a fixed order prevents deadlocks instead.
        self._session.execute(
            f"UPDATE memories SET {column} = ? WHERE tenant = ? AND item = ANY(ARRAY("
            "SELECT item FROM memories WHERE tenant = ? AND id = ANY(?) AND recorded_to IS NULL ORDER BY item FOR UPDATE))",
            (value, self.tenant, self.tenant, list(ids)),
        )

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with all their revisions, changes, vectors and terms.

        Return the numbers of removed ``memories``, ``revisions`` and ``vectors``.
        """
        self._hold_owners("memories", ids)
        return super().remove_memories(ids)

    def remove_history(self, id: str) -> None:
        """Remove the earlier revisions and the changes of a memory. Only its current revision stays."""
        self._hold_owners("memories", [id])
        super().remove_history(id)

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors, terms and traces. Return the numbers of removed ``messages`` and ``vectors``.

        A memory derived from a removed message still lists the message's id as a source.
        """
        self._hold_owners("messages", ids)
        return super().remove_messages(ids)

    def remove_sessions(self, sessions: Collection[tuple[str, Scope]]) -> Mapping[str, int]:
        """Remove sessions with their jobs and traces. Return the numbers of removed ``sessions`` and ``jobs``.

        ``sessions`` are pairs of session id and scope.
        """
        if sessions:
            self.sessions(SessionFilter(ids={id for id, _ in sessions}))
        return super().remove_sessions(sessions)

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove the remaining rows of a scope. The caller must already have removed its memories and messages.

        ``owner`` names the user, app or agent. The remaining rows are jobs, partitions, access keys and traces. If ``owner``
        names only a user or only an app, its record is removed, too.
        """
        self._hold_owner(owner)
        super().remove_scope(owner)

    def remove_keys(self, owner: Mapping[str, str]) -> None:
        """Remove the access keys that are bound to a scope of this tenant. ``owner`` names the user, app or agent.

        Keys that open this tenant but are stored by another tenant are removed, too. Row level security normally hides these
        keys. The setting ``holdfast.opens`` makes them accessible during the call.
        """
        self._session.execute("SELECT set_config('holdfast.opens', ?, true)", (self.tenant,))
        super().remove_keys(owner)
        self._session.execute("SELECT set_config('holdfast.opens', '', true)")

    # --- models and jobs --------------------------------------------------------------------------------

    def use_model(self, model: str) -> int:
        """Register an embedding model. If it is new, queue every chunk for it. Return the number of chunks left to embed.

        For a new model, first wait until concurrent writes have ended, so that their chunks are queued, too.
        """
        if vector_tables.model_number(self._session, self.tenant, model) is None:
            self._locks.hold_all()
        return super().use_model(model)

    def drop_model(self, model: str) -> None:
        """Remove an embedding model, its vectors, and its queue of chunks to embed."""
        self._locks.hold_all()
        super().drop_model(model)

    def add_job(self, job: Job) -> bool:
        """Queue a job. If a job with the same effect exists, store nothing and return False."""
        added = super().add_job(job)
        self.has_new_jobs = self.has_new_jobs or added
        return added

    def lease_job(
        self,
        *,
        worker: str,
        now: datetime,
        until: datetime,
        kinds: Collection[str] | None = None,
        exclusive: Collection[str] = (),
    ) -> Job | None:
        """Lease the most urgent job that is due or whose lease has expired. Return None if no job can be leased.

        ``worker`` gets the lease, which ends at ``until``. ``now`` is the current time. With ``kinds``, only jobs of these
        kinds are leased. ``exclusive`` also names kinds: while a job of one of these kinds is leased, all other jobs of these
        kinds in the same scope are skipped. To ensure this, calls with ``exclusive`` take a lock, so that the workers of a
        tenant make them one after the other.
        """
        if exclusive:
            self._locks.hold(["leases"])
        return super().lease_job(worker=worker, now=now, until=until, kinds=kinds, exclusive=exclusive)

    def holds_lease(self, job: Job) -> bool:
        """Return True if the worker that ``job`` names still holds the lease of the job, for the same attempt.

        If the result is True, no other worker can take the lease before the transaction ends. This method locks the job's user
        before the job, in the same order as an erasure of the user. So the two cannot deadlock.
        """
        if isinstance(user := job.payload.get("user"), str):
            self._locks.hold([_user(user)])
        if isinstance(session := job.payload.get("session"), str):
            self._hold_session(session)
        return super().holds_lease(job)


def _user(user: str | None) -> str:
    """Return the name of a user's lock. All data that belongs to no user shares one lock."""
    return f"user {user or ''}"
