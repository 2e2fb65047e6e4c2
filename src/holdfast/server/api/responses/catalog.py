"""Response bodies that list topics, users and kinds of memory."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from holdfast.server.api.responses.base import Model
from holdfast.server.api.responses.items import Memory


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
