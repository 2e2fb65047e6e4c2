"""Lo-Bug's design: working memory, facts after each exchange, two roll-ups, and the order of the prompt sections."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Engine
from holdfast.designs.lobug import MemoryConfig, MemoryManager
from holdfast.errors import ModelUnavailable
from holdfast.services import services
from holdfast.testing import HashEmbedder, RecordedCall, ScriptedChat

OpenMemory = Callable[..., Engine]


def exchange(memory: Engine, said: str, answer: str = "ok", *, action: str | None = None) -> None:
    session = memory.session(id="device", shared=True)
    session.add("user", said, action=action)
    session.add("assistant", answer, action=action)


@pytest.mark.everywhere
@pytest.mark.ledger("L1", "L2")
def test_the_log_is_permanent_and_the_last_twenty_are_there_after_a_restart(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    for number in range(15):
        exchange(memory, f"message {number}")
    again = open_memory(preset="lobug")
    window = again.session(id="device", shared=True).messages(limit=again.preset.window)
    assert len(window) == 20
    assert window[-2].text == "message 14"
    assert len(again.session(id="device", shared=True).messages()) == 30


@pytest.mark.everywhere
@pytest.mark.ledger("L3")
def test_facts_are_extracted_after_each_exchange_in_the_third_person_with_a_type(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    exchange(memory, "Hello there!")
    exchange(memory, "My name is Alex and I work at NASA.")
    assert memory.memories(kinds=["fact"]) == [], "nothing is done before the reply is out"
    memory.drain()
    facts = {found.text: found.metadata["type"] for found in memory.memories(kinds=["fact"])}
    assert facts
    assert all(text.startswith("The user") for text in facts)
    assert set(facts.values()) <= {"personal", "preference", "knowledge", "event"}
    assert any("NASA" in text for text in facts)
    assert not any("Hello" in text for text in facts)


@pytest.mark.everywhere
@pytest.mark.ledger("L5")
def test_a_change_of_fact_replaces_the_old_one(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    exchange(memory, "I live in Portland.")
    memory.drain()
    exchange(memory, "I moved to Seattle.")
    memory.drain()
    live = [found.text for found in memory.memories(kinds=["fact"])]
    assert any("Seattle" in text for text in live)
    assert not any("Portland" in text for text in live)


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.ledger("L6")
def test_at_thirty_messages_all_but_ten_become_one_summary_with_its_range(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    for number in range(14):
        exchange(memory, f"On day {number} I met Rosa{number}.")
    memory.drain()
    assert memory.memories(kinds=["summary"]) == []
    exchange(memory, "On day 14 I met Rosa14.")
    memory.drain()
    (summary,) = memory.memories(kinds=["summary"])
    log = memory.session(id="device", shared=True).messages()
    assert (summary.metadata["from"], summary.metadata["to"]) == (log[0].seq, log[19].seq)
    assert len(summary.sources) == 20


@pytest.mark.ledger("L8")
def test_the_prompts_sections_stand_in_their_order_and_an_empty_one_is_left_out(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    session = memory.session(id="device", shared=True)
    assert session.context("hello").text == ""
    assert (
        session.context("hello", state="Device orientation: face_up").text
        == "[Current physical state: Device orientation: face_up]"
    )
    memory.remember("User Profile:\n- Name: Alex, works at NASA", kind="base")
    memory.remember("The user has a meeting with the propulsion team on Friday", kind="fact")
    memory.drain()
    assert session.context("when is the propulsion team meeting", state="Device orientation: face_up").text == (
        "[Long-term memory]\n"
        "User Profile:\n"
        "- Name: Alex, works at NASA\n"
        "\n"
        "[Relevant memories]\n"
        "- The user has a meeting with the propulsion team on Friday\n"
        "\n"
        "[Current physical state: Device orientation: face_up]"
    )


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.ledger("L10")
def test_extraction_and_the_cascades_fail_independently(open_memory: OpenMemory) -> None:
    def respond(call: RecordedCall) -> Any:
        if "fact" in json.dumps(dict(call.schema or {})):
            return ModelUnavailable("extraction is down")
        return json.dumps({"summary": "The user met Rosa3 on many days and told of it at length in the evening."})

    memory = open_memory(preset="lobug", chat=ScriptedChat(respond=respond))
    for number in range(15):
        exchange(memory, f"On day {number} I met Rosa{number}.")
    memory.drain()
    kinds = {job.kind: job.error for job in memory.jobs(limit=100)}
    assert "extraction is down" in (kinds["digest"] or "")
    assert kinds["rollup"] is None
    assert memory.memories(kinds=["summary"])


def test_noise_is_stored_and_never_learned_from(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    exchange(memory, "I live in Mumble.", "(ignored)", action="IGNORE")
    exchange(memory, "What time is it?")
    memory.drain()
    assert memory.memories(kinds=["fact"]) == []
    assert len(memory.session(id="device", shared=True).messages()) == 4


WORDS = "alder birch cedar dogwood elm fir ginkgo hazel".split()


def nearness(text: str) -> list[float]:
    """Embed a text so that its cosine with any question depends on the tree that it names: 0.9, 0.8, ... or 0.2."""
    vector = [1.0] + [0.0] * len(WORDS)
    for place, word in enumerate(WORDS):
        if word in text.casefold():
            vector[0] = 0.9 - place / 10
            vector[1 + place] = math.sqrt(1 - vector[0] ** 2)
    return vector


@pytest.mark.ledger("L4")
def test_each_turn_retrieves_the_five_nearest_facts_above_the_minimum_similarity(tmp_path: Path) -> None:
    config = MemoryConfig(db_path=str(tmp_path / "bug.db"), embedding_dim=9)
    with MemoryManager(config, embed_fn=nearness) as lobug:
        for word in reversed(WORDS):
            lobug.engine.remember(f"Planted: {word}")
        assert lobug.retrieve_context("what grows outside?").facts == tuple(f"Planted: {word}" for word in WORDS[:5])
    with MemoryManager(replace(config, retrieval_top_k=8), embed_fn=nearness) as lobug:
        found = lobug.retrieve_context("what grows outside?").facts
        assert found == tuple(f"Planted: {word}" for word in WORDS[:7]), "0.2 is under the floor of 0.3"


@pytest.mark.ledger("L11")
def test_any_two_functions_can_be_the_models(tmp_path: Path) -> None:
    asked: list[list[dict[str, str]]] = []

    def chat(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return json.dumps({"items": [{"fact": "The user grows a ginkgo", "type": "personal", "messages": [1]}]})

    config = MemoryConfig(db_path=str(tmp_path / "bug.db"), embedding_dim=9)
    with MemoryManager(config, embed_fn=nearness, chat_fn=chat) as lobug:
        assert str(lobug.retrieve_context("hello")) == ""
        lobug.process_exchange("I grow a ginkgo.", "Lovely.")
        assert asked
        assert asked[0][0].keys() == {"role", "content"}
        context = lobug.retrieve_context("what grows outside?")
        assert context.facts == ("The user grows a ginkgo",)
        assert str(context) == "[Relevant memories]\n- The user grows a ginkgo"


@pytest.mark.ledger("L11")
def test_models_are_named_by_their_provider_and_reached_at_any_address(tmp_path: Path) -> None:
    for provider, address in (("ollama", None), ("vllm", None), ("openai", "http://localhost:9/v1")):
        settings = {"embedder_url": address, "chat_url": address, "chat_key": "k"}
        with holdfast.open(
            tmp_path / "bug.db",
            preset="lobug",
            settings=settings,
            embedder=f"{provider}:nomic-embed-text",
            chat=f"{provider}:some-model",
            worker="none",
        ) as memory:
            assert services(memory).embedding.name == f"{provider}:nomic-embed-text"
            assert services(memory).chat.name == f"{provider}:some-model"


@pytest.mark.ledger("L1", "L2")
def test_the_manager_has_its_working_memory_again_after_a_restart(tmp_path: Path) -> None:
    config = MemoryConfig(db_path=str(tmp_path / "bug.db"))
    with MemoryManager(config, embed_fn=HashEmbedder()) as lobug:
        for number in range(15):
            lobug.append_message("user", f"message {number}")
            lobug.append_message("assistant", f"answer {number}")
    with MemoryManager(config, embed_fn=HashEmbedder()) as lobug:
        recent = lobug.get_recent_messages()
        assert len(recent) == 20
        assert recent[0] == {"role": "user", "content": "message 5"}
        assert recent[-1] == {"role": "assistant", "content": "answer 14"}


def test_an_exchange_that_is_in_the_log_already_is_not_written_again(tmp_path: Path) -> None:
    with MemoryManager(MemoryConfig(db_path=str(tmp_path / "bug.db")), embed_fn=HashEmbedder()) as lobug:
        lobug.append_message("user", "My password is hunter2-Zebra. My name is Alex.")
        lobug.append_message("assistant", "Hello Alex.")
        lobug.process_exchange("My password is hunter2-Zebra. My name is Alex.", "Hello Alex.")
        lobug.process_exchange("Yes.", "Good.")
        lobug.process_exchange("Yes.", "Good.")
        assert len(lobug.get_recent_messages()) == 6
        assert any("Alex" in fact for fact in lobug.retrieve_context("what is my name?").facts)
        assert lobug.get_base_memory() == ""
