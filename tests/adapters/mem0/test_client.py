"""The client that has the methods of mem0."""

import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import holdfast
from holdfast.adapters.mem0 import AsyncMemory, Memory, MemoryNotFound
from holdfast.testing import FrozenClock

pytestmark = pytest.mark.ledger("X14")


@pytest.fixture
def client(memory: holdfast.Engine) -> Memory:
    return Memory(memory)


def _texts(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [item["memory"] for item in results["results"]]


def test_memories_are_extracted_from_messages(client: Memory, memory: holdfast.Engine) -> None:
    talk: list[dict[str, Any]] = [
        {"role": "system", "content": "You are helpful."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "I'm allergic to walnuts."}, {"type": "image_url", "image_url": "x"}],
        },
        {"role": "assistant", "content": "Noted."},
    ]
    added = client.add(talk, user_id="ana", agent_id="cook", run_id="r1", metadata={"channel": "web"})
    (item,) = added["results"]
    assert (set(item), item["event"]) == ({"id", "memory", "event"}, "ADD")
    assert "walnuts" in item["memory"]
    stored = client.get(item["id"])
    assert stored is not None
    assert (stored["user_id"], stored["agent_id"], stored["run_id"], stored["metadata"]) == (
        "ana",
        "cook",
        "r1",
        {"channel": "web"},
    )
    assert [row["event"] for row in client.history(item["id"])] == ["ADD"]
    assert memory.stats().messages == 2
    assert _texts(client.search("allergic to walnuts", filters={"user_id": "ana", "agent_id": "cook"})) == [item["memory"]]
    assert _texts(client.search("allergic to walnuts", filters={"user_id": "ana", "agent_id": "driver"})) == []


def test_add_returns_the_memories_even_if_a_worker_thread_extracts_them(open_memory: Callable[..., holdfast.Engine]) -> None:
    client = Memory(open_memory(worker="thread"))
    for number in range(20):
        assert client.add(f"I'm allergic to walnuts number {number}.", user_id=f"u{number}")["results"]


def test_a_run_belongs_to_its_user(client: Memory, memory: holdfast.Engine) -> None:
    for who in ("ana", "bob", None):
        for text in ("I'm allergic to walnuts.", "I'm allergic to pecans."):
            client.add(text, user_id=who, run_id="r")
    assert [len(memory.sessions(user=user)) for user in ("ana", "bob")] == [1, 1]
    assert len(memory.session(id="r", shared=True).messages()) == 2


def test_messages_can_be_stored_as_they_are(client: Memory) -> None:
    talk = [{"role": "user", "content": "We sail on Friday", "name": "ana"}, {"role": "assistant", "content": "The tide is high"}]
    added = client.add(talk, user_id="ana", infer=False)["results"]
    assert [(item["memory"], item["event"], item["actor_id"], item["role"]) for item in added] == [
        ("We sail on Friday", "ADD", "ana", "user"),
        ("The tide is high", "ADD", None, "assistant"),
    ]
    assert _texts(client.get_all(filters={"user_id": "ana", "actor_id": "ana"})) == ["We sail on Friday"]


def test_results_have_the_fields_of_mem0(client: Memory) -> None:
    (item,) = client.add("prefers tea", user_id="ana", metadata={"a": 1}, infer=False)["results"]
    always = {"id", "memory", "hash", "metadata", "created_at", "updated_at", "user_id", "role"}
    assert set(client.get(item["id"]) or {}) == {*always, "score"}
    assert set(client.get_all(filters={"user_id": "ana"})["results"][0]) == always
    (found,) = client.search("prefers tea", filters={"user_id": "ana"})["results"]
    assert set(found) == {*always, "score"}
    assert 0 < found["score"] <= 1
    (explained,) = client.search("prefers tea", filters={"user_id": "ana"}, explain=True)["results"]
    assert explained["score_details"]
    assert client.get("mem_unknown") is None


def test_updating_and_deleting_leave_a_history(client: Memory, clock: FrozenClock) -> None:
    (item,) = client.add("prefers tea", user_id="ana", metadata={"a": 1}, infer=False)["results"]
    clock.advance(timedelta(hours=1))
    assert client.update(item["id"], "prefers coffee", metadata={"b": 2, "user_id": "bob"}) == {
        "message": "Memory updated successfully!"
    }
    changed = client.get(item["id"])
    assert changed is not None
    assert (changed["memory"], changed["metadata"], changed["user_id"]) == ("prefers coffee", {"a": 1, "b": 2}, "ana")
    assert changed["updated_at"] > changed["created_at"]
    assert client.delete(item["id"]) == {"message": "Memory deleted successfully!"}
    assert client.get(item["id"]) is None
    rows = client.history(item["id"])
    assert [(row["event"], row["old_memory"], row["new_memory"], row["is_deleted"]) for row in rows] == [
        ("ADD", None, "prefers tea", False),
        ("UPDATE", "prefers tea", "prefers coffee", False),
        ("DELETE", "prefers coffee", None, True),
    ]
    assert client.history("mem_unknown") == []
    with pytest.raises(ValueError, match="not found"):
        client.delete(item["id"])
    with pytest.raises(MemoryNotFound):
        client.update(item["id"], data="x")


def test_deleting_for_good_leaves_nothing(memory: holdfast.Engine, files_with: Callable[[str], list[str]]) -> None:
    client = Memory(memory, hard_delete=True)
    (item,) = client.add("quiet axolotls dream", user_id="ana", infer=False)["results"]
    assert files_with("axolotl")
    client.delete(item["id"])
    assert files_with("axolotl") == []


def test_users_agents_and_runs_are_separate(client: Memory) -> None:
    owners: list[dict[str, Any]] = [
        {"user_id": "ana"},
        {"user_id": "ana", "agent_id": "a"},
        {"user_id": "ana", "agent_id": "b"},
        {"agent_id": "a"},
    ]
    for who in owners:
        client.add("likes the sea", infer=False, **who)
    client.add("likes the sea", user_id="bob", run_id="1", infer=False)

    def count(**filters: Any) -> tuple[int, int]:
        found = client.search("likes the sea", filters=filters)["results"], client.get_all(filters=filters)["results"]
        return len(found[0]), len(found[1])

    assert count(user_id="ana") == (3, 3)
    assert count(user_id="ana", agent_id="a") == (1, 1)
    assert count(agent_id="a") == (2, 2)
    assert count(run_id="1") == (1, 1)
    assert count(user_id={"in": ["ana", "bob"]}) == (4, 4)
    assert count(OR=[{"user_id": "bob"}, {"agent_id": "b"}]) == (2, 2)
    client.delete_all(user_id="ana", agent_id="a")
    assert count(user_id="ana") == (2, 2)
    client.delete_all(agent_id="a")
    assert count(agent_id="a") == (0, 0)
    client.delete_all(user_id="ana")
    assert count(user_id={"in": ["ana", "bob"]}) == (1, 1)


def test_memories_of_other_programs_are_found_and_shared_ones_are_not(client: Memory, memory: holdfast.Engine) -> None:
    memory.remember("likes the sea", user="ana")
    memory.remember("the sea is wide")
    assert _texts(client.search("sea", filters={"user_id": "ana"})) == ["likes the sea"]
    assert _texts(client.get_all(filters={"user_id": "ana"})) == ["likes the sea"]


def test_the_arguments_of_version_1_work(client: Memory) -> None:
    for number in range(5):
        client.add(f"sailed to harbor {number}", user_id="ana", infer=False)
    assert len(client.get_all(user_id="ana", limit=2)["results"]) == 2
    assert len(client.search("harbor", user_id="ana", limit=3)["results"]) == 3


def test_expired_memories_are_hidden(client: Memory) -> None:
    today = datetime.now(UTC).date()
    client.add("old news", user_id="ana", expiration_date=str(today - timedelta(days=1)), infer=False)
    (item,) = client.add("fresh news", user_id="ana", expiration_date=today, infer=False)["results"]
    filters = {"user_id": "ana"}
    assert _texts(client.get_all(filters=filters)) == _texts(client.search("news", filters=filters)) == ["fresh news"]
    assert len(client.get_all(filters=filters, show_expired=True)["results"]) == 2
    assert len(client.search("news", filters=filters, show_expired=True)["results"]) == 2
    client.update(item["id"], expiration_date=None)
    assert "expiration_date" not in (client.get(item["id"]) or {})


def test_a_timestamp_is_the_time_of_creation(client: Memory) -> None:
    (item,) = client.add("moved to Lyon", user_id="ana", timestamp="2024-05-01T10:00:00+02:00", infer=False)["results"]
    assert (client.get(item["id"]) or {})["created_at"] == "2024-05-01T08:00:00+00:00"
    wanted = {"user_id": "ana", "created_at": {"gte": "2024-01-01", "lt": "2025-01-01T00:00:00Z"}}
    assert _texts(client.get_all(filters=wanted)) == ["moved to Lyon"]


def test_a_reset_erases_everything(client: Memory, memory: holdfast.Engine, files_with: Callable[[str], list[str]]) -> None:
    client.add("quiet axolotls dream", user_id="ana", infer=False)
    client.add([{"role": "user", "content": "I'm allergic to axolotls."}], agent_id="cook")
    memory.remember("axolotls are shared")
    client.reset()
    stats = memory.stats()
    assert (stats.memories, stats.messages, dict(stats.retired)) == (0, 0, {})
    assert files_with("axolotl") == []


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda client: client.add("x"), "At least one of"),
        (lambda client: client.add("x", user_id=" "), "cannot be empty"),
        (lambda client: client.add(7, user_id="ana"), "messages must be"),
        (lambda client: client.add([{"role": "user"}], user_id="ana"), r"messages\[0\] needs"),
        (lambda client: client.add("x", user_id="ana", memory_type="procedural_memory"), "not supported"),
        (lambda client: client.add("x", user_id="ana", expiration_date="soon"), "YYYY-MM-DD"),
        (lambda client: client.search("x"), "at least one of"),
        (lambda client: client.search(" ", filters={"user_id": "ana"}), "query"),
        (lambda client: client.search("x", filters={"user_id": "ana"}, threshold=2), "threshold"),
        (lambda client: client.search("x", filters={"user_id": "ana"}, top_k=-1), "top_k"),
        (lambda client: client.search("x", filters={"user_id": "ana", "a": {"near": 1}}), "Unsupported metadata filter operator"),
        (lambda client: client.get_all(filters={"user_id": "ana", "OR": []}), "OR needs a list"),
        (lambda client: client.get_all(filters={"user_id": "ana", "a": {"in": "x"}}), "needs a list"),
        (lambda client: client.update("mem_x"), "At least one of"),
        (lambda client: client.delete_all(), "At least one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "call",
)
def test_wrong_arguments_are_value_errors(client: Memory, call: Callable[[Memory], Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call(client)


def test_the_async_client_has_the_same_calls(memory: holdfast.Engine) -> None:
    async def use() -> list[str]:
        async with AsyncMemory(memory) as client:
            (item,) = (await client.add("prefers tea", user_id="ana", infer=False))["results"]
            await client.update(item["id"], "prefers coffee")
            assert [row["event"] for row in await client.history(item["id"])] == ["ADD", "UPDATE"]
            return _texts(await client.search("prefers coffee", filters={"user_id": "ana"}))

    assert asyncio.run(use()) == ["prefers coffee"]
    calls = {name for name in vars(Memory) if not name.startswith("_")}
    assert {name for name in vars(AsyncMemory) if not name.startswith("_")} == calls
    for name in calls - {"close"}:
        assert inspect.signature(getattr(AsyncMemory, name)) == inspect.signature(getattr(Memory, name))


def test_a_client_closes_only_a_memory_that_it_opened(
    memory: holdfast.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    with Memory(memory):
        pass
    assert memory.stats().memories == 0
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    with Memory() as client:
        client.add("prefers tea", user_id="ana", infer=False)
    with pytest.raises(holdfast.StoreClosed):
        client.get_all(filters={"user_id": "ana"})
