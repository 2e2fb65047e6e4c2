"""What the server answers with: the nouns of ``holdfast.types`` as JSON, a scope flattened into its parts."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from holdfast.types import JobState, MemoryOrigin, MemoryStatus, MessageOrigin, SessionStatus

Item = TypeVar("Item")


class Model(BaseModel):
    """What all answers have in common."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class Listed(Model, Generic[Item]):
    """One page of a list; ``next_offset`` is where the next one begins."""

    items: list[Item]
    next_offset: Annotated[int | None, Field(examples=[50])] = None


class Counted(Listed[Item], Generic[Item]):
    """A page of a list whose whole length is known."""

    total: Annotated[int, Field(examples=[123])]


class Scoped(Model):
    """Whose it is; a missing part means shared."""

    user: Annotated[str | None, Field(examples=["ana"])] = None
    app: Annotated[str | None, Field(examples=["kitchen"])] = None
    agent: str | None = None


class Memory(Scoped):
    """Something remembered."""

    id: Annotated[str, Field(examples=["mem_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    kind: Annotated[str, Field(examples=["fact"])]
    text: Annotated[str, Field(examples=["prefers tea"])]
    key: Annotated[str | None, Field(examples=["drink"])] = None
    topic: str | None = None
    importance: Annotated[float, Field(examples=[5.0])]
    tags: list[str]
    metadata: dict[str, Any]
    origin: MemoryOrigin
    trust: float
    sources: list[str]
    pinned: bool
    language: str | None = None
    status: MemoryStatus
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
    revision: int


class Message(Scoped):
    """One thing said."""

    id: Annotated[str, Field(examples=["msg_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    session: Annotated[str, Field(examples=["ses_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    role: Annotated[str, Field(examples=["user"])]
    speaker: str | None = None
    text: Annotated[str, Field(examples=["I moved to Lyon last month."])]
    at: datetime
    seq: int
    client_id: str | None = None
    origin: MessageOrigin
    action: str | None = None
    language: str | None = None


class Messages(Listed[Message]):
    """What was said, oldest first; ``next_seq`` is what to ask on after."""

    next_seq: int | None = None


class Session(Scoped):
    """A conversation."""

    id: Annotated[str, Field(examples=["ses_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    status: SessionStatus
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None = None
    digested_to: int
    metadata: dict[str, Any]


class Reason(Model):
    """Why something was found."""

    arm: Annotated[str, Field(examples=["dense"])]
    rank: Annotated[int, Field(examples=[1])]
    score: float


class Hit(Model):
    """A memory or a message that was recalled."""

    id: str
    kind: Annotated[str, Field(examples=["fact"])]
    text: Annotated[str, Field(examples=["prefers tea"])]
    score: Annotated[float, Field(examples=[0.91])]
    similarity: float | None = None
    at: datetime
    why: list[Reason]
    memory: Memory | None = None
    message: Message | None = None
    successor: Memory | None = None


class Hits(Model):
    """What a query brought to mind, best first."""

    hits: list[Hit]


class Context(Model):
    """The block for a system prompt."""

    text: str
    tokens: int
    stable: str
    changing: str
    hits: list[Hit]
    left_out: list[Hit]


class Change(Model):
    """One line of a memory's history."""

    id: str
    batch: str
    at: datetime
    action: Literal["created", "revised", "retired", "restored"]
    memory: str
    revision: int
    actor: Annotated[str, Field(examples=["user"])]
    model: str | None = None
    prompt: str | None = None
    job: str | None = None
    reason: str | None = None
    after: Memory | None = None


class History(Model):
    """The changes of a memory, oldest first."""

    items: list[Change]


class Sources(Model):
    """What a memory was made from."""

    messages: list[Message]
    memories: list[Memory]


class Memories(Model):
    """Memories as they are now."""

    items: list[Memory]


class Job(Model):
    """Background work."""

    id: str
    kind: Annotated[str, Field(examples=["digest"])]
    payload: dict[str, Any]
    state: JobState
    attempt: int
    created_at: datetime
    not_before: datetime
    finished_at: datetime | None = None
    cost: float
    error: str | None = None
    worker: str | None = None


class Receipt(Model):
    """What an erasure removed, and what a check afterwards saw."""

    target: dict[str, str]
    at: datetime
    memories: int
    revisions: int
    messages: int
    sessions: int
    jobs: int
    vectors: int
    rebuilt: int
    status: Literal["erased", "pending"]
    verified: bool
    residue: list[str]
    backups: list[str]


class Forgotten(Model):
    """How many memories were hidden."""

    forgotten: Annotated[int, Field(examples=[1])]


class Steps(Model):
    """How much work was done."""

    steps: Annotated[int, Field(examples=[3])]


class ToolUse(Model):
    """A tool a model called, and what came of it."""

    name: Annotated[str, Field(examples=["remember"])]
    arguments: dict[str, Any]
    ok: bool
    text: str


class Usage(Model):
    """What a reply took; ``cost`` is null where the model's price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float | None = None


class ChatAnswer(Model):
    """A reply, and how it came about."""

    text: Annotated[str, Field(examples=["You live in Lyon."])]
    context: Context
    tool_uses: list[ToolUse]
    usage: Usage
    message_id: str
    reply_id: str | None = None


class TopicLine(Model):
    """A topic as it is listed."""

    topic: Annotated[str, Field(examples=["garden"])]
    title: Annotated[str, Field(examples=["Garden"])]
    lines: Annotated[int, Field(examples=[7])]
    updated_at: datetime


class Topics(Model):
    """The topics there are."""

    items: list[TopicLine]


class TopicPage(Model):
    """A topic as a page."""

    topic: Annotated[str, Field(examples=["garden"])]
    title: Annotated[str, Field(examples=["Garden"])]
    markdown: Annotated[str, Field(examples=["# Garden\n\n- the tomatoes are planted (2026-05-02)\n"])]
    lines: list[Memory]


class UserProfile(Model):
    """What the engine itself knows of a user."""

    user: Annotated[str, Field(examples=["ana"])]
    timezone: Annotated[str, Field(examples=["Europe/Madrid"])]
    language: Annotated[str | None, Field(examples=["es"])] = None


class Kind(Model):
    """A sort of memory."""

    name: Annotated[str, Field(examples=["fact"])]
    meaning: str
    keyed: Literal["no", "one", "many"]
    pinned: bool
    lifetime: Annotated[str | None, Field(description="Seconds, or `day`: to the end of the user's day.")] = None
    renewed_by_use: bool


class Kinds(Model):
    """The sorts of memory the preset has."""

    items: list[Kind]
    default: str
