"""The protocol of a store's read methods."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol

from holdfast.filters import (
    AppChanges,
    DayCount,
    MemoryFilter,
    MessageFilter,
    MessagePlace,
    SessionFilter,
    TraceFilter,
)
from holdfast.types import (
    AppRecord,
    ChangeRecord,
    Job,
    JobState,
    KeyRecord,
    Memory,
    Message,
    Scope,
    SessionRecord,
    Spend,
    StoredResponse,
    Trace,
    UserProfile,
    UserRecord,
)


class Reads(Protocol):
    """The read methods of a store. They work inside and outside a transaction."""

    def session(self, id: str, scope: Scope | None = None) -> SessionRecord | None:
        """Return the session with this id in a scope, or None if there is none.

        If ``scope`` is None, all scopes are searched. The result is then None if several scopes have a session with
        this id.
        """
        ...

    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List sessions, most recently active first."""
        ...

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List messages, oldest first."""
        ...

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the memories that a filter selects, each in its current revision.

        If the filter has ``known_at``, list the revision that was current at that time.
        """
        ...

    def count_memories(self, wanted: MemoryFilter) -> int:
        """Return the number of memories that :meth:`memories` would list without a limit."""
        ...

    def namespaces(self, wanted: MemoryFilter) -> list[tuple[str, ...]]:
        """List the namespaces of the memories that a filter selects, each once, sorted by label."""
        ...

    def keys(self, wanted: MemoryFilter) -> list[str]:
        """List the keys of the memories that a filter selects, each once, sorted."""
        ...

    def places(self, seqs: Collection[int]) -> list[MessagePlace]:
        """Return the place of each of these messages: its session, role, speaker, time and dialogue act (such as a question)."""
        ...

    def revisions(self, id: str) -> list[Memory]:
        """List every revision of a memory, oldest first."""
        ...

    def changes(self, *, memory: str | None = None, batch: str | None = None, id: str | None = None) -> list[ChangeRecord]:
        """List the changes of one memory or of one batch, oldest first, or only the change with the id ``id``.

        Give exactly one of the arguments.
        """
        ...

    def jobs(
        self,
        *,
        states: Collection[JobState] | None = None,
        ids: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        limit: int | None = None,
    ) -> list[Job]:
        """List jobs, oldest first."""
        ...

    def next_job(
        self,
        *,
        now: datetime,
        until: datetime | None = None,
        kinds: Collection[str] | None = None,
        exclusive: Collection[str] = (),
    ) -> Job | None:
        """Return the job that :meth:`Transaction.lease_job` would lease with the same arguments, or None.

        The job is neither leased nor locked.
        """
        ...

    def user(self, user: str) -> UserProfile:
        """Return a user's profile, or the defaults for an unknown user."""
        ...

    def user_names(self, *, limit: int | None = None, offset: int = 0) -> list[str]:
        """List the users who have a profile, memories (live or retired), sessions or messages, sorted by code point."""
        ...

    def user_records(self, names: Collection[str], *, unexpired_at: datetime) -> list[UserRecord]:
        """Return the number of live memories, the number of sessions and the last activity of each user, sorted by name.

        Memories that have expired by the time ``unexpired_at`` are not counted. An unknown user has zero memories and
        sessions.
        """
        ...

    def app(self, app: str) -> AppRecord | None:
        """Return the record of an app, or None if it was never installed."""
        ...

    def apps(self) -> list[AppRecord]:
        """List the apps that have a record, sorted by name."""
        ...

    def apps_sharing_with(self, app: str) -> list[str]:
        """List the other installed apps that share their memories with this app, sorted by name."""
        ...

    def memories_by_app(self, *, unexpired_at: datetime) -> Mapping[str, int]:
        """Count the live memories of each app, for all users together. Apps without memories are left out.

        Memories that have expired by the time ``unexpired_at`` are not counted.
        """
        ...

    def memories_by_day(self, *, since: datetime) -> list[DayCount]:
        """Return the number of memories created on each day since a time, for each kind. The oldest day comes first."""
        ...

    def changes_by_app(self, *, since: datetime) -> list[AppChanges]:
        """Count the created memories and the batches of changes since a time, for each app and each actor.

        The actor is the program or person that made the changes, such as ``digest`` or ``user``.
        """
        ...

    def access_key(self, id: str) -> KeyRecord | None:
        """Return the access key with this id, or None if this tenant stores no such key."""
        ...

    def access_keys(self) -> list[KeyRecord]:
        """List the access keys stored under this tenant, oldest first. Some of them can give access to other tenants."""
        ...

    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return the stored response for a principal's idempotency key, or None."""
        ...

    def has_stored_responses(self, *, before: datetime) -> bool:
        """Return True if there are stored responses from before a time."""
        ...

    def traces(self, wanted: TraceFilter) -> list[Trace]:
        """List traces of context blocks, newest first."""
        ...

    def has_traces(self, *, before: datetime) -> bool:
        """Return True if there are traces from before a time."""
        ...

    def setting(self, name: str) -> str | None:
        """Return the value of one of the engine's internal settings, or None if it is not set."""
        ...

    def settings(self, prefix: str) -> Mapping[str, str]:
        """Return the engine's internal settings whose names start with a prefix, by name."""
        ...

    def scopes(self) -> list[Scope]:
        """List the scopes that have or had data. A user who has only a profile, or an app that has only a record, is included."""
        ...

    def models(self) -> list[str]:
        """List the embedding models whose vectors this store keeps."""
        ...

    def spend(self, *, since: str = "") -> list[Spend]:
        """List model use and its cost by day, starting with the day ``since`` (such as ``2026-03-01``)."""
        ...
