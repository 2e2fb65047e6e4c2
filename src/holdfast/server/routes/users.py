"""Who is who: the caller, users, and the kinds of memory the preset has."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from holdfast.agent.tools import language_for
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.caller import Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import UserProfile
from holdfast.version import __version__

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_Name = Annotated[str, Path(min_length=1, max_length=512)]


class Me(Model):
    """The caller, as the server knows them."""

    level: Literal["read", "write", "admin"]
    scope: Literal["read", "write", "admin"]
    tenant: Annotated[str, Field(examples=["default"])]
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    keyless: bool
    preset: Annotated[str, Field(examples=["default"])]
    language: Annotated[str | None, Field(examples=["es"])] = None
    version: Annotated[str, Field(examples=["1.0.0"])]


@router.get("/me", operation_id="me", responses=problems(), openapi_extra=needs("read"))
def me(caller: Calling) -> Me:
    """Return who is asking and what they may do."""
    caller.may("read")
    who, memory = caller.principal, caller.memory
    return Me(
        level=who.level, scope=who.level, tenant=who.tenant, user=who.user, app=who.app, agent=who.agent, keyless=who.keyless,
        preset=memory.preset.name, language=language_for(memory, who.user), version=__version__,
    )  # fmt: skip


@router.get("/users/{user}", operation_id="get_user", responses=problems(), openapi_extra=needs("read"))
def user(user: _Name, caller: Calling) -> responses.UserProfile:
    """Return what the engine itself knows of a user; of a stranger, the defaults."""
    name = caller.may("read", user=user)["user"] or ""
    return _profile(services(caller.memory).store.user(name))


@router.put("/users/{user}", operation_id="set_user", responses=problems(409), openapi_extra=needs("write"))
def set_user(user: _Name, body: requests.UserEdit, caller: Calling) -> responses.UserProfile:
    """Tell the engine a user's time zone (where days end) or language."""
    name = caller.may("write", user=user)["user"] or ""
    return _profile(caller.memory.set_user(name, timezone=body.timezone, language=body.language))


@router.get("/kinds", operation_id="list_kinds", responses=problems(), openapi_extra=needs("read"))
def kinds(caller: Calling) -> responses.Kinds:
    """List the sorts of memory the preset has."""
    caller.may("read")
    preset = caller.memory.preset
    return responses.Kinds(items=[convert.kind(each) for each in preset.kinds], default=preset.default_kind)


def _profile(found: UserProfile) -> responses.UserProfile:
    return responses.UserProfile(user=found.user, timezone=found.timezone, language=found.language)
