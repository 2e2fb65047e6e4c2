"""Filters for reading from a store, and small result types."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from holdfast.errors import InvalidInput
from holdfast.types import Act, MemoryStatus, MessageOrigin, Scope, SessionStatus, Where

Space: TypeAlias = Literal["memory", "message", "archive"]
"""Part of a store to search: live memories, messages, or retired memories (``archive``)."""

_MAX_NUMBER = 2**63 - 1
"""Largest integer that a store can hold (64 bits)."""


def check_page(*, limit: int | None = None, offset: int = 0) -> None:
    """Raise InvalidInput unless limit and offset are non-negative integers. All listings and recalls use this check."""
    for name, value in (("limit", limit), ("offset", offset)):
        if value is None and name == "limit":
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{name} must be a whole number, not {value!r}.")
        if not 0 <= value <= _MAX_NUMBER:
            raise InvalidInput(f"{name} is {value}; it must be 0 or more, and at most {_MAX_NUMBER}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Selects memories.

    ``reader`` is a scope: only memories that this scope may read are selected. ``owner`` names a user, app or agent: only
    memories that belong to it are selected.
    """

    reader: Scope | None = None
    exactly: Scope | None = None
    """Only memories whose scope equals this one in every part."""
    owner: Mapping[str, str] = field(default_factory=dict)
    """Names of a user, app or agent, by part: ``{"user": "ana"}``. Only memories whose scope has these names are selected."""
    apps: Collection[str] | None = None
    """Select only memories of these apps, among those that the reader may see."""
    ids: Collection[str] | None = None
    items: Collection[int] | None = None
    kinds: Collection[str] | None = None
    statuses: Sequence[MemoryStatus] | None = ("live",)
    key: str | None = None
    keys: Collection[str] | None = None
    """Select only memories with one of these keys."""
    namespace: tuple[str, ...] | None = None
    """Select only memories of exactly this namespace. ``()`` selects those without a namespace."""
    namespace_prefix: tuple[str, ...] = ()
    """Select only memories whose namespace starts with these labels."""
    topic: str | None = None
    has_topic: bool = False
    pinned: bool | None = None
    min_trust: float | None = None
    """Select only memories with at least this trust."""
    content_hash: str | None = None
    sources: Collection[str] | None = None
    where: Where | None = None
    as_of: datetime | None = None
    """Select only memories that were valid at this time, according to what is known today."""
    known_at: datetime | None = None
    """Select memories as they were stored at this time, each in the revision that was current then."""
    expired_by: datetime | None = None
    unexpired_at: datetime | None = None
    retired_before: datetime | None = None
    unused_since: datetime | None = None
    """Select unpinned, automatically extracted memories that have been neither used nor stated again since this time."""
    after_id: str | None = None
    """Select only memories with a greater id, and list them by id. ``""`` selects all. Use it to read a large store in pages."""
    limit: int | None = None
    offset: int = 0
    newest_first: bool = True

    def __post_init__(self) -> None:
        """Raise InvalidInput for a negative limit or offset."""
        check_page(limit=self.limit, offset=self.offset)

    @property
    def is_selective(self) -> bool:
        """True if the filter selects only a few memories. An index lookup is then faster than a scan."""
        named = (
            self.ids,
            self.items,
            self.key,
            self.keys,
            self.namespace or None,
            self.namespace_prefix or None,
            self.topic,
            self.content_hash,
            self.sources,
            self.expired_by,
            self.retired_before,
        )
        return bool(self.pinned) or self.has_topic or any(value is not None for value in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """Selects messages, in the order in which they were added."""

    session: str | None = None
    owner: Mapping[str, str] = field(default_factory=dict)
    reader: Scope | None = None
    exactly: Scope | None = None
    """Only messages whose scope equals this one in every part."""
    ids: Collection[str] | None = None
    seqs: Collection[int] | None = None
    client_id: str | None = None
    after_seq: int = 0
    up_to_seq: int | None = None
    """Only messages up to and including this sequence number."""
    actions: Collection[str | None] | None = None
    """Only messages with one of these actions. None in the collection selects messages without an action."""
    forgotten_by_wish: bool = False
    """If True, select only messages that were hidden because their user asked Holdfast to forget something."""
    before: datetime | None = None
    said: Sequence[tuple[datetime, datetime]] = ()
    """Half-open time ranges. If any are given, only messages from these ranges are selected."""
    newest: int | None = None
    """Only the last N messages."""
    oldest: int | None = None
    """Only the first N messages. Do not combine it with ``newest``."""

    def __post_init__(self) -> None:
        """Raise InvalidInput for a negative ``newest`` or ``oldest``."""
        check_page(limit=self.newest)
        check_page(limit=self.oldest)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Selects sessions, the most recently active first."""

    ids: Collection[str] | None = None
    """Only sessions with one of these ids. An id is unique within a scope."""
    after_id: str | None = None
    """Only sessions with a greater id, listed by id. ``""`` selects all. Use it to read a large store in pages."""
    owner: Mapping[str, str] = field(default_factory=dict)
    exactly: Scope | None = None
    """Only sessions whose scope equals this one in every part."""
    statuses: Collection[SessionStatus] | None = None
    idle_since: datetime | None = None
    active_since: datetime | None = None
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidInput for a negative limit or offset."""
        check_page(limit=self.limit, offset=self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Selects traces, the newest first."""

    ids: Collection[str] | None = None
    owner: Mapping[str, str] = field(default_factory=dict)
    """Names of a user, app or agent, by part: ``{"user": "ana"}``. Only traces whose scope has these names are selected."""
    exactly: Scope | None = None
    """Only traces whose scope equals this one in every part."""
    session: str | None = None
    messages: Collection[str] | None = None
    """Only traces whose question is one of these messages."""
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidInput for a negative limit or offset."""
        check_page(limit=self.limit, offset=self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Restricts a search to the partitions that a reader may see, and optionally to certain kinds and metadata."""

    reader: Scope
    spaces: Collection[Space]
    kinds: Collection[str] | None = None
    where: Where | None = None
    namespace: tuple[str, ...] | None = None
    namespace_prefix: tuple[str, ...] = ()
    without_session: str | None = None
    """Session whose messages are excluded from the search."""
    said: Sequence[tuple[datetime, datetime]] = ()
    """Half-open time ranges. If any are given, a search of messages finds only those from these ranges."""

    @property
    def selects_memories(self) -> bool:
        """True if the filter has a condition on memories: on their kind, metadata or namespace."""
        return self.kinds is not None or bool(self.where) or self.namespace is not None or bool(self.namespace_prefix)


class MessagePlace(NamedTuple):
    """Those fields of a message that recall needs: session, role, speaker, time and dialogue act, and sometimes the text."""

    seq: int
    session: str
    role: str
    speaker: str | None
    at: datetime
    act: Act | None = None
    """The message's dialogue act. None if an older version stored the message."""
    language: str | None = None
    text: str | None = None
    """The message's text if it contains a question or if ``act`` is unknown. Otherwise None."""
    origin: MessageOrigin = "user"


class Match(NamedTuple):
    """A search result: item number, chunk number, the score of the search method, and the space in which the item was found."""

    item: int
    chunk: int
    score: float
    space: Space


class AppChanges(NamedTuple):
    """Counts of the changes that one actor made in one app: created memories, and batches of changes.

    The actor is the program or person that made the changes, such as ``digest`` or ``user``.
    """

    app: str
    actor: str
    created: int
    batches: int


class DayCount(NamedTuple):
    """Number of memories of one kind that were created on one day (``2026-03-01``, in UTC)."""

    day: str
    kind: str
    made: int


class MissingVector(NamedTuple):
    """A chunk for which an embedding model has not computed a vector yet."""

    item: int
    chunk: int
    text: str
