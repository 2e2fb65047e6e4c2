"""Routes for the first start: the default user, and sample data that can be removed completely."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from holdfast.config.default_user import default_user, save_default_user
from holdfast.config.settings import Settings
from holdfast.errors import Conflict
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.server import samples
from holdfast.server.api import convert, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.requests import Body
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)


class Setup(Model):
    """The state of the setup: the default user, the sample data and the chat model."""

    empty: bool
    """True if the store has no memories and no messages."""
    user: Annotated[str | None, Field(examples=["ana"])] = None
    """The default user, or null if the key may not know that name."""
    is_user_chosen: bool | None = None
    """True if a person or a setting chose the default user, false if it is the login name. Null if `user` is null."""
    samples: Annotated[list[str], Field(examples=[["Marta (sample)"]])]
    """The users of the sample data that is stored."""
    chat: Annotated[str | None, Field(examples=["ollama:llama3.2"])] = None
    """The name of the chat model, or null."""


class DefaultUser(Body):
    """The user whose memories are used if no user is named."""

    user: Annotated[Name, Field(examples=["ana"])]
    """The name of the user."""


class Samples(Body):
    """The sample data to store."""

    language: Literal["en", "es"] = "en"
    """The language of the sample data."""


class StoredSamples(Model):
    """The users of the sample data that was stored. They are invented people."""

    users: Annotated[list[str], Field(examples=[["Marta (sample)"]])]
    """The users to whom all sample data belongs."""


class RemovedSamples(Model):
    """The receipts of the erasures that removed the sample data."""

    receipts: list[responses.Receipt]
    """One receipt per user of the sample data."""


@router.get("/setup", operation_id="get_setup", responses=problems(), openapi_extra=needs("read"))
def setup(caller: Calling, request: Request) -> Setup:
    """Retrieve the state of the setup.

    Returns the default user, the stored sample data, and whether the store is empty. The key must not be bound to a
    user, app or agent.
    """
    caller.may("read", whole=True)
    return _setup(caller, request.app.state.settings)


@router.put("/setup/user", operation_id="set_default_user", responses=problems(409), openapi_extra=needs("admin"))
def set_default_user(body: DefaultUser, caller: Calling, request: Request) -> Setup:
    """Set the default user.

    Stores the name in the settings file of the data directory. If a setting already names a user, nothing is changed.
    The key must be an admin key of the operator.
    """
    caller.operate()
    chosen: Settings = request.app.state.settings
    if chosen.user is not None:
        raise Conflict(
            translatable(
                "setup.user",
                "The setting `user` names the default user already. Nothing was changed. Change the setting instead.",
            )
        )
    save_default_user(body.user)
    return _setup(caller, chosen)


@router.post("/samples", status_code=201, operation_id="add_samples", responses=problems(409), openapi_extra=needs("admin"))
def add_samples(body: Samples, caller: Calling) -> StoredSamples:
    """Store sample data.

    Stores the memories and conversations of invented people. They belong to separate users, so no other user recalls
    them. The key must not be bound to a user, app or agent.
    """
    caller.may("admin", whole=True)
    return StoredSamples(users=samples.add(caller.memory, body.language))


@router.delete("/samples", operation_id="remove_samples", responses=problems(), openapi_extra=needs("admin"))
def remove_samples(caller: Calling) -> RemovedSamples:
    """Remove the sample data.

    Erases the users of the sample data with all their data, and returns the receipts. The key must not be bound to a user, app or
    agent.
    """
    caller.may("admin", whole=True)
    return RemovedSamples(receipts=[convert.receipt(each) for each in samples.remove(caller.memory)])


def _setup(caller: Caller, settings: Settings) -> Setup:
    store = services(caller.memory).store
    # Sorted by id, the first row is found at once, however many there are.
    first = store.memories(MemoryFilter(after_id="", statuses=["live"], limit=1)) or store.messages(MessageFilter(oldest=1))
    person = default_user(settings) if caller.is_operator else None
    return Setup(
        empty=not first,
        user=person.name if person else None,
        is_user_chosen=person.is_chosen if person else None,
        samples=samples.stored(caller.memory),
        chat=services(caller.memory).chat.name,
    )
