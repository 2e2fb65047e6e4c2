"""An MCP client that uses the knowledge graph of `holdfast mcp --tools graph`. Run: pip install 'holdfast-memory[mcp]'."""

import asyncio
import os
import sys
import tempfile

from mcp import Client, StdioServerParameters


async def talk(home: str) -> None:
    """Start the MCP server, create two entities with a relation between them, and search for one of them."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast.cli", "mcp", "--tools", "graph", "--user", "ana"],
        env={**os.environ, "HOLDFAST_HOME": home},
    )
    async with Client(command) as client:
        tools = (await client.list_tools()).tools
        print("tools:", ", ".join(tool.name for tool in tools))
        entities = [
            {"name": "Ana", "entityType": "person", "observations": ["builds boats"]},
            {"name": "Miso", "entityType": "cat", "observations": ["sleeps all day"]},
        ]
        await client.call_tool("create_entities", {"entities": entities})
        relation = {"from": "Ana", "to": "Miso", "relationType": "owns"}
        await client.call_tool("create_relations", {"relations": [relation]})
        found = await client.call_tool("search_nodes", {"query": "cat"})
        print("found:", found.structured_content)


def main() -> None:
    """Run the example with a temporary data directory."""
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(talk(home))


if __name__ == "__main__":
    main()
