"""Results of calls: hits, context blocks, erasure receipts, findings and statistics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias

from holdfast.types.common import TRUST, Provenance, short_repr
from holdfast.types.memory import Memory
from holdfast.types.records import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a hit was found: the arm (search method), the hit's rank among that arm's results, and the arm's score.

    Ranks start at 1.
    """

    arm: str
    rank: int
    score: float

    def __str__(self) -> str:
        return f"{self.arm} #{self.rank} ({self.score:.2f})"


LeftOutBy: TypeAlias = Literal["floor", "budget", "limit", "origin"]
"""Why a context does not show a hit.

``floor``: it is too weak to be relevant. ``budget``: it did not fit into the token budget. ``limit``: the context has its maximum
number of hits. ``origin``: it is not the user's own text, and the preset has no label for such text.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory or message that a recall returned."""

    memory: Memory | None = None
    message: Message | None = None
    score: float
    """Probability, from 0 to 1, that the hit answers the query. Comparable across embedders and store sizes."""
    margin: float = 0.0
    """How far the hit is above the relevance floor, as a difference of logits. Negative if it is too weak for a context."""
    similarity: float | None = None
    """Cosine of the hit's vector and the query's vector, if both exist."""
    why: tuple[Reason, ...] = ()
    excerpt: str | None = None
    """The matching part of a long message."""
    successor: Memory | None = None
    """For a message, the live memory that superseded a fact in the message. None if the message states no outdated fact."""
    later: tuple[str, ...] = ()
    """Later sentences of the user that may have made the hit outdated, newest last. A context shows them in the same line."""
    is_quoted: bool = False
    """True if the hit is a user's message and the text that it shows contains a quotation, such as a pasted e-mail."""
    is_near_miss: bool = False
    """True if the hit shares words with a question, such as a name, but its meaning is too different to be an answer."""
    left_out_by: LeftOutBy | None = None
    """Why a context does not show the hit. None if the context shows the hit, or if the hit is not part of a context."""

    def score_by(self, arm: str) -> float | None:
        """Return the score of one arm (search method), or None if that arm did not find the hit."""
        return next((reason.score for reason in self.why if reason.arm == arm), None)

    @property
    def is_relevant(self) -> bool:
        """True if the hit is strong enough to be shown in a context."""
        return self.margin >= 0

    @property
    def provenance(self) -> Provenance:
        """Whose words the text is. For a memory, this is the least trusted origin among its sources."""
        if self.is_quoted:
            return "quoted"
        if self.message is not None:
            return self.message.origin
        trust = self.found.trust
        return next((origin for origin, value in TRUST.items() if trust >= value), "web")

    @property
    def asked(self) -> str | None:
        """The question that the found message answers, or None."""
        return self.message.asked if self.message else None

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
        """The text to show: the matching part of a long message, otherwise the whole text."""
        return self.excerpt or self.found.text

    @property
    def kind(self) -> str:
        """The memory's kind, or ``message``."""
        return self.memory.kind if self.memory else "message"

    @property
    def at(self) -> datetime:
        """Time of the message, or the time from which the memory is valid."""
        return self.found.at if isinstance(self.found, Message) else self.found.valid_from

    def __str__(self) -> str:
        return str(self.memory) if self.memory else self.text

    def __repr__(self) -> str:
        return f"<Hit {self.score:.2f} {self.kind} {short_repr(str(self))} {self.id}>"


class Hits(list[Hit]):
    """The hits of a recall as a list, best first. ``notices`` says what the search could not use, such as the embedder."""

    __slots__ = ("notices",)

    def __init__(self, hits: Iterable[Hit] = (), *, notices: Iterable[str] = ()) -> None:
        super().__init__(hits)
        self.notices = tuple(notices)
        """Notices for people about parts that the recall could not use, such as "Searched by words only: ...". Usually empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A block of memories and messages for a system prompt, within a token budget."""

    text: str
    """The whole block."""
    tokens: int
    stable: str
    """The part with the pinned memories. It changes only when a pinned memory changes.

    For prompt caches, use ``stable`` and then ``changing`` instead of ``text``. The tags of ``text`` contain a nonce that is
    new in each block.
    """
    changing: str
    """The part that depends on the query."""
    hits: tuple[Hit, ...] = ()
    left_out: tuple[Hit, ...] = ()
    """Hits that are not shown. ``left_out_by`` of each hit says why. All relevant hits beyond the limit are among them."""
    notices: tuple[str, ...] = ()
    """Notices for people about parts that the recall could not use, such as "Searched by words only: ...". Usually empty."""
    trace: str | None = None
    """Id of the trace that records how this block was built. None if no trace is kept."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Context {self.tokens} tokens, {len(self.hits)} hits, {len(self.left_out)} left out>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Result of an erasure: the number of removed records, and what a scan of the store's files found afterwards."""

    target: Mapping[str, str]
    """What was erased. In a receipt that is read later, names of people, apps and sessions are replaced by ``(erased)``."""
    at: datetime
    id: str = ""
    """Id with which the receipt can be read later."""
    memories: int = 0
    revisions: int = 0
    messages: int = 0
    sessions: int = 0
    jobs: int = 0
    vectors: int = 0
    rebuilt: int = 0
    """Number of memories that were derived again from their remaining sources, because only some of their sources were erased."""
    status: Literal["erased", "pending"] = "erased"
    """``erased``, or ``pending`` if the rows are removed but their bytes may still be in a file.

    Pending bytes are overwritten later. One reason to wait is another connection that still reads an older state of the
    store. The other reason is that one scrub can serve several erasures: erasures of a file in quick succession, or erasures
    in PostgreSQL within one ``scrub_interval``.
    """
    verified: bool = False
    residue: tuple[str, ...] = ()
    """Files in which the scan still found erased bytes, and places that could not be overwritten or scanned."""
    backups: tuple[str, ...] = ()
    """Known copies of the store that may still contain the erased data, because they could not be changed."""
    missing: tuple[str, ...] = ()
    """Copies that Holdfast has made and that are no longer where they were written. Nothing is known about them."""

    def __repr__(self) -> str:
        target = ", ".join(f"{name} {short_repr(value)}" for name, value in self.target.items())
        checked = "verified" if self.verified else "not verified"
        return f"<Receipt {self.status}, {checked}: {target}; {self.memories} memories, {self.messages} messages>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of ``holdfast doctor``: a check, its outcome, and how to fix a failure."""

    check: str
    ok: bool
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of the data in a store."""

    messages: int
    sessions: Mapping[str, int]
    """Number of sessions by status."""
    memories: int
    """Number of live memories."""
    memories_by_kind: Mapping[str, int]
    retired: Mapping[str, int]
    """Number of retired memories by status."""
    users: int
    apps: int
    jobs: Mapping[str, int]
    """Number of jobs by state."""
    vectors: int
    waiting_for_vectors: int
    """Number of chunks that are not embedded yet."""
    models: tuple[str, ...]
    """Names of the embedders whose vectors are stored."""
    bytes: int
    """Size of the store on disk in bytes."""
    waiting_for_model: int = 0
    """Number of queued jobs that wait until the chat model answers again. Rules have already done the work of these jobs."""

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> "Stats":
        """Build the statistics from the counts that a store returns."""
        return cls(**{**counts, "models": tuple(counts["models"])})

    def __repr__(self) -> str:
        waiting = self.jobs.get("queued", 0) + self.jobs.get("running", 0)
        return f"<Stats {self.memories} memories, {self.messages} messages, {self.users} users, {waiting} jobs waiting>"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts by name, ready for JSON."""
        return {item.name: getattr(self, item.name) for item in fields(self)} | {"models": list(self.models)}
