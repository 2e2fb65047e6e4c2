"""A stream of change events with the current counts of memories, messages and jobs, sent at most once per second."""

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
from holdfast.server.api.sse import EventStream, event, keepalive, stream_content
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.middleware.shutdown import ShutdownFlag
from holdfast.server.routes.idempotency import Route
from holdfast.services import services

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)

_POLL_SECONDS = 1.0
_EXAMPLE = 'event: change\ndata: {"memories":12,"messages":40,"jobs":{"done":3}}\n\n'
_PAUSE = 20
"""Pause between two counts, as a multiple of the time that the last count took. So counting takes at most 5% of one core."""
_KEEPALIVE_SECONDS = 15.0
"""A keep-alive line is sent after this many seconds without an event."""


@dataclass(slots=True)
class ChangeFeed:
    """Caches the counts of memories, messages and jobs for the clients that listen to `change` events.

    All clients of the same scope share the cached counts. The counts stay cached for about a second. If counting takes long, as
    in a large store, they stay cached longer.
    """

    _known: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def counts(self, caller: Caller) -> dict[str, Any]:
        """Return the numbers of ``memories``, ``messages`` and ``jobs`` of the caller's tenant. Jobs are counted by state.

        If the caller's access key is bound to a user, app or agent, only the memories of this owner are counted, without shared
        memories. Then ``messages`` is None, and ``jobs`` is empty. The result is cached for a short time.
        """
        who = caller.principal
        name = repr((who.tenant, who.user, who.app, who.agent))
        with self._lock:
            due, counts = self._known.get(name, (0.0, {}))
            if time.monotonic() >= due:
                begun = time.thread_time()
                counts = _counts(caller.memory, caller)
                pause = max(0.9 * _POLL_SECONDS, _PAUSE * (time.thread_time() - begun))
                self._known[name] = (time.monotonic() + pause, counts)
            return counts


@router.get(
    "/events",
    operation_id="events",
    response_class=EventStream,
    responses={
        200: {"description": "A stream of `change` events.", "content": stream_content("change", example=_EXAMPLE)},
        **problems(),
    },
    openapi_extra=needs("read"),
)
async def events(caller: Calling, request: Request) -> EventStream:
    """Stream changes.

    Sends a `change` event when the number of memories, messages or jobs changes, at most once per second. The event
    contains the current counts; jobs are counted by state.
    """
    caller.may("read")
    first = await run_in_threadpool(request.app.state.feed.counts, caller)
    return EventStream(_change_events(request, caller, first))


async def _change_events(request: Request, caller: Caller, first: dict[str, Any]) -> AsyncGenerator[bytes, None]:
    feed: ChangeFeed = request.app.state.feed
    stopping: ShutdownFlag = request.app.state.stopping
    sent, sent_at = first, time.monotonic()
    yield event("change", sent)
    while not stopping.is_set():
        await anyio.sleep(_POLL_SECONDS)
        counts = await run_in_threadpool(feed.counts, caller)
        if counts != sent:
            sent, sent_at = counts, time.monotonic()
            yield event("change", counts)
        elif time.monotonic() - sent_at > _KEEPALIVE_SECONDS:
            sent_at = time.monotonic()
            yield keepalive()


def _counts(memory: Engine, caller: Caller) -> dict[str, Any]:
    who = caller.principal
    if not who.is_bound:
        counts = memory.stats()
        return {"memories": counts.memories, "messages": counts.messages, "jobs": dict(counts.jobs)}
    owner = {name: part for name in ("user", "app", "agent") if (part := getattr(who, name)) is not None}
    own_memories = MemoryFilter(owner=owner, unexpired_at=services(memory).clock.now())
    return {"memories": services(memory).store.count_memories(own_memories), "messages": None, "jobs": {}}
