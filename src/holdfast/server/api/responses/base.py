"""Base classes of response bodies: plain objects, pages of a list, and objects of a scope."""

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from holdfast.server.api.described import Described
from holdfast.types.translatable import text_code

Item = TypeVar("Item")


class Model(Described, BaseModel):
    """Base class of response bodies."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class TextCode(Model):
    """The code and the values of an English text. A user interface can use them to show the text in another language."""

    code: Annotated[str, Field(examples=["jobs.queue"])]
    """The name of the text. Texts with the same code have the same meaning."""
    values: Annotated[dict[str, Any], Field(examples=[{"waiting": 3, "dead": 0}])]
    """The values in the text. A value that is itself a translatable text is an object with `text`, `code` and `values`."""

    @classmethod
    def of(cls, text: str | None) -> "TextCode | None":
        """Return the code and the values of a translatable text. Return None if the text is None or not translatable."""
        found = text_code(text)
        return None if found is None else cls(**found)


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
