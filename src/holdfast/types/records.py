"""Rows of a store other than memories: sessions, messages, users, apps, access keys, stored responses, jobs and costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from holdfast.types.common import TRUST, JobState, KeyLevel, MessageOrigin, Metadata, SessionStatus, short_repr
from holdfast.types.scope import Scope


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
        return f"<Message {self.role} {short_repr(self.text)} {self.id}>"


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
