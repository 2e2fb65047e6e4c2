"""What a store is asked for, and the small answers it gives: filters, candidates, matches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from holdfast.errors import InvalidInput
from holdfast.types import MemoryStatus, Scope, SessionStatus, Where

Space: TypeAlias = Literal["memory", "message", "archive"]
"""Where something is searched: live memories, raw messages, or what was once a live memory."""

_MAX_NUMBER = 2**63 - 1
"""The largest number a store counts with."""


def check_page(*, limit: int | None = None, offset: int = 0) -> None:
    """Refuse a limit or an offset that is no whole number from 0 on. Every listing and recall of every store checks here."""
    for name, value in (("limit", limit), ("offset", offset)):
        if value is None and name == "limit":
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{name} must be a whole number, not {value!r}.")
        if not 0 <= value <= _MAX_NUMBER:
            raise InvalidInput(f"{name} is {value}; it must be 0 or more, and at most {_MAX_NUMBER}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories. ``reader`` sees what its scope may see; ``owner`` names parts exactly, across the rest."""

    reader: Scope | None = None
    exactly: Scope | None = None
    """Only this very scope: the identity rule looks here."""
    owner: Mapping[str, str] = field(default_factory=dict)
    """Parts that must be equal (``user``, ``app``, ``agent``), whatever the others are."""
    apps: Collection[str] | None = None
    """Of what the reader sees, only what belongs to these apps."""
    ids: Collection[str] | None = None
    items: Collection[int] | None = None
    kinds: Collection[str] | None = None
    statuses: Sequence[MemoryStatus] | None = ("live",)
    key: str | None = None
    topic: str | None = None
    has_topic: bool = False
    pinned: bool | None = None
    content_hash: str | None = None
    sources: Collection[str] | None = None
    where: Where | None = None
    as_of: datetime | None = None
    """Valid at that moment, by what is known today."""
    known_at: datetime | None = None
    """As it stood in the store at that moment."""
    expired_by: datetime | None = None
    unexpired_at: datetime | None = None
    retired_before: datetime | None = None
    unused_since: datetime | None = None
    """Learnt by itself, not pinned, and neither used nor said again since."""
    limit: int | None = None
    offset: int = 0
    newest_first: bool = True

    def __post_init__(self) -> None:
        """Refuse a negative limit or offset."""
        check_page(limit=self.limit, offset=self.offset)

    @property
    def is_selective(self) -> bool:
        """Whether it names something that few memories have, so that they are best looked up by that."""
        named = (
            self.ids,
            self.items,
            self.key,
            self.topic,
            self.content_hash,
            self.sources,
            self.expired_by,
            self.retired_before,
        )
        return bool(self.pinned) or self.has_topic or any(value is not None for value in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """Which messages, in the order they were said."""

    session: str | None = None
    owner: Mapping[str, str] = field(default_factory=dict)
    reader: Scope | None = None
    exactly: Scope | None = None
    """Only what was said in this very scope."""
    ids: Collection[str] | None = None
    seqs: Collection[int] | None = None
    client_id: str | None = None
    after_seq: int = 0
    before: datetime | None = None
    said: Sequence[tuple[datetime, datetime]] = ()
    """If any: only what was said in one of these stretches of time, their ends left out."""
    newest: int | None = None
    """Only the last N."""

    def __post_init__(self) -> None:
        """Refuse a negative number of messages."""
        check_page(limit=self.newest)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions, the most recently active first."""

    ids: Collection[str] | None = None
    owner: Mapping[str, str] = field(default_factory=dict)
    statuses: Collection[SessionStatus] | None = None
    idle_since: datetime | None = None
    active_since: datetime | None = None
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse a negative limit or offset."""
        check_page(limit=self.limit, offset=self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Where to search: the partitions a reader sees, and within them only these kinds and metadata."""

    reader: Scope
    spaces: Collection[Space]
    kinds: Collection[str] | None = None
    where: Where | None = None
    without_session: str | None = None
    """A session whose messages are not to be found."""
    said: Sequence[tuple[datetime, datetime]] = ()
    """If any, and messages are searched: only messages said in one of these stretches of time, their ends left out."""


class Match(NamedTuple):
    """Something found in a store: its item number, which window of it, and the arm's own score."""

    item: int
    chunk: int
    score: float
    space: Space


class AppChanges(NamedTuple):
    """What one author did to the memories of one app: how many it made, and in how many batches it changed something."""

    app: str
    actor: str
    created: int
    batches: int


class DayCount(NamedTuple):
    """How many memories of one kind were made on one day (``2026-03-01``, in UTC)."""

    day: str
    kind: str
    made: int


class MissingVector(NamedTuple):
    """A window of text that has no vector of some model yet."""

    item: int
    chunk: int
    text: str
