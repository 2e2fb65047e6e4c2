"""Routes for apps and their memories, with the paths and camelCase field names of the apps design."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from holdfast.apps import AppEntry, Point, design_metadata
from holdfast.errors import Conflict, NotFound
from holdfast.learning.related_conversations import CONVERSATION
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter
from holdfast.runtime.clock import as_utc
from holdfast.server.api import requests
from holdfast.server.api.fields import Moment, Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import Memory
from holdfast.types.translatable import translatable

router = APIRouter(tags=["apps"], route_class=Route)
_App = Annotated[Name, Path(examples=["kitchen"], description="The id of the app.")]


class Camel(Model):
    """Base class of response bodies with camelCase field names."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class App(Camel):
    """An app in a list."""

    app_id: str
    """The id of the app."""
    name: str
    """The display name of the app."""
    installed: bool
    """True if the app is installed."""
    memory_count: int
    """The number of live memories of the app, of all users."""
    installed_at: datetime | None = None
    """The time the app was installed."""
    uninstalled_at: datetime | None = None
    """The time the app was uninstalled, or null."""
    shares_with: list[str]
    """The ids of the apps that may read the memories of this app; `*` means every app."""
    metadata: dict[str, Any]
    """Additional data stored with the app."""


class AppList(Camel):
    """A list of apps."""

    apps: list[App]
    """The apps."""


class AppMemory(Camel):
    """A memory of an app."""

    id: str
    """The id of the memory."""
    content: str
    """The text of the memory."""
    created_at: datetime
    """The time the memory was created."""
    updated_at: datetime
    """The time of the last revision."""
    source_conversation_id: str | None = None
    """The id of the session that the memory was extracted from, or null if it is unknown or its source message was erased."""
    metadata: dict[str, Any]
    """`importance` from 0 to 10, `tags`, `relatedConversations` (ids of sessions), and additional data stored with the memory."""


class AppMemories(Camel):
    """Memories of an app, newest first."""

    memories: list[AppMemory]
    """The memories, newest first."""


class Success(Camel):
    """The request succeeded."""

    success: Literal[True] = True
    """Always true."""


class Deleted(Success):
    """The request succeeded. Contains the number of memories that were erased."""

    deleted_count: Annotated[int, Field(examples=[8])]
    """The number of memories that were erased."""


class AppOfConversation(Camel):
    """The app that a session belongs to."""

    app_id: str | None = None
    """The id of the app, or null."""


class Metrics(Camel):
    """Memory usage of all apps in a period."""

    since: datetime
    """The start of the period."""
    until: datetime
    """The end of the period."""
    creations: int
    """The number of memories extracted from sessions."""
    creations_per_hour: float
    """The average number of memories extracted per hour."""
    compactions: int
    """The number of compactions. A compaction condenses the memories of an app that has more memories than its cap."""
    compactions_per_app_per_day: float
    """The average number of compactions per app and day."""
    compactions_by_app: dict[str, int]
    """The number of compactions by app."""
    apps: int
    """The number of apps that are installed, have memories or have sessions."""
    apps_with_memories: int
    """The number of apps with memories."""
    share_of_apps_with_memories: float
    """The fraction of apps with memories, from 0 to 1."""
    conversations: int
    """The number of sessions that belong to an app."""
    conversations_with_memories: int
    """The number of sessions that received a context block with memories."""
    share_of_conversations_with_memories: float
    """The fraction of sessions that received a context block with memories, from 0 to 1."""
    energy: float
    """The estimated energy used for memory work, in abstract units. For example, a model call of a digest counts as 12.

    The day on which the period starts counts in full.
    """
    energy_share: float | None = None
    """The fraction of the host's energy that was used for memory work, or null if the host does not report its energy use."""


class AppContext(Camel):
    """A context block for a system prompt."""

    text: str
    """The block; empty if the app has no memories."""
    tokens: int
    """The estimated number of tokens of the block."""
    memories: list[str]
    """The ids of the memories in the block."""


class CompactionOf(Camel):
    """A memory that was removed because its app had too many memories."""

    app: str
    """The id of the app."""
    memory: str
    """The id of the removed memory."""
    text: str
    """The text of the removed memory."""
    merged_into: str | None = None
    """The id of the memory that it was merged into, or null if it was dropped."""
    reason: str
    """The reason for the removal."""
    at: datetime
    """The time of the removal."""
    batch: str
    """The id of the batch of changes, for undo."""
    model: str | None = None
    """The name of the chat model that decided, or null if rules did."""


class Compactions(Camel):
    """Memories that were removed because their app had too many memories."""

    compactions: list[CompactionOf]
    """The removed memories, newest first."""


class EnergyState(Camel):
    """The battery level of the host, and the energy that memory work has used."""

    level: float
    """The charge of the battery, from 0 to 1; 1 if it is unknown."""
    consumed: float
    """The energy units that memory work has used since the store was created."""
    share: float | None = None
    """Memory work's share of the host's energy, or null if the host does not report its energy use."""


@router.get("/apps", operation_id="list_apps", responses=problems(), openapi_extra=needs("read"))
def apps(caller: Calling, *, uninstalled: Annotated[bool, Query(description="Include uninstalled apps.")] = False) -> AppList:
    """List apps.

    Returns the apps that are installed or have memories. A key that is bound to an app sees only that app.
    """
    own = caller.principal.app
    caller.may("read", whole=own is None)
    found = caller.memory.apps.list(uninstalled)
    return AppList(apps=[_app(each) for each in found if own in (None, each.app)])


@router.post("/apps", status_code=201, operation_id="install_app", responses=problems(409), openapi_extra=needs("admin"))
def install(body: requests.NewApp, caller: Calling) -> App:
    """Install an app.

    Registers the app. If it is already registered, the given fields are updated, and the other fields keep their value.
    """
    caller.may("admin", app=body.app_id)
    check_whole_app(caller)
    shares: Any = body.shares_with
    return _app(caller.memory.apps.install(body.app_id, name=body.name, shares_with=shares))


@router.get("/apps/metrics", operation_id="app_metrics", responses=problems(409), openapi_extra=needs("read"))
def metrics(caller: Calling, since: Annotated[Moment | None, Query(description="The start of the period.")] = None) -> Metrics:
    """Retrieve app metrics.

    Measures the memory usage of all apps since a given time, by default over the last 24 hours.
    """
    caller.may("read", whole=True)
    if since is not None and as_utc(since, what="since") >= services(caller.memory).clock.now():
        raise Conflict("since is in the future. Give the start of a period that has begun.")
    return Metrics.model_validate(asdict(caller.memory.apps.metrics(since)))


@router.post("/apps/energy", operation_id="report_energy", responses=problems(), openapi_extra=needs("admin"))
def report_energy(body: requests.EnergyReport, caller: Calling) -> EnergyState:
    """Report the battery level and energy use of the host.

    The battery level applies to all processes that use the store, until the next report.
    """
    caller.may("admin", whole=True)
    registry = caller.memory.apps
    if body.level is not None:
        registry.report_energy_level(body.level)
    if body.used is not None:
        registry.report_energy(body.used)
    energy = services(caller.memory).energy
    return EnergyState(level=registry.energy_level(), consumed=energy.consumed(), share=energy.share())


@router.get("/apps/{app}/context", operation_id="app_context", responses=problems(), openapi_extra=needs("read"))
def context(
    app: _App,
    caller: Calling,
    *,
    point: Annotated[Point, Query(description="The purpose of the block.")] = "selection",
    conversation: Annotated[Name | None, Query(description="The id of the session that the block is for.")] = None,
    user: Annotated[Name | None, Query(description="Include the memories of this user.")] = None,
) -> AppContext:
    """Retrieve the context block of an app.

    The parameter `point` selects the memories. With `unanswered`, memories are recalled for the user's last message. With
    `review`, they are recalled for the end of the conversation. With `selection`, the newest memories are returned.
    """
    parts = caller.may("read", app=app, user=user)
    if conversation is not None:
        found = services(caller.memory).store.sessions(SessionFilter(ids=(conversation,)))
        if not any(caller.sees(each.scope) and each.scope.app == app for each in found):
            raise NotFound(f"There is no session {conversation} with the app {app}.")
    block = caller.memory.apps.context(parts["app"] or app, point, conversation, parts["user"])
    return AppContext(text=block.text, tokens=block.tokens, memories=[hit.id for hit in block.hits])


@router.get("/apps/{app}/compactions", operation_id="app_compactions", responses=problems(), openapi_extra=needs("read"))
def compactions(app: _App, caller: Calling, paged: Paged) -> Compactions:
    """List the memories that were removed because an app had too many.

    The newest come first. To restore a memory, undo its batch.
    """
    name = caller.may("read", app=app)["app"] or app
    found = caller.memory.apps.compactions(name, user=caller.principal.user, limit=paged.limit)
    return Compactions(compactions=[CompactionOf.model_validate(asdict(each)) for each in found])


@router.delete("/apps/{app}", operation_id="uninstall_app", responses=problems(), openapi_extra=needs("admin"))
def uninstall(
    app: _App,
    caller: Calling,
    *,
    purge: Annotated[bool, Query(alias="purgeMemories", description="Erase its memories too.")] = False,
) -> Deleted:
    """Uninstall an app.

    The memories of the app are kept unless `purgeMemories` is true.
    """
    caller.may("admin", app=app)
    check_whole_app(caller)
    return Deleted(deleted_count=caller.memory.apps.uninstall(app, purge))


@router.get("/apps/{app}/memories", operation_id="list_app_memories", responses=problems(), openapi_extra=needs("read"))
def memories(app: _App, caller: Calling, paged: Paged) -> AppMemories:
    """List the memories of an app.

    Returns the newest memories first. A key that is bound to a user sees only the memories of that user.
    """
    owner = {"app": caller.may("read", app=app)["app"] or "", **_own(caller)}
    own_memories = MemoryFilter(
        owner=owner, unexpired_at=services(caller.memory).clock.now(), limit=paged.limit, offset=paged.offset
    )
    found = services(caller.memory).store.memories(own_memories)
    return AppMemories(memories=[_memory(caller, each) for each in found])


@router.delete("/apps/{app}/memories", operation_id="purge_app", responses=problems(), openapi_extra=needs("admin"))
def purge(app: _App, caller: Calling) -> Deleted:
    """Erase all memories of an app.

    The memories cannot be restored. The sessions of the app stay stored. The existing messages of these sessions are no
    longer recalled, and no memories are extracted from them.
    """
    caller.may("admin", app=app)
    check_whole_app(caller)
    return Deleted(deleted_count=caller.memory.apps.purge(app))


@router.delete("/apps/{app}/memories/{id}", operation_id="delete_app_memory", responses=problems(), openapi_extra=needs("write"))
def delete(app: _App, id: Annotated[str, Path(description="The id of the memory.")], caller: Calling) -> Success:
    """Erase a memory of an app.

    The memory cannot be restored.
    """
    name = caller.may("write", app=app)["app"]
    found = caller.memory_found(id, "write")
    if found.scope.app != name or found.status != "live":
        raise NotFound(translatable("absent.memory", "There is no memory {id}.", id=id))
    caller.memory.erase(id=id)
    return Success()


@router.get("/conversations/{id}/app", operation_id="app_of_conversation", responses=problems(), openapi_extra=needs("read"))
def app_of(id: Annotated[str, Path(description="The id of the session.")], caller: Calling) -> AppOfConversation:
    """Retrieve the app of a session.

    The app is null if the session has no app, or if there is no session with this id that you may read.
    """
    caller.may("read")
    found = services(caller.memory).store.sessions(SessionFilter(ids=(id,)))
    return AppOfConversation(app_id=next((each.scope.app for each in found if caller.sees(each.scope)), None))


def check_whole_app(caller: Caller) -> None:
    """Raise ``Forbidden`` if the key is bound to a user or agent, because the operation affects all users of the app."""
    who = caller.principal
    if who.user is not None or who.agent is not None:
        caller.may("admin", whole=True)


def _own(caller: Caller) -> Mapping[str, str]:
    parts = {"user": caller.principal.user, "agent": caller.principal.agent}
    return {name: part for name, part in parts.items() if part is not None}


def _app(entry: AppEntry) -> App:
    return App(
        app_id=entry.app,
        name=entry.name,
        installed=entry.installed,
        memory_count=entry.memory_count,
        installed_at=entry.installed_at,
        uninstalled_at=entry.uninstalled_at,
        shares_with=list(entry.shares_with),
        metadata=dict(entry.metadata),
    )


def _memory(caller: Caller, memory: Memory) -> AppMemory:
    return AppMemory(
        id=memory.id,
        content=memory.text,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        source_conversation_id=_conversation(caller, memory),
        metadata=design_metadata(memory),
    )


def _conversation(caller: Caller, memory: Memory) -> str | None:
    """Return the id of the session that a memory was extracted from.

    If the memory has no source message, for example after an import, the id is taken from its metadata. Return None if the
    metadata has no such id, or if the source message was erased.
    """
    message_ids = [source for source in memory.sources if source.startswith("msg_")][:1]
    if not message_ids:
        given = memory.metadata.get(CONVERSATION)
        return given if isinstance(given, str) else None
    found = services(caller.memory).store.messages(MessageFilter(ids=message_ids))
    return found[0].session if found else None
