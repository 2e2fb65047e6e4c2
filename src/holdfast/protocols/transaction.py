"""The protocol of a store's transactions."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from holdfast.protocols.models import Vectors
from holdfast.protocols.reads import Reads
from holdfast.types import (
    AppRecord,
    ChangeRecord,
    Job,
    KeyRecord,
    Memory,
    Message,
    Scope,
    SessionRecord,
    Spend,
    StoredResponse,
    Trace,
    UserProfile,
)


class Transaction(Reads, Protocol):
    """A write transaction. When it ends, either all of its changes are on disk or none of them."""

    def add_session(self, session: SessionRecord) -> None:
        """Store a new session."""
        ...

    def set_session(self, session: SessionRecord) -> None:
        """Replace the stored record of a session."""
        ...

    def add_message(self, message: Message) -> Message:
        """Store a message, index its text and queue it for embedding. Returns the message with its ``seq``."""
        ...

    def new_seqs(self, scope: Scope, count: int) -> Sequence[int]:
        """Reserve ``count`` sequence numbers for messages of one scope. Return the numbers in ascending order.

        The caller gives the numbers to the messages that it passes to :meth:`add_messages`.
        """
        ...

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Store messages of one scope like :meth:`add_message`, but faster. Each needs a ``seq`` from :meth:`new_seqs`."""
        ...

    def add_revision(self, memory: Memory) -> Memory:
        """Store a new revision of a memory, which becomes the current revision. Index its text and queue it for embedding.

        The first revision of a memory keeps the number in ``memory.revision``. A later revision gets the next number,
        whatever ``memory.revision`` contains. Return the stored revision.
        """
        ...

    def touch(self, ids: Collection[str], *, used: datetime | None = None, seen: datetime | None = None) -> None:
        """Record that memories were recalled at the time ``used``, or stated again at the time ``seen``. No revision is added.

        If one of the two times is None, the stored time stays unchanged.
        """
        ...

    def set_action(self, messages: Collection[str], action: str | None, *, instead_of: str | None = None) -> None:
        """Set the action of messages. An action is a marker such as ``IGNORE`` or ``forgotten``. None removes the action.

        Messages with an action are not recalled, and nothing is extracted from them. The action ``off_record`` also removes
        the messages from the indexes.

        Only messages whose current action is ``instead_of`` are changed. If ``instead_of`` is None, only messages without an
        action are changed.
        """
        ...

    def set_sources(self, id: str, sources: Sequence[str]) -> None:
        """Remove all sources of a memory except the given ones, in every revision. Used after some of its sources were erased."""
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
        """Lease a job to ``worker`` and return the job. Return None if no job can be leased.

        The job is the most urgent job that is due at ``now``, or whose earlier lease has expired. The new lease lasts until
        the time ``until``. With ``kinds``, only jobs of these kinds are leased. ``exclusive`` also names kinds: while a job
        of one of these kinds is leased, all other jobs of these kinds in the same scope are skipped.
        """
        ...

    def set_job(self, job: Job) -> None:
        """Replace the stored record of a job."""
        ...

    def holds_lease(self, job: Job) -> bool:
        """Return True if the job is still leased to the worker that ``job`` names, for the same attempt."""
        ...

    def remove_done_jobs(self, *, before: datetime) -> int:
        """Remove the jobs that were finished before a time, and return their number."""
        ...

    def put_vectors(self, model: str, chunks: Sequence[tuple[int, int]], vectors: "Vectors") -> int:
        """Store vectors of chunks. A chunk is given as a pair: the number of the item, and the number of the chunk in it.

        Return the number of stored vectors. A chunk that already has a vector is skipped.
        """
        ...

    def use_model(self, model: str) -> int:
        """Start keeping vectors of this model for all stored and future texts. Return the number of chunks to embed."""
        ...

    def drop_model(self, model: str) -> None:
        """Remove all vectors of a model. From now on, no vectors of this model are stored."""
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
        """Record when access keys were last used. ``used`` maps the id of each key to the time of its last use.

        Keys that no longer exist are skipped.
        """
        ...

    def add_stored_response(self, answer: StoredResponse) -> None:
        """Claim an idempotency key for a request: store an entry without a response. An earlier entry for the key is replaced."""
        ...

    def set_stored_response(self, answer: StoredResponse) -> bool:
        """Store the response to a request that has claimed (reserved) its idempotency key.

        If the claim no longer exists or already has a response, store nothing and return False.
        """
        ...

    def remove_stored_responses(
        self, *, before: datetime | None = None, principal: str | None = None, key: str | None = None
    ) -> int:
        """Remove stored responses, and return the number removed. Without arguments, all stored responses are removed.

        ``before`` selects responses to requests before this time, ``principal`` selects the responses to this principal, and
        ``key`` selects responses for this idempotency key. If several arguments are given, a response must match all of them.
        """
        ...

    def add_trace(self, trace: Trace) -> None:
        """Store a trace. The trace is removed when its message or session is removed.

        It is also removed when its message gets an action (a marker such as ``forgotten``; see :meth:`set_action`).
        """
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
        """Remove traces, and return the number removed. A trace is removed if at least one of the arguments selects it.

        ``before`` selects traces that are older than this time. ``keep`` selects all traces except the newest ``keep``.
        ``ids`` selects traces by their id, and ``owner`` by their user, app or agent. ``items`` selects traces that list one
        of these memories or messages. ``texts`` selects traces whose question contains one of these texts.
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
        """Remove sessions with their jobs and traces. Return the number of removed rows by table.

        Each session is given by id and scope. The caller must have removed the messages of the sessions before.
        """
        ...

    def remove_scope(self, owner: Mapping[str, str]) -> None:
        """Remove the remaining rows of a user, app or agent, after its memories and messages have been removed.

        ``owner`` maps ``user``, ``app`` or ``agent`` to a name. The remaining rows are jobs, partitions, traces, the record
        of the user or app, and the access keys that are bound to the owner.

        Such a key contains the owner's name, so it is removed even if another tenant stores it.
        """
        ...
