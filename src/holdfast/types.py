"""The nouns of Holdfast, as plain values.

Everything here is immutable and knows nothing of stores or models. Times are aware datetimes in UTC;
a user's own time zone only matters where a day ends (see :class:`UserProfile`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

Keyed: TypeAlias = Literal["no", "one", "many"]
Lifetime: TypeAlias = timedelta | Literal["day"]
"""How long a memory lives: a duration, or until the end of its user's day."""

MemoryOrigin: TypeAlias = Literal["auto", "explicit", "import", "file"]
MessageOrigin: TypeAlias = Literal["user", "assistant", "tool", "web", "file"]
MemoryStatus: TypeAlias = Literal["live", "superseded", "forgotten", "expired"]
SessionStatus: TypeAlias = Literal["open", "idle", "ended"]
KeyLevel: TypeAlias = Literal["read", "write", "admin"]
"""What a key may do; each level includes the ones before it."""
JobState: TypeAlias = Literal["queued", "running", "done", "dead"]
Metadata: TypeAlias = Mapping[str, Any]
Where: TypeAlias = Mapping[str, Any]
"""A metadata filter: ``{"room": "kitchen"}``, ``{"room": ["kitchen", "hall"]}``, ``{"level": {"$gte": 3}}``."""

_REPR_TEXT = 60
"""Characters of a text that a repr shows: objects stand in logs and tracebacks, where a whole message is too much."""


def _short(text: str) -> str:
    """Return a text for a repr: on one line, cut to a readable length."""
    return repr(text if len(text) <= _REPR_TEXT else f"{text[: _REPR_TEXT - 1]}…")


TRUST: Mapping[MessageOrigin, float] = {
    "user": 1.0,
    "assistant": 0.8,
    "file": 0.6,
    "tool": 0.4,
    "web": 0.2,
}
"""How far a text is believed, by where it came from; a derived memory has the least of its sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory it is. A missing part means shared."""

    tenant: str = "default"
    app: str | None = None
    user: str | None = None
    agent: str | None = None
    also_apps: tuple[str, ...] = ()
    """Of a reader: other apps that chose to share their memories with its app. An owner has none."""

    def sees(self, owner: "Scope") -> bool:
        """Tell whether a reader in this scope may see what ``owner`` holds."""
        return (
            self.tenant == owner.tenant
            and owner.app in (None, self.app, *self.also_apps)
            and owner.user in (None, self.user)
            and owner.agent in (None, self.agent)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProfile:
    """What the engine itself must know of a user."""

    user: str
    timezone: str = "UTC"
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """A user as a list of users shows them."""

    user: str
    memories: int = 0
    """Live memories of theirs, in all apps."""
    sessions: int = 0
    last_at: datetime | None = None
    """The last activity in a session, or the last change of a memory, whichever is later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRecord:
    """What the registry knows of an app. One that was only ever talked to has no record."""

    app: str
    name: str | None = None
    """What people call it."""
    installed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    shares_with: tuple[str, ...] = ()
    """The apps that may read its memories; ``*`` is every app."""
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """What is kept of a key that opens the server; the secret itself is not."""

    id: str
    hash: bytes = field(repr=False)
    """The SHA-256 of the whole key."""
    level: KeyLevel
    label: str | None = None
    tenant: str
    """The tenant it gives access to."""
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def works(self, now: datetime) -> bool:
        """Tell whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """What was answered to a request that a client may send again under the same idempotency key."""

    principal: str
    key: str
    request: bytes = field(repr=False)
    """The hash of the request, by which another one under the same key is told apart."""
    at: datetime
    status: int | None = None
    """None while the first request is still under way."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A sort of memory, described once for prompts, schemas, the command line and pages alike."""

    name: str
    meaning: str
    keyed: Keyed = "no"
    pinned: bool = False
    lifetime: Lifetime | None = None
    renewed_by_use: bool = False
    background: bool = False
    """Not recalled by itself while what it was made from is: a summary stands behind its messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A conversation in a scope."""

    id: str
    scope: Scope
    status: SessionStatus = "open"
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None = None
    digested_to: int = 0
    """The sequence number up to which its messages have been digested."""
    metadata: Metadata = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<SessionRecord {self.status}, last active {self.last_at:%Y-%m-%d %H:%M} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing said. ``seq`` only grows within a store and is never used twice."""

    id: str
    session: str
    scope: Scope
    role: str
    text: str
    at: datetime
    seq: int = 0
    speaker: str | None = None
    client_id: str | None = None
    origin: MessageOrigin = "user"
    action: str | None = None
    language: str | None = None

    @property
    def trust(self) -> float:
        """How far this message is believed."""
        return TRUST[self.origin]

    def __repr__(self) -> str:
        return f"<Message {self.role} {_short(self.text)} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Something remembered. The ``id`` is stable; each change adds a revision."""

    id: str
    scope: Scope
    kind: str
    text: str
    key: str | None = None
    topic: str | None = None
    importance: float = 5.0
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    origin: MemoryOrigin = "explicit"
    trust: float = 1.0
    sources: tuple[str, ...] = ()
    pinned: bool = False
    language: str | None = None
    status: MemoryStatus = "live"
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    last_seen_at: datetime | None = None
    retired_at: datetime | None = None
    replaced_by: str | None = None
    reason: str | None = None
    content_hash: str = ""
    revision: int = 1
    recorded_at: datetime
    recorded_to: datetime | None = None
    item: int = 0
    """The store's own number of this revision, by which full text and vectors name it."""

    def __str__(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text

    def __repr__(self) -> str:
        status = "" if self.status == "live" else f" {self.status}"
        return f"<Memory {self.kind}{status} {_short(str(self))} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A change a policy proposes: a new memory, or with ``id`` a new revision of one.

    ``replaces`` names memories whose place it takes: they are superseded by it from ``valid_from`` on.
    """

    scope: Scope
    kind: str
    text: str
    id: str | None = None
    key: str | None = None
    topic: str | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    origin: MemoryOrigin = "auto"
    trust: float = 1.0
    sources: tuple[str, ...] = ()
    pinned: bool | None = None
    language: str | None = None
    valid_from: datetime | None = None
    expires_at: datetime | None = None
    replaces: tuple[str, ...] = ()
    reason: str | None = None
    emptied: frozenset[Literal["tags", "metadata"]] = frozenset()
    """Of a new revision: what it shall have none of, where giving none means that it keeps what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """A change a policy proposes: this memory no longer counts."""

    id: str
    status: MemoryStatus
    reason: str
    replaced_by: str | None = None
    valid_to: datetime | None = None


Change: TypeAlias = Put | Retire


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who made a batch of changes, kept with each of them."""

    actor: str
    model: str | None = None
    prompt: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """One line of a memory's history; the changes of one batch are undone together."""

    id: str
    batch: str
    at: datetime
    action: Literal["created", "revised", "retired", "restored"]
    memory: str
    revision: int
    author: Author
    reason: str | None = None
    after: Memory | None = None
    """The revision this change made, where it is still kept."""

    def __repr__(self) -> str:
        return f"<ChangeRecord {self.action} {self.memory} {self.at:%Y-%m-%d %H:%M} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Durable background work. ``effect`` names what it will have done: the same effect is queued once."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    effect: str
    state: JobState = "queued"
    priority: int = 0
    attempt: int = 0
    created_at: datetime
    not_before: datetime
    lease_until: datetime | None = None
    worker: str | None = None
    finished_at: datetime | None = None
    cost: float = 0.0
    error: str | None = None

    def __repr__(self) -> str:
        return f"<Job {self.kind} {self.state}, attempt {self.attempt} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What work for one purpose has cost on one day. ``unpriced`` calls went to models whose price is not known."""

    day: str
    purpose: str
    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    unpriced: int = 0
    energy: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why something was found: the arm, its rank there (from 1), and the arm's own score."""

    arm: str
    rank: int
    score: float

    def __str__(self) -> str:
        return f"{self.arm} #{self.rank} ({self.score:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory or a message that was recalled."""

    memory: Memory | None = None
    message: Message | None = None
    score: float
    """How likely it is what was asked for, 0 to 1, meaning the same for every embedder and however much is stored."""
    similarity: float | None = None
    """The embedder's raw cosine, where there is one."""
    why: tuple[Reason, ...] = ()
    excerpt: str | None = None
    """The part of a long message that was found."""
    successor: Memory | None = None
    """What has since taken the place of what this message said."""

    def score_by(self, arm: str) -> float | None:
        """Return what one arm said of it, if that arm found it."""
        return next((reason.score for reason in self.why if reason.arm == arm), None)

    @property
    def found(self) -> Memory | Message:
        """The memory or message itself."""
        found = self.memory or self.message
        assert found is not None
        return found

    @property
    def id(self) -> str:
        """The id of the memory or message."""
        return self.found.id

    @property
    def text(self) -> str:
        """The text to show: a long message gives the part that was found."""
        return self.excerpt or self.found.text

    @property
    def kind(self) -> str:
        """The memory's kind, or ``message``."""
        return self.memory.kind if self.memory else "message"

    @property
    def at(self) -> datetime:
        """When it was said, or since when it holds."""
        return self.found.at if isinstance(self.found, Message) else self.found.valid_from

    def __str__(self) -> str:
        return str(self.memory) if self.memory else self.text

    def __repr__(self) -> str:
        return f"<Hit {self.score:.2f} {self.kind} {_short(str(self))} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The block for a system prompt, within its token budget."""

    text: str
    tokens: int
    stable: str
    """The first part, unchanged between turns while nothing pinned changes, so prompt caches hold."""
    changing: str
    hits: tuple[Hit, ...] = ()
    left_out: tuple[Hit, ...] = ()
    """What was found and did not fit."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Context {self.tokens} tokens, {len(self.hits)} hits, {len(self.left_out)} left out>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What an erasure removed, and what a check afterwards saw."""

    target: Mapping[str, str]
    at: datetime
    memories: int = 0
    revisions: int = 0
    messages: int = 0
    sessions: int = 0
    jobs: int = 0
    vectors: int = 0
    rebuilt: int = 0
    """Memories that had other sources too, and were made again from those alone."""
    status: Literal["erased", "pending"] = "erased"
    """``pending``: rows are gone, but a reader still holds old pages; they go when it ends."""
    verified: bool = False
    residue: tuple[str, ...] = ()
    """Files in which the check still found erased bytes."""
    backups: tuple[str, ...] = ()
    """Known backups from before the erasure, which still hold the data."""

    def __repr__(self) -> str:
        target = ", ".join(f"{name} {_short(value)}" for name, value in self.target.items())
        checked = "verified" if self.verified else "not verified"
        return f"<Receipt {self.status}, {checked}: {target}; {self.memories} memories, {self.messages} messages>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    ok: bool
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what a store holds."""

    messages: int
    sessions: Mapping[str, int]
    """By status."""
    memories: int
    """Live ones."""
    memories_by_kind: Mapping[str, int]
    retired: Mapping[str, int]
    """Memories that are no longer live, by status."""
    users: int
    apps: int
    jobs: Mapping[str, int]
    """By state."""
    vectors: int
    waiting_for_vectors: int
    """Texts that are not embedded yet."""
    models: tuple[str, ...]
    """Embedders the store has vectors of."""
    bytes: int
    """The size of the store on disk."""

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> "Stats":
        """Return the counts of a store, typed."""
        return cls(**{**counts, "models": tuple(counts["models"])})

    def __repr__(self) -> str:
        waiting = self.jobs.get("queued", 0) + self.jobs.get("running", 0)
        return f"<Stats {self.memories} memories, {self.messages} messages, {self.users} users, {waiting} jobs waiting>"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts by name, as JSON has them."""
        return {item.name: getattr(self, item.name) for item in fields(self)} | {"models": list(self.models)}
