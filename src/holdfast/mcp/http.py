"""The server over streamable HTTP, as an ASGI application to be mounted at ``/mcp``.

No session is kept between requests, in either era of the protocol, so any of several worker processes can answer any
request. Each request is authorised by itself before anything of it is read. Without a bound key, the address says
whose memories are meant: ``/mcp?user=ana&app=kitchen``.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qs

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from holdfast.access.keys import Principal, ScopeParts, authorize
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.server import Ask, make_server

AsgiScope: TypeAlias = Any
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Identify: TypeAlias = Callable[[AsgiScope], Principal]
"""Says who makes a request, or raises."""
Refuse: TypeAlias = Callable[[HoldfastError], AsgiApp]
"""Makes an answer of an error."""

_SEEN = "holdfast.mcp"
"""Where a request carries who makes it."""


class EngineSource(Protocol):
    """Opens the memory of a tenant."""

    def lease(self, tenant: str) -> AbstractContextManager[Engine]:
        """Return the memory, open for as long as it is needed."""
        ...


class McpApp:
    """The ASGI application. What it needs is started with its first request, and ends with ``run()`` or the event loop."""

    def __init__(self, memories: EngineSource, identify: Identify, refuse: Refuse, *, version: str, body_limit: int) -> None:
        self._memories = memories
        self._identify = identify
        self._refuse = refuse
        self._server = make_server(self._attend, version=version)
        self._body_limit = body_limit
        self._serving: _Serving | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """End what was started when this ends, in the lifespan of the application it is part of."""
        try:
            yield
        finally:
            if self._serving is not None:
                await self._serving.stop()
            self._serving = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            principal = self._identify(scope)
            parts = authorize(principal, "read", **_named(scope))
        except HoldfastError as error:
            await self._refuse(error)(scope, receive, send)
            return
        if scope["method"] != "POST":  # there is no stream to open, and no session to end
            await _say(send, 405, [(b"allow", b"POST")])
            return
        manager = await self._manager()
        # Not every HTTP parser takes away the blanks around a value, and the protocol compares values with the body.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request({**scope, "headers": headers, _SEEN: (principal, parts)}, receive, send)

    async def _manager(self) -> StreamableHTTPSessionManager:
        """Return what speaks the protocol in this event loop."""
        loop = asyncio.get_running_loop()
        if self._serving is None or self._serving.loop is not loop:
            manager = StreamableHTTPSessionManager(
                self._server, json_response=True, stateless=True, max_request_body_size=self._body_limit
            )
            self._serving = _Serving(loop, manager)
        await self._serving.begun.wait()
        return self._serving.manager

    @contextmanager
    def _attend(self, ask: Ask) -> Iterator[McpCaller]:
        assert ask.request is not None
        principal, parts = ask.request.scope[_SEEN]
        with self._memories.lease(principal.tenant) as memory:
            yield McpCaller(memory=memory, principal=principal, parts=parts)


class _Serving:
    """The protocol's machinery, at work in a task of its own: whoever started it may be gone before it ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, manager: StreamableHTTPSessionManager) -> None:
        self.loop = loop
        self.manager = manager
        self.begun = asyncio.Event()
        self._task = loop.create_task(self._run(), name="holdfast-mcp")

    async def _run(self) -> None:
        async with self.manager.run():
            self.begun.set()
            await asyncio.get_running_loop().create_future()  # until it is cancelled

    async def stop(self) -> None:
        """End it."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def make_mcp_app(
    memories: EngineSource, identify: Identify, refuse: Refuse, *, version: str, body_limit: int = 4 * 1024 * 1024
) -> McpApp:
    """Return the application for ``/mcp``: the memories it opens, who is asking, and how a refusal is worded."""
    return McpApp(memories, identify, refuse, version=version, body_limit=body_limit)


def _named(scope: AsgiScope) -> ScopeParts:
    """Return the scope that the address names."""
    query = parse_qs(scope.get("query_string", b"").decode("utf-8", "replace"))
    found: ScopeParts = {"user": None, "app": None, "agent": None}
    for part in ("user", "app", "agent"):
        values = set(query.get(part, ()))
        if len(values) > 1:
            raise InvalidInput(f"{part} is named more than once.")
        found[part] = values.pop() if values else None
    return found


async def _say(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
