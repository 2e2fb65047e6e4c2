"""The caller of a request: the principal, with its rights and the engine of its tenant.

Routes receive a :class:`Caller` as a FastAPI dependency.
"""

import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from holdfast.access.keys import Principal, ScopeParts, authorize, check_found, may_see
from holdfast.engine import Engine
from holdfast.errors import Conflict, Forbidden, InvalidInput, NotFound
from holdfast.protocols import SessionFilter
from holdfast.server.api.fields import Name
from holdfast.server.api.problem import Refused, problem_response
from holdfast.server.middleware.security import principal_of
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.text.clean import clean_name
from holdfast.types import Memory, Scope, SessionRecord
from holdfast.types.translatable import translatable

Right: TypeAlias = Literal["read", "write", "admin"]
_WITH_BODY = ("POST", "PUT", "PATCH")
RIGHT = "x-right"
"""Name of the OpenAPI extension that declares which right an operation requires: read, write or admin.

The server checks the caller's right before it reads the request body.
"""


def needs(right: Right) -> dict[str, Any]:
    """Return the OpenAPI extension that declares which right (read, write or admin) an operation requires."""
    return {RIGHT: right}


class Caller:
    """The principal of a request, and the engine of its tenant.

    The engine is leased when it is first used, and released at the end of the request.
    """

    def __init__(self, principal: Principal, pool: EnginePool) -> None:
        self.principal = principal
        self.pool = pool
        self._lease = ExitStack()
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    @property
    def memory(self) -> Engine:
        """The engine of the caller's tenant. Opening it can block, so do not use this property on the event loop."""
        with self._lock:
            if self._engine is None:
                self._engine = self._lease.enter_context(self.pool.lease(self.principal.tenant))
            return self._engine

    def close(self) -> None:
        """Release the engine."""
        with self._lock:
            self._engine = None
            self._lease.close()

    def may(
        self, right: Right, *, user: str | None = None, app: str | None = None, agent: str | None = None, whole: bool = False
    ) -> ScopeParts:
        """Check that the caller is allowed to run an operation, and return the scope of the operation.

        ``right`` is the level that the operation requires. ``user``, ``app`` and ``agent`` are the requested scope. Set
        ``whole`` for operations on the whole tenant, which keys bound to a user, app or agent cannot run. An error is raised
        if the operation is not allowed.
        """
        return authorize(self.principal, right, user=user, app=app, agent=agent, whole=whole)

    @property
    def is_operator(self) -> bool:
        """True if the caller administers this server.

        This is a local caller without a key, or the holder of an admin key. The key must belong to the operator's tenant and must
        not be bound to a user, app or agent.
        """
        who = self.principal
        return who.keyless or (who.level == "admin" and not who.is_bound and who.tenant == self.pool.tenant)

    def operate(self) -> None:
        """Raise ``Forbidden`` unless the caller administers this server.

        Called before an operation that concerns all tenants, such as listing the settings or writing a backup.
        """
        self.may("admin", whole=True)
        if not self.is_operator:
            raise Forbidden(
                translatable(
                    "key.operator",
                    "This affects the whole server, and this key belongs to another tenant. Use a key of the operator.",
                )
            )

    def sees(self, scope: Scope) -> bool:
        """Return True if the caller may read items in this scope."""
        return may_see(self.principal, scope)

    def memory_found(self, id: str, right: Right) -> Memory:
        """Return a memory. ``right`` is the level that the operation requires.

        A missing memory and a memory that the caller is not allowed to read raise the same ``NotFound``.
        """
        self.may(right)
        absent = translatable("absent.memory", "There is no memory {id}.", id=id)
        try:
            found = self.memory.get(id)
        except NotFound as error:
            raise NotFound(absent) from error
        sharing = services(self.memory).store.apps_sharing_with(self.principal.app) if self.principal.app else ()
        check_found(self.principal, right, found.scope, absent=absent, also_apps=tuple(sharing))
        return found

    def session_found(self, id: str, right: Right, parts: ScopeParts | None = None) -> SessionRecord:
        """Return a session. ``right`` is the level that the operation requires, and ``parts`` is the requested scope.

        A missing session and a session that the caller is not allowed to read raise the same ``NotFound``.
        """
        allowed = self.may(right) if parts is None else self.may(right, **parts)
        found = self.known_session(id, right, allowed)
        if found is None:
            raise NotFound(translatable("absent.session", "There is no session {id}.", id=id))
        return found

    def known_session(self, id: str, right: Right, parts: ScopeParts) -> SessionRecord | None:
        """Return the session with this id, or None if there is no such session that the caller is allowed to read.

        Session ids are unique only within a scope, so several sessions can have the same id. The session must match every part
        that ``parts`` names: a user, an app, an agent. If several sessions match, the one whose scope is exactly ``parts`` is
        returned. If none of them has exactly this scope, ``Conflict`` is raised. An error is also raised if the caller lacks
        ``right`` for the session.
        """
        found = services(self.memory).store.sessions(SessionFilter(ids=(id,)))
        named = {name: clean_name(part, what=name) for name, part in parts.items() if isinstance(part, str)}
        fitting = [each for each in found if all(getattr(each.scope, name) == part for name, part in named.items())]
        fitting = [each for each in fitting if self.sees(each.scope)]
        exact = [each for each in fitting if _parts_of(each.scope) == {"user": None, "app": None, "agent": None, **named}]
        chosen = exact or fitting
        if len(chosen) > 1:
            raise Conflict(
                translatable(
                    "session.several",
                    "Several sessions have the id {id}. Pass the user, app or agent of the one that is meant.",
                    id=id,
                )
            )
        if chosen:
            check_found(
                self.principal, right, chosen[0].scope, absent=translatable("absent.session", "There is no session {id}.", id=id)
            )
        return chosen[0] if chosen else None


def _parts_of(scope: Scope) -> dict[str, str | None]:
    return {"user": scope.user, "app": scope.app, "agent": scope.agent}


def _query_names(dependant: Dependant) -> set[str]:
    """Return the names of all query parameters that a route reads."""
    own = {field.alias for field in dependant.query_params}
    return own.union(*(_query_names(each) for each in dependant.dependencies))


def _check_scope_query(request: Request) -> None:
    """Raise ``InvalidInput`` if a write names its scope in the query, but the route reads the scope from the body.

    Ignoring the query would store data of one user for all users.
    """
    route = request.scope.get("route")
    if request.method not in _WITH_BODY or not isinstance(route, APIRoute):
        return
    unread = {"user", "app", "agent"}.intersection(request.query_params) - _query_names(route.dependant)
    if unread:
        names = " and ".join(sorted(unread))
        raise InvalidInput(f"This path reads no {names} from the query. Send it in the body. Nothing was changed.")


def check_batch(request: Request, count: int, what: str) -> None:
    """Reject a request with more messages or memories than the setting ``max_batch`` allows.

    ``count`` is their number, and ``what`` is the word for them in the error message: "messages" or "memories".
    """
    limit = request.app.state.settings.max_batch
    if count > limit:
        detail = f"The request has {count:,} {what}; the limit is {limit:,}. Nothing was stored. Send fewer at a time."
        raise Refused(problem_response(413, "too_large", detail))


async def _caller(request: Request) -> AsyncIterator[Caller]:
    """Yield the caller. Its engine is released when the response is complete, even if the response is streamed."""
    _check_scope_query(request)
    with closing(Caller(principal_of(request.scope), request.app.state.pool)) as caller:
        yield caller


Calling: TypeAlias = Annotated[Caller, Depends(_caller)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeQuery:
    """Query parameters for the scope: user, app and agent."""

    user: str | None
    app: str | None
    agent: str | None

    @property
    def parts(self) -> ScopeParts:
        """The scope as keyword arguments for :meth:`Caller.may`."""
        return {"user": self.user, "app": self.app, "agent": self.agent}


_Part: TypeAlias = Annotated[Name | None, Query()]


async def _scope_query(
    user: Annotated[_Part, Query(description="The user whose data is meant.")] = None,
    app: Annotated[_Part, Query(description="The app whose data is meant.")] = None,
    agent: Annotated[_Part, Query(description="The agent whose data is meant.")] = None,
) -> ScopeQuery:
    return ScopeQuery(user=user, app=app, agent=agent)


Whose: TypeAlias = Annotated[ScopeQuery, Depends(_scope_query)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """Query parameters for one page of a list."""

    limit: int
    offset: int


async def _page_query(
    limit: Annotated[int, Query(ge=1, le=500, description="The maximum number of items.")] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31, description="The number of items to skip.")] = 0,
) -> PageQuery:
    return PageQuery(limit=limit, offset=offset)


Paged: TypeAlias = Annotated[PageQuery, Depends(_page_query)]
