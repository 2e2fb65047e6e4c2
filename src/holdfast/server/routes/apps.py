"""Apps and their memories, by the paths, names and casing of the apps design."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from holdfast.apps import AppEntry
from holdfast.errors import NotFound
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.server.api import requests
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import Memory

router = APIRouter(tags=["apps"], route_class=Route)
_App = Annotated[str, Path(min_length=1, max_length=512, examples=["kitchen"])]


class Camel(Model):
    """Answers whose names are cased as the design has them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class App(Camel):
    """An app as it is listed."""

    app_id: str
    name: str
    installed: bool
    memory_count: int
    installed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    shares_with: list[str]
    metadata: dict[str, Any]


class AppList(Camel):
    """The apps there are."""

    apps: list[App]


class AppMemory(Camel):
    """A memory of an app."""

    id: str
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None = None
    metadata: dict[str, Any]


class AppMemories(Camel):
    """An app's memories, the newest first."""

    memories: list[AppMemory]


class Success(Camel):
    """It is done."""

    success: Literal[True] = True


class Deleted(Success):
    """It is done; so many memories are gone."""

    deleted_count: Annotated[int, Field(examples=[8])]


class AppOfConversation(Camel):
    """The app a conversation belongs to."""

    app_id: str | None = None


class Metrics(Camel):
    """How memory has served the apps."""

    since: datetime
    until: datetime
    creations: int
    creations_per_hour: float
    compactions: int
    compactions_per_app_per_day: float
    compactions_by_app: dict[str, int]
    apps: int
    apps_with_memories: int
    share_of_apps_with_memories: float
    conversations: int
    conversations_with_memories: int
    share_of_conversations_with_memories: float
    energy: float
    energy_share: float | None = None


@router.get("/apps", operation_id="list_apps", responses=problems(), openapi_extra=needs("read"))
def apps(caller: Calling, *, uninstalled: bool = False) -> AppList:
    """List the apps that are installed, and those that have memories; a key that is bound to an app sees that one."""
    own = caller.principal.app
    caller.may("read", whole=own is None)
    found = caller.memory.apps.list(uninstalled)
    return AppList(apps=[_app(each) for each in found if own in (None, each.app)])


@router.post("/apps", status_code=201, operation_id="install_app", responses=problems(409), openapi_extra=needs("admin"))
def install(body: requests.NewApp, caller: Calling) -> App:
    """Note that an app is installed; again, it changes what is given and keeps the rest."""
    caller.may("admin", app=body.app_id)
    _whole_app(caller)
    shares: Any = body.shares_with
    return _app(caller.memory.apps.install(body.app_id, name=body.name, shares_with=shares))


@router.get("/apps/metrics", operation_id="app_metrics", responses=problems(), openapi_extra=needs("read"))
def metrics(caller: Calling, since: datetime | None = None) -> Metrics:
    """Measure how memory serves the apps, from a moment on; by default over the last day."""
    caller.may("read", whole=True)
    return Metrics.model_validate(asdict(caller.memory.apps.metrics(since)))


@router.delete("/apps/{app}", operation_id="uninstall_app", responses=problems(), openapi_extra=needs("admin"))
def uninstall(
    app: _App,
    caller: Calling,
    *,
    purge: Annotated[bool, Query(alias="purgeMemories", description="Remove its memories, too.")] = False,
) -> Deleted:
    """Note that an app is gone; its memories stay unless a purge is asked for."""
    caller.may("admin", app=app)
    _whole_app(caller)
    return Deleted(deleted_count=caller.memory.apps.uninstall(app, purge))


@router.get("/apps/{app}/memories", operation_id="list_app_memories", responses=problems(), openapi_extra=needs("read"))
def memories(app: _App, caller: Calling, paged: Paged) -> AppMemories:
    """List an app's own memories, the newest first; for a key that is bound to a user, that user's."""
    owner = {"app": caller.may("read", app=app)["app"] or "", **_own(caller)}
    wanted = MemoryFilter(owner=owner, unexpired_at=services(caller.memory).clock.now(), limit=paged.limit, offset=paged.offset)
    found = services(caller.memory).store.memories(wanted)
    return AppMemories(memories=[_memory(caller, each) for each in found])


@router.delete("/apps/{app}/memories", operation_id="purge_app", responses=problems(), openapi_extra=needs("admin"))
def purge(app: _App, caller: Calling) -> Deleted:
    """Remove all of an app's memories for good; its conversations stay in the log, unseen."""
    caller.may("admin", app=app)
    _whole_app(caller)
    return Deleted(deleted_count=caller.memory.apps.purge(app))


@router.delete("/apps/{app}/memories/{id}", operation_id="delete_app_memory", responses=problems(), openapi_extra=needs("write"))
def delete(app: _App, id: str, caller: Calling) -> Success:
    """Remove one memory of an app for good."""
    name = caller.may("write", app=app)["app"]
    found = caller.memory_found(id, "write")
    if found.scope.app != name or found.status != "live":
        raise NotFound(f"There is no memory {id}.")
    caller.memory.erase(id=id)
    return Success()


@router.get("/conversations/{id}/app", operation_id="app_of_conversation", responses=problems(), openapi_extra=needs("read"))
def app_of(id: str, caller: Calling) -> AppOfConversation:
    """Return the app of a conversation; null if it has none, or there is no such conversation."""
    caller.may("read")
    found = services(caller.memory).store.session(id)
    return AppOfConversation(app_id=found.scope.app if found and caller.sees(found.scope) else None)


def _whole_app(caller: Caller) -> None:
    """Refuse one who stands for a user or an agent of the app: this concerns the others as well."""
    who = caller.principal
    if who.user is not None or who.agent is not None:
        caller.may("admin", whole=True)


def _own(caller: Caller) -> Mapping[str, str]:
    parts = {"user": caller.principal.user, "agent": caller.principal.agent}
    return {name: part for name, part in parts.items() if part is not None}


def _app(entry: AppEntry) -> App:
    return App(
        app_id=entry.app, name=entry.name, installed=entry.installed, memory_count=entry.memory_count,
        installed_at=entry.installed_at, uninstalled_at=entry.uninstalled_at, shares_with=list(entry.shares_with),
        metadata=dict(entry.metadata),
    )  # fmt: skip


def _memory(caller: Caller, memory: Memory) -> AppMemory:
    return AppMemory(
        id=memory.id, content=memory.text, created_at=memory.created_at, updated_at=memory.updated_at,
        source_conversation_id=_conversation(caller, memory), metadata=dict(memory.metadata),
    )  # fmt: skip


def _conversation(caller: Caller, memory: Memory) -> str | None:
    """Return the conversation a memory came from, where its messages are still kept."""
    said = [source for source in memory.sources if source.startswith("msg_")][:1]
    found = services(caller.memory).store.messages(MessageFilter(ids=said)) if said else []
    return found[0].session if found else None
