"""The MCP server over streamable HTTP, as an ASGI application for ``/mcp``.

No state is kept between requests, so any worker process can answer any request. Each request is authorized before its
body is read. If the access key is not bound to a scope, the query string names the scope: ``/mcp?user=ana&app=kitchen``.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import parse_qs

from holdfast.access.keys import Principal, ScopeParts, authorize
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.mcp.caller import McpCaller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from holdfast.mcp.server import McpRequest

AsgiScope: TypeAlias = Any
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Identify: TypeAlias = Callable[[AsgiScope], Principal]
"""Function that returns the principal of an ASGI request, or raises an error."""
Refuse: TypeAlias = Callable[[HoldfastError], AsgiApp]
"""Function that converts an error to an ASGI application. The application sends the error as the response."""

_CALLER_KEY = "holdfast.mcp"
"""Key under which the ASGI scope (the request's dict) holds the principal and the Holdfast scope of a request."""


class EngineSource(Protocol):
    """Interface of a pool that leases the engine of each tenant."""

    def lease(self, tenant: str) -> AbstractContextManager[Engine]:
        """Return a context manager that holds the tenant's engine open."""
        ...


class McpApp:
    """The ASGI application for ``/mcp``.

    The first request imports the MCP package and starts the session manager. The package is not imported earlier,
    because the import takes about a second, and many servers never get an MCP request. The session manager stops when
    ``run()`` exits.
    """

    def __init__(self, memories: EngineSource, identify: Identify, refuse: Refuse, *, version: str, body_limit: int) -> None:
        self._memories = memories
        self._identify = identify
        self._refuse = refuse
        self._version = version
        self._body_limit = body_limit
        self._running: _RunningManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Return a context manager that stops the session manager on exit."""
        try:
            yield
        finally:
            if self._running is not None:
                await self._running.stop()
            self._running = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass a ``POST`` request to the session manager.

        If the access key does not allow reading, or the method is not ``POST``, send an error response instead.
        """
        try:
            principal = self._identify(scope)
            parts = authorize(principal, "read", **_scope_in_query(scope))
        except HoldfastError as error:
            await self._refuse(error)(scope, receive, send)
            return
        if scope["method"] != "POST":  # stateless: there is no stream to open and no session to end
            await _send_empty(send, 405, [(b"allow", b"POST")])
            return
        manager = await self._manager()
        # The protocol compares header values with the body, and some HTTP parsers keep the whitespace around them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request({**scope, "headers": headers, _CALLER_KEY: (principal, parts)}, receive, send)

    async def _manager(self) -> "StreamableHTTPSessionManager":
        """Return the session manager of the current event loop, starting it if needed."""
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.loop is not loop:
            manager = await asyncio.to_thread(self._make_manager)
            if self._running is None or self._running.loop is not loop:  # else another request started one meanwhile
                self._running = _RunningManager(loop, manager)
        await self._running.started.wait()
        return self._running.manager

    def _make_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  (takes a second)

        from holdfast.mcp.server import make_server  # noqa: PLC0415  (imports MCP, too)

        server = make_server(self._caller_of, version=self._version)
        return StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=self._body_limit)

    @contextmanager
    def _caller_of(self, request: "McpRequest") -> Iterator[McpCaller]:
        assert request.request is not None
        principal, parts = request.request.scope[_CALLER_KEY]
        with self._memories.lease(principal.tenant) as memory:
            yield McpCaller(memory=memory, principal=principal, parts=parts)


class _RunningManager:
    """A session manager that runs in its own task, independent of the request that started it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, manager: "StreamableHTTPSessionManager") -> None:
        self.loop = loop
        self.manager = manager
        self.started = asyncio.Event()
        self._task = loop.create_task(self._run(), name="holdfast-mcp")

    async def _run(self) -> None:
        async with self.manager.run():
            self.started.set()
            await asyncio.get_running_loop().create_future()  # wait until cancelled

    async def stop(self) -> None:
        """Cancel the task and wait for it to end."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def make_mcp_app(
    memories: EngineSource, identify: Identify, refuse: Refuse, *, version: str, body_limit: int = 4 * 1024 * 1024
) -> McpApp:
    """Create the application for ``/mcp``.

    ``memories`` provides the engine of each tenant. ``identify`` returns the principal of a request. ``refuse`` converts an
    error to a response. ``body_limit`` is the maximum size of a request body in bytes.
    """
    return McpApp(memories, identify, refuse, version=version, body_limit=body_limit)


def _scope_in_query(scope: AsgiScope) -> ScopeParts:
    """Return the scope that the query string of a request names."""
    query = parse_qs(scope.get("query_string", b"").decode("utf-8", "replace"))
    found: ScopeParts = {"user": None, "app": None, "agent": None}
    for part in ("user", "app", "agent"):
        values = set(query.get(part, ()))
        if len(values) > 1:
            raise InvalidInput(f"The query string names {part} more than once. Name it once.")
        found[part] = values.pop() if values else None
    return found


async def _send_empty(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
