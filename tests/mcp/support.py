"""Three ways to connect to the MCP server: a subprocess over stdio, a real HTTP server, and in process."""

import asyncio
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, GetPromptResult, ReadResourceResult, TextContent, TextResourceContents

from holdfast import Engine
from holdfast.access.keys import Principal
from holdfast.config.settings import Settings
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.http import make_mcp_app
from holdfast.mcp.server import make_server
from holdfast.server.api.problem import problem_of
from holdfast.server.app import make_app
from holdfast.server.metrics import make_metrics_app
from holdfast.server.middleware.security import principal_of
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.types import KeyLevel

R = TypeVar("R")
ERAS = ("legacy", "auto", "2026-07-28")
"""Connection modes of the client: the handshake of 2025 and earlier, automatic detection, and the stateless protocol."""
Story = Callable[[Client], Awaitable[R]]


def tell(target: Any, story: Story[R], *, era: str = "auto") -> R:
    """Connect the official client to a server, call the given function with the client, and return the result."""

    refused: list[MCPError] = []

    async def told() -> Any:
        async with Client(target, mode=era) as client:
            try:
                return await story(client)
            except MCPError as error:  # raised outside the client, where it is not wrapped in an exception group
                refused.append(error)

    result: R = asyncio.run(told())
    if refused:
        raise refused[0]
    return result


@dataclass(frozen=True)
class Stdio:
    """The installed command ``holdfast mcp``, with a data directory for the test and without model weights."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        folders = {"HOLDFAST_HOME": str(self.home), "HOLDFAST_MODELS": str(self.home / "no-weights")}
        more = {"HOLDFAST_EMBEDDER": "arctic-embed-s", "HOLDFAST_RESIDENT_IDLE_MINUTES": "0.05"}
        return {**os.environ, **folders, **more}

    def __call__(self, *args: str) -> StdioServerParameters:
        return StdioServerParameters(command=executable(), args=["mcp", *args], env=self.environment)


def executable() -> str:
    found = shutil.which("holdfast", path=str(Path(sys.executable).parent))
    assert found, "holdfast is not installed beside this Python"
    return found


def in_process(memory: Engine, *, level: KeyLevel = "write", **parts: str | None) -> Any:
    """Return an MCP server for one caller. A client in this process connects to it without a transport."""
    scope: Any = {"user": None, "app": None, "agent": None} | parts
    caller = McpCaller(memory=memory, principal=Principal.local(services(memory).store.tenant, level=level), parts=scope)
    return make_server(lambda _ask: nullcontext(caller), version="1")


@dataclass(frozen=True)
class Served:
    """A running HTTP server."""

    url: str
    pool: EnginePool

    def mcp(self, key: str | None = None, query: str = "") -> Any:
        """Return a connection to this server's MCP endpoint, with an access key if one is given."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        plain = httpx2.AsyncClient(headers=headers, timeout=30, verify=False)  # loading certificates takes longer than most calls
        return streamable_http_client(f"{self.url}/mcp{query}", http_client=plain)

    def key(self, level: KeyLevel, **bound: Any) -> str:
        """Create an access key."""
        return self.pool.gate.create_key(level=level, **bound)[1]


@contextmanager
def serving(pool: EnginePool, settings: Callable[[str], Settings] = lambda _url: Settings()) -> Iterator[Served]:
    """Serve a pool with uvicorn on a free loopback port. ``settings`` returns the settings for the server's URL."""

    def make(url: str) -> Any:
        mcp_app = make_mcp_app(pool, principal_of, problem_of, version="1")
        return make_app(pool, settings(url), mcp_app=mcp_app, metrics_app=make_metrics_app(pool))

    with running(make) as url:
        yield Served(url, pool)


@contextmanager
def running(make: Callable[[str], Any]) -> Iterator[str]:
    """Run an ASGI application with uvicorn on a free loopback port. ``make`` receives the URL and returns the application."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        config = uvicorn.Config(make(url), log_level="error", proxy_headers=False, lifespan="on", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        until = time.monotonic() + 60
        while not server.started:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.02)
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(60)


def text_of(result: CallToolResult | GetPromptResult | ReadResourceResult) -> str:
    """Return the text content of a result, as a client without structured content shows it."""
    if isinstance(result, ReadResourceResult):
        return "\n".join(part.text for part in result.contents if isinstance(part, TextResourceContents))
    parts = result.content if isinstance(result, CallToolResult) else [message.content for message in result.messages]
    return "\n".join(part.text for part in parts if isinstance(part, TextContent))
