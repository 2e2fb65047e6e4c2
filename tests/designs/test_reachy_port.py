"""A program written for Reachy's own modules runs after only its imports are changed."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.designs.reachy import (
    Memory,
    MemoryManager,
    MemoryType,
    ReachyAgentLoop,
    SearchResult,
    forget_memory,
    search_memories,
    startup,
    store_memory,
    use_manager,
)
from holdfast.errors import InvalidInput, NoChatModel
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder, ScriptedChat
from holdfast.types import Scope


@pytest.fixture
def manager(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryManager]:
    opened = MemoryManager(persist_path=tmp_path / "memory", worker="none", embedder=HashEmbedder(), clock=clock)
    use_manager(opened)
    yield opened
    use_manager(None)
    asyncio.run(opened.close())


@pytest.mark.ledger("C1")
def test_a_memory_can_be_created_with_positional_arguments_and_computes_its_expiry() -> None:
    now = datetime(2026, 3, 1, 15, 30, tzinfo=UTC)
    assert Memory("1", "said", MemoryType.CONVERSATION, now).expires_at == now + timedelta(days=30)
    assert Memory("1", "task", MemoryType.CONTEXT, now).expires_at == datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    fact = Memory(id="1", content="likes the sea", memory_type=MemoryType.FACT)
    assert fact.expires_at is None
    assert fact.created_at.tzinfo is not None
    assert SearchResult(fact, 0.5).score == 0.5
    fact.metadata["room"] = "kitchen"
    fact.content = "likes the mountains"
    assert (fact.content, fact.metadata) == ("likes the mountains", {"room": "kitchen"})


@pytest.mark.ledger("C6")
def test_the_three_tools_return_what_the_design_returns(manager: MemoryManager, clock: FrozenClock) -> None:
    async def story() -> None:
        stored = await store_memory("User prefers to be called Alex", metadata={"category": "user_profile"})
        assert stored.keys() == {"id", "content", "type", "created_at"}
        await store_memory("sorting blocks", "context", {"context_key": "task"})
        (found,) = await search_memories("User prefers to be called Alex", memory_type="fact", limit=1)
        assert (found["id"], found["type"], found["metadata"]) == (stored["id"], "fact", {"category": "user_profile"})
        assert 0.3 <= found["score"] <= 1
        assert await manager.get_context("task") == "sorting blocks"
        assert await forget_memory(stored["id"]) == {"success": True, "id": stored["id"]}
        assert await forget_memory(stored["id"]) == {"success": False, "id": stored["id"]}
        with pytest.raises(InvalidInput, match="conversation, fact, context"):
            await store_memory("x", "preference")

    asyncio.run(story())
    clock.advance(timedelta(days=2))
    assert asyncio.run(startup()) in (0, 1)
    assert asyncio.run(manager.get_context("task")) is None


@pytest.mark.ledger("C5", "C7")
def test_the_agent_loop_sends_the_window_to_a_client(manager: MemoryManager) -> None:
    sent: list[dict[str, Any]] = []

    async def create(**request: Any) -> Any:
        sent.append(request)
        return SimpleNamespace(content=[SimpleNamespace(text=f"reply {len(sent)}")])

    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    loop = ReachyAgentLoop(manager, client, system_prompt="You are Reachy.")
    for number in range(7):
        assert asyncio.run(loop.process(f"message {number}")) == f"reply {number + 1}"
    last = sent[-1]
    assert last["system"] == "You are Reachy."
    assert last["messages"][0]["role"] == "user"
    assert last["messages"][-1] == {"role": "user", "content": "message 6"}
    assert len(last["messages"]) == 9


def test_without_a_client_the_memorys_model_answers(tmp_path: Path, clock: FrozenClock) -> None:
    opening: dict[str, Any] = {"worker": "none", "embedder": HashEmbedder(), "clock": clock}
    with_model = MemoryManager(tmp_path / "a", chat=ScriptedChat("hello"), **opening)
    assert asyncio.run(ReachyAgentLoop(with_model).process("hi")) == "hello"
    asyncio.run(with_model.close())
    without = MemoryManager(tmp_path / "b", chat="none", **opening)
    with pytest.raises(NoChatModel):
        asyncio.run(ReachyAgentLoop(without).process("hi"))
    asyncio.run(without.close())


@pytest.mark.ledger("C8")
def test_the_designs_yaml_opens_the_manager(tmp_path: Path, clock: FrozenClock) -> None:
    file = tmp_path / "default.yaml"
    file.write_text(f"memory:\n  path: {tmp_path / 'memory'}\n  context_window_size: 2\n  cleanup_interval: 60\n")
    manager = MemoryManager(config=file, worker="none", embedder=HashEmbedder(), clock=clock)
    assert str(tmp_path / "memory") in services(manager.engine).store.location
    for number in range(6):
        manager.add_to_context_window("user", f"message {number}")
    assert len(manager.get_context_window()) == 4
    assert manager.engine.preset.clean_every == timedelta(seconds=60)
    manager.clear_context_window()
    assert manager.get_context_window() == []
    asyncio.run(manager.close())


@pytest.mark.ledger("C2")
def test_the_engine_the_manager_and_the_tool_return_the_same_hits_and_scores(manager: MemoryManager) -> None:
    async def story() -> None:
        for text in ("User prefers to be called Alex", "The red ball is on the table", "Water boils at a hundred degrees"):
            await manager.remember_fact(text)
        query = "the red ball is under the table"
        searched = [(each.memory.content, round(each.score, 6)) for each in await manager.search(query)]
        served = [(each["content"], round(each["score"], 6)) for each in await search_memories(query)]
        recalled = [(hit.text, round(hit.score, 6)) for hit in manager.engine.recall(query)]
        assert searched == served == recalled
        assert [text for text, _ in recalled][:1] == ["The red ball is on the table"]
        assert all(score >= 0.3 for _, score in recalled)
        assert manager.engine.recall("quantum chromodynamics lecture") == []
        assert [hit.text for hit in manager.engine.recall(query, min_score=0.99)] == []
        everything = await manager.search(query, min_score=0.0)
        assert len(everything) >= len(searched)

    asyncio.run(story())


class LocalEmbedder(HashEmbedder):
    """An embedder that runs in this process."""

    computes = True


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_imported_memories_are_found_by_meaning_at_once(tmp_path: Path, clock: FrozenClock) -> None:
    lines = [json.dumps({"text": f"Fact number {number} about shelf {number * 3}"}) for number in range(300)]
    file = tmp_path / "facts.jsonl"
    old = MemoryManager(tmp_path / "old", worker="none", embedder=HashEmbedder(), clock=clock)
    for line in lines:
        old.engine.remember(json.loads(line)["text"])
    old.engine.export(file)
    asyncio.run(old.close())
    manager = MemoryManager(tmp_path / "new", worker="none", embedder=LocalEmbedder(), clock=clock)
    manager.engine.import_from(file)
    embedding = services(manager.engine).embedding
    assert services(manager.engine).store.count_missing_vectors(embedding.name or "", reader=Scope()) == 0
    asyncio.run(manager.close())
