"""Memories: their kinds, the memory itself, proposed changes and the history of changes."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from holdfast.types.common import MemoryOrigin, MemoryStatus, Metadata, short_repr
from holdfast.types.scope import Scope

Keyed: TypeAlias = Literal["no", "one", "many"]
Lifetime: TypeAlias = timedelta | Literal["day"]
"""How long a memory lives: a duration, or until the end of its user's day."""


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
        return f"<Memory {self.kind}{status} {short_repr(str(self))} {self.id}>"


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
