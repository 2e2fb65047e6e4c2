"""A program written for Rumi's own modules runs after only its imports are changed."""

import asyncio
import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.designs.rumi import (
    BASE_SYSTEM_PROMPT,
    EXTRACTION_PROMPT,
    AgentLoop,
    Fact,
    ForgetTool,
    MemoryManager,
    MemoryStore,
    Message,
    RememberTool,
    ToolRegistry,
)
from holdfast.errors import InvalidInput
from holdfast.testing import FrozenClock, HashEmbedder

Opening = dict[str, Any]


@pytest.fixture
def opening(clock: FrozenClock) -> Opening:
    return {"clock": clock, "worker": "none", "embedder": HashEmbedder()}


@pytest.fixture
def manager(tmp_path: Path, opening: Opening) -> Any:
    store = MemoryStore(db_path=tmp_path / "memory.db", **opening)
    store.init_db()
    yield MemoryManager(store=store, llm=None)
    store.close()


@pytest.mark.ledger("U4")
def test_the_bootstrap_of_the_design_runs(manager: MemoryManager) -> None:
    registry = ToolRegistry()
    registry.register(RememberTool(manager))
    registry.register(ForgetTool(manager))
    agent = AgentLoop(tools=registry, memory=manager)
    assert agent.memory is manager
    assert [tool.name for tool in registry.list()] == ["remember", "forget"]
    assert registry.list()[0].parameters["required"] == ["key", "value"]


@pytest.mark.ledger("U4")
def test_the_tools_return_the_lines_of_the_design(manager: MemoryManager) -> None:
    remember, forget = RememberTool(manager), ForgetTool(manager)
    done = asyncio.run(remember.execute(key="editor", value="usa Neovim", call_id="1"))
    assert (done.success, done.output) == (True, "Recordado: editor → usa Neovim")
    assert [fact.source for fact in manager.load_all()] == ["explicit"]
    gone = asyncio.run(forget.execute(key="editor"))
    assert gone.success
    assert manager.load_all() == []
    again = asyncio.run(forget.execute(key="editor"))
    assert not again.success
    assert "editor" in again.output


@pytest.mark.ledger("U5")
def test_the_system_prompt_has_tools_skills_and_all_facts(manager: MemoryManager) -> None:
    registry = ToolRegistry()
    registry.register(RememberTool(manager))
    skills = SimpleNamespace(get_available_skills_prompt=lambda: "skills: cocina")
    agent = AgentLoop(tools=registry, memory=manager, skill_manager=skills)
    empty = asyncio.run(agent._build_system_prompt())
    assert "<memory>" not in empty
    manager.remember("nombre: Lucas")
    prompt = asyncio.run(agent.build_system_prompt())
    parts = prompt.split("\n\n")
    assert parts[0] == BASE_SYSTEM_PROMPT
    assert json.loads(parts[1])["name"] == "remember"
    assert parts[2:] == ["skills: cocina", "<memory>\nLo que sabés del usuario:\n- nombre: Lucas\n</memory>"]
    assert asyncio.run(AgentLoop(ToolRegistry()).build_system_prompt()) == BASE_SYSTEM_PROMPT


@pytest.mark.ledger("U2")
@pytest.mark.parametrize("with_model", [True, False])
def test_the_end_of_a_session_stores_its_facts(tmp_path: Path, opening: Opening, *, with_model: bool) -> None:
    def chat(messages: list[dict[str, str]]) -> str:
        assert messages
        return json.dumps({"facts": [{"key": "trabajo", "value": "trabaja en una panadería"}]})

    store = MemoryStore(tmp_path / "memory.db", **opening)
    manager = MemoryManager(store, chat if with_model else None)
    agent = AgentLoop(tools=ToolRegistry(), memory=manager)
    said = [Message(role="user", content="Trabajo en una panadería."), Message("assistant", "¡Qué rico!")]
    asyncio.run(agent.on_session_end(said))
    (fact,) = manager.load_all()
    assert (fact.key, fact.value, fact.source) == ("trabajo", "trabaja en una panadería", "auto")
    assert store.save_facts([fact]) == 1
    assert len(store.get_all()) == 1
    store.close()


def test_messages_may_be_the_hosts_own_objects_or_mappings(manager: MemoryManager) -> None:
    said: list[Any] = [SimpleNamespace(role="user", content="Vivo en Rosario."), {"role": "assistant", "content": "Lindo."}]
    assert ["Rosario" in fact.value for fact in asyncio.run(manager.extract_from_conversation(said))] == [True]
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        asyncio.run(manager.extract_from_conversation([Message("user", "hola"), {"role": "user"}]))


@pytest.mark.ledger("U1")
def test_ids_are_integers_that_stay_after_a_restart_and_a_revision(tmp_path: Path, opening: Opening) -> None:
    store = MemoryStore(tmp_path / "memory.db", **opening)
    first, second = (store.save_fact(Fact(key="mascota", value=value)) for value in ("una gata", "un perro"))
    assert isinstance(first.id, int)
    assert isinstance(second.id, int)
    assert 0 < first.id < second.id
    (stored,) = [memory for memory in store.engine.memories(key="mascota") if memory.text == "una gata"]
    store.engine.revise(stored.id, "una gata gris")
    store.close()
    again = MemoryStore(tmp_path / "memory.db", **opening)
    assert {fact.id: fact.value for fact in again.get_all()} == {first.id: "una gata gris", second.id: "un perro"}
    assert again.delete(first.id) is True
    assert again.delete(first.id) is False
    assert again.delete(10**9) is False
    assert [fact.id for fact in again.get_all()] == [second.id]
    with pytest.raises(InvalidInput):
        again.delete(True)
    again.close()


@pytest.mark.ledger("U1")
def test_a_fact_keeps_the_date_it_is_stored_with(manager: MemoryManager) -> None:
    kept = manager.store.save_fact(Fact(key="ciudad", value="vive en Rosario", created_at="2025-11-01 10:00:00"))
    assert kept.created_at == "2025-11-01 10:00:00"
    assert manager.store.get_by_key("ciudad")[0].created_at == "2025-11-01 10:00:00"
    with pytest.raises(FrozenInstanceError):
        kept.value = "otra"  # type: ignore[misc]


def test_the_extraction_prompt_is_in_spanish_and_asks_for_stable_facts() -> None:
    assert "tercera persona" in EXTRACTION_PROMPT
    assert "JSON" in EXTRACTION_PROMPT
