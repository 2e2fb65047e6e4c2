"""Request bodies of the HTTP API. Attribute docstrings are the field descriptions in the OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from holdfast.server.api.described import Described
from holdfast.server.api.fields import (
    NOT_BLANK,
    AnyText,
    Flag,
    Importance,
    Index,
    Key,
    KindName,
    Kinds,
    Language,
    Limit,
    MemoryText,
    Moment,
    Name,
    Namespace,
    Offset,
    Persona,
    Query,
    RecalledKinds,
    Text,
    TimeZone,
    Tokens,
    User,
    Where,
    Whole,
    is_absent,
    is_given,
)
from holdfast.types import MessageOrigin


class Body(Described, BaseModel):
    """Base class of request bodies. Unknown fields are rejected, because they are usually spelling mistakes."""

    model_config = ConfigDict(extra="forbid")


class ScopedBody(Body):
    """A request body with a scope. If the access key is bound to a user, app or agent, that field is filled in from the key."""

    user: User = None
    """The user whose data to use. Omit it for data that all users share."""
    app: Name | None = None
    """The app whose data to use. Omit it for data that all apps share."""
    agent: Name | None = None
    """The agent whose data to use. Omit it for data that all agents share."""


class NewSession(ScopedBody):
    """A session to start, or the id of an existing session to resume."""

    id: Name | None = None
    """The id of the session, unique within its scope. Generated if omitted. A chosen id needs a user, app or agent, or `shared`."""
    shared: Flag = False
    """If true, a session with a chosen id may belong to nobody. All users share what is learned from it."""


class MessageFields(Body):
    """A message to add to a session. It needs a text or a payload. Set `id` to make retries safe."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["text"], "properties": {"text": {"pattern": NOT_BLANK}}},
                {"required": ["payload"], "properties": {"payload": {"not": {"type": "null"}}}},
            ]
        }
    )

    role: Annotated[Name, Field(examples=["user"])]
    """The role of the speaker, such as `user`, `assistant` or `tool`."""
    text: AnyText = ""
    """The text of the message. It may be empty if there is a payload."""
    payload: Annotated[Any, Field(examples=[{"type": "function_call", "name": "lookup"}])] = None
    """Custom JSON, which is returned unchanged. It is neither searched nor used for extraction, and not redacted."""
    speaker: Name | None = None
    """The name of the speaker. Use it if several people have the same role."""
    id: Name | None = None
    """Your own id for the message. If you send the same id again, the message is not stored a second time."""
    at: Moment | None = None
    """The time the message was sent. Defaults to now."""
    origin: MessageOrigin | None = None
    """Where the text came from. Defaults to the role. The origin decides how far memories extracted from the text are trusted."""
    action: Name | None = None
    """A marker such as `IGNORE`. A message with a marker is stored, but nothing is learned from it and it is not recalled."""
    redact: Flag = True
    """If false, secrets such as passwords and API keys are stored as they are. By default, they are redacted."""


class NewMessage(MessageFields):
    """A message to add to a session. It needs a text or a payload. Set `id` to make retries safe."""

    user: User = None
    """The user of the session. Used only if the session is new."""
    app: Name | None = None
    """The app of the session. Used only if the session is new."""
    agent: Name | None = None
    """The agent of the session. Used only if the session is new."""


class NewMessages(Body):
    """Messages to add to a session in one transaction."""

    messages: Annotated[list[MessageFields], Field(min_length=1, max_length=1000)]
    """The messages, oldest first."""
    user: User = None
    """The user of the session. Used only if the session is new."""
    app: Name | None = None
    """The app of the session. Used only if the session is new."""
    agent: Name | None = None
    """The agent of the session. Used only if the session is new."""


class SessionContext(Body):
    """Options for a session's context block."""

    query: Query | None = None
    """The text to find memories for. Defaults to the user's last message."""
    max_tokens: Tokens = None
    """The maximum size of the block in tokens. Defaults to the preset's budget."""
    state: Annotated[str | None, Field(max_length=100_000)] = None
    """The current state of the host, such as sensor readings. Only some presets show it."""
    persona: Persona = None
    """Instructions to put at the start of the block."""


class Chat(Body):
    """A message to the assistant."""

    text: Text
    """The text of the user's message."""
    id: Name | None = None
    """Your own id for the message. If you send the same id again, the message is not stored a second time."""
    persona: Persona = None
    """Instructions to put at the start of the system prompt."""
    stream: Flag = False
    """If true, the reply is returned as server-sent events while it is generated."""
    user: User = None
    """The user of the session. Used only if the session is new."""
    app: Name | None = None
    """The app of the session. Used only if the session is new."""
    agent: Name | None = None
    """The agent of the session. Used only if the session is new."""


class MemoryFields(Body):
    """A memory to store."""

    text: Annotated[MemoryText, Field(examples=["prefers tea"])]
    """The text of the memory. Only a plain kind allows an empty text."""
    kind: KindName | None = None
    """The kind of the memory. Defaults to the preset's default kind."""
    key: Annotated[Key | None, Field(examples=["drink"])] = None
    """The attribute that the memory describes. Some kinds allow one live memory per key."""
    namespace: Namespace = []
    """Labels that group memories."""
    topic: Name | None = None
    """The topic that the memory belongs to."""
    importance: Importance = None
    """The importance from 0 to 10."""
    tags: Annotated[list[Name], Field(max_length=100)] = []
    """Labels for the memory."""
    metadata: dict[str, Any] | None = None
    """Additional data. You can filter by it with `where`."""
    pinned: Flag | None = None
    """If true, the memory is part of every context block. Defaults to the setting of its kind."""
    valid_from: Moment | None = None
    """The time since which the memory is true. Defaults to now."""
    expires_at: Moment | None = None
    """The time at which the memory expires. By default, it follows from the lifetime of its kind."""
    created_at: Moment | None = None
    """The time the memory was created elsewhere, for imports. Defaults to now."""
    index: Index = True
    """The texts to search instead of the memory's own text; false makes the memory unsearchable."""
    redact: Flag = True
    """If false, secrets such as passwords and API keys are stored as they are. By default, they are redacted."""
    if_revision: Whole | None = None
    """The revision that the replaced or refreshed memory must have, or 0 if there must be no such memory.

    If the condition is not met, the response is 409 `revision_conflict`.
    """


class NewMemory(MemoryFields, ScopedBody):
    """A memory to store."""


class NewMemories(ScopedBody):
    """Memories to store in one transaction."""

    memories: Annotated[list[MemoryFields], Field(min_length=1, max_length=1000)]
    """The memories."""


class Revision(Body):
    """The fields of a memory to change. Omitted fields keep their value."""

    text: MemoryText | None = None
    """The new text. Only a plain kind allows an empty text."""
    importance: Importance = None
    """The new importance from 0 to 10."""
    tags: Annotated[list[Name] | None, Field(max_length=100)] = None
    """The new tags. They replace the old ones; an empty list removes them."""
    metadata: dict[str, Any] | None = None
    """The new metadata. It replaces the old metadata; an empty object removes it."""
    topic: Name | None = None
    """The new topic."""
    pinned: Flag | None = None
    """True to include the memory in every context block, false to stop including it."""
    reason: Annotated[str | None, Field(max_length=2000)] = None
    """The reason for the change, which is kept in the history."""
    expires_at: Moment | Literal["never"] | None = None
    """The new time of expiry, or `never`. A new expiry alone adds no revision."""
    index: Index | None = None
    """The texts to search instead of the memory's own text; true for the own text, false for none."""
    if_revision: Whole | None = None
    """The revision that the memory must have. If it has another one, the response is 409 `revision_conflict`."""
    redact: Flag = True
    """If false, secrets in the given fields are stored as they are. By default, they are redacted."""


class Forget(ScopedBody):
    """The memories to forget: one memory by its `id`, or all memories with a `key`."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"allOf": [is_given("id"), is_absent("key")]},
                {"allOf": [is_given("key"), is_absent("id")]},
            ]
        }
    )

    id: Name | None = None
    """The id of one memory."""
    key: Annotated[Key | None, Field(examples=["drink"])] = None
    """The key of the memories to forget. Only memories of this scope are forgotten."""
    namespace: Namespace = []
    """The namespace of the memories with the key. Defaults to none."""
    kind: Kinds = None
    kinds: Kinds = None


class Undo(Body):
    """The change to undo. All changes of the same batch are undone with it."""

    change: Annotated[Name, Field(examples=["chg_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the change, from the history of a memory, or the id of the batch in `consent` of a message."""


class Recall(ScopedBody):
    """A query and filters for its hits."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"not": {"required": ["vector"], "properties": {"vector": {"type": "array"}}}},
            "then": {"properties": {"query": {"pattern": NOT_BLANK}}},
        }
    )

    query: Query
    """The text to find memories and messages for. It may be blank only if `vector` is given."""
    limit: Limit = 10
    """The maximum number of hits."""
    offset: Offset = 0
    """The number of hits to skip."""
    kind: RecalledKinds = None
    kinds: RecalledKinds = None
    where: Where | None = None
    """A metadata filter. Only memories whose metadata matches are returned."""
    namespace: Namespace | None = None
    """Only memories of exactly this namespace are returned. An empty list stands for memories without a namespace."""
    namespace_prefix: Namespace = []
    """Only memories whose namespace starts with these labels are returned."""
    now: Moment | None = None
    """The current time, to which words such as "yesterday" in the query refer. Defaults to the server's clock."""
    as_of: Moment | None = None
    """A time in the past. Only memories that were valid and messages that existed at this time are returned."""
    min_score: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    """The minimum score of a hit, from 0 to 1."""
    distinct: Flag = True
    """False to return hits that repeat a better one."""
    vector: Annotated[list[Annotated[float, Field(strict=True)]] | None, Field(max_length=16_384)] = None
    """The vector of the query, if you have computed it with the server's embedder."""
    untrusted: Flag = False
    """True to add text of tools, web pages, files and quotations, and memories derived from it, after the other hits."""


class Context(ScopedBody):
    """A query for which to build a context block."""

    query: Query
    """The text to find memories for, usually the user's last message. If it is blank, the newest memories are used."""
    max_tokens: Tokens = None
    """The maximum size of the block in tokens. Defaults to the preset's budget."""
    untrusted: Flag = False
    """True to add text of tools, web pages, files and quotations, and memories derived from it, after the other hits."""


class Explain(ScopedBody):
    """A question. The response explains whether a memory is in the context block for this question, and why.

    The default scope is the scope of the memory.
    """

    query: Query
    """The question, usually the user's message that the memory should have answered."""
    max_tokens: Tokens = None
    """The maximum size of the block in tokens. Defaults to the preset's budget."""


def one_target(*more: str) -> dict[str, Any]:
    """Return a JSON Schema for the target of a request: either one id, or a scope.

    The id is given in exactly one of the fields ``id``, ``session``, ``source`` and those in ``more``. A scope is given in at
    least one of the fields ``user``, ``app`` and ``agent``.
    """
    single, scope = ("id", "session", "source", *more), ("user", "app", "agent")
    alone = [{"allOf": [is_given(name), is_absent(*(other for other in single if other != name), *scope)]} for name in single]
    return {"anyOf": [*alone, {"allOf": [is_absent(*single), {"anyOf": [is_given(part) for part in scope]}]}]}


class Erase(ScopedBody):
    """The data to erase: one memory, session or message by its id, or all data of a user, app or agent."""

    model_config = ConfigDict(json_schema_extra=one_target())

    id: Name | None = None
    """The id of a memory."""
    session: Name | None = None
    """The id of a session."""
    source: Name | None = None
    """The id of a message. Everything derived from it is erased too."""


class ErasePreview(Erase):
    """The target of the erasure to preview. It can also be the memories of an app, without the app's sessions."""

    model_config = ConfigDict(json_schema_extra=one_target("memories_of"))

    memories_of: Name | None = None
    """The id of an app. Counts what `DELETE /apps/{id}?purgeMemories=true` would remove: its memories, but not its sessions."""


class TopicEdit(Body):
    """The text of a topic page before and after an edit."""

    markdown: Annotated[str, Field(max_length=1024 * 1024, examples=["# Garden\n\n- the tomatoes are planted (2026-05-02)\n"])]
    """The page after the edit."""
    base: Annotated[str | None, Field(max_length=1024 * 1024)] = None
    """The page before the edit, as you received it. If the page has changed since then, the server merges both edits."""
    confirm: Flag = False
    """True to apply the edit even if it removes many lines."""
    user: User = None
    """The user to whom the topic belongs."""
    app: Name | None = None
    """The app to which the topic belongs."""
    agent: Name | None = None
    """The agent to which the topic belongs."""


class UserEdit(Body):
    """The settings of a user. Omitted settings keep their value."""

    timezone: TimeZone | None = None
    """The IANA time zone of the user. It decides when a day ends."""
    language: Language | None = None
    """The language of the user, as a BCP 47 tag."""


class ChatText(Described, BaseModel):
    """A message of the user, recognized from speech by the device or typed."""

    text: Annotated[str, Field(max_length=100_000, examples=["My name is Alex and I work at NASA"])]
    """The text. If it contains only whitespace, it counts as silence."""


class EnergyReport(Described, BaseModel):
    """The battery level and the energy use of the host. An omitted field changes nothing."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"level": 0.8, "used": 120}]})

    level: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    """The charge of the battery. Below 0.2, background work waits."""
    used: Annotated[float, Field(strict=True, ge=0, le=1e12)] | None = None
    """The energy units that the host has used since its last report. Memory work may use up to 5% of the total."""


class NewApp(Described, BaseModel):
    """An app to register as installed."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        json_schema_extra={"examples": [{"appId": "kitchen", "name": "Kitchen"}]},
    )

    app_id: Name
    """The id of the app."""
    name: Name | None = None
    """The display name of the app. Defaults to its id."""
    shares_with: Annotated[list[Name], Field(max_length=1000)] | Literal["all"] | None = None
    """The ids of the apps that may read the memories of this app, or `all`."""
