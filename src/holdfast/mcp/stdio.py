"""The MCP server over standard input and output or a socket, for one client and one scope."""

import socket
from collections.abc import Sequence
from contextlib import nullcontext
from io import TextIOWrapper

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
    memory: Engine,
    parts: ScopeParts,
    *,
    version: str,
    extra_tools: Sequence[ExtraTool] = (),
    own_tools: bool = True,
    project: str | None = None,
    streams: tuple[TextIOWrapper, TextIOWrapper] | None = None,
) -> None:
    """Serve one MCP client until the client closes the stream. Standard output carries only protocol messages.

    The client is allowed to read and write memories. ``parts`` is the scope of the client. ``project`` is the name of the
    project if the app in the scope is a project, otherwise None. ``streams`` replaces standard input and output.
    """
    caller = McpCaller(memory=memory, principal=Principal.local(services(memory).store.tenant), parts=parts, project=project)
    server = make_server(
        lambda _ask: nullcontext(caller),
        version=version,
        language=language_for(memory, parts["user"]),
        extra_tools=extra_tools,
        own_tools=own_tools,
    )

    async def serve() -> None:
        files = [anyio.wrap_file(stream) for stream in streams or ()]
        async with stdio_server(*files) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def serve_connection(
    memory: Engine,
    parts: ScopeParts,
    connection: socket.socket,
    *,
    version: str,
    extra_tools: Sequence[ExtraTool] = (),
    own_tools: bool = True,
    project: str | None = None,
) -> None:
    """Serve a client over a socket until it closes the connection. See :func:`serve_stdio` for the arguments."""
    with (
        connection.makefile("r", encoding="utf-8", errors="replace", newline="\n") as incoming,
        connection.makefile("w", encoding="utf-8", newline="\n") as outgoing,
    ):
        streams = (incoming, outgoing)
        serve_stdio(
            memory, parts, version=version, extra_tools=extra_tools, own_tools=own_tools, project=project, streams=streams
        )
