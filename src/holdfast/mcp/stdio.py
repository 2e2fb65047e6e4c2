"""The MCP server over standard input and output, for one client and one scope."""

from collections.abc import Sequence
from contextlib import nullcontext

import anyio
from mcp import stdio_server

from holdfast.access.keys import Principal, ScopeParts
from holdfast.agent.tools import language_for
from holdfast.engine import Engine
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.extra_tools import ExtraTool
from holdfast.mcp.server import make_server
from holdfast.services import services


def serve_stdio(
    memory: Engine, parts: ScopeParts, *, version: str, extra_tools: Sequence[ExtraTool] = (), own_tools: bool = True
) -> None:
    """Serve until the client closes the stream. The client may read and write memories. Stdout carries only protocol messages."""
    caller = McpCaller(memory=memory, principal=Principal.local(services(memory).store.tenant), parts=parts)
    server = make_server(
        lambda _ask: nullcontext(caller),
        version=version,
        language=language_for(memory, parts["user"]),
        extra_tools=extra_tools,
        own_tools=own_tools,
    )

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
