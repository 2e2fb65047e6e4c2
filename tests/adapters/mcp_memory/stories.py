"""A list of calls to the nine tools of an MCP memory server, and clients that make these calls to compare two servers."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

Call = tuple[str, dict[str, Any]]


def _entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def _relation(start: str, kind: str, end: str) -> dict[str, str]:
    return {"from": start, "to": end, "relationType": kind}


ANA = _entity("Ana", "person", "works at a shipyard", "token: abc123def456ghi789", " Éire\n")
STORY: list[Call] = [
    ("read_graph", {}),
    ("create_entities", {"entities": [ANA, _entity("Miso", "cat"), _entity("Lyon", "city", "has two rivers")]}),
    ("create_entities", {"entities": [_entity("Ana", "robot", "beeps"), _entity("ana", "person", "is another one")]}),
    ("create_entities", {"entities": []}),
    ("create_relations", {"relations": [_relation("Ana", "lives in", "Lyon"), _relation("Ana", "owns", "Miso")]}),
    ("create_relations", {"relations": [_relation("Ana", "owns", "Miso"), _relation("Ana", "sails to", "nowhere")]}),
    ("add_observations", {"observations": [{"entityName": "Miso", "contents": ["is gray", "sleeps", "is gray"]}]}),
    ("add_observations", {"observations": [{"entityName": "Miso", "contents": ["sleeps", "eats fish"]}]}),
    (
        "add_observations",
        {"observations": [{"entityName": "Lyon", "contents": ["rains"]}, {"entityName": "X", "contents": ["y"]}]},
    ),
    ("read_graph", {}),
    ("search_nodes", {"query": "SHIPYARD"}),
    ("search_nodes", {"query": "cat"}),
    ("search_nodes", {"query": "an"}),
    ("search_nodes", {"query": ""}),
    ("open_nodes", {"names": ["Miso", "Nobody"]}),
    ("open_nodes", {"names": []}),
    ("delete_observations", {"deletions": [{"entityName": "Miso", "observations": ["sleeps", "flies"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "Nobody", "observations": ["sleeps"]}]}),
    ("delete_relations", {"relations": [_relation("Ana", "lives in", "Lyon"), _relation("a", "b", "c")]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Ana", "Nobody"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [{"name": "no type"}]}),
    ("open_nodes", {}),
]


def holdfast_server(home: Path, *args: str) -> StdioServerParameters:
    """Return the command that serves a data directory, without model weights."""
    folders = {"HOLDFAST_HOME": str(home), "HOLDFAST_MODELS": str(home / "none"), "HOLDFAST_EMBEDDER": "arctic-embed-s"}
    return StdioServerParameters(command=sys.executable, args=["-m", "holdfast.cli", "mcp", *args], env={**os.environ, **folders})


def play(server: StdioServerParameters, calls: list[Call], *, mode: Any = "auto") -> list[dict[str, Any]]:
    """Make calls to a server with the official client. Return one dict per call: its name, and whether it failed.

    If the call succeeded, the dict also contains the structured data and the text of the result.
    """

    async def told() -> list[dict[str, Any]]:
        results = []
        async with Client(server, mode=mode) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                failed = bool(result.is_error)
                text = None if failed else "\n".join(part.text for part in result.content if part.type == "text")
                results.append(
                    {"call": name, "failed": failed, "data": None if failed else result.structured_content, "text": text}
                )
        return results

    return asyncio.run(told())


def tools_of(server: StdioServerParameters) -> dict[str, dict[str, Any]]:
    """Return the tools that a server lists, by name."""

    async def told() -> dict[str, dict[str, Any]]:
        async with Client(server) as client:
            listed = await client.list_tools()
        return {tool.name: tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools}

    return asyncio.run(told())
