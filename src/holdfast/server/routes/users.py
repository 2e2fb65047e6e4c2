"""Routes for the authenticated caller, the users, and the kinds of memory."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field

from holdfast.agent.tools import language_for
from holdfast.config.default_user import default_user
from holdfast.errors import Forbidden
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import UserProfile
from holdfast.types.translatable import translatable
from holdfast.version import __version__

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_Name = Annotated[Name, Path(description="The name of the user.")]


class Me(Model):
    """The authenticated caller."""

    level: Literal["read", "write", "admin"]
    """The level of the access key."""
    scope: Literal["read", "write", "admin"]
    """A synonym of `level`."""
    tenant: Annotated[str, Field(examples=["default"])]
    """The tenant that the key gives access to."""
    user: str | None = None
    """The user that the key is bound to."""
    app: str | None = None
    """The app that the key is bound to."""
    agent: str | None = None
    """The agent that the key is bound to."""
    default_user: Annotated[str | None, Field(examples=["ana"])] = None
    """The user whose memories the dashboard uses until another user is chosen. Null if the key may not know that name.

    This is the user that the key is bound to, or else the default user of the server.
    """
    keyless: bool
    """True if the request was accepted without a key."""
    preset: Annotated[str, Field(examples=["default"])]
    """The name of the preset."""
    language: Annotated[str | None, Field(examples=["es"])] = None
    """The language of the user, or of the preset if the user has none."""
    version: Annotated[str, Field(examples=["1.0.0"])]
    """The version of Holdfast."""


@router.get("/me", operation_id="me", responses=problems(), openapi_extra=needs("read"))
def me(caller: Calling, request: Request) -> Me:
    """Retrieve the caller.

    Returns the level and scope of the access key of this request.
    """
    caller.may("read")
    who, memory = caller.principal, caller.memory
    return Me(
        level=who.level,
        scope=who.level,
        tenant=who.tenant,
        user=who.user,
        app=who.app,
        agent=who.agent,
        default_user=_default_user(caller, request),
        keyless=who.keyless,
        preset=memory.preset.name,
        language=language_for(memory, who.user),
        version=__version__,
    )


def _default_user(caller: Caller, request: Request) -> str | None:
    """Return the user that the caller's key is bound to. If it is bound to no user, return this machine's default user or None.

    Local callers and the operator's admin keys get the default user. All other callers get None.
    """
    who = caller.principal
    if who.user is not None:
        return who.user
    return default_user(request.app.state.settings).name if caller.is_operator else None


@router.get("/users", operation_id="list_users", responses=problems(), openapi_extra=needs("read"))
def users(
    caller: Calling,
    paged: Paged,
    q: Annotated[
        Name | None, Query(description="Only return users whose name contains this text. Case and accents do not matter.")
    ] = None,
) -> responses.Listed[responses.UserRecord]:
    """List users.

    Returns the users who have data, sorted by name. The key must not be bound to a user, app or agent.
    """
    caller.may("read", whole=True)
    found = caller.memory.users(containing=q, limit=paged.limit + 1, offset=paged.offset)
    shown = map(responses.UserRecord.model_validate, found)
    items, more = convert.page_of(shown, limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.get("/users/{user}", operation_id="get_user", responses=problems(), openapi_extra=needs("read"))
def user(user: _Name, caller: Calling) -> responses.UserProfile:
    """Retrieve a user.

    Returns the time zone and language of the user. An unknown user has the defaults.
    """
    name = caller.may("read", user=user)["user"] or ""
    return _profile(services(caller.memory).store.user(name))


@router.put("/users/{user}", operation_id="set_user", responses=problems(409), openapi_extra=needs("write"))
def set_user(user: _Name, body: requests.UserEdit, caller: Calling) -> responses.UserProfile:
    """Update a user.

    Sets the language of the user, or the time zone, which determines when the user's day ends.
    """
    name = caller.may("write", user=user)["user"] or ""
    if caller.principal.app is not None or caller.principal.agent is not None:
        raise Forbidden(
            translatable(
                "key.bound_settings",
                "This key is bound to an app or agent, and the settings of a user apply everywhere. Nothing was changed.",
            )
        )
    return _profile(caller.memory.set_user(name, timezone=body.timezone, language=body.language))


@router.get("/kinds", operation_id="list_kinds", responses=problems(), openapi_extra=needs("read"))
def kinds(caller: Calling) -> responses.Kinds:
    """List kinds.

    Returns the kinds of memory that the preset defines.
    """
    caller.may("read")
    preset = caller.memory.preset
    return responses.Kinds(items=[convert.kind(each) for each in preset.kinds], default=preset.default_kind)


def _profile(found: UserProfile) -> responses.UserProfile:
    return responses.UserProfile(user=found.user, timezone=found.timezone, language=found.language)
