"""Memories, their kinds, proposed changes, and the history of changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

from holdfast.types.common import MemoryOrigin, MemoryStatus, Metadata, Redaction, short_repr
from holdfast.types.scope import Scope

SAID_LATER: Final = "said_later"
"""Name of a metadata entry: the user's later sentences that may have made the memory outdated, newest last.

Each sentence is a list of two values: the id of its message, and its position among the sentences of the message.
"""

Keyed: TypeAlias = Literal["no", "one", "many"]
Lifetime: TypeAlias = timedelta | Literal["day"]
"""Lifetime of a memory: a duration, or ``day`` for the rest of its user's day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of memory. Prompts, schemas, the command line and topic pages all use this definition."""

    name: str
    meaning: str
    """Description of the kind, shown to models and to people."""
    keyed: Keyed = "no"
    """How many values a key may have: ``one`` or ``many``. With ``no``, memories of this kind have no keys."""
    pinned: bool = False
    """True if new memories of this kind are pinned."""
    lifetime: Lifetime | None = None
    """Time until a memory of this kind expires; None if it never does."""
    renewed_by_use: bool = False
    """True if each use of a memory restarts its lifetime."""
    background: bool = False
    """True if memories of this kind only summarize messages. Recall leaves them out if the preset keeps the messages forever."""
    internal: bool = False
    """True if the preset keeps memories of this kind for its own use. Lists show them only to a caller who asks for this kind."""
    plain: bool = False
    """True if memories of this kind are stored exactly as given, and nothing is learned from them.

    Nothing is redacted, and a text may be empty. A new memory with the key of an existing one replaces that memory without
    keeping a history. A forgotten memory is removed at once. Context blocks leave these memories out.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored memory. The ``id`` never changes; each change adds a revision."""

    id: str
    scope: Scope
    kind: str
    """Name of the memory's :class:`Kind`, such as ``fact``."""
    text: str
    key: str | None = None
    """Name of the attribute that the memory describes, such as ``city``."""
    topic: str | None = None
    importance: float = 5.0
    """Importance, from 0 to 10."""
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    origin: MemoryOrigin = "explicit"
    """How the memory came in: extracted (``auto``), by a call (``explicit``), by an import, or from a topic file."""
    trust: float = 1.0
    """Trust in the memory, from 0 to 1. It is at most the trust of the least trusted source."""
    sources: tuple[str, ...] = ()
    """Ids of the messages and memories that the memory was derived from."""
    pinned: bool = False
    """True if the memory is part of every context block."""
    language: str | None = None
    status: MemoryStatus = "live"
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    """Time from which the memory's statement is true."""
    valid_to: datetime | None = None
    """Time until which the memory's statement was true; None if it is still true."""
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    """Time of the last recall that returned the memory."""
    last_seen_at: datetime | None = None
    """Time when a message or call last stated the memory."""
    retired_at: datetime | None = None
    replaced_by: str | None = None
    """Id of the memory that superseded this one."""
    reason: str | None = None
    """Reason why the memory was retired."""
    content_hash: str = ""
    """Hash of kind, key and text. It is used to recognize a repeated statement."""
    revision: int = 1
    recorded_at: datetime
    """Time when this revision was stored."""
    recorded_to: datetime | None = None
    """Time when the next revision replaced this one; None for the current revision."""
    item: int = 0
    """The store's number for this revision. The full-text index and the vectors refer to it."""
    namespace: tuple[str, ...] = ()
    """Labels that group memories, such as ``("docs", "2026")``. Empty if the memory is in no namespace."""
    indexed: tuple[str, ...] | None = None
    """Texts to search instead of the memory's own text. None to search its own text; empty to hide the memory from recall."""
    redacted: tuple[Redaction, ...] = field(default=(), compare=False)
    """Secrets that were replaced when the memory was written. Only the result of that write lists them; later reads do not."""

    def __str__(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text

    def __repr__(self) -> str:
        status = "" if self.status == "live" else f" {self.status}"
        return f"<Memory {self.kind}{status} {short_repr(str(self))} {self.id}>"


class NewMemory(TypedDict, total=False):
    """The fields of a memory for ``remember_all``: the arguments of ``remember``, without the scope."""

    text: Required[str]
    kind: str | None
    key: str | None
    namespace: Sequence[str]
    topic: str | None
    importance: float | None
    tags: Sequence[str]
    metadata: Mapping[str, Any] | None
    pinned: bool | None
    valid_from: datetime | str | None
    expires_at: datetime | str | None
    created_at: datetime | str | None
    index: Sequence[str] | bool
    sources: Sequence[str]
    origin: MemoryOrigin
    trust: float
    redact: bool
    if_revision: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A proposed change: a new memory, or a new revision of the memory with this ``id``.

    The memories in ``replaces`` are superseded from ``valid_from`` on.
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
    created_at: datetime | None = None
    """Time when the memory was created elsewhere, for imports. If None, it is created now."""
    namespace: tuple[str, ...] = ()
    indexed: tuple[str, ...] | None = None
    replaces: tuple[str, ...] = ()
    reason: str | None = None
    emptied: frozenset[Literal["tags", "metadata", "expires_at", "indexed"]] = frozenset()
    """Fields to clear in a new revision. A field that is empty but not listed here keeps its old value."""
    doubtful: bool = False
    """True if the change may come from text that is not the user's own.

    Such a change never replaces a memory that the user stored.
    """
    redact: bool = True
    """False to store secrets as they are."""
    if_revision: int | None = None
    """Expected revision of the memory that this change replaces or refreshes. 0 means that no such memory may exist.

    If this is not the case, ``RevisionConflict`` is raised.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """A proposed change: retire a memory, that is, give it a new status and the reason."""

    id: str
    status: MemoryStatus
    reason: str
    replaced_by: str | None = None
    valid_to: datetime | None = None


Change: TypeAlias = Put | Retire


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Author of a batch of changes: actor, model, prompt and job. The author is stored with each change."""

    actor: str
    """Actor that made the changes, for example ``user``, ``import`` or a kind of job."""
    model: str | None = None
    """Chat model that proposed the changes, if any."""
    prompt: str | None = None
    """Version of the prompt or rules that produced the changes."""
    job: str | None = None
    """Id of the background job that made the changes, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """One entry of a memory's history. The changes of one batch are undone together."""

    id: str
    batch: str
    at: datetime
    action: Literal["created", "revised", "retired", "restored"]
    memory: str
    revision: int
    author: Author
    reason: str | None = None
    after: Memory | None = None
    """The revision that this change created, if it is still stored."""

    def __repr__(self) -> str:
        return f"<ChangeRecord {self.action} {self.memory} {self.at:%Y-%m-%d %H:%M} {self.id}>"
