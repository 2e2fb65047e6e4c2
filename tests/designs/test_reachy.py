"""Reachy's design: three types of memory with different lifetimes, one value per context key, metadata, and the window of turns.

All data is in one folder, which can be copied as a backup.
"""

import asyncio
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast import Engine
from holdfast.cli.app import app
from holdfast.config.folders import models_directory
from holdfast.designs.reachy import MemoryManager, MemoryType
from holdfast.errors import ModelError, NotFound
from holdfast.models.local.registry import find
from holdfast.models.local.weights import locate
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder, ScriptedChat
from tests.places import Place

OpenMemory = Callable[..., Engine]
OpenManager = Callable[..., MemoryManager]


@pytest.fixture
def open_manager(place: Place, folder: Path, clock: FrozenClock) -> OpenManager:
    """Return a function that opens Reachy's memory manager. Every manager uses the same store."""

    def open_one(**options: Any) -> MemoryManager:
        return MemoryManager(place.address or folder, **{"worker": "none", "embedder": HashEmbedder(), "clock": clock, **options})

    return open_one


@pytest.fixture
def minilm() -> str:
    """Return the name of the design's embedder. Skip the test if its weights are missing."""
    name = "all-minilm-l6-v2"
    try:
        locate(find(name), models_directory())
    except ModelError as error:
        pytest.skip(f"needs real weights: {error}")
    return name


def contents(results: Any) -> list[str]:
    return [result.memory.content for result in results]


@pytest.mark.everywhere
@pytest.mark.ledger("C1", "C3")
def test_each_type_has_the_lifetime_that_the_design_defines(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="reachy")
    memory.set_user("ana", timezone="America/New_York")
    clock.set("2026-03-02T02:00:00Z")  # still the first of March in New York
    memory.remember("we talked about the sea", kind="conversation", user="ana")
    memory.remember("likes the sea", user="ana")
    memory.remember("packing a suitcase", kind="context", key="task", user="ana")

    def kinds() -> set[str]:
        return {found.kind for found in memory.memories(user="ana")}

    assert kinds() == {"conversation", "fact", "context"}
    clock.set("2026-03-02T05:30:00Z")  # past midnight there
    assert kinds() == {"conversation", "fact"}
    clock.advance(timedelta(days=31))
    assert kinds() == {"fact"}
    assert [str(hit) for hit in memory.recall("likes the sea", user="ana", kinds=["fact", "context"])] == ["likes the sea"]


@pytest.mark.everywhere
@pytest.mark.ledger("C2")
def test_the_newest_value_of_a_context_wins(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy")
    memory.remember("waving", kind="context", key="task")
    memory.remember("dancing", kind="context", key="task")
    assert [found.text for found in memory.memories(kinds=["context"], key="task")] == ["dancing"]


@pytest.mark.everywhere
@pytest.mark.ledger("C4")
def test_a_profile_is_facts_with_metadata_that_can_be_filtered(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy")
    memory.remember("User prefers to be called Alex", metadata={"category": "user_profile", "field": "name", "sure": True})
    memory.remember("The battery is new", metadata={"category": "hardware", "volts": 11.1})
    profile = memory.memories(where={"category": "user_profile"})
    assert [found.text for found in profile] == ["User prefers to be called Alex"]
    assert [hit.text for hit in memory.recall("battery", where={"volts": {"$gt": 10}})] == ["The battery is new"]


def test_a_chat_model_stores_by_its_tools_and_nothing_is_extracted(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy", chat=ScriptedChat("Noted."))
    session = memory.session()
    session.add("user", "I live in Lyon.")
    session.end()
    memory.drain()
    assert memory.memories() == []
    assert memory.jobs() == []


def test_without_a_chat_model_rules_learn_from_the_window(open_manager: OpenManager) -> None:
    async def day() -> None:
        async with open_manager(user="alex") as memory:
            memory.add_to_context_window("user", "I live in Lyon.")
            memory.add_to_context_window("assistant", "Nice.")
            memory.engine.drain()
            (fact,) = await memory.search("Lyon", MemoryType.FACT)
            assert fact.memory.content == "The user lives in Lyon."
            memory.add_to_context_window("user", "I am allergic to walnuts.")
            memory.add_to_context_window("user", "What a day!")
            memory.engine.drain()
            assert contents(await memory.search("walnuts", MemoryType.FACT)) == ["The user is allergic to walnuts."], "unanswered"

    asyncio.run(day())


@pytest.mark.ledger("C2")
def test_search_finds_the_messages_of_the_window_as_conversations_for_30_days(
    open_manager: OpenManager, clock: FrozenClock
) -> None:
    async def month() -> None:
        async with open_manager(user="alex") as memory:
            memory.add_to_context_window("user", "The red ball rolled under the sofa.")
            (found,) = await memory.search("red ball under the sofa", MemoryType.CONVERSATION)
            assert found.memory.content == "The red ball rolled under the sofa."
            assert found.memory.metadata == {"role": "user"}
            clock.advance(timedelta(days=31))
            assert await memory.search("red ball under the sofa", MemoryType.CONVERSATION) == []
            memory.add_to_context_window("user", "The red ball is under the sofa again.")
            (again,) = await memory.search("red ball under the sofa", MemoryType.CONVERSATION)
            assert await memory.forget(again.memory.id) is True
            assert await memory.search("red ball under the sofa", MemoryType.CONVERSATION) == []

    asyncio.run(month())


def test_a_request_to_remember_an_event_is_stored_as_a_fact(open_manager: OpenManager) -> None:
    async def day() -> None:
        async with open_manager(user="ivy") as memory:
            memory.add_to_context_window("user", "remember that my recorder concert is on the 20th of March")
            (found,) = await memory.search("recorder concert", MemoryType.FACT)
            assert "concert" in found.memory.content

    asyncio.run(day())


@pytest.mark.everywhere
@pytest.mark.ledger("C2", "C5")
def test_facts_survive_a_restart_while_the_window_and_the_context_of_the_day_do_not(
    open_manager: OpenManager, clock: FrozenClock
) -> None:
    async def first_day() -> str:
        async with open_manager(user="alex") as memory:
            memory.engine.set_user("alex", timezone="America/New_York")
            memory.add_to_context_window("user", "Hello robot, call me Alex.")
            fact = await memory.remember_fact("User prefers to be called Alex", category="user_profile", field="name")
            memory.add_to_context_window("assistant", "Hello Alex.")
            await memory.remember_conversation("Alex told of a trip to the sea")
            await memory.set_context("task", "waving")
            await memory.set_context("task", "dancing")
            assert await memory.get_context("task") == "dancing"
            assert await memory.get_context("mood") is None
            assert [turn["content"] for turn in memory.get_context_window()] == ["Hello robot, call me Alex.", "Hello Alex."]
            return fact.id

    async def next_morning(fact: str) -> None:
        async with open_manager(user="alex") as memory:
            assert memory.get_context_window() == [], "a new start is a new session"
            assert await memory.get_context("task") is None, "the day is over"
            (found,) = await memory.search("what does the user prefer to be called", MemoryType.FACT)
            assert found.memory.id == fact
            assert found.memory.metadata == {"category": "user_profile", "field": "name"}
            assert found.memory.expires_at is None
            assert contents(await memory.search("trip to the sea")) == ["Alex told of a trip to the sea"]
            assert await memory.forget(fact) is True
            assert await memory.forget(fact) is False
            assert await memory.forget("mem_absent") is False
            assert await memory.search("what does the user prefer to be called", MemoryType.FACT) == []

    fact = asyncio.run(first_day())
    clock.advance(timedelta(days=1))
    asyncio.run(next_morning(fact))


@pytest.mark.ledger("C2")
def test_a_search_has_five_results_of_a_type_over_a_score_of_three_tenths(open_manager: OpenManager) -> None:
    async def story() -> None:
        async with open_manager() as memory:
            for number in range(7):
                await memory.remember_fact(f"The robot arm number {number} is blue")
            await memory.remember_conversation("We talked about the blue robot arm")
            await memory.remember_fact("Soup is on Mondays")
            facts = await memory.search("blue robot arm", MemoryType.FACT)
            assert len(facts) == 5
            assert {result.memory.memory_type for result in facts} == {MemoryType.FACT}
            assert all(0.3 <= result.score <= 1 for result in facts)
            assert [result.score for result in facts] == sorted((result.score for result in facts), reverse=True)
            every = await memory.search("blue robot arm", limit=20, min_score=0.0)
            assert "We talked about the blue robot arm" in contents(every)
            assert "Soup is on Mondays" not in contents(await memory.search("blue robot arm", limit=20))

    asyncio.run(story())


@pytest.mark.ledger("C2")
def test_contexts_without_a_key_do_not_replace_each_other(open_manager: OpenManager) -> None:
    async def story() -> None:
        async with open_manager() as memory:
            await memory.store("The battery is at forty percent", MemoryType.CONTEXT)
            await memory.store("Visitors are in the kitchen", MemoryType.CONTEXT)
            found = await memory.search("battery percent visitors kitchen", MemoryType.CONTEXT, min_score=0.0)
            assert set(contents(found)) == {"The battery is at forty percent", "Visitors are in the kitchen"}
            assert all(result.memory.metadata == {} for result in found)

    asyncio.run(story())


@pytest.mark.ledger("C3")
def test_expired_memories_are_never_returned_and_are_removed_by_the_cleanup(
    open_manager: OpenManager, clock: FrozenClock
) -> None:
    async def story() -> None:
        async with open_manager() as memory:
            await memory.remember_conversation("we talked about the sea")
            await memory.set_context("task", "sea chart")
            await memory.remember_fact("likes the sea")
            clock.advance(timedelta(days=31))
            assert contents(await memory.search("sea", min_score=0.0)) == ["likes the sea"]
            assert await memory.get_context("task") is None
            assert await memory.cleanup_expired() == 0  # the clock jumped by a month
            clock.advance(timedelta(days=3))
            assert await memory.cleanup_expired() == 2

    asyncio.run(story())


@pytest.mark.ledger("C3")
def test_expired_memories_are_removed_at_every_start_and_every_hour(open_memory: OpenMemory, clock: FrozenClock) -> None:
    def gone(memory: Engine, id: str) -> bool:
        try:
            memory.get(id)
        except NotFound:
            return True
        return False

    memory = open_memory(preset="reachy")
    early = memory.remember("over at noon", kind="conversation", expires_at=clock.now() + timedelta(minutes=10))
    clock.advance(timedelta(minutes=59))
    memory.drain()
    assert not gone(memory, early.id)
    clock.advance(timedelta(minutes=1))
    memory.drain()
    assert gone(memory, early.id)
    late = memory.remember("over at two", kind="conversation", expires_at=clock.now() + timedelta(minutes=10))
    clock.advance(timedelta(minutes=11))
    assert gone(open_memory(preset="reachy"), late.id)


@pytest.mark.everywhere
@pytest.mark.ledger("C4")
def test_metadata_of_every_primitive_type_is_returned_and_filters_a_search(open_manager: OpenManager) -> None:
    async def story() -> None:
        async with open_manager() as memory:
            kept = await memory.remember_fact("The lamp is warm", room="hall", watts=7, hours=1.5, on=True)
            await memory.remember_fact("The lamp is cold", room="attic", watts=60, hours=0.5, on=False)
            assert kept.metadata == {"room": "hall", "watts": 7, "hours": 1.5, "on": True}
            for where in ({"room": "hall"}, {"watts": {"$lt": 10}}, {"hours": {"$gte": 1}}, {"on": True}):
                assert contents(await memory.search("lamp", min_score=0.0, where=where)) == ["The lamp is warm"]

    asyncio.run(story())


@pytest.mark.ledger("C5")
def test_the_window_holds_the_last_five_turns_and_can_be_cleared(open_manager: OpenManager) -> None:
    async def story() -> None:
        async with open_manager() as memory:
            for number in range(7):
                memory.add_to_context_window("user", f"question {number}")
                memory.add_to_context_window("assistant", f"answer {number}")
            window = memory.get_context_window()
            assert [turn["role"] for turn in window] == ["user", "assistant"] * 5
            assert (window[0]["content"], window[-1]["content"]) == ("question 2", "answer 6")
            assert all(turn["timestamp"] for turn in window)
            memory.clear_context_window()
            assert memory.get_context_window() == []
            memory.add_to_context_window("user", "again")
            assert [turn["content"] for turn in memory.get_context_window()] == ["again"]

    asyncio.run(story())


def test_the_window_has_the_configured_number_of_turns(open_manager: OpenManager) -> None:
    async def story() -> None:
        async with open_manager(context_window_size=1) as memory:
            for number in range(3):
                memory.add_to_context_window("user", f"question {number}")
                memory.add_to_context_window("assistant", f"answer {number}")
            assert [turn["content"] for turn in memory.get_context_window()] == ["question 2", "answer 2"]

    asyncio.run(story())


def test_one_folder_is_copied_to_back_up_and_removed_to_reset(open_manager: OpenManager, folder: Path, tmp_path: Path) -> None:
    async def remembering(manager: MemoryManager) -> list[str]:
        async with manager as memory:
            return contents(await memory.search("sea", min_score=0.0))

    async def story() -> None:
        async with open_manager() as memory:
            await memory.remember_fact("likes the sea")
        shutil.copytree(folder, tmp_path / "backup")
        shutil.rmtree(folder)
        assert await remembering(open_manager()) == []
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "backup", folder)
        assert await remembering(open_manager()) == ["likes the sea"]

    asyncio.run(story())


@pytest.mark.ledger("C9")
def test_minilm_is_the_designs_embedder_and_finds_similar_sentences(open_manager: OpenManager, minilm: str) -> None:
    async def story() -> None:
        async with open_manager(embedder=None) as memory:
            embedder = services(memory.engine).embedding.embedder()
            assert embedder is not None
            assert (embedder.name, embedder.dimensions) == (minilm, 384)
            await memory.remember_fact("The user likes going for walks with the dog")
            await memory.remember_fact("The quarterly tax return is due in April")
            near, far = await memory.search("She enjoys strolling outdoors with her puppy", min_score=-1.0)
            assert near.memory.content == "The user likes going for walks with the dog"
            ours, other = embedder.embed(["She enjoys strolling outdoors with her puppy", near.memory.content], role="document")
            assert near.score == pytest.approx(float(ours @ other), abs=0.02), "a score is the cosine"
            assert near.score > 0.4
            assert far.score < 0.2
            assert contents(await memory.search("She enjoys strolling outdoors with her puppy")) == [near.memory.content]

    asyncio.run(story())


def test_without_the_embedders_weights_recall_searches_by_words_and_says_so(tmp_path: Path) -> None:
    runner = CliRunner(env={"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_MODELS": str(tmp_path / "none")})
    runner.invoke(app, ["--preset", "reachy", "remember", "likes the sea"])
    found = runner.invoke(app, ["--preset", "reachy", "recall", "sea"])
    assert "likes the sea" in found.stdout
    assert "holdfast models pull all-minilm-l6-v2" in found.stderr
