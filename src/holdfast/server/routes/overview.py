"""Route for the overview of a user: the known facts by area of life, including replaced facts."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Path
from pydantic import Field

from holdfast.errors import Forbidden
from holdfast.learning.summaries.areas import area_of
from holdfast.learning.summaries.portrait import portrait
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter
from holdfast.server.api import convert, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.around import around
from holdfast.server.caller import Caller, Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import Services, services
from holdfast.types import Memory, MemoryStatus, Scope
from holdfast.types.common import Area
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_Name: TypeAlias = Annotated[Name, Path(description="The name of the user.")]
_RETIRED: tuple[MemoryStatus, ...] = ("superseded", "forgotten", "expired")
_MAX_DURABLE = 8
_MAX_RANKED = 2000
"""Number of newest memories from which the durable facts are chosen."""
_MAX_NAMED = 500
"""Maximum number of memories, newest first, that are searched for names. This takes about 50 ms."""


class PersonFact(Model):
    """A memory about a person, with its area of life."""

    area: Annotated[Area, Field(examples=["family"])]
    """The area of life that the memory is about."""
    memory: responses.Memory
    """The memory, live or retired."""


class UserOverview(Model):
    """The data stored about a user, in all apps."""

    user: Annotated[str, Field(examples=["ana"])]
    """The name of the user."""
    memories: int
    """The number of live memories of the user."""
    retired: int
    """The number of memories that were superseded, forgotten or expired and are still stored."""
    sessions: int
    """The number of sessions of the user."""
    last_at: datetime | None = None
    """The time of the last activity, or null."""
    shared: int
    """The number of live memories that all users share. The user can recall them, but they do not belong to the user."""
    document: responses.Memory | None = None
    """The base document about the user, or null if the preset writes none or there is none yet."""
    durable: list[responses.Memory]
    """The facts that say who the user is, such as identity, home, work, family and health, in this order."""
    facts: list[PersonFact]
    """One page of the user's memories, live and retired, newest first."""
    next_offset: Annotated[int | None, Field(examples=[50])] = None
    """The value of `offset` for the next page of facts, or null if this is the last page."""


@router.get("/users/{user}/overview", operation_id="user_overview", responses=problems(), openapi_extra=needs("read"))
def overview(user: _Name, caller: Calling, paged: Paged) -> UserOverview:
    """Retrieve an overview of a user.

    Returns the user's profile, and the user's memories by area of life, including retired memories. The memories are
    paged. The key must not be bound to an app or agent.
    """
    name = _may_see(caller, user)
    found = services(caller.memory)
    (record,) = found.store.user_records([name], unexpired_at=found.clock.now())
    document, durable = _portrait(found, name)
    wanted = MemoryFilter(owner={"user": name}, statuses=("live", *_RETIRED), limit=paged.limit + 1, offset=paged.offset)
    listed, more = convert.page_of(found.store.memories(wanted), limit=paged.limit, offset=paged.offset)
    return UserOverview(
        user=name,
        memories=record.memories,
        retired=found.store.count_memories(MemoryFilter(owner={"user": name}, statuses=_RETIRED)),
        sessions=record.sessions,
        last_at=record.last_at,
        shared=found.store.count_memories(_live(found, exactly=Scope(tenant=found.store.tenant))),
        document=convert.memory(document) if document else None,
        durable=[convert.memory(each) for each in durable],
        facts=[
            PersonFact(area=area_of(each), memory=convert.memory(each)) for each in listed if not _is_document(found.preset, each)
        ],
        next_offset=more,
    )


class Mention(Model):
    """A memory that mentions a name."""

    id: str
    """The id of the memory."""
    text: str
    """The text of the memory."""


class Neighbor(Model):
    """A person, a place or another name that a user's memories mention."""

    name: Annotated[str, Field(examples=["Clara"])]
    """The name, as the newest memory spells it."""
    kind: Literal["person", "place", "other"]
    """What the name stands for, such as a person, judging by the words around it. `other` if it is unknown."""
    count: int
    """The number of memories that mention the name."""
    memories: list[Mention]
    """The newest memories that mention the name, at most five."""


class NeighborLink(Model):
    """Two names that the same memories mention."""

    between: tuple[str, str]
    """The two names."""
    weight: int
    """The number of memories that mention both."""


class UserAround(Model):
    """The people and places around a user."""

    names: list[Neighbor]
    """The names, the most mentioned first."""
    links: list[NeighborLink]
    """The pairs of names that are mentioned together."""


@router.get("/users/{user}/around", operation_id="user_around", responses=problems(), openapi_extra=needs("read"))
def user_around(user: _Name, caller: Calling) -> UserAround:
    """Retrieve the people and places around a user.

    Returns the names in the user's newest live memories, and which of them are mentioned together. No model is used. The key must
    not be bound to an app or agent.
    """
    name = _may_see(caller, user)
    found = services(caller.memory)
    own = _live(found, owner={"user": name}, min_trust=found.preset.min_trust, limit=_MAX_NAMED)
    seen = around(name, found.store.memories(own))
    return UserAround(
        names=[
            Neighbor(
                name=each.name,
                kind=each.kind,
                count=len(each.memories),
                memories=[Mention(id=memory.id, text=memory.text) for memory in each.memories[:5]],
            )
            for each in seen.names
        ],
        links=[NeighborLink(between=each.between, weight=each.weight) for each in seen.links],
    )


def _may_see(caller: Caller, user: str) -> str:
    """Return the name of the user. Raise ``Forbidden`` if the caller has no right to see all data of this user."""
    name = caller.may("read", user=user)["user"] or ""
    if caller.principal.app is not None or caller.principal.agent is not None:
        raise Forbidden(
            translatable(
                "key.bound_overview",
                "This key is bound to an app or agent, and the overview of a user covers all of them. Use another key.",
            )
        )
    return name


def _portrait(found: Services, user: str) -> tuple[Memory | None, list[Memory]]:
    """Return two values: the base document about a user (or None), and the user's most durable facts.

    Durable facts are, for example, facts about identity and health. Memories below the minimum trust are left out.
    """
    preset, own = found.preset, {"owner": {"user": user}, "min_trust": found.preset.min_trust}
    kinds = {preset.default_kind} | ({preset.base.kind} if preset.base else set())
    ranked = found.store.memories(_live(found, **own, kinds=kinds, limit=_MAX_RANKED))
    documents = [each for each in ranked if _is_document(preset, each)]
    facts = [each for each in ranked if not _is_document(preset, each)]
    return next(iter(documents), None), portrait(facts, limit=_MAX_DURABLE)


def _is_document(preset: Preset, memory: Memory) -> bool:
    """Return True if a memory is the preset's base document: it has the kind and the key of the base document."""
    base = preset.base
    return base is not None and memory.kind == base.kind and memory.key == (base.key or base.kind)


def _live(found: Services, **wanted: Any) -> MemoryFilter:
    return MemoryFilter(unexpired_at=found.clock.now(), **wanted)
