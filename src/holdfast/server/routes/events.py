"""News as it happens: an event whenever the number of memories or the queue has changed, at most one a second."""

import threading
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import anyio
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from holdfast.engine import Engine
from holdfast.protocols import MemoryFilter
from holdfast.server.api.openapi import problems
from holdfast.server.api.sse import EventStream, documented, event, quiet
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.middleware.shutdown import ShutdownFlag
from holdfast.server.routes.idempotency import Route
from holdfast.services import services

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)

_POLL_SECONDS = 1.0
_EXAMPLE = 'event: change\ndata: {"memories":12,"messages":40,"jobs":{"done":3}}\n\n'
_KEEPALIVE_SECONDS = 15.0
"""Seconds after which a line that says nothing shows that the connection is still there."""


@dataclass(slots=True)
class ChangeFeed:
    """What listeners are told; however many listen, the store is asked once a second."""

    _known: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, caller: Caller) -> dict[str, Any]:
        """Return the counts a caller may know."""
        who = caller.principal
        name = repr((who.tenant, who.user, who.app, who.agent))
        with self._lock:
            at, counts = self._known.get(name, (0.0, {}))
            if time.monotonic() - at >= 0.9 * _POLL_SECONDS:
                counts = _counts(caller.memory, caller)
                self._known[name] = (time.monotonic(), counts)
            return counts


@router.get(
    "/events",
    operation_id="events",
    response_class=EventStream,
    responses={200: {"description": "Events named `change`.", "content": documented("change", example=_EXAMPLE)}, **problems()},
    openapi_extra=needs("read"),
)
async def events(caller: Calling, request: Request) -> EventStream:
    """Follow what changes: ``change`` events with the number of memories and the jobs by their state."""
    caller.may("read")
    first = await run_in_threadpool(request.app.state.watch.look, caller)
    return EventStream(_news(request, caller, first))


async def _news(request: Request, caller: Caller, first: dict[str, Any]) -> AsyncGenerator[bytes, None]:
    watch: ChangeFeed = request.app.state.watch
    stopping: ShutdownFlag = request.app.state.stopping
    told, said_at = first, time.monotonic()
    yield event("change", told)
    while not stopping.is_set():
        await anyio.sleep(_POLL_SECONDS)
        counts = await run_in_threadpool(watch.look, caller)
        if counts != told:
            told, said_at = counts, time.monotonic()
            yield event("change", counts)
        elif time.monotonic() - said_at > _KEEPALIVE_SECONDS:
            said_at = time.monotonic()
            yield quiet()


def _counts(memory: Engine, caller: Caller) -> dict[str, Any]:
    who = caller.principal
    if not who.is_bound:
        counts = memory.stats()
        return {"memories": counts.memories, "messages": counts.messages, "jobs": dict(counts.jobs)}
    owner = {name: part for name in ("user", "app", "agent") if (part := getattr(who, name)) is not None}
    wanted = MemoryFilter(owner=owner, unexpired_at=services(memory).clock.now())
    return {"memories": services(memory).store.count_memories(wanted), "messages": None, "jobs": {}}
