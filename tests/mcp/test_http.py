"""The MCP server over HTTP: authorization, and both protocol generations. The server keeps no session."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import httpx2
import pytest
from mcp import Client

from holdfast.server.tenants import EnginePool

from .support import ERAS, Served, tell, text_of


def _contents(result: Any) -> list[str]:
    return sorted(each["content"] for each in result.structured_content["memories"])


async def _list(client: Client) -> list[str]:
    return _contents(await client.call_tool("list_memories", {}))


def _post(served: Served, body: Any = None, *, query: str = "", **headers: str) -> httpx2.Response:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    given = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"} | headers
    return httpx2.post(f"{served.url}/mcp{query}", json=call if body is None else body, headers=given, timeout=60)


@pytest.mark.ledger("C6")
@pytest.mark.parametrize("era", ERAS)
def test_an_id_from_a_search_can_be_forgotten_with_every_protocol_version(served: Served, era: str) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("store_memory", {"content": "Ana prefers tea"})
        found = await client.call_tool("search_memories", {"query": "tea"})
        (only,) = found.structured_content["result"]
        gone = await client.call_tool("forget_memory", {"memory_id": only["id"]})
        assert gone.structured_content == {"success": True, "id": only["id"]}
        assert (await client.call_tool("search_memories", {"query": "tea"})).structured_content == {"result": []}

    tell(served.mcp(query="?user=ana"), story, era=era)


def test_the_query_string_selects_whose_memories_are_used(served: Served) -> None:
    served.pool.operator.remember("prefers tea", user="ana")
    assert tell(served.mcp(query="?user=ana"), _list) == ["prefers tea"]
    assert tell(served.mcp(query="?user=bob"), _list) == []
    assert tell(served.mcp(), _list) == []


def test_no_session_is_kept_so_any_worker_can_answer(served: Served) -> None:
    answer = _post(served)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers
    assert len(answer.json()["result"]["tools"]) == 10


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_to_open_and_no_session_to_end(served: Served, method: str) -> None:
    answer = httpx2.request(method, f"{served.url}/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.ledger("X8")
def test_once_a_key_exists_requests_without_a_key_are_refused(served: Served) -> None:
    key = served.key("write")
    stranger = _post(served)
    assert stranger.status_code == 401
    assert stranger.json()["code"] == "unauthorized"
    assert stranger.headers["www-authenticate"].startswith("Bearer")
    assert _post(served, authorization="Bearer hf_wrong").status_code == 401
    assert _post(served, authorization=f"Bearer {key}").status_code == 200


@pytest.mark.ledger("X8")
def test_a_revoked_key_is_refused_at_once(served: Served) -> None:
    served.key("admin")
    record, key = served.pool.gate.create_key(level="write")
    assert _post(served, authorization=f"Bearer {key}").status_code == 200
    served.pool.gate.revoke(record.id)
    assert _post(served, authorization=f"Bearer {key}").status_code == 401


@pytest.mark.ledger("X8")
def test_a_key_that_may_read_changes_nothing(served: Served) -> None:
    served.pool.operator.remember("prefers tea", user="ana")
    key = served.key("read", user="ana")

    async def story(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"search_memories", "memory_context", "list_memories", "memory_history"}
        assert await _list(client) == ["prefers tea"]
        calls: dict[str, dict[str, Any]] = {
            "store_memory": {"content": "prefers coffee"},
            "update_memory": {"memory_id": served.pool.operator.memories(user="ana")[0].id, "content": "prefers coffee"},
            "add_messages": {"messages": [{"role": "user", "content": "I prefer coffee"}]},
            "end_conversation": {"conversation_id": "c1"},
            "undo_change": {"change_id": "chg_absent"},
            "forget_memory": {"memory_id": served.pool.operator.memories(user="ana")[0].id},
        }
        for name, given in calls.items():
            assert (await client.call_tool(name, given)).is_error
        assert await _list(client) == ["prefers tea"]

    tell(served.mcp(key), story)


@pytest.mark.ledger("X8")
def test_a_bound_key_reaches_only_its_own_user_app_and_tenant(served: Served) -> None:
    memory = served.pool.operator
    anas, bobs = memory.remember("prefers tea", user="ana"), memory.remember("prefers coffee", user="bob")
    with served.pool.lease("other") as other:
        other.remember("another tenant's", user="ana")
    key = served.key("write", user="ana")

    async def story(client: Client) -> None:
        assert await _list(client) == ["prefers tea"]
        foreign = await client.call_tool("forget_memory", {"memory_id": bobs.id})
        absent = await client.call_tool("forget_memory", {"memory_id": "mem_absent"})
        assert text_of(foreign).replace(bobs.id, "") == text_of(absent).replace("mem_absent", "")
        assert not (await client.call_tool("forget_memory", {"memory_id": anas.id})).is_error

    tell(served.mcp(key), story)
    assert [each.text for each in memory.memories(user="bob")] == ["prefers coffee"]
    assert _post(served, query="?user=bob", authorization=f"Bearer {key}").status_code == 404
    assert tell(served.mcp(served.key("write", tenant="other"), "?user=ana"), _list) == ["another tenant's"]


@pytest.mark.ledger("X8")
@pytest.mark.parametrize("name", ["memory_id", "key"])
def test_a_key_of_an_app_forgets_nothing_that_all_apps_share(served: Served, name: str) -> None:
    memory = served.pool.operator
    shared = memory.remember("the house has a garden", key="house")
    key = served.key("write", app="kitchen")
    given = {name: shared.id if name == "memory_id" else "house"}
    assert tell(served.mcp(key), lambda client: client.call_tool("forget_memory", given)).is_error
    assert [each.text for each in memory.memories()] == ["the house has a garden"]


def test_a_request_from_another_web_page_is_refused(served: Served) -> None:
    assert _post(served, origin="http://evil.example").status_code == 403
    assert _post(served, host="evil.example").status_code in (403, 421)


@pytest.mark.parametrize(
    ("body", "status"),
    [("nonsense", 400), ([], 400), ({"jsonrpc": "2.0", "id": 1, "method": "dream"}, 200), ({"id": 1}, 400)],
    ids=["text", "list", "unknown method", "no protocol"],
)
def test_a_line_that_is_not_a_protocol_message_is_answered_with_an_error(served: Served, body: Any, status: int) -> None:
    answer = _post(served, body)
    assert answer.status_code == status
    assert "error" in answer.json()


def test_a_scope_part_that_is_given_twice_is_refused(served: Served) -> None:
    answer = _post(served, query="?user=ana&user=bob")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_a_large_body_is_refused(served: Served) -> None:
    params = {"name": "store_memory", "arguments": {"content": "x" * 5_000_000}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert _post(served, call).status_code == 413
    assert served.pool.operator.memories() == []


@pytest.mark.long
def test_many_clients_at_once_are_all_answered(served: Served, pool: EnginePool) -> None:
    async def one(number: int) -> None:
        async with Client(served.mcp(query=f"?user=u{number}")) as client:
            await client.call_tool("store_memory", {"key": "number", "content": f"is number {number}"})
            assert await _list(client) == [f"is number {number}"]

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(20)))

    asyncio.run(all_of_them())
    assert pool.operator.stats().memories == 20


def test_a_server_imports_the_mcp_package_only_when_it_is_asked() -> None:
    program = "import sys, holdfast.cli.serving.processes; print([name for name in ('fastapi', 'mcp') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "['fastapi']\n"


def test_answers_are_utf_8_json(served: Served) -> None:
    call = {"name": "store_memory", "arguments": {"key": "bebida", "content": "té con limón 🍋"}}
    answer = _post(served, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
    assert answer.headers["content-type"].startswith("application/json")
    assert json.loads(answer.content.decode("utf-8"))["result"]["structuredContent"]["content"] == "té con limón 🍋"
