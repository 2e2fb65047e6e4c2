"""CrewAI needs version 1 of the package ``mcp``. Holdfast's servers also work with that version."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("crewai.memory", reason="CrewAI is not installed: make test-adapters runs its tests")

import mcp

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # mcp 1 and CrewAI
]
client: Any = mcp  # the type checker knows version 2


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOLDFAST_HOME": str(home), "HOLDFAST_EMBEDDER": "none"}


async def _story(session: Any) -> None:
    """Send every kind of MCP request to Holdfast's server, and check the responses."""
    started = await session.initialize()
    assert started.serverInfo.name == "holdfast"
    assert started.instructions
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert tools["store_memory"].inputSchema["required"]
    assert tools["memory_context"].annotations.readOnlyHint
    stored = await session.call_tool("store_memory", {"key": "drink", "content": "tea"})
    assert (stored.isError, stored.structuredContent["content"]) == (False, "tea")
    assert "tea" in (await session.call_tool("memory_context", {"query": "drink"})).content[0].text
    assert (await session.call_tool("store_memory", {})).isError
    with pytest.raises(client.McpError, match="There is no tool nothing") as refused:
        await session.call_tool("nothing", {})
    assert refused.value.error.code == -32602
    assert [str(each.uri) for each in (await session.list_resources()).resources][:1] == ["holdfast://topics"]
    assert (await session.list_resource_templates()).resourceTemplates[0].mimeType == "text/markdown"
    assert "tea" in (await session.read_resource("holdfast://profile")).contents[0].text
    with pytest.raises(client.McpError):
        await session.read_resource("holdfast://nothing")
    assert len((await session.list_prompts()).prompts) == 3
    assert "tea" in (await session.get_prompt("what_do_you_know")).messages[0].content.text
    reference = client.types.ResourceTemplateReference(type="ref/resource", uri="holdfast://topics/{topic}")
    assert (await session.complete(reference, {"name": "topic", "value": "x"})).completion.values == []


def test_this_environment_has_version_1_of_mcp() -> None:
    assert version("mcp").startswith("1.")


def test_every_kind_of_request_works_over_stdio(tmp_path: Path) -> None:
    from mcp.client.stdio import stdio_client  # noqa: PLC0415  (only in this environment)

    async def use() -> None:
        command = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "holdfast.cli", "mcp", "--user", "ana"], env=_environment(tmp_path)
        )
        async with stdio_client(command) as (read, write), client.ClientSession(read, write) as session:
            await _story(session)

    asyncio.run(use())


@contextmanager
def _serving(home: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, env=_environment(home), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()
            server.wait(30)


def test_every_kind_of_request_works_over_http(tmp_path: Path) -> None:
    from mcp.client import streamable_http  # noqa: PLC0415  (only in this environment)

    connect: Any = streamable_http

    async def use(url: str) -> None:
        async with (
            connect.streamablehttp_client(f"{url}mcp?user=ana") as (read, write, _),
            client.ClientSession(read, write) as session,
        ):
            await _story(session)

    with _serving(tmp_path) as url:
        asyncio.run(use(url))
