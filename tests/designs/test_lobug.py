"""Lo-Bug's design: working memory, facts after each exchange, two cascades, the prompt's sections in their order."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import ModelUnavailable
from holdfast.testing import Asked, ScriptedChat

OpenMemory = Callable[..., Engine]


def exchange(memory: Engine, said: str, answer: str = "ok", *, action: str | None = None) -> None:
    talk = memory.session(id="device")
    talk.add("user", said, action=action)
    talk.add("assistant", answer, action=action)


@pytest.mark.ledger("L1", "L2")
def test_the_log_is_permanent_and_the_last_twenty_are_there_after_a_restart(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    for number in range(15):
        exchange(memory, f"message {number}")
    again = open_memory(preset="lobug")
    window = again.session(id="device").messages(limit=again.preset.window)
    assert len(window) == 20
    assert window[-2].text == "message 14"
    assert len(again.session(id="device").messages()) == 30


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
    log = memory.session(id="device").messages()
    assert (summary.metadata["from"], summary.metadata["to"]) == (log[0].seq, log[19].seq)
    assert len(summary.sources) == 20


@pytest.mark.ledger("L8")
def test_the_prompts_sections_stand_in_their_order_and_an_empty_one_is_left_out(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    talk = memory.session(id="device")
    assert talk.context("hello").text == ""
    assert (
        talk.context("hello", state="Device orientation: face_up").text == "[Current physical state: Device orientation: face_up]"
    )
    memory.remember("User Profile:\n- Name: Alex, works at NASA", kind="base")
    memory.remember("The user has a meeting with the propulsion team on Friday", kind="fact")
    memory.drain()
    assert talk.context("when is the propulsion team meeting", state="Device orientation: face_up").text == (
        "[Long-term memory]\n"
        "User Profile:\n"
        "- Name: Alex, works at NASA\n"
        "\n"
        "[Relevant memories]\n"
        "- The user has a meeting with the propulsion team on Friday\n"
        "\n"
        "[Current physical state: Device orientation: face_up]"
    )


@pytest.mark.ledger("L10")
def test_extraction_and_the_cascades_fail_independently(open_memory: OpenMemory) -> None:
    def respond(call: Asked) -> Any:
        if "fact" in json.dumps(dict(call.schema or {})):
            return ModelUnavailable("extraction is down")
        return json.dumps({"summary": "The user met Rosa on many days and told of it at length in the evening."})

    memory = open_memory(preset="lobug", chat=ScriptedChat(respond=respond))
    for number in range(15):
        exchange(memory, f"On day {number} I met Rosa{number}.")
    memory.drain()
    kinds = {job.kind: job.error for job in memory.jobs(limit=100)}
    assert "extraction is down" in (kinds["digest"] or "")
    assert kinds["rollup"] is None
    assert memory.memories(kinds=["summary"])


def test_noise_is_kept_and_never_mined(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    exchange(memory, "I live in Mumble.", "(ignored)", action="IGNORE")
    exchange(memory, "What time is it?")
    memory.drain()
    assert memory.memories(kinds=["fact"]) == []
    assert len(memory.session(id="device").messages()) == 4
