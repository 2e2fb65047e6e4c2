"""The protocols of a store: its reads, its transactions and the store itself."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from holdfast.filters import (
    AppChanges,
    DayCount,
    Match,
    MemoryFilter,
    MessageFilter,
    MessagePlace,
    MissingVector,
    SearchFilter,
    SessionFilter,
    TraceFilter,
)
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
    Trace,
    UserProfile,
    UserRecord,
)

SCRUB = "scrub"
"""Name of the store setting that records whether erased bytes must still be overwritten: ``pending``, ``log`` or ``done``.

With ``log``, only the store's log may still contain them. Overwriting may have to wait: for an open read of the store, or for
the next scrub of a database that many tenants share.
"""
ScrubTime: TypeAlias = Literal["now", "due", "later"]
"""When a store that tenants share scrubs: at once, if the next scrub is due, or later in the background."""


class Unreachable(str):
    """A place that a scrub cannot overwrite or search, such as a database server's log. Scrubbing again does not help."""

    __slots__ = ()


class Reads(Protocol):
    """The read methods of a store. They work inside and outside a transaction."""

    def session(self, id: str, scope: Scope | None = None) -> SessionRecord | None:
        """Return the session with this id in a scope, or None. Without a scope, the id must be unique in the store."""
        ...

    def sessions(self, wanted: SessionFilter) -> list[SessionRecord]:
        """List sessions."""
        ...

    def messages(self, wanted: MessageFilter) -> list[Message]:
        """List messages, oldest first."""
        ...

    def memories(self, wanted: MemoryFilter) -> list[Memory]:
        """List the current revision of each memory. With ``known_at``, list the revision that was current at that time."""
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
        """Return the place of each of these messages: its session, role, speaker, time and dialogue act."""
        ...

    def revisions(self, id: str) -> list[Memory]:
        """List every revision of a memory, oldest first."""
        ...

    def changes(self, *, memory: str | None = None, batch: str | None = None, id: str | None = None) -> list[ChangeRecord]:
        """List changes of memories, oldest first."""
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
        """List the users who have a profile, memories (live or retired), sessions or messages, sorted by code point."""
        ...

    def user_records(self, names: Collection[str], *, unexpired_at: datetime) -> list[UserRecord]:
        """Count the memories and sessions of each of these users, sorted by name. The counts of an unknown user are zero."""
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
        """Count the live memories of each app, for all users together. Apps without memories are left out."""
        ...

    def memories_by_day(self, *, since: datetime) -> list[DayCount]:
        """Return the number of memories created on each day since a time, for each kind. The oldest day comes first."""
        ...

    def changes_by_app(self, *, since: datetime) -> list[AppChanges]:
        """Return the number of changes to memories since a time, for each app and each author of changes."""
        ...

    def access_key(self, id: str) -> KeyRecord | None:
        """Return the access key with this id, or None if this tenant stores no such key."""
        ...

    def access_keys(self) -> list[KeyRecord]:
        """List the access keys stored under this tenant, oldest first. They may give access to other tenants."""
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
        """List the scopes that have or had data. Users and apps that have only a record are included."""
        ...

    def models(self) -> list[str]:
        """List the embedding models whose vectors this store keeps."""
        ...

    def spend(self, *, since: str = "") -> list[Spend]:
        """List model use and its cost by day, starting with the day ``since`` (such as ``2026-03-01``)."""
        ...


class Transaction(Reads, Protocol):
    """A write transaction. When it ends, either all of its changes are on disk or none."""

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        ...

    def set_session(self, session: SessionRecord) -> None:
        """Replace the stored record of a session."""
        ...

    def add_message(self, message: Message) -> Message:
        """Store a message, index its text and queue it for embedding. Returns the message with its ``seq``."""
        ...

    def add_revision(self, memory: Memory) -> Memory:
        """Store a new revision of a memory, which becomes the current one. Also index its text and queue it for embedding.

        The revision is numbered after the previous one. The first stored revision keeps the number that it was given.
        """
        ...

    def touch(self, ids: Collection[str], *, used: datetime | None = None, seen: datetime | None = None) -> None:
        """Set the time at which memories were last used or last stated. No revision is added."""
        ...

    def set_action(self, messages: Collection[str], action: str | None, *, instead_of: str | None = None) -> None:
        """Set the action of messages. Only messages that have the action ``instead_of`` (by default none) are changed.

        An action is a marker such as ``IGNORE`` or ``forgotten``. Messages with an action are not recalled, and nothing
        is extracted from them. The action ``off_record`` also removes them from the indexes.
        """
        ...

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Replace the sources in every revision of a memory. Used after some of its sources were erased."""
        ...

    def set_expiry(self, ids: Collection[str], expires_at: datetime | None) -> None:
        """Set the time at which memories expire, without adding a revision. None means never."""
        ...

    def add_change(self, change: ChangeRecord) -> None:
        """Add an entry to the history of a memory."""
        ...

    def add_job(self, job: Job) -> bool:
        """Queue a job. If a job with the same effect was queued before, store nothing and return False."""
        ...

    def lease_job(
        self,
        *,
        worker: str,
        now: datetime,
        until: datetime,
        kinds: Collection[str] | None = None,
        exclusive: Collection[str] = (),
    ) -> Job | None:
        """Lease the most urgent job that is due or whose lease has expired. Return None if there is no such job.

        For kinds in ``exclusive``, only one job per scope is leased at a time.
        """
        ...

    def set_job(self, job: Job) -> None:
        """Replace the stored record of a job."""
        ...

    def holds_lease(self, job: Job) -> bool:
        """Return True if this attempt to run the job still holds the job's lease."""
        ...

    def remove_done_jobs(self, *, before: datetime) -> int:
        """Remove the jobs that were finished before a time, and return their number."""
        ...

    def put_vectors(self, model: str, chunks: Sequence[tuple[int, int]], vectors: "Vectors") -> int:
        """Store vectors of chunks, each given as (item, chunk). Return the number of stored vectors.

        A chunk that already has a vector is skipped.
        """
        ...

    def use_model(self, model: str) -> int:
        """Start keeping vectors of this model for all stored and future texts. Return the number of chunks to embed."""
        ...

    def drop_model(self, model: str) -> None:
        """Remove a model's vectors and stop keeping them."""
        ...

    def add_spend(self, spend: Spend) -> None:
        """Add calls, tokens, seconds and US dollars to the recorded model use of a day."""
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
        """Set the time at which access keys were last used. Keys that no longer exist are skipped."""
        ...

    def add_stored_response(self, answer: StoredResponse) -> None:
        """Claim an idempotency key for a request: store an entry without a response. An earlier entry for the key is replaced."""
        ...

    def set_stored_response(self, answer: StoredResponse) -> bool:
        """Store the response to a claimed request. If the claim was removed or replaced, store nothing and return False."""
        ...

    def remove_stored_responses(
        self, *, before: datetime | None = None, principal: str | None = None, key: str | None = None
    ) -> int:
        """Remove stored responses: all, those from before a time, or the one for an idempotency key.

        Return the number removed.
        """
        ...

    def add_trace(self, trace: Trace) -> None:
        """Store a trace. The trace is removed when its message or session is removed, or when its message gets an action."""
        ...

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
        """Remove the traces that match any of the arguments, and return their number.

        ``before`` removes older traces, and ``keep`` removes all but the newest. ``owner`` names parts of a scope.
        ``items`` removes traces that list one of these memories or messages. ``texts`` removes traces whose question
        contains one of these texts.
        """
        ...

    def set_setting(self, name: str, value: str) -> None:
        """Store one of the engine's internal settings."""
        ...

    def remove_memories(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove memories with all revisions, changes, vectors and index terms. Return the number of removed rows by table."""
        ...

    def remove_history(self, id: str) -> None:
        """Remove the earlier revisions and the changes of a memory. Only its current revision stays."""
        ...

    def remove_messages(self, ids: Collection[str]) -> Mapping[str, int]:
        """Remove messages with their vectors and index terms. Return the number of removed rows by table."""
        ...

    def remove_sessions(self, sessions: Collection[tuple[str, Scope]]) -> Mapping[str, int]:
        """Remove sessions, each given by id and scope, and their jobs. The messages of the sessions must have been removed before."""
        ...

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove the remaining rows of a scope. Its memories and messages must have been removed before.

        The remaining rows are the scope's jobs and partitions, the record of the user or app, and the access keys bound to the
        scope. Another tenant may store some of these keys. They are removed too, because a key contains the name of the scope and
        no longer gives access to anything.
        """
        ...


class Store(Reads, Protocol):
    """Stores all data of one tenant. Safe to use from several threads. Some stores also allow several processes."""

    @property
    def tenant(self) -> str:
        """The tenant whose rows this store reads and writes."""
        ...

    @property
    def location(self) -> str:
        """Path or URL of the store, for display."""
        ...

    @property
    def is_local(self) -> bool:
        """True if the store runs in this process and does not wait for a server."""
        ...

    @property
    def search_notice(self) -> str | None:
        """A notice if vector search currently cannot use one of its parts, such as an index on a server. None otherwise."""
        ...

    def preload(self) -> None:
        """Import the modules that the first search needs, so that it is as fast as later searches."""
        ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """Start a transaction. It is durable when the ``with`` block ends. If the block raises, the transaction is rolled back.

        Use ``durable=False`` for data that can be recomputed, such as vectors. A power failure may lose such a transaction.
        """
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads in the ``with`` block see the same state of the store. The block must not wait for other work.

        In a store without snapshots, each read may see the newest data.
        """
        ...

    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Return the best matches by BM25 from the partitions that the reader may see. Any text is a valid query."""
        ...

    def find_vectors(self, model: str, query: "Vectors", where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the items with the highest cosine from the partitions that the reader may see.

        An item has one vector per chunk. Its best chunk counts.
        """
        ...

    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List the chunks that have no vector of this model, newest first.

        ``windows`` is a collection of (item, chunk) pairs. If it is given, only these chunks are considered.
        """
        ...

    def count_missing_vectors(self, model: str, *, reader: Scope) -> int:
        """Count the items that a reader may see and that have a chunk without a vector of this model."""
        ...

    def vector_lengths(self, model: str) -> set[int]:
        """Return the different lengths of the stored vectors of a model. This reads every vector of the model."""
        ...

    def chunk_text(self, item: int, chunk: int, text: str) -> str:
        """Return the text of one chunk of an item."""
        ...

    def similarities(self, model: str, items: Sequence[int]) -> "Vectors | None":
        """Return a matrix with the cosine of each pair of items. If a vector is missing, the cosine is 0."""
        ...

    def stats(self) -> Mapping[str, Any]:
        """Return statistics of the store, such as the number of memories."""
        ...

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the integrity of the files. With ``deep``, also check the hash of every row."""
        ...

    def tidy(self) -> bool:
        """Run one short step of index maintenance. Return True if there is more to do."""
        ...

    def room(self) -> AbstractContextManager[Callable[[], object]]:
        """Reserve room on a full disk for the writes of a block. The block gets a function that reserves room again."""
        ...

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        """Overwrite removed data on disk. Then scan the files for ``needles``, which are pieces of the removed data.

        ``files`` are other files to scan, such as topic pages. A needle that also occurs in a stored row is not
        reported. Return two values: True if everything was overwritten, and the names of the files in which a needle
        was found. With ``rewrite=False``, do not rewrite files; return False if removed data may remain. Places that
        the store cannot reach are named as :class:`Unreachable`. A store with one file ignores ``when`` and scrubs at
        once.
        """
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store. It does not contain removed data."""
        ...

    def open_copy(self, path: Path) -> "Store":
        """Open a copy of this store from a file, with the same tenant and key."""
        ...

    def backups(self) -> list[str]:
        """List the backups this store knows of."""
        ...

    def close(self) -> None:
        """Close the files or connections."""
        ...


@runtime_checkable
class JobNotifier(Protocol):
    """A store that notifies workers when any process queues a job, so that they need not poll."""

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job of this tenant is queued. Return False if no job was queued within ``seconds``."""
        ...

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until jobs are queued, and return their tenants.

        Return None if a notification may have been missed; the caller must then check all tenants.
        """
        ...
