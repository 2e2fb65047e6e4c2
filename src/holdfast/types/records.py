"""Stored records other than memories: sessions, messages, users, apps, access keys, stored responses, jobs and costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Required, TypedDict

from holdfast.types.common import TRUST, Act, JobState, KeyLevel, MessageOrigin, Metadata, Redaction, SessionStatus, short_repr
from holdfast.types.memory import Memory
from holdfast.types.scope import Scope

REDO: Final = "redo"
"""Kind of a job that digests messages again with the model, after rules digested them because the model failed."""
OFF_RECORD: Final = "off_record"
"""``Message.action`` of a message that the user asked not to keep.

Such a message is neither indexed nor recalled, and it is erased when the session ends.
"""
OMITTED: Final = {"omitted": "the result of a tool"}
"""``Message.payload`` of a message without text that stands for the result of a tool.

The result itself is not stored. The message is stored, because later replies of the assistant may repeat the result.
"""
FORGOTTEN: Final = "forgotten"
"""``Message.action`` of a message whose content was forgotten.

If a user's message asked to forget it, the action is ``forgotten:`` followed by the id of the batch of changes.
"""
FORGETTING: Final = "forget"
"""``Message.action`` of a message that asks to forget something.

No memories are extracted from such a message. Otherwise "forget that I like tea" could store the memory "likes tea" again.
"""


NOISE: Final = "IGNORE"
"""``Message.action`` of a message that was not meant for the assistant, such as background noise. Nothing is learned from it."""


def is_forgotten(action: str | None) -> bool:
    """Return True if a message's ``action`` says that the content of the message was forgotten."""
    return action is not None and action.partition(":")[0] == FORGOTTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A user's wish about memory, and the changes that Holdfast made to obey it. The wish is obeyed when its message is added."""

    wish: Literal["off_record", "resume", "forget", "remember"]
    """The wish: not to keep something, to keep things again, to forget something, or to remember something."""
    memories: tuple[Memory, ...] = ()
    """The memories that were forgotten or stored."""
    messages: tuple[str, ...] = ()
    """Ids of the messages that were withheld or hidden."""
    undo: str | None = None
    """Id of the batch of changes, which can be passed to ``undo``. None if nothing was forgotten or stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A stored session: its scope, status and times."""

    id: str
    scope: Scope
    status: SessionStatus = "open"
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None = None
    digested_to: int = 0
    """Sequence number of the last message that has been digested."""
    metadata: Metadata = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<SessionRecord {self.status}, last active {self.last_at:%Y-%m-%d %H:%M} {self.id}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a session. ``seq`` increases with each message of a store and is never reused."""

    id: str
    session: str
    scope: Scope
    role: str
    """Role of the sender: ``user``, ``assistant``, ``tool`` or ``system``."""
    text: str
    at: datetime
    seq: int = 0
    """Sequence number of this message, assigned by the store."""
    speaker: str | None = None
    """Name of the speaker, if several people share a role."""
    client_id: str | None = None
    """The caller's id for this message, which makes adding it idempotent."""
    origin: MessageOrigin = "user"
    action: str | None = None
    """Marker such as ``IGNORE``, which means that the user was not speaking to the assistant.

    A message with any action is used neither for extraction nor for recall.
    """
    language: str | None = None
    act: Act | None = None
    """The dialogue act of the message: ask, request, state, reply or small talk. None if an older version stored the message."""
    asks: bool = False
    """True if a part of the message asks or requests something."""
    asked: str | None = None
    """The question at the end of the previous message, if someone else asked it. It is indexed together with this message."""
    answers: int | None = None
    """The sequence number of the message that contains the question in ``asked``."""
    payload: Any = None
    """JSON of the caller, returned as it was given. It is neither searched nor used for extraction."""
    redacted: tuple[Redaction, ...] = field(default=(), compare=False)
    """Secrets that were replaced when the message was written. Only the result of that write lists them; later reads do not."""
    consent: Consent | None = field(default=None, compare=False)
    """The changes made because this message asks to remember, forget or not keep something. Only the result of the write has them."""

    @property
    def trust(self) -> float:
        """Trust in this message, from 0 to 1. It depends on the message's origin."""
        return TRUST[self.origin]

    def __repr__(self) -> str:
        return f"<Message {self.role} {short_repr(self.text)} {self.id}>"


class NewMessage(TypedDict, total=False):
    """The fields of a message for ``Session.add_all``. They are the arguments of ``Session.add``."""

    role: Required[str]
    text: str
    at: datetime | str | None
    speaker: str | None
    id: str | None
    origin: MessageOrigin | None
    action: str | None
    payload: Any
    redact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProfile:
    """Settings of a user: time zone and language."""

    user: str
    timezone: str = "UTC"
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """An entry in the list of users: the user's name, how many memories and sessions the user has, and the last activity."""

    user: str
    memories: int = 0
    """Number of live memories of the user, in all apps."""
    sessions: int = 0
    last_at: datetime | None = None
    """Time of the last session activity. Without sessions, the time of the last change of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRecord:
    """Registry entry of an installed app. An app that was used but never installed has no entry."""

    app: str
    name: str | None = None
    """Display name of the app."""
    installed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    shares_with: tuple[str, ...] = ()
    """Apps that may read this app's memories; ``*`` means every app."""
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A stored access key for the server. Only a hash of the secret is stored."""

    id: str
    hash: bytes = field(repr=False)
    """SHA-256 of the complete key."""
    level: KeyLevel
    label: str | None = None
    tenant: str
    """The tenant that the key gives access to."""
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def works(self, now: datetime) -> bool:
        """Return True if the access key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """The response to a request, stored so that a retry with the same idempotency key gets it again."""

    principal: str
    key: str
    request: bytes = field(repr=False)
    """Hash of the request. Reusing the idempotency key for a different request is an error."""
    at: datetime
    status: int | None = None
    """HTTP status, or None while the first request is still running."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A durable piece of background work. ``effect`` identifies its result; a second job with the same effect is not queued."""

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
    """Cost of calls to one model for one purpose on one day. ``unpriced`` counts calls to models whose price is unknown."""

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
