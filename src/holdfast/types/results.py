"""Results of calls: hits, context blocks, erasure receipts, findings and statistics."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from holdfast.types.common import short_repr
from holdfast.types.memory import Memory
from holdfast.types.records import Message


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
        return f"<Hit {self.score:.2f} {self.kind} {short_repr(str(self))} {self.id}>"


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
        target = ", ".join(f"{name} {short_repr(value)}" for name, value in self.target.items())
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
