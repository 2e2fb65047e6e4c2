"""Response bodies for stored data: memories, messages and sessions."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from holdfast.server.api.responses.base import Listed, Model, Redaction, Scoped
from holdfast.types import Act, MemoryOrigin, MemoryStatus, MessageOrigin, SessionStatus


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
    """The last time that a message or a call stated the memory."""
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
    """The result of a user's wish about memory, obeyed when the message was added."""

    wish: Annotated[Literal["off_record", "resume", "forget", "remember"], Field(examples=["forget"])]
    """The wish: not to keep something, to keep things again, to forget something, or to remember something."""
    memories: list[Memory]
    """The memories that were forgotten or stored."""
    messages: list[str]
    """The ids of the messages that were withheld or hidden."""
    undo: Annotated[str | None, Field(examples=["bat_01k4zt3w9v6q2m8x5c7b1n0pda"])] = None
    """The id of the batch of changes, to undo them with `/v1/undo`. Null if nothing was forgotten or stored."""


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
    """The question at the end of the previous message, if someone else asked it. Otherwise null."""
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
    title: Annotated[str | None, Field(examples=["I moved to Lyon last month"])] = None
    """A title: from an import, or else the first statement or question of the user. Null if there is none."""
    status: SessionStatus
    """`open`, `idle` or `ended`."""
    started_at: datetime
    """The time the session started."""
    last_at: datetime
    """The time of the last activity in the session."""
    said_at: datetime | None = None
    """The time of the last message. It is earlier than `last_at` if older messages were imported. Null if it was not looked up."""
    ended_at: datetime | None = None
    """The time the session ended, or null if it has not ended."""
    digested_to: int
    """The sequence number of the last message from which memories were extracted."""
    metadata: dict[str, Any]
    """Additional data stored with the session."""
