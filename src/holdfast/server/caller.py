"""Who is asking, what they may do, and the memory they ask: what every route begins with."""

import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Depends, Query, Request

from holdfast.access.keys import Principal, ScopeParts, authorize, check_found, may_see
from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.server.middleware.security import principal_of
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.types import Memory, Scope, SessionRecord

Right: TypeAlias = Literal["read", "write", "admin"]
RIGHT = "x-right"
"""The member of an operation's OpenAPI that says which right it takes; the route checks it before anything else."""


def needs(right: Right) -> dict[str, Any]:
    """Return what a route declares of the right it takes."""
    return {RIGHT: right}


class Caller:
    """One request's principal, and the engine of their tenant, which is leased from its first use until the request ends."""

    def __init__(self, principal: Principal, pool: EnginePool) -> None:
        self.principal = principal
        self.pool = pool
        self._lease = ExitStack()
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    @property
    def memory(self) -> Engine:
        """The engine; opening it may take a moment, so never on the event loop."""
        with self._lock:
            if self._engine is None:
                self._engine = self._lease.enter_context(self.pool.lease(self.principal.tenant))
            return self._engine

    def close(self) -> None:
        """End the lease."""
        with self._lock:
            self._engine = None
            self._lease.close()

    def may(
        self, right: Right, *, user: str | None = None, app: str | None = None, agent: str | None = None, whole: bool = False
    ) -> ScopeParts:
        """Return the scope they may act in, or raise; ``whole`` is for what belongs to all users of the tenant."""
        return authorize(self.principal, right, user=user, app=app, agent=agent, whole=whole)

    def sees(self, scope: Scope) -> bool:
        """Tell whether something in this scope is theirs to see."""
        return may_see(self.principal, scope)

    def memory_found(self, id: str, right: Right) -> Memory:
        """Return a memory they may see or change; a foreign one is answered as one that is not there."""
        self.may(right)
        absent = f"There is no memory {id}."
        try:
            found = self.memory.get(id)
        except NotFound as error:
            raise NotFound(absent) from error
        sharing = services(self.memory).store.apps_sharing_with(self.principal.app) if self.principal.app else ()
        check_found(self.principal, right, found.scope, absent=absent, also_apps=tuple(sharing))
        return found

    def session_found(self, id: str, right: Right) -> SessionRecord:
        """Return a session they may see or change."""
        self.may(right)
        found = services(self.memory).store.session(id)
        if found is None:
            raise NotFound(f"There is no session {id}.")
        self.check_session(found, right)
        return found

    def check_session(self, session: SessionRecord, right: Right) -> None:
        """Raise the same ``NotFound`` for a session that is not theirs as for a missing one."""
        check_found(self.principal, right, session.scope, absent=f"There is no session {session.id}.")


async def _caller(request: Request) -> AsyncIterator[Caller]:
    """Yield the caller for the whole request: a streamed response is part of it."""
    with closing(Caller(principal_of(request.scope), request.app.state.pool)) as caller:
        yield caller


Calling: TypeAlias = Annotated[Caller, Depends(_caller)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeQuery:
    """The scope a query string names."""

    user: str | None
    app: str | None
    agent: str | None

    @property
    def parts(self) -> ScopeParts:
        """The parts by name."""
        return {"user": self.user, "app": self.app, "agent": self.agent}


_Part: TypeAlias = Annotated[str | None, Query(min_length=1, max_length=512)]


async def _scope_query(user: _Part = None, app: _Part = None, agent: _Part = None) -> ScopeQuery:
    return ScopeQuery(user=user, app=app, agent=agent)


Whose: TypeAlias = Annotated[ScopeQuery, Depends(_scope_query)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """Which part of a list is wanted."""

    limit: int
    offset: int


async def _page_query(
    limit: Annotated[int, Query(ge=1, le=500)] = 50, offset: Annotated[int, Query(ge=0, le=2**31)] = 0
) -> PageQuery:
    return PageQuery(limit=limit, offset=offset)


Paged: TypeAlias = Annotated[PageQuery, Depends(_page_query)]
