"""The MCP server over stdio, as assistants start it: every protocol version, and several servers at once on one store."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from mcp import Client

import holdfast

from .support import ERAS, Stdio, executable, tell, text_of

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.long
@pytest.mark.ledger("C6")
@pytest.mark.parametrize("era", ERAS)
def test_the_three_tools_have_the_designs_arguments_and_results(stdio: Stdio, era: str) -> None:
    async def story(client: Client) -> None:
        stored = await client.call_tool(
            "store_memory",
            {"content": "User prefers to be called Alex", "metadata": {"category": "user_profile", "field": "name"}},
        )
        assert stored.structured_content is not None
        assert set(stored.structured_content) == {"id", "content", "type", "created_at"}
        assert (stored.structured_content["content"], stored.structured_content["type"]) == (
            "User prefers to be called Alex",
            "fact",
        )
        assert json.loads(text_of(stored)) == stored.structured_content
        await client.call_tool("store_memory", {"content": "User asked about the weather", "memory_type": "conversation"})

        found = await client.call_tool("search_memories", {"query": "user preferences", "memory_type": "fact", "limit": 5})
        (only,) = found.structured_content["result"]
        assert set(only) == {"id", "content", "type", "score", "created_at", "metadata"}
        assert only["metadata"] == {"category": "user_profile", "field": "name"}
        assert 0 <= only["score"] <= 1
        shown, notice = text_of(found).splitlines()
        assert json.loads(shown) == only
        assert notice.startswith("Searched by words only: ")

        gone = await client.call_tool("forget_memory", {"memory_id": only["id"]})
        assert gone.structured_content == {"success": True, "id": only["id"]}
        again = await client.call_tool("search_memories", {"query": "user preferences", "memory_type": "fact"})
        assert (again.structured_content["result"], text_of(again).splitlines()) == ([], ["[]", notice])

    tell(stdio("--preset", "reachy"), story, era=era)


@pytest.mark.long
@pytest.mark.ledger("C6")
def test_a_context_replaces_only_an_earlier_context_with_the_same_key(stdio: Stdio) -> None:
    async def story(client: Client) -> set[str]:
        for content, key in [("waving", "task"), ("dancing", "task"), ("it rains", None), ("the door is open", None)]:
            metadata = {"context_key": key} if key else None
            await client.call_tool("store_memory", {"content": content, "memory_type": "context", "metadata": metadata})
        listed = await client.call_tool("list_memories", {"memory_type": "context"})
        return {each["content"] for each in listed.structured_content["memories"]}

    assert tell(stdio("--preset", "reachy"), story) == {"dancing", "it rains", "the door is open"}


@pytest.mark.long
@pytest.mark.ledger("X8")
def test_several_servers_on_one_store_see_each_other_at_once(stdio: Stdio) -> None:
    async def story() -> None:
        async with Client(stdio("--user", "ana")) as one, Client(stdio("--user", "ana")) as two, Client(stdio()) as other:
            written = [
                client.call_tool("store_memory", {"key": f"{name} {number}", "content": f"the {name} number {number}"})
                for number in range(10)
                for name, client in (("cup", one), ("plate", two))
            ]
            assert not any(result.is_error for result in await asyncio.gather(*written))
            for client in (one, two):
                listed = await client.call_tool("list_memories", {"limit": 100})
                assert len(listed.structured_content["memories"]) == 20
            assert (await other.call_tool("list_memories", {})).structured_content["memories"] == []

    asyncio.run(story())


@pytest.mark.long
def test_memories_survive_a_restart_of_the_server(stdio: Stdio) -> None:
    async def remember(client: Client) -> Any:
        return await client.call_tool("store_memory", {"key": "drink", "content": "prefers tea"})

    async def recall(client: Client) -> Any:
        return await client.call_tool("memory_context", {"query": "what should I pour her, tea or coffee?"})

    assert not tell(stdio("--user", "ana"), remember).is_error
    assert "prefers tea" in text_of(tell(stdio("--user", "ana"), recall))
    assert "prefers tea" not in text_of(tell(stdio("--user", "bob"), recall))


@pytest.mark.long
def test_tools_and_instructions_are_in_the_users_language(stdio: Stdio) -> None:
    with holdfast.open(stdio.home / "memory.db", embedder="none", worker="none") as memory:
        memory.set_user("ana", language="es")

    async def story(client: Client) -> None:
        assert "Holdfast recuerda" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["memory_context"].title == "Obtener recuerdos relevantes"
        assert "Busca por significado" in (tools["search_memories"].description or "")
        kept = await client.call_tool("store_memory", {"key": "bebida", "content": "prefiere el café cortado"})
        assert "prefiere el café cortado" in text_of(kept)
        found = await client.call_tool("search_memories", {"query": "¿cómo le gusta el cafe?"})
        assert "prefiere el café cortado" in text_of(found)
        wrong = await client.call_tool("store_memory", {"content": "x", "memory_type": "sueño"})
        assert "no se llamó correctamente" in text_of(wrong)
        prompt = await client.get_prompt("what_do_you_know", {"about": "bebidas"})
        assert "Cuéntame qué sabes de mí en relación con bebidas" in text_of(prompt)
        assert text_of(await client.read_resource("holdfast://profile")).startswith("# Perfil")

    tell(stdio("--user", "ana"), story)


def _exchange(stdio: Stdio, *lines: str, answers: int = 1) -> list[Any]:
    """Write lines, read the given number of responses, and close the stream. Check that the server exits without other output."""
    with subprocess.Popen(
        [executable(), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=stdio.environment, encoding="utf-8"
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("".join(f"{line}\n" for line in lines))
        server.stdin.flush()
        heard = [server.stdout.readline() for _ in range(answers)]
        rest, _ = server.communicate(timeout=60)
        assert (rest, server.returncode) == ("", 0)
    return [json.loads(line) for line in heard]


def _request(id: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def _initialize(version: str) -> str:
    return _request(1, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})


@pytest.mark.long
@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_version_is_spoken(stdio: Stdio, version: str) -> None:
    (heard,) = _exchange(stdio, _initialize(version))
    answer = heard["result"]
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "holdfast"
    assert {"tools", "resources", "prompts"} <= set(answer["capabilities"])


@pytest.mark.long
def test_stdout_contains_only_protocol_messages(stdio: Stdio) -> None:
    heard = _exchange(
        stdio,
        _initialize("2025-11-25"),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        _request(2, "tools/call", name="store_memory", arguments={"content": "línea\nsegunda\u2028tercera"}),
        "this is no protocol at all",
        _request(3, "tools/call", name="search_memories", arguments={"query": "segunda"}),
        answers=3,
    )
    assert {answer["id"] for answer in heard} == {1, 2, 3}
    assert all(answer["jsonrpc"] == "2.0" for answer in heard)


def test_a_missing_extra_is_named_with_how_to_get_it(stdio: Stdio) -> None:
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['holdfast', 'mcp']; import holdfast.cli; holdfast.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], env=stdio.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "holdfast-memory[mcp]"' in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
