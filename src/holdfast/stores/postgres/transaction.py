"""One write to PostgreSQL: the common one, under the locks that make writes about one user follow each other."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter
from holdfast.stores.postgres import vectors
from holdfast.stores.postgres.errors import translated
from holdfast.stores.postgres.fulltext import Postings
from holdfast.stores.postgres.locks import Locks
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import vector_tables
from holdfast.stores.sql.connection import R, fetch
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
    UserProfile,
)


class _Scoped(Protocol):
    @property
    def scope(self) -> Scope: ...


S = TypeVar("S", bound=_Scoped)


class PostgresTransaction(SQLTransaction):
    """A write under way; the store commits it. Whatever it reads of a user, it reads under that user's lock."""

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

    def guard(self, ask: Callable[[], R]) -> R:
        """Ask, and turn PostgreSQL's errors into ours."""
        with translated():
            return ask()

    def finish(self) -> None:
        """Write what is written last."""
        self._postings.finish(self._session, self.tenant)

    # --- locks ------------------------------------------------------------------------------------------

    def _settled(self, ask: Callable[[], list[S]]) -> list[S]:
        """Read, lock those it is about, and read again until nobody new is among them."""
        while True:
            found = ask()
            if not self._locks.hold({_user(each.scope.user) for each in found}):
                return found

    def _hold_owner(self, owner: Mapping[str, str]) -> None:
        """Lock the user that is named. An app's or agent's users are not known before they write: all others wait."""
        if "user" in owner:
            self._locks.hold([_user(owner["user"])])
        elif owner:
            self._locks.hold_all()

    def _hold_session(self, id: str) -> None:
        """Lock a session's user; one that is not there yet has a lock of its own."""
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
        """List sessions, the most recently active first."""
        self._hold_owner(wanted.owner)
        found = self._settled(lambda: super(PostgresTransaction, self).sessions(wanted))
        missing = {*(wanted.ids or ())} - {session.id for session in found}
        if missing and self._locks.hold({f"session {id}" for id in missing}):
            return self.sessions(wanted)
        return found

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List messages, oldest first."""
        if wanted.session is not None:
            self._hold_session(wanted.session)
        return self._read(wanted, super().messages)

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the present revision of each memory, or the one known at a moment."""
        return self._read(wanted, super().memories)

    def _read(self, wanted: "MemoryFilter | MessageFilter", ask: Callable[..., list[S]]) -> list[S]:
        self._hold_owner(wanted.owner)
        for scope in (wanted.exactly, wanted.reader):
            if scope is not None:
                self._locks.hold([_user(scope.user)])
        # A reader also sees what is everyone's: it does not make everyone wait.
        return ask(wanted) if wanted.reader is not None else self._settled(lambda: ask(wanted))

    def revisions(self, id: str) -> list[Memory]:
        """List every revision of a memory, oldest first."""
        return self._settled(lambda: super(PostgresTransaction, self).revisions(id))

    def jobs(
        self, *, states: Collection[JobState] | None = None, ids: Collection[str] | None = None, limit: int | None = None
    ) -> list[Job]:
        """List jobs, oldest first; those that are named stay as they are until the end."""
        if ids is not None:
            self._session.execute(
                "SELECT 1 FROM jobs WHERE tenant = ? AND id = ANY(?) ORDER BY id FOR UPDATE", (self.tenant, list(ids))
            )
        return super().jobs(states=states, ids=ids, limit=limit)

    def user(self, user: str) -> UserProfile:
        """Return what is known of a user; a stranger has the defaults."""
        self._locks.hold([_user(user)])
        return super().user(user)

    def app(self, app: str) -> AppRecord | None:
        """Return the record of an app that was installed or uninstalled."""
        self._locks.hold([f"app {app}"])
        return super().app(app)

    def setting(self, name: str) -> str | None:
        """Return one of the engine's own durable values."""
        self._locks.hold([f"setting {name}"])
        return super().setting(name)

    def access_key(self, id: str) -> KeyRecord | None:
        """Return the record of a key that is kept in this tenant's rows."""
        self._locks.hold([f"key {id}"])
        return super().access_key(id)

    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return what is kept of a request, if anything."""
        self._locks.hold([f"answer {principal} {key}"])
        return super().stored_response(principal, key)

    # --- writing under locks ----------------------------------------------------------------------------

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        self._locks.hold([_user(session.scope.user)])
        super().add_session(session)

    def set_session(self, session: SessionRecord) -> None:
        """Replace a session's state."""
        self._locks.hold([_user(session.scope.user)])
        super().set_session(session)

    def add_message(self, message: Message) -> Message:
        """Store a message; numbers are taken under the user's lock, so a user's numbers grow in the order of commits."""
        self._locks.hold([_user(message.scope.user)])
        return super().add_message(message)

    def add_revision(self, memory: Memory) -> Memory:
        """Store a revision as the present one; the one before goes to the archive with its terms and vectors."""
        self._locks.hold([_user(memory.scope.user)])
        return super().add_revision(memory)

    def set_action(self, messages: Collection[str], action: str) -> None:
        """Mark messages that have no action yet, so that they are neither mined nor recalled any more."""
        self._hold_owners("messages", messages)
        super().set_action(messages, action)

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Take sources away from every revision of a memory that stands without them."""
        self._hold_owners("memories", [id])
        super().set_sources(id, sources)

    def _update_present(self, column: str, value: int, ids: Collection[str]) -> None:
        # Without a user's lock, since every recall notes its uses; rows are locked in one order instead.
        self._session.execute(
            f"UPDATE memories SET {column} = ? WHERE tenant = ? AND item = ANY(ARRAY("
            "SELECT item FROM memories WHERE tenant = ? AND id = ANY(?) AND recorded_to IS NULL ORDER BY item FOR UPDATE))",
            (value, self.tenant, self.tenant, list(ids)),
        )

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with every revision, change, vector and term."""
        self._hold_owners("memories", ids)
        return super().remove_memories(ids)

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors and terms; that a memory came from them stays known."""
        self._hold_owners("messages", ids)
        return super().remove_messages(ids)

    def remove_sessions(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove sessions and the jobs about them."""
        if ids:
            self.sessions(SessionFilter(ids=ids))
        return super().remove_sessions(ids)

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove what is left of a scope whose memories and messages are gone: jobs, names, a user's or app's own row, and keys."""
        self._hold_owner(owner)
        super().remove_scope(owner)

    def remove_keys(self, owner: Mapping[str, str]) -> None:
        """Remove the keys that are bound to a scope of this tenant, whoever's rows they are kept in: said aloud to the policy."""
        self._session.execute("SELECT set_config('holdfast.opens', ?, true)", (self.tenant,))
        super().remove_keys(owner)
        self._session.execute("SELECT set_config('holdfast.opens', '', true)")

    # --- models and jobs --------------------------------------------------------------------------------

    def use_model(self, model: str) -> int:
        """Want a model's vectors for everything: also for what others are storing this moment, so these are waited for."""
        if vector_tables.model_number(self._session, self.tenant, model) is None:
            self._locks.hold_all()
        return super().use_model(model)

    def drop_model(self, model: str) -> None:
        """Remove a model's vectors and want them no more."""
        self._locks.hold_all()
        super().drop_model(model)

    def add_job(self, job: Job) -> bool:
        """Queue a job; False, and nothing stored, if its effect was queued before."""
        added = super().add_job(job)
        self.has_new_jobs = self.has_new_jobs or added
        return added

    def holds_lease(self, job: Job) -> bool:
        """Tell whether this very attempt still owns the job, which nobody takes from it before the end of this write.

        Its user is locked first, as whoever erases that user does.
        """
        if isinstance(user := job.payload.get("user"), str):
            self._locks.hold([_user(user)])
        if isinstance(session := job.payload.get("session"), str):
            self._hold_session(session)
        return super().holds_lease(job)


def _user(user: str | None) -> str:
    """Return the name of a user's lock; what belongs to no user has one together."""
    return f"user {user or ''}"
