"""Response bodies of the HTTP API: the types of ``holdfast.types`` as JSON. A scope becomes ``user``, ``app`` and ``agent``.

Attribute docstrings are the field descriptions in the OpenAPI document.
"""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from holdfast.types import Act, JobState, MemoryOrigin, MemoryStatus, MessageOrigin, Provenance, SessionStatus

Item = TypeVar("Item")


class Model(BaseModel):
    """Base class of response bodies."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_serialization_defaults_required=True, use_attribute_docstrings=True
    )


class Listed(Model, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    """The items of this page."""
    next_offset: Annotated[int | None, Field(examples=[50])] = None
    """The value of `offset` for the next page, or null if this is the last page."""


class Counted(Listed[Item], Generic[Item]):
    """One page of a list, with the total number of items."""

    total: Annotated[int, Field(examples=[123])]
    """The number of items on all pages."""


class Scoped(Model):
    """An object that belongs to a scope. If `user`, `app` or `agent` is null, all users, apps or agents share the object."""

    user: Annotated[str | None, Field(examples=["ana"])] = None
    """The user that the object belongs to, or null if all users share it."""
    app: Annotated[str | None, Field(examples=["kitchen"])] = None
    """The app that the object belongs to, or null if all apps share it."""
    agent: str | None = None
    """The agent that the object belongs to, or null if all agents share it."""


class Redaction(Model):
    """A secret that was replaced before storage."""

    field: Annotated[str, Field(examples=["text"])]
    """The field that contained the secret, such as `text`, `speaker` or `metadata.token`."""
    kind: Annotated[str, Field(examples=["api key"])]
    """The kind of the secret. The stored value contains `[redacted api key]` in its place."""


class Memory(Scoped):
    """A short text worth knowing later. Its id never changes; each edit adds a revision."""

    id: Annotated[str, Field(examples=["mem_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the memory."""
    kind: Annotated[str, Field(examples=["fact"])]
    """The kind of the memory. `/v1/kinds` lists the kinds."""
    text: Annotated[str, Field(examples=["prefers tea"])]
    """The text of the memory."""
    key: Annotated[str | None, Field(examples=["drink"])] = None
    """The attribute that the memory describes."""
    namespace: Annotated[list[str], Field(examples=[["docs", "2026"]])]
    """The labels of the memory's namespace. Empty if it is in none."""
    topic: str | None = None
    """The topic that the memory belongs to."""
    importance: Annotated[float, Field(examples=[5.0])]
    """The importance from 0 to 10."""
    tags: list[str]
    """Labels of the memory."""
    metadata: dict[str, Any]
    """Additional data stored with the memory."""
    origin: MemoryOrigin
    """How the memory was created: extracted (`auto`), stored on request (`explicit`), imported, or edited in a file."""
    trust: float
    """How reliable the sources of the memory are, from 0 to 1. The least trusted source decides."""
    sources: list[str]
    """The ids of the messages and memories that the memory was derived from."""
    pinned: bool
    """True if the memory is part of every context block."""
    language: str | None = None
    """The detected language of the text."""
    status: MemoryStatus
    """`live`, or the reason why the memory was retired: `superseded`, `forgotten` or `expired`."""
    created_at: datetime
    """The time the memory was created."""
    updated_at: datetime
    """The time of the last revision."""
    valid_from: datetime
    """The time since which the memory is true."""
    valid_to: datetime | None = None
    """The time until which the memory was true, or null if it still is."""
    expires_at: datetime | None = None
    """The time at which the memory expires, or null if it never expires."""
    last_used_at: datetime | None = None
    """The time the memory was last recalled."""
    last_seen_at: datetime | None = None
    """The last time that the content of the memory was stated again."""
    retired_at: datetime | None = None
    """The time the memory was retired, or null if it is live."""
    replaced_by: str | None = None
    """The id of the memory that superseded this one."""
    reason: str | None = None
    """The reason for the last change."""
    revision: int
    """The number of this revision, starting at 1."""
    indexed: list[str] | None = None
    """The texts that are searched instead of the memory's own text, or null. An empty list means that it is not searched."""
    redacted: list[Redaction] = []
    """The secrets that this request replaced. Empty if you read the memory later."""


class Consent(Model):
    """What a wish of the user about memory changed when their message was added."""

    wish: Annotated[Literal["off_record", "resume", "forget", "remember"], Field(examples=["forget"])]
    """The wish: not to keep something, to keep things again, to forget something, or to remember something."""
    memories: list[Memory]
    """The memories that were forgotten or stored."""
    messages: list[str]
    """The ids of the messages that were withheld or hidden."""
    undo: Annotated[str | None, Field(examples=["bat_01k4zt3w9v6q2m8x5c7b1n0pda"])] = None
    """The id to undo it with, or null if nothing was forgotten or stored."""


class Message(Scoped):
    """One message of a session."""

    id: Annotated[str, Field(examples=["msg_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the message."""
    session: Annotated[str, Field(examples=["ses_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the session that the message belongs to."""
    role: Annotated[str, Field(examples=["user"])]
    """The role of the speaker, such as `user` or `assistant`."""
    speaker: str | None = None
    """The name of the speaker."""
    text: Annotated[str, Field(examples=["I moved to Lyon last month."])]
    """The text of the message."""
    at: datetime
    """The time the message was sent."""
    seq: int
    """The sequence number of the message. Numbers grow within a store and are never reused."""
    client_id: str | None = None
    """The id that the client gave the message."""
    origin: MessageOrigin
    """Where the text came from."""
    action: str | None = None
    """A marker such as `IGNORE`. Nothing is learned from a message with a marker, and the message is not recalled."""
    language: str | None = None
    """The detected language of the text."""
    act: Act | None = None
    """The dialogue act of the message: `question`, `request`, `statement`, `reply` or `small_talk`."""
    asked: str | None = None
    """The question that the message before ends with, if another person asked it."""
    payload: Any = None
    """The JSON that the client attached to the message, or null."""
    redacted: list[Redaction] = []
    """The secrets that this request replaced. Empty if you read the message later."""
    consent: Consent | None = None
    """The changes made because this message asks to remember, forget or not keep something. Null if it does not, or on later reads."""


class Messages(Listed[Message]):
    """Messages of a session, oldest first."""

    next_seq: int | None = None
    """The value of `after_seq` for the next page, or null if this is the last page."""


class Session(Scoped):
    """A conversation: a sequence of messages in one scope."""

    id: Annotated[str, Field(examples=["ses_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the session."""
    status: SessionStatus
    """`open`, `idle` or `ended`."""
    started_at: datetime
    """The time the session started."""
    last_at: datetime
    """The time of the last activity in the session."""
    ended_at: datetime | None = None
    """The time the session ended, or null if it has not ended."""
    digested_to: int
    """The sequence number of the last message from which memories were extracted."""
    metadata: dict[str, Any]
    """Additional data stored with the session."""


class Reason(Model):
    """The search method that found an item, with the item's rank and score."""

    arm: Annotated[str, Field(examples=["dense"])]
    """The name of the search method that found the item."""
    rank: Annotated[int, Field(examples=[1])]
    """The rank of the item among the results of that method, starting at 1."""
    score: float
    """The score that the method gave the item."""


class Hit(Model):
    """A memory or message that was recalled."""

    id: str
    """The id of the memory or message."""
    kind: Annotated[str, Field(examples=["fact"])]
    """The kind of the memory, or `message`."""
    text: Annotated[str, Field(examples=["prefers tea"])]
    """The text to show. For a long message, this is the snippet that matched."""
    score: Annotated[float, Field(examples=[0.91])]
    """The probability from 0 to 1 that the item is relevant. Scores are comparable between embedders."""
    relevant: bool
    """True if the hit is strong enough to be shown in a context block."""
    provenance: Provenance
    """Where the text comes from. `user` stands for the owner's own words, which include topic pages and imports."""
    asked: str | None = None
    """For a message that answers a question: the question."""
    similarity: float | None = None
    """The cosine of the query and the item, or null if they were not compared by meaning."""
    at: datetime
    """The time at which the message was sent, or since which the memory is true."""
    why: list[Reason]
    """The search methods that found the item, each with the item's rank and score."""
    memory: Memory | None = None
    """The memory, or null if the hit is a message."""
    message: Message | None = None
    """The message, or null if the hit is a memory."""
    successor: Memory | None = None
    """The live memory that superseded the memory derived from this message. Null if there is none, or if the hit is a memory."""


class Hits(Model):
    """Hits for a query, best first."""

    hits: list[Hit]
    """The hits, best first."""
    notices: list[str]
    """Notices about parts that the recall could not use, such as `Searched by words only: ...`. Usually empty."""


class Context(Model):
    """A context block: the text for a system prompt."""

    text: str
    """The whole block. Its tags are new in each block."""
    tokens: int
    """The size of the block in tokens."""
    stable: str
    """The part with pinned memories, in tags of its own. It changes only when a pinned memory changes.

    For prompt caches, use `stable` and then `changing` instead of `text`."""
    changing: str
    """The part that depends on the query, in tags of its own."""
    hits: list[Hit]
    """The hits that the block shows."""
    left_out: list[Hit]
    """The hits that the block does not show: they are too weak to be relevant, or did not fit into the token budget."""
    notices: list[str]
    """Notices about parts that the recall could not use, such as `Searched by words only: ...`. Usually empty."""
    trace: str | None = None
    """The id of the trace that says how this block came about, or null if none is kept."""


class Change(Model):
    """One entry of a memory's history."""

    id: str
    """The id of the change. Pass it to `/v1/undo` to undo the change."""
    batch: str
    """The id of the batch. All changes of a batch are undone together."""
    at: datetime
    """The time of the change."""
    action: Literal["created", "revised", "retired", "restored"]
    """The type of the change: `created`, `revised`, `retired` or `restored`."""
    memory: str
    """The id of the memory that was changed."""
    revision: int
    """The number of the revision that the change created."""
    actor: Annotated[str, Field(examples=["user"])]
    """The author of the change."""
    model: str | None = None
    """The chat model that proposed the change."""
    prompt: str | None = None
    """The version of the prompt that the chat model was given."""
    job: str | None = None
    """The id of the job that made the change."""
    reason: str | None = None
    """The reason for the change."""
    after: Memory | None = None
    """The memory after the change, or null if that revision was erased."""


class History(Model):
    """The changes of a memory."""

    items: list[Change]
    """The changes, oldest first."""


class Sources(Model):
    """The messages and memories that a memory was derived from."""

    messages: list[Message]
    """The source messages that still exist and that you may read."""
    memories: list[Memory]
    """The source memories that still exist and that you may read."""


class Memories(Model):
    """A list of memories."""

    items: list[Memory]
    """The memories in their current state."""


class Job(Model):
    """A durable piece of background work."""

    id: str
    """The id of the job."""
    kind: Annotated[str, Field(examples=["digest"])]
    """The type of the work."""
    payload: dict[str, Any]
    """The arguments of the job."""
    state: JobState
    """`queued`, `running`, `done`, or `dead` if all attempts failed."""
    attempt: int
    """The number of attempts so far."""
    created_at: datetime
    """The time the job was queued."""
    not_before: datetime
    """The earliest time of the next attempt."""
    finished_at: datetime | None = None
    """The time the job finished, or null if it has not finished."""
    cost: float
    """The cost of the job's model calls in US dollars."""
    error: str | None = None
    """The error of the last attempt."""
    worker: str | None = None
    """The worker that runs the job."""


class Receipt(Model):
    """The result of an erasure, verified by scanning the files."""

    id: str
    """The id with which the receipt can be retrieved later."""
    target: dict[str, str]
    """The data that the request asked to erase. In a receipt that is retrieved later, names are replaced by `(erased)`."""
    at: datetime
    """The time of the erasure."""
    memories: int
    """The number of memories erased."""
    revisions: int
    """The number of revisions erased."""
    messages: int
    """The number of messages erased."""
    sessions: int
    """The number of sessions erased."""
    jobs: int
    """The number of jobs erased."""
    vectors: int
    """The number of vectors erased."""
    rebuilt: int
    """The number of memories that were kept and derived again. Each had other sources, which were not erased."""
    status: Literal["erased", "pending"]
    """`erased`, or `pending` if the bytes are overwritten later, for example because a reader still uses old database pages."""
    verified: bool
    """True if the files were scanned and contain none of the erased data."""
    residue: list[str]
    """The files in which the scan still found erased data."""
    backups: list[str]
    """Copies of the store that may still contain the data, because they could not be changed."""
    missing: list[str]
    """Copies that Holdfast has made and that are no longer where they were written."""


class Forgotten(Model):
    """The result of a request to forget memories."""

    forgotten: Annotated[int, Field(examples=[1])]
    """The number of memories that were forgotten."""


class Steps(Model):
    """The result of a request to run background work."""

    steps: Annotated[int, Field(examples=[3])]
    """The number of steps that were run."""


class ToolUse(Model):
    """A tool call of the chat model."""

    name: Annotated[str, Field(examples=["remember"])]
    """The name of the tool."""
    arguments: dict[str, Any]
    """The arguments of the call."""
    ok: bool
    """True if the call succeeded."""
    text: str
    """The result that the chat model received."""


class Usage(Model):
    """The number, size, duration and cost of the model calls for a reply."""

    calls: int
    """The number of calls to the model."""
    input_tokens: int
    """The number of tokens sent to the model."""
    output_tokens: int
    """The number of tokens generated by the model."""
    seconds: float
    """The duration of the model calls in seconds."""
    cost: float | None = None
    """The cost in US dollars, or null if the price of the model is not known."""


class ChatAnswer(Model):
    """A reply of the assistant."""

    text: Annotated[str, Field(examples=["You live in Lyon."])]
    """The text of the reply."""
    context: Context
    """The context block that the model received."""
    tool_uses: list[ToolUse]
    """The tool calls of the model, in order."""
    usage: Usage
    """The number, size, duration and cost of the model calls for this reply."""
    message_id: str
    """The id of the user's message."""
    reply_id: str | None = None
    """The id of the assistant's message."""
    redacted: list[Redaction] = []
    """The secrets that were replaced in the user's message."""
    consent: Consent | None = None
    """The changes made because the user's message asks to remember, forget or not keep something, or null."""


class TopicLine(Model):
    """An entry in the list of topics."""

    topic: Annotated[str, Field(examples=["garden"])]
    """The name of the topic."""
    title: Annotated[str, Field(examples=["Garden"])]
    """The title of the topic's page."""
    lines: Annotated[int, Field(examples=[7])]
    """The number of memories on the topic's page."""
    updated_at: datetime
    """The time of the last change of the topic."""


class Topics(Model):
    """A list of topics."""

    items: list[TopicLine]
    """The topics. The most recently changed topic comes first."""


class TopicPage(Model):
    """A topic as a Markdown page."""

    topic: Annotated[str, Field(examples=["garden"])]
    """The name of the topic."""
    title: Annotated[str, Field(examples=["Garden"])]
    """The title of the page."""
    markdown: Annotated[str, Field(examples=["# Garden\n\n- the tomatoes are planted (2026-05-02)\n"])]
    """The page as Markdown."""
    lines: list[Memory]
    """The memories on the page, one per line."""


class UserRecord(Model):
    """A user who has data."""

    user: Annotated[str, Field(examples=["ana"])]
    """The name of the user."""
    memories: int
    """The number of live memories of the user, in all apps."""
    sessions: int
    """The number of sessions of the user."""
    last_at: datetime | None = None
    """The time of the last activity, or null."""


class UserProfile(Model):
    """The settings of a user."""

    user: Annotated[str, Field(examples=["ana"])]
    """The name of the user."""
    timezone: Annotated[str, Field(examples=["Europe/Madrid"])]
    """The IANA time zone of the user. It decides when a day ends."""
    language: Annotated[str | None, Field(examples=["es"])] = None
    """The language of the user, or null if it is not set."""


class Kind(Model):
    """A kind of memory."""

    name: Annotated[str, Field(examples=["fact"])]
    """The name of the kind."""
    meaning: str
    """The description of the kind, for people and chat models."""
    keyed: Literal["no", "one", "many"]
    """`no` if memories of this kind have no key, `one` for one live memory per key, `many` for several live memories per key."""
    pinned: bool
    """True if memories of this kind are pinned by default."""
    lifetime: str | None = None
    """The lifetime of a memory in seconds, `day` for the end of the user's day, or null if memories do not expire."""
    renewed_by_use: bool
    """True if the lifetime starts again each time a memory is used."""


class Kinds(Model):
    """The kinds of memory that the preset defines."""

    items: list[Kind]
    """The kinds of memory."""
    default: str
    """The kind of memories that are stored without a `kind`."""
