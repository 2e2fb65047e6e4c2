"""The store protocols: reads, transactions and the store itself."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from holdfast.filters import AppChanges, DayCount, Match, MemoryFilter, MessageFilter, MissingVector, SearchFilter, SessionFilter
from holdfast.protocols.models import Vectors
from holdfast.types import (
    AppRecord,
    ChangeRecord,
    Finding,
    Job,
    JobState,
    KeyRecord,
    Memory,
    Message,
    Scope,
    SessionRecord,
    Spend,
    StoredResponse,
    UserProfile,
    UserRecord,
)


class Reads(Protocol):
    """Reads of a store, inside and outside a transaction."""

    def session(self, id: str) -> SessionRecord | None:
        """Return a session, or None."""
        ...

    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List sessions."""
        ...

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List messages, oldest first."""
        ...

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the current revision of each memory, or with ``known_at`` the revision of that time."""
        ...

    def count_memories(self, wanted: MemoryFilter) -> int:
        """Count what :meth:`memories` would list without a limit."""
        ...

    def places(self, seqs: Collection[int]) -> list[tuple[int, str, str, str | None, datetime]]:
        """Return sequence number, session, role, speaker and time of these messages."""
        ...

    def revisions(self, id: str) -> list[Memory]:
        """List every revision of a memory, oldest first."""
        ...

    def changes(self, *, memory: str | None = None, batch: str | None = None, id: str | None = None) -> list[ChangeRecord]:
        """List changes, oldest first."""
        ...

    def jobs(
        self, *, states: Collection[JobState] | None = None, ids: Collection[str] | None = None, limit: int | None = None
    ) -> list[Job]:
        """List jobs, oldest first."""
        ...

    def user(self, user: str) -> UserProfile:
        """Return a user's profile, or the defaults for an unknown user."""
        ...

    def user_names(self, *, limit: int | None = None, offset: int = 0) -> list[str]:
        """List every user who has a profile, memories (live or retired), sessions or messages, sorted by code point."""
        ...

    def user_records(self, names: Collection[str], *, unexpired_at: datetime) -> list[UserRecord]:
        """Count the data of each of these users, sorted by name. A user without data is not an error."""
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
        """Count the live memories of each app that has any, for all users together."""
        ...

    def memories_by_day(self, *, since: datetime) -> list[DayCount]:
        """Count the stored memories created since a time, by day and kind, oldest day first."""
        ...

    def changes_by_app(self, *, since: datetime) -> list[AppChanges]:
        """Count each author's changes to the memories of each app since a time."""
        ...

    def access_key(self, id: str) -> KeyRecord | None:
        """Return an access key stored under this tenant, or None."""
        ...

    def access_keys(self) -> list[KeyRecord]:
        """List the access keys stored under this tenant, oldest first. They may give access to other tenants."""
        ...

    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return the stored response for a principal's idempotency key, or None."""
        ...

    def has_stored_responses(self, *, before: datetime) -> bool:
        """Return True if any stored response is older than a time."""
        ...

    def setting(self, name: str) -> str | None:
        """Return one of the engine's internal settings, or None."""
        ...

    def models(self) -> list[str]:
        """List the embedding models whose vectors this store keeps."""
        ...

    def spend(self, *, since: str = "") -> list[Spend]:
        """List the costs of background work by day, from a day (``2026-03-01``) on."""
        ...


class Transaction(Reads, Protocol):
    """A write transaction. Either all of it is on disk when it ends, or nothing."""

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        ...

    def set_session(self, session: SessionRecord) -> None:
        """Replace a session's state."""
        ...

    def add_message(self, message: Message) -> Message:
        """Store a message, index its text and queue its vectors; returns it with its ``seq``."""
        ...

    def add_revision(self, memory: Memory) -> Memory:
        """Store a revision as the current one and close the previous one. Updates full text and queues vectors."""
        ...

    def touch(self, ids: Collection[str], *, used: datetime | None = None, seen: datetime | None = None) -> None:
        """Update when memories were last used or last stated, without a new revision."""
        ...

    def set_action(self, messages: Collection[str], action: str) -> None:
        """Mark messages that have no action yet, so that they are no longer extracted from or recalled."""
        ...

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Keep only these sources in every revision of a memory, after the others were erased."""
        ...

    def set_expiry(self, ids: Collection[str], expires_at: datetime) -> None:
        """Change when memories expire, without a new revision."""
        ...

    def add_change(self, change: ChangeRecord) -> None:
        """Add an entry to the history."""
        ...

    def add_job(self, job: Job) -> bool:
        """Queue a job. Returns False and stores nothing if a job with this effect was queued before."""
        ...

    def lease_job(self, *, worker: str, now: datetime, until: datetime, kinds: Collection[str] | None = None) -> Job | None:
        """Lease the most urgent job that is due or whose lease has expired; None if there is none."""
        ...

    def set_job(self, job: Job) -> None:
        """Replace a job's state."""
        ...

    def holds_lease(self, job: Job) -> bool:
        """Return True if this attempt still holds the lease on the job."""
        ...

    def remove_done_jobs(self, *, before: datetime) -> int:
        """Remove jobs that were done before a time; returns their number."""
        ...

    def put_vectors(self, model: str, chunks: Sequence[tuple[int, int]], vectors: "Vectors") -> int:
        """Store vectors for the (item, chunk) pairs that still lack one; returns their number."""
        ...

    def use_model(self, model: str) -> int:
        """Keep vectors of this model for all stored and future text; returns the number of chunks to embed."""
        ...

    def drop_model(self, model: str) -> None:
        """Remove a model's vectors and stop keeping them."""
        ...

    def add_spend(self, spend: Spend) -> None:
        """Add to the costs of a day."""
        ...

    def set_user(self, profile: UserProfile) -> None:
        """Store a user's profile."""
        ...

    def set_app(self, record: AppRecord) -> None:
        """Store an app's record."""
        ...

    def set_key(self, record: KeyRecord) -> None:
        """Store an access key."""
        ...

    def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Update when access keys were last used. Keys that no longer exist are skipped."""
        ...

    def add_stored_response(self, answer: StoredResponse) -> None:
        """Claim an idempotency key for a request, replacing an earlier claim."""
        ...

    def set_stored_response(self, answer: StoredResponse) -> bool:
        """Store the response to a claimed request. Returns False and stores nothing if the claim is gone."""
        ...

    def remove_stored_responses(
        self, *, before: datetime | None = None, principal: str | None = None, key: str | None = None
    ) -> int:
        """Remove stored responses: all, those older than a time, or the one of a key; returns their number."""
        ...

    def set_setting(self, name: str, value: str) -> None:
        """Store one of the engine's internal settings."""
        ...

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with all revisions, changes, vectors and index terms; returns counts by table."""
        ...

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors and index terms; returns counts by table."""
        ...

    def remove_sessions(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove sessions and their jobs. Their messages must have been removed before."""
        ...

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove the rest of a scope whose memories and messages are gone: jobs, names, and the row of a user or app.

        Access keys bound to the scope are removed too, under every tenant: they name it and open nothing any more.
        """
        ...


class Store(Reads, Protocol):
    """Stores all data of one tenant. Safe to use from several threads and, if the store says so, processes."""

    @property
    def tenant(self) -> str:
        """The tenant whose rows this store reads and writes."""
        ...

    @property
    def location(self) -> str:
        """Path or URL for messages to people."""
        ...

    @property
    def is_local(self) -> bool:
        """True if the store runs in this process and does not wait for a server."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """Start a transaction. It is durable when the block ends, and rolled back if the block raises.

        Use ``durable=False`` for data that can be recomputed (vectors, last use). A power cut may lose it.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Run the reads of the block in one snapshot, or at least on one connection. Do not wait for anything in the block."""
        ...

    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Rank by BM25 within the partitions that the reader sees. Every text is a valid query."""
        ...

    def find_vectors(self, model: str, query: "Vectors", where: SearchFilter, *, limit: int) -> list[Match]:
        """Rank by cosine within the partitions that the reader sees, with the best chunk of each item."""
        ...

    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List chunks without a vector of this model, newest first; with ``windows``, only of these (item, chunk) pairs."""
        ...

    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the text of one chunk of an item."""
        ...

    def similarities(self, model: str, items: Sequence[int]) -> "Vectors | None":
        """Return the matrix of cosines of some items, with 0 where a vector is missing."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Count what is stored."""
        ...

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the files, and the hash of every row if ``deep``."""
        ...

    def tidy(self) -> bool:
        """Run one short step of index maintenance; returns True while there is more to do."""
        ...

    def scrub(self, needles: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
        """Overwrite removed data; returns whether all is gone, and the files that still contain a needle."""
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy without removed data."""
        ...

    def backups(self) -> list[str]:
        """List the backups this store knows of."""
        ...

    def close(self) -> None:
        """Close the files or connections."""
        ...


@runtime_checkable
class JobNotifier(Protocol):
    """A store that notifies workers of new jobs from any process, so that they need not poll."""

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job of this tenant is queued; returns False after ``seconds`` without one."""
        ...

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until a job of any tenant is queued, and return those tenants; None if a notification may have been missed."""
        ...
