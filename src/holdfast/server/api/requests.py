"""What the server is asked with: the members each request's JSON may have."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from holdfast.text.clean import MAX_TEXT
from holdfast.types import MessageOrigin

Name = Annotated[str, Field(min_length=1, max_length=512)]
Kinds = Annotated[
    Name | Annotated[list[Name], Field(max_length=50)] | None,
    Field(description="One kind or several; `kind` and `kinds` mean the same."),
]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, examples=["I moved to Lyon last month."])]
Query = Annotated[str, Field(max_length=100_000, examples=["where does she live?"])]
User = Annotated[Name | None, Field(examples=["ana"])]
Limit = Annotated[int, Field(ge=1, le=500)]
Tokens = Annotated[int | None, Field(ge=0, le=1_000_000)]
Importance = Annotated[float | None, Field(ge=0, le=10)]
Persona = Annotated[str | None, Field(max_length=100_000, examples=["You are a kitchen helper."])]


class Body(BaseModel):
    """A member nobody knows is an error: it is mostly a slip."""

    model_config = ConfigDict(extra="forbid")


class ScopedBody(Body):
    """Whose memories are meant; a key that is bound to a user, app or agent implies it."""

    user: User = None
    app: Name | None = None
    agent: Name | None = None


class NewSession(ScopedBody):
    """A conversation to begin, or with the ``id`` of one there is, to go on with."""

    id: Name | None = None


class NewMessage(Body):
    """Something that was said; with an ``id`` of the client's own, a retry does not double it."""

    role: Annotated[Name, Field(examples=["user"])]
    text: Text
    speaker: Name | None = None
    id: Name | None = None
    at: datetime | None = None
    origin: MessageOrigin | None = None
    action: Name | None = None
    user: User = None
    app: Name | None = None
    agent: Name | None = None


class SessionContext(Body):
    """What a context is wanted for; without a query, for the last thing the user said."""

    query: Query | None = None
    max_tokens: Tokens = None
    state: Annotated[str | None, Field(max_length=100_000)] = None
    persona: Persona = None


class Chat(Body):
    """Something said to the assistant. With ``stream``, the answer comes as events."""

    text: Text
    id: Name | None = None
    persona: Persona = None
    stream: bool = False
    user: User = None
    app: Name | None = None
    agent: Name | None = None


class NewMemory(ScopedBody):
    """Something to remember."""

    text: Annotated[Text, Field(examples=["prefers tea"])]
    kind: Name | None = None
    key: Annotated[Name | None, Field(examples=["drink"])] = None
    topic: Name | None = None
    importance: Importance = None
    tags: Annotated[list[Name], Field(max_length=100)] = []
    metadata: dict[str, Any] | None = None
    pinned: bool | None = None
    valid_from: datetime | None = None
    expires_at: datetime | None = None


class Revision(Body):
    """What is to change of a memory; the rest stays."""

    text: Text | None = None
    importance: Importance = None
    tags: Annotated[list[Name] | None, Field(max_length=100)] = None
    metadata: dict[str, Any] | None = None
    topic: Name | None = None
    pinned: bool | None = None
    reason: Annotated[str | None, Field(max_length=2000)] = None


class Forget(ScopedBody):
    """What to forget: one memory by its id, or all of a key."""

    id: Name | None = None
    key: Annotated[Name | None, Field(examples=["drink"])] = None
    kind: Kinds = None
    kinds: Kinds = None


class Undo(Body):
    """The change to undo, with those made with it."""

    change: Annotated[Name, Field(examples=["chg_01k4zt3w9v6q2m8x5c7b1n0pda"])]


class Recall(ScopedBody):
    """A question to memory."""

    query: Query
    limit: Limit = 10
    kind: Kinds = None
    kinds: Kinds = None
    where: Annotated[dict[str, Any] | None, Field(examples=[{"room": "kitchen"}])] = None
    now: datetime | None = None
    as_of: datetime | None = None
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0


class Context(ScopedBody):
    """A question for which a system prompt's block is wanted."""

    query: Query
    max_tokens: Tokens = None


class Erase(ScopedBody):
    """What to remove for good: one thing by its id, or all there is of a user, app or agent."""

    id: Name | None = None
    session: Name | None = None
    source: Name | None = None


class TopicEdit(Body):
    """A topic's page as a person has made it. ``base`` is the page the edit began from."""

    markdown: Annotated[str, Field(max_length=1024 * 1024, examples=["# Garden\n\n- the tomatoes are planted (2026-05-02)\n"])]
    base: Annotated[str | None, Field(max_length=1024 * 1024)] = None
    confirm: bool = False
    user: User = None
    app: Name | None = None
    agent: Name | None = None


class UserEdit(Body):
    """What the engine should know of a user."""

    timezone: Annotated[Name | None, Field(examples=["Europe/Madrid"])] = None
    language: Annotated[str | None, Field(min_length=2, max_length=35, examples=["es"])] = None


class ChatText(BaseModel):
    """What a device heard, or a person typed."""

    text: Annotated[str, Field(max_length=100_000, examples=["My name is Alex and I work at NASA"])]


class NewApp(BaseModel):
    """An app to note as installed; ``sharesWith`` are the apps that may read its memories, or ``all``."""

    model_config = ConfigDict(alias_generator=to_camel, json_schema_extra={"examples": [{"appId": "kitchen", "name": "Kitchen"}]})

    app_id: Name
    name: Name | None = None
    shares_with: Annotated[list[Name], Field(max_length=1000)] | str | None = None
