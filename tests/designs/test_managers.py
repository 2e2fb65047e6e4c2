"""Rostro's and Rumi's own classes and methods, which wrap the engine."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.designs import rostro, rumi
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder

Opening = dict[str, Any]


@pytest.fixture
def opening(clock: FrozenClock) -> Opening:
    return {"clock": clock, "worker": "none"}


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return {"db_path": str(tmp_path / "rostro.db"), "topics_dir": str(tmp_path / "topics")}


@pytest.mark.ledger("R11")
def test_rostros_manager_takes_messages_and_returns_the_prompt(config: dict[str, str], opening: Opening) -> None:
    with rostro.MemoryManager(config, embedding_provider=HashEmbedder(), **opening) as memory:
        memory.on_user_message("I decided to use bomba rice for the paella from now on.")
        memory.on_assistant_message("Good choice.")
        memory.close_session()
        memory.engine.drain()
        memory.on_user_message("Which bomba rice did I decide to use for the paella?")
        prompt = memory.get_context(persona="You are Rostro.")
        assert prompt.startswith("You are Rostro.")
        assert "bomba rice" in prompt
        assert "persistent memory" in prompt
        assert memory.get_history() == [{"role": "user", "content": "Which bomba rice did I decide to use for the paella?"}]


@pytest.mark.ledger("R11")
def test_rostros_silence_closes_the_conversation_and_draws_its_conclusions(
    config: dict[str, str], opening: Opening, clock: FrozenClock
) -> None:
    with rostro.MemoryManager(config, embedding_provider=HashEmbedder(), **opening) as memory:
        memory.on_user_message("I decided to use bomba rice for the paella from now on.")
        clock.advance(timedelta(minutes=8))
        memory.engine.drain()
        assert memory.get_history() == []
        assert memory.engine.memories(kinds=["conclusion"])


def test_rostros_llm_and_embedder_may_be_functions(config: dict[str, str], opening: Opening) -> None:
    asked: list[object] = []

    def chat(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return "{}"

    with rostro.MemoryManager(config, chat, lambda text: [1.0, float(len(text))], **opening) as memory:
        memory.on_user_message("I decided to use bomba rice for the paella from now on.")
        memory.close_session()
        memory.engine.drain()
        assert asked
        assert services(memory.engine).embedding.embedder() is not None


@pytest.fixture
def store(tmp_path: Path, opening: Opening) -> rumi.MemoryStore:
    return rumi.MemoryStore(tmp_path / "rumi.db", embedder=HashEmbedder(), **opening)


def test_rumis_store_saves_lists_and_deletes_facts(store: rumi.MemoryStore, clock: FrozenClock) -> None:
    store.init_db()
    cat = store.save_fact(rumi.Fact(key="mascota", value="tiene un gato llamado Michi"))
    assert store.save_facts([rumi.Fact(key="mascota", value="tiene una perra"), rumi.Fact(key="nombre", value="Lucas")]) == 2
    assert (cat.source, cat.created_at) == ("auto", "2026-03-01 12:00:00")
    clock.advance(timedelta(days=3))
    again = store.save_fact(rumi.Fact(key="mascota", value="tiene un gato llamado Michi", source="explicit"))
    assert (again.id, again.created_at, again.updated_at) == (cat.id, "2026-03-01 12:00:00", "2026-03-04 12:00:00")
    assert [fact.value for fact in store.get_by_key("mascota")] == ["tiene un gato llamado Michi", "tiene una perra"]
    assert cat.id is not None
    assert store.delete(cat.id) is True
    assert store.delete(cat.id) is False
    assert store.delete_by_key("mascota") == 1
    store.close()
    assert [fact.key for fact in store.get_all()] == ["nombre"]
    store.close()


def test_rumis_manager_remembers_forgets_and_writes_the_block(store: rumi.MemoryStore) -> None:
    manager = rumi.MemoryManager(store)
    assert manager.format_for_prompt(manager.load_all()) == ""
    fact = manager.remember("nombre: Lucas")
    assert (fact.key, fact.value, fact.source) == ("nombre", "Lucas", "explicit")
    assert manager.remember("prefiere TypeScript").key == "nota"
    assert manager.format_for_prompt(manager.load_all()) == (
        "<memory>\nLo que sabés del usuario:\n- nombre: Lucas\n- nota: prefiere TypeScript\n</memory>"
    )
    assert manager.format_for_prompt([rumi.Fact(key="hobby", value="remo")]).splitlines()[2] == "- hobby: remo"
    assert manager.forget("nombre") == 1
    assert (manager.forget("nombre"), manager.store.delete("mem_absent")) == (0, False)
    assert [fact.key for fact in manager.load_all()] == ["nota"]
    store.close()


@pytest.mark.parametrize("with_model", [True, False])
def test_rumis_manager_extracts_facts_at_the_end_of_a_conversation(store: rumi.MemoryStore, *, with_model: bool) -> None:
    asked: list[object] = []

    def chat(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return json.dumps({"items": [{"key": "trabajo", "value": "trabaja en una panadería", "messages": [1]}]})

    store.save_fact(rumi.Fact(key="nombre", value="Lucas"))
    manager = rumi.MemoryManager(store, chat if with_model else None)
    said = [
        {"role": "user", "content": "Trabajo en una panadería."},
        {"role": "assistant", "content": "¡Qué rico!"},
    ]
    (found,) = asyncio.run(manager.extract_from_conversation(said))
    assert (found.key, found.source) == ("trabajo", "auto")
    assert "panadería" in found.value
    assert bool(asked) is with_model
    assert store.save_facts([found]) == 1, "the design saves what was extracted; here that changes nothing"
    assert [fact.key for fact in manager.load_all()] == ["nombre", "trabajo"]
    store.close()
