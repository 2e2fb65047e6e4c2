"""Request bodies of the HTTP API. Attribute docstrings are the field descriptions in the OpenAPI document."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from holdfast.text.clean import MAX_TEXT
from holdfast.types import MessageOrigin

Name = Annotated[str, Field(min_length=1, max_length=512)]
Kinds = Annotated[
    Name | Annotated[list[Name], Field(max_length=50)] | None,
    Field(description="One kind or a list of kinds. `kind` and `kinds` are synonyms."),
]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, examples=["I moved to Lyon last month."])]
Query = Annotated[str, Field(max_length=100_000, examples=["where does she live?"])]
User = Annotated[Name | None, Field(examples=["ana"])]
Limit = Annotated[int, Field(ge=1, le=500)]
Tokens = Annotated[int | None, Field(ge=0, le=1_000_000)]
Importance = Annotated[float | None, Field(ge=0, le=10)]
Persona = Annotated[str | None, Field(max_length=100_000, examples=["You are a kitchen helper."])]


class Body(BaseModel):
    """Base class of request bodies. Unknown fields are rejected, because they are usually typos."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ScopedBody(Body):
    """A request body with a scope. A bound access key fills in the user, app or agent it is bound to."""

    user: User = None
    """The user whose data is meant. Omit it for data that all users share."""
    app: Name | None = None
    """The app whose data is meant. Omit it for data that all apps share."""
    agent: Name | None = None
    """The agent whose data is meant. Omit it for data that all agents share."""


class NewSession(ScopedBody):
    """A session to start, or the id of an existing session to resume."""

    id: Name | None = None
    """The id of the session. Generated if omitted."""


class NewMessage(Body):
    """A message to add to a session. Set `id` to make retries safe."""

    role: Annotated[Name, Field(examples=["user"])]
    """The role of the speaker, such as `user`, `assistant` or `tool`."""
    text: Text
    """The text of the message."""
    speaker: Name | None = None
    """The name of the speaker, if several people share a role."""
    id: Name | None = None
    """Your own id for the message. Adding the same id again stores the message once."""
    at: datetime | None = None
    """The time the message was sent. Defaults to now."""
    origin: MessageOrigin | None = None
    """Where the text came from. It decides how far memories extracted from it are trusted. Defaults to the role."""
    action: Name | None = None
    """A marker such as `IGNORE`. Nothing is learned from a message with an action."""
    user: User = None
    """The user of the session, if the session is new."""
    app: Name | None = None
    """The app of the session, if the session is new."""
    agent: Name | None = None
    """The agent of the session, if the session is new."""


class SessionContext(Body):
    """Options for a session's context block."""

    query: Query | None = None
    """The text to find memories for. Defaults to the user's last message."""
    max_tokens: Tokens = None
    """The maximum size of the block in tokens. Defaults to the preset's budget."""
    state: Annotated[str | None, Field(max_length=100_000)] = None
    """The current state of the host, such as sensor readings. Only some presets show it."""
    persona: Persona = None
    """Instructions that the block starts with."""


class Chat(Body):
    """A message to the assistant."""

    text: Text
    """The text of the user's message."""
    id: Name | None = None
    """Your own id for the message. Sending the same id again stores the message once."""
    persona: Persona = None
    """Instructions that the system prompt starts with."""
    stream: bool = False
    """Return the reply as server-sent events while it is generated."""
    user: User = None
    """The user of the session, if the session is new."""
    app: Name | None = None
    """The app of the session, if the session is new."""
    agent: Name | None = None
    """The agent of the session, if the session is new."""


class NewMemory(ScopedBody):
    """A memory to store."""

    text: Annotated[Text, Field(examples=["prefers tea"])]
    """The text of the memory."""
    kind: Name | None = None
    """The kind of the memory. Defaults to the preset's default kind."""
    key: Annotated[Name | None, Field(examples=["drink"])] = None
    """The attribute that the memory describes. Some kinds allow one live memory per key."""
    topic: Name | None = None
    """The topic that the memory belongs to."""
    importance: Importance = None
    """The importance from 0 to 10."""
    tags: Annotated[list[Name], Field(max_length=100)] = []
    """Labels for the memory."""
    metadata: dict[str, Any] | None = None
    """Additional data, which `where` filters can select by."""
    pinned: bool | None = None
    """Include the memory in every context block. Defaults to the setting of its kind."""
    valid_from: datetime | None = None
    """The time from which the memory holds. Defaults to now."""
    expires_at: datetime | None = None
    """The time at which the memory expires. Defaults to the lifetime of its kind."""


class Revision(Body):
    """The fields of a memory to change. Omitted fields keep their value."""

    text: Text | None = None
    """The new text."""
    importance: Importance = None
    """The new importance from 0 to 10."""
    tags: Annotated[list[Name] | None, Field(max_length=100)] = None
    """The new tags. They replace the old ones; an empty list removes them."""
    metadata: dict[str, Any] | None = None
    """The new metadata. It replaces the old metadata; an empty object removes it."""
    topic: Name | None = None
    """The new topic."""
    pinned: bool | None = None
    """Include the memory in every context block, or stop including it."""
    reason: Annotated[str | None, Field(max_length=2000)] = None
    """The reason for the change, which is kept in the history."""


class Forget(ScopedBody):
    """The memories to forget: one memory by its `id`, or all memories with a `key`."""

    id: Name | None = None
    """The id of one memory."""
    key: Annotated[Name | None, Field(examples=["drink"])] = None
    """The key of the memories to forget in this scope."""
    kind: Kinds = None
    kinds: Kinds = None


class Undo(Body):
    """The change to undo. Changes of the same batch are undone with it."""

    change: Annotated[Name, Field(examples=["chg_01k4zt3w9v6q2m8x5c7b1n0pda"])]
    """The id of the change, from the history of a memory."""


class Recall(ScopedBody):
    """A query with its filters."""

    query: Query
    """The text to find memories and messages for."""
    limit: Limit = 10
    """The maximum number of hits."""
    kind: Kinds = None
    kinds: Kinds = None
    where: Annotated[dict[str, Any] | None, Field(examples=[{"room": "kitchen"}])] = None
    """A metadata filter. Only memories whose metadata matches are returned."""
    now: datetime | None = None
    """The time to use as the present, for dates in the query such as "yesterday". Defaults to the server's clock."""
    as_of: datetime | None = None
    """Only return what was valid at this time."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The minimum score of a hit, from 0 to 1."""


class Context(ScopedBody):
    """A query for which to build a context block."""

    query: Query
    """The text to find memories for, usually the user's last message."""
    max_tokens: Tokens = None
    """The maximum size of the block in tokens. Defaults to the preset's budget."""


class Erase(ScopedBody):
    """The data to erase: one item by its id, or all data of a user, app or agent."""

    id: Name | None = None
    """The id of a memory."""
    session: Name | None = None
    """The id of a session."""
    source: Name | None = None
    """The id of a message. Everything derived from it is erased too."""


class TopicEdit(Body):
    """An edited topic page."""

    markdown: Annotated[str, Field(max_length=1024 * 1024, examples=["# Garden\n\n- the tomatoes are planted (2026-05-02)\n"])]
    """The page after the edit."""
    base: Annotated[str | None, Field(max_length=1024 * 1024)] = None
    """The page before the edit, as you received it. It lets the server merge changes made in the meantime."""
    confirm: bool = False
    """Accept an edit that removes many lines."""
    user: User = None
    """The user whose topic it is."""
    app: Name | None = None
    """The app whose topic it is."""
    agent: Name | None = None
    """The agent whose topic it is."""


class UserEdit(Body):
    """The settings of a user to change."""

    timezone: Annotated[Name | None, Field(examples=["Europe/Madrid"])] = None
    """The IANA time zone of the user. It decides when a day ends."""
    language: Annotated[str | None, Field(min_length=2, max_length=35, examples=["es"])] = None
    """The language of the user, as a BCP 47 tag."""


class ChatText(BaseModel):
    """A text that the device recognized, or that a person typed."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    text: Annotated[str, Field(max_length=100_000, examples=["My name is Alex and I work at NASA"])]
    """The text. Whitespace alone counts as silence."""


class NewApp(BaseModel):
    """An app to register as installed."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        json_schema_extra={"examples": [{"appId": "kitchen", "name": "Kitchen"}]},
        use_attribute_docstrings=True,
    )

    app_id: Name
    """The id of the app."""
    name: Name | None = None
    """The display name of the app. Defaults to its id."""
    shares_with: Annotated[list[Name], Field(max_length=1000)] | str | None = None
    """The ids of the apps that may read its memories, or `all`."""
