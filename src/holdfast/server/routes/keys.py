"""Keys over HTTP, for those who may administer."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from holdfast.server.api.openapi import problems
from holdfast.server.api.requests import Body, Name
from holdfast.server.api.responses import Listed, Model
from holdfast.server.caller import Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.types import KeyRecord

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=Route)


class NewKey(Body):
    """What a key may do, and for whom."""

    scope: Literal["read", "write", "admin"]
    label: Annotated[Name | None, Field(examples=["the dashboard"])] = None
    tenant: Name | None = None
    user: Annotated[Name | None, Field(examples=["ana"])] = None
    app: Name | None = None
    agent: Name | None = None
    expires_at: datetime | None = None


class Key(Model):
    """A key without what makes it work."""

    id: str
    scope: Literal["read", "write", "admin"]
    label: str | None = None
    tenant: str
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class MadeKey(Key):
    """A new key; ``key`` is shown this once."""

    key: Annotated[str, Field(examples=["hf_..."])]


@router.get("", operation_id="list_keys", responses=problems(), openapi_extra=needs("admin"))
def keys(caller: Calling) -> Listed[Key]:
    """List keys; what makes them work is not kept."""
    caller.may("admin")
    found = caller.pool.gate.list_keys(by=caller.principal)
    return Listed(items=[Key.model_validate(_shown(each)) for each in found])


@router.post("", status_code=201, operation_id="create_key", responses=problems(409), openapi_extra=needs("admin"))
def create(body: NewKey, caller: Calling) -> MadeKey:
    """Make a key. It is shown in this answer and never again."""
    caller.may("admin", user=body.user, app=body.app, agent=body.agent)
    record, token = caller.pool.gate.create_key(
        level=body.scope, label=body.label, tenant=body.tenant, user=body.user, app=body.app, agent=body.agent,
        expires_at=body.expires_at, by=caller.principal,
    )  # fmt: skip
    return MadeKey.model_validate({**_shown(record), "key": token})


@router.delete("/{id}", operation_id="revoke_key", responses=problems(), openapi_extra=needs("admin"))
def revoke(id: str, caller: Calling) -> Key:
    """Revoke a key; it stops working at once."""
    caller.may("admin")
    return Key.model_validate(_shown(caller.pool.gate.revoke(id, by=caller.principal)))


def _shown(record: KeyRecord) -> dict[str, object]:
    names = ("id", "label", "tenant", "user", "app", "agent", "created_at", "expires_at", "revoked_at", "last_used_at")
    return {"scope": record.level, **{name: getattr(record, name) for name in names}}
