"""Protocols of a store: its reads, its transactions, and the store itself."""

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
    """What can be asked of a store, inside a transaction and outside."""

    def session(self, id: str) -> SessionRecord | None:
        """Return one session."""
        ...

    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List sessions."""
        ...

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List messages, oldest first."""
        ...

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the present revision of each memory (or the one known then)."""
        ...

    def count_memories(self, wanted: MemoryFilter) -> int:
        """Count what :meth:`memories` would list, without its limit."""
        ...

    def places(self, seqs: Collection[int]) -> list[tuple[int, str, str, str | None, datetime]]:
        """Return the session, the role, the speaker and the time of messages, by their numbers."""
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
        """Return what is known of a user; a stranger has the defaults."""
        ...

    def user_names(self, *, limit: int | None = None, offset: int = 0) -> list[str]:
        """List every user who has a profile, memories (live or retired), sessions or messages, by code point."""
        ...

    def user_records(self, names: Collection[str], *, unexpired_at: datetime) -> list[UserRecord]:
        """Count what each of these users has, in the order of their names; a user with nothing is not an error."""
        ...

    def app(self, app: str) -> AppRecord | None:
        """Return the record of an app that was installed or uninstalled."""
        ...

    def apps(self) -> list[AppRecord]:
        """List the apps that have a record, by their names."""
        ...

    def apps_sharing_with(self, app: str) -> list[str]:
        """List the other installed apps that share their memories with this one, by their names."""
        ...

    def memories_by_app(self, *, unexpired_at: datetime) -> Mapping[str, int]:
        """Count the live memories of each app that has any, whoever their users are."""
        ...

    def memories_by_day(self, *, since: datetime) -> list[DayCount]:
        """Count the memories made since a moment that are still kept, by day and kind, the oldest day first."""
        ...

    def changes_by_app(self, *, since: datetime) -> list[AppChanges]:
        """Count what each author has done to the memories of each app since a moment."""
        ...

    def access_key(self, id: str) -> KeyRecord | None:
        """Return the record of a key that is kept in this tenant's rows."""
        ...

    def access_keys(self) -> list[KeyRecord]:
        """List the keys that are kept in this tenant's rows, oldest first, whichever tenant they give access to."""
        ...

    def stored_response(self, principal: str, key: str) -> StoredResponse | None:
        """Return what is kept of a request, if anything."""
        ...

    def has_stored_responses(self, *, before: datetime) -> bool:
        """Tell whether answers from before a moment are kept."""
        ...

    def setting(self, name: str) -> str | None:
        """Return one of the engine's own durable values."""
        ...

    def models(self) -> list[str]:
        """List the models whose vectors are wanted."""
        ...

    def spend(self, *, since: str = "") -> list[Spend]:
        """List what models have cost, by day (``2026-03-01``), from one on."""
        ...


class Transaction(Reads, Protocol):
    """A write under way: all of it is on disk when the transaction ends, or nothing is."""

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        ...

    def set_session(self, session: SessionRecord) -> None:
        """Replace a session's state."""
        ...

    def add_message(self, message: Message) -> Message:
        """Store a message, index its text, queue its vectors; returns it with its ``seq``."""
        ...

    def add_revision(self, memory: Memory) -> Memory:
        """Store a revision as the present one, closing the one before; full text and vectors follow."""
        ...

    def touch(self, ids: Collection[str], *, used: datetime | None = None, seen: datetime | None = None) -> None:
        """Note in place when memories were last used or last stated again."""
        ...

    def set_action(self, messages: Collection[str], action: str) -> None:
        """Mark messages that have no action yet, so that they are neither mined nor recalled any more."""
        ...

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Take sources away from every revision of a memory that stands without them."""
        ...

    def set_expiry(self, ids: Collection[str], expires_at: datetime) -> None:
        """Push the expiry of memories that are renewed by use."""
        ...

    def add_change(self, change: ChangeRecord) -> None:
        """Note a change in the history."""
        ...

    def add_job(self, job: Job) -> bool:
        """Queue a job; False, and nothing stored, if its effect was queued before."""
        ...

    def lease_job(self, *, worker: str, now: datetime, until: datetime, kinds: Collection[str] | None = None) -> Job | None:
        """Take the most urgent job that is due, or whose lease ran out."""
        ...

    def set_job(self, job: Job) -> None:
        """Replace a job's state."""
        ...

    def holds_lease(self, job: Job) -> bool:
        """Tell whether this very attempt still owns the job."""
        ...

    def remove_done_jobs(self, *, before: datetime) -> int:
        """Remove jobs that were done before a moment; returns how many."""
        ...

    def put_vectors(self, model: str, chunks: Sequence[tuple[int, int]], vectors: "Vectors") -> int:
        """Store vectors for (item, window) pairs that still wait for them; returns how many did."""
        ...

    def use_model(self, model: str) -> int:
        """Make a model's vectors wanted for everything stored and to come; returns how many windows wait."""
        ...

    def drop_model(self, model: str) -> None:
        """Remove a model's vectors and want them no more."""
        ...

    def add_spend(self, spend: Spend) -> None:
        """Add to what a day's work has cost."""
        ...

    def set_user(self, profile: UserProfile) -> None:
        """Store what is known of a user."""
        ...

    def set_app(self, record: AppRecord) -> None:
        """Store what is known of an app."""
        ...

    def set_key(self, record: KeyRecord) -> None:
        """Store what is known of a key."""
        ...

    def touch_keys(self, used: Mapping[str, datetime]) -> None:
        """Note in place when keys were last used; those that are gone stay gone."""
        ...

    def add_stored_response(self, answer: StoredResponse) -> None:
        """Claim an idempotency key for a request, in the place of an earlier claim."""
        ...

    def set_stored_response(self, answer: StoredResponse) -> bool:
        """Keep the answer to a claimed request; False, and nothing kept, if the claim is no longer there."""
        ...

    def remove_stored_responses(
        self, *, before: datetime | None = None, principal: str | None = None, key: str | None = None
    ) -> int:
        """Remove kept answers: all, those from before a moment, or the one under a key; returns how many."""
        ...

    def set_setting(self, name: str, value: str) -> None:
        """Store one of the engine's own durable values."""
        ...

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with every revision, change, vector and term; returns counts by table."""
        ...

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors and terms."""
        ...

    def remove_sessions(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove sessions and their jobs; their messages must be gone already."""
        ...

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove what is left of a scope whose memories and messages are gone: jobs, names, and a user's or app's own row.

        Keys that are bound to it go too, whoever's rows they are kept in: they name it, and would open an empty room.
        """
        ...


class Store(Reads, Protocol):
    """Keeps everything of one tenant. Safe to use from several threads and, where it says so, processes."""

    @property
    def tenant(self) -> str:
        """The tenant whose rows this store sees."""
        ...

    @property
    def location(self) -> str:
        """Where it is, for messages to people."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether this process answers by itself, and waits for no server."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """Begin a transaction; it is durable when the block ends, and undone if the block raises.

        ``durable=False`` is for what can be made again (vectors, last use): it may be lost in a power cut.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Run the reads of the block in one snapshot, or at least on one connection. The block must not wait for anything else."""
        ...

    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Rank by BM25 within the reader's own partitions; any text is a valid query."""
        ...

    def find_vectors(self, model: str, query: "Vectors", where: SearchFilter, *, limit: int) -> list[Match]:
        """Rank by cosine within the reader's own partitions, the best window of each item."""
        ...

    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List windows that have no vector of this model yet, newest first; ``windows`` are the (item, window) pairs to look at."""
        ...

    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the part of an item's text that a window covers."""
        ...

    def similarities(self, model: str, items: Sequence[int]) -> "Vectors | None":
        """Return the cosine of each pair of items, zero where a vector is missing."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Count what is stored."""
        ...

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the file and every row's hash."""
        ...

    def tidy(self) -> bool:
        """Do a short step of what makes searching cheaper, where there is any; True while there is more to do."""
        ...

    def scrub(self, needles: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
        """Overwrite what was removed; tells whether it is all gone, and the files that still hold a needle."""
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy that holds no removed data."""
        ...

    def backups(self) -> list[str]:
        """List the backups this store knows of."""
        ...

    def close(self) -> None:
        """Let go of the file; what was written stays."""
        ...


@runtime_checkable
class JobNotifier(Protocol):
    """A store that tells of new jobs by whatever process, so that workers need not ask again and again."""

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job of this tenant is queued; False if none was for so long."""
        ...

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until a job of any tenant is queued, and tell whose; None where something may have been missed."""
        ...
