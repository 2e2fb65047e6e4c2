"""Routes for administrators to list, create and revoke access keys."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from holdfast.errors import Conflict
from holdfast.runtime.clock import as_utc
from holdfast.server.api.fields import Moment, Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.requests import Body
from holdfast.server.api.responses import Listed, Model
from holdfast.server.caller import Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import KeyRecord
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=Route)
_Id = Annotated[str, Path(description="The id of the access key.")]


class NewKey(Body):
    """The properties of an access key to create."""

    scope: Literal["read", "write", "admin"]
    """The level of the key: `read`, `write` or `admin`. Each level includes the rights of the lower levels."""
    label: Annotated[Name | None, Field(examples=["the dashboard"])] = None
    """A human-readable name for the key."""
    tenant: Name | None = None
    """The tenant that the key gives access to. Defaults to your own tenant."""
    user: Annotated[Name | None, Field(examples=["ana"])] = None
    """The user that the key is bound to."""
    app: Name | None = None
    """The app that the key is bound to."""
    agent: Name | None = None
    """The agent that the key is bound to."""
    expires_at: Moment | None = None
    """The time at which the key expires. Omit it for a key that does not expire."""


class Key(Model):
    """An access key, without its secret."""

    id: str
    """The id of the key."""
    scope: Literal["read", "write", "admin"]
    """The level of the key: `read`, `write` or `admin`."""
    label: str | None = None
    """A human-readable name for the key."""
    tenant: str
    """The tenant that the key gives access to."""
    user: str | None = None
    """The user that the key is bound to."""
    app: str | None = None
    """The app that the key is bound to."""
    agent: str | None = None
    """The agent that the key is bound to."""
    created_at: datetime
    """The time the key was created."""
    expires_at: datetime | None = None
    """The time at which the key expires, or null."""
    revoked_at: datetime | None = None
    """The time the key was revoked, or null."""
    last_used_at: datetime | None = None
    """The time the key was last used, or null."""


class MadeKey(Key):
    """A new access key, with its secret."""

    key: Annotated[str, Field(examples=["hf_..."])]
    """The secret to send as `Authorization: Bearer`. It is only shown once."""


@router.get("", operation_id="list_keys", responses=problems(), openapi_extra=needs("admin"))
def keys(caller: Calling) -> Listed[Key]:
    """List access keys.

    The secrets are not stored and cannot be retrieved.
    """
    caller.may("admin")
    found = caller.pool.gate.list_keys(by=caller.principal)
    return Listed(items=[Key.model_validate(_shown(each)) for each in found])


@router.post("", status_code=201, operation_id="create_key", responses=problems(409), openapi_extra=needs("admin"))
def create(body: NewKey, caller: Calling) -> MadeKey:
    """Create an access key.

    The secret is returned only in this response. Store it: it cannot be retrieved later.
    """
    caller.may("admin", user=body.user, app=body.app, agent=body.agent)
    if body.expires_at is not None and as_utc(body.expires_at, what="expires_at") <= services(caller.pool.operator).clock.now():
        raise Conflict(translatable("keys.past", "expires_at is in the past. No key was created; give a later time."))
    record, token = caller.pool.gate.create_key(
        level=body.scope,
        label=body.label,
        tenant=body.tenant,
        user=body.user,
        app=body.app,
        agent=body.agent,
        expires_at=body.expires_at,
        by=caller.principal,
    )
    return MadeKey.model_validate({**_shown(record), "key": token})


@router.delete("/{id}", operation_id="revoke_key", responses=problems(), openapi_extra=needs("admin"))
def revoke(id: _Id, caller: Calling) -> Key:
    """Revoke an access key.

    The key stops working immediately.
    """
    caller.may("admin")
    return Key.model_validate(_shown(caller.pool.gate.revoke(id, by=caller.principal)))


def _shown(record: KeyRecord) -> dict[str, object]:
    names = ("id", "label", "tenant", "user", "app", "agent", "created_at", "expires_at", "revoked_at", "last_used_at")
    return {"scope": record.level, **{name: getattr(record, name) for name in names}}
