"""The Python classes of the apps design follow the interfaces in the specification of the design."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.designs.apps import (
    AppMemory,
    AppRegistry,
    MemoryCompactionRequest,
    MemoryCreationRequest,
    MemorySubAgent,
    SensitiveLoop,
)
from holdfast.presets.apps import APPS
from holdfast.testing import FrozenClock, HashEmbedder, ScriptedChat
from holdfast.testing.engines import build_engine
from tests.designs.test_apps import Flaky


@pytest.fixture
def opening(clock: FrozenClock) -> dict[str, Any]:
    return {"clock": clock, "embedder": HashEmbedder()}


@pytest.fixture
def agent(tmp_path: Path, opening: dict[str, Any]) -> Iterator[MemorySubAgent]:
    with MemorySubAgent(tmp_path / "memory.db", debug_mode=True, **opening) as opened:
        yield opened


def ended(conversation: str, *said: str, app: str = "calendar") -> MemoryCreationRequest:
    return MemoryCreationRequest(
        app_id=app,
        conversation_id=conversation,
        conversation_summary="",
        user_messages=said,
        assistant_messages=["Noted." for _ in said],
    )


@pytest.mark.ledger("A1", "A11")
def test_a_memory_is_created_with_its_metadata(agent: MemorySubAgent, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="holdfast"):
        made = asyncio.run(agent.create_memory(ended("c1", "I prefer meetings after 2pm on weekdays.")))
    assert isinstance(made, AppMemory)
    assert "📝 Created memory for app calendar from conversation c1" in caplog.text
    assert made.source_conversation_id == "c1"
    assert "2pm" in made.content
    assert made.to_json().keys() == {"id", "appId", "content", "createdAt", "updatedAt", "sourceConversationId", "metadata"}
    assert made.metadata.keys() >= {"importance", "tags", "relatedConversations"}
    assert agent.get_memories("calendar") == [made]
    assert (agent.get_memory_count("calendar"), agent.get_memory_count("mail")) == (1, 0)
    assert agent.get_energy_consumed_since_last_poll() > 0


def test_without_anything_worth_keeping_the_result_is_none(agent: MemorySubAgent) -> None:
    assert asyncio.run(agent.create_memory(ended("c1", "Hi!"))) is None
    assert agent.get_memory_count("calendar") == 0


def test_a_summary_alone_is_kept_as_it_is(agent: MemorySubAgent) -> None:
    request = MemoryCreationRequest(app_id="mail", conversation_id="c9", conversation_summary="The user archived all mail.")
    made = asyncio.run(agent.create_memory(request))
    assert made is not None
    assert (made.content, made.source_conversation_id) == ("The user archived all mail.", "c9")


@pytest.mark.ledger("A2")
def test_the_eleventh_memory_is_compacted_and_the_decision_is_reported(
    tmp_path: Path, opening: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="holdfast")

    def respond(asked: Any) -> str:
        if "target" in str(asked.schema):
            return json.dumps({"action": "delete", "targetMemoryId": 3, "reason": "outdated"})
        bed = host.get_memory_count("garden")
        return json.dumps({"paragraph": f"The user grows tomatoes in bed {bed}.", "importance": 4, "tags": ["garden"]})

    host = MemorySubAgent(tmp_path / "memory.db", debug_mode=True, model=ScriptedChat(respond=respond), **opening)
    for number in range(11):
        asyncio.run(host.create_memory(ended(f"c{number}", f"I grow tomatoes in bed {number}.", app="garden")))
    assert host.get_memory_count("garden") == 10
    (decision,) = host.decisions("garden")
    assert (decision.action, decision.reason, decision.new_content) == ("delete", "outdated", None)
    assert f"🗜️  Compacted memories for app garden: delete memory {decision.target_memory_id}" in caplog.text
    assert decision.target_memory_id not in [memory.id for memory in host.get_memories("garden")]
    asyncio.run(host.compact_memories(MemoryCompactionRequest(app_id="garden")))
    assert host.get_memory_count("garden") == 10
    host.close()


@pytest.mark.ledger("A5", "A6", "A7", "A8")
def test_the_loop_formats_an_apps_memories_and_the_registry_uninstalls_it(agent: MemorySubAgent) -> None:
    session = agent.engine.session(id="c1", app="calendar")
    session.add("user", "I prefer meetings after 2pm on weekdays.")
    loop, registry = SensitiveLoop(agent), AppRegistry(agent)
    made = asyncio.run(loop.on_conversation_end("c1", "done"))
    assert made is not None
    assert registry.get_app_id_for_conversation("c1") == "calendar"
    block = loop.format_memories_for_context(loop.get_memories_for_app("calendar"))
    assert block == agent.engine.apps.context("calendar").text
    assert block.startswith("(memories for app: calendar)")
    assert loop.format_memories_for_context([]) == ""
    asyncio.run(registry.uninstall_app("calendar"))
    assert agent.get_memory_count("calendar") == 1
    assert agent.delete_memory("calendar", made.id) is True
    assert agent.delete_memory("calendar", made.id) is False
    asyncio.run(agent.create_memory(ended("c2", "I prefer tea in the morning.", app="kitchen")))
    assert agent.delete_app_memories("kitchen") == 1


def test_an_unknown_conversation_has_no_app_and_makes_no_memory(agent: MemorySubAgent) -> None:
    assert AppRegistry(agent).get_app_id_for_conversation("unknown") is None
    assert asyncio.run(SensitiveLoop(agent).on_conversation_end("unknown", "done")) is None


@pytest.mark.ledger("A4")
@pytest.mark.parametrize("failing", ["job", "conversation"])
def test_a_failed_creation_is_logged_and_returns_none(
    tmp_path: Path, opening: dict[str, Any], failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Flaky(tmp_path / "memory.db")
    agent = MemorySubAgent(build_engine(store, preset=APPS, worker="none", clock=opening["clock"]))
    if failing == "conversation":  # the store fails as soon as it contains a memory
        agent.engine.remember("The user reads mail at noon.", app="mail")
    store.failures = 1
    with caplog.at_level(logging.ERROR, logger="holdfast"):
        assert asyncio.run(agent.create_memory(ended("c1", "I prefer meetings after 2pm on weekdays."))) is None
    assert "❌ Memory creation failed for c1: " in caplog.text
    assert "disk I/O error" in caplog.text
    agent.close()
