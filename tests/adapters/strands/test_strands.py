"""The store for Strands Agents: behavior that its own suite does not cover."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import holdfast

pytest.importorskip("strands.memory", reason="Strands Agents is not installed: make test-adapters runs its tests")

from strands.memory import MemoryManager
from strands.memory.types import AddMessagesContext, MemoryStore

from holdfast.adapters.strands import HoldfastMemoryStore

pytestmark = pytest.mark.ledger("X14")
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "I live in Lyon."}, {"text": "I'm allergic to walnuts."}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "note", "input": {}}}]},
    {"role": "assistant", "content": [{"text": "Noted."}]},
]


@pytest.fixture
def store(memory: holdfast.Engine) -> HoldfastMemoryStore:
    return HoldfastMemoryStore(memory, user="ana")


def test_memories_are_extracted_from_the_messages_that_strands_hands_over(
    store: HoldfastMemoryStore, memory: holdfast.Engine
) -> None:
    asyncio.run(store.add_messages(TALK))
    memory.drain()
    (session,) = memory.sessions(user="ana")
    texts = [message.text for message in memory.session(id=session.id).messages()]
    assert texts == ["I live in Lyon.\nI'm allergic to walnuts.", "Noted."]
    assert any("walnuts" in found.text for found in memory.memories(user="ana"))
    (found, *_) = asyncio.run(store.search("is she allergic to walnuts?"))
    assert "walnuts" in found.content
    assert set(found.metadata) == {"id", "kind", "at", "_relevanceScore"}


def test_a_message_without_text_stands_for_a_tool_result(store: HoldfastMemoryStore, memory: holdfast.Engine) -> None:
    result = {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "page text"}]}}]}
    numbered = AddMessagesContext(sequence_numbers=[4, 5, 6, 7])
    for _ in range(2):
        asyncio.run(store.add_messages([*TALK[:2], result, TALK[2]], numbered))
    (session,) = memory.sessions(user="ana")
    messages = memory.session(id=session.id).messages()
    assert [(message.role, message.origin) for message in messages] == [
        ("user", "user"),
        ("tool", "tool"),
        ("assistant", "assistant"),
    ]
    assert "page text" not in str(messages[1].payload)


def test_a_repeated_batch_is_stored_once(store: HoldfastMemoryStore, memory: holdfast.Engine) -> None:
    numbered = AddMessagesContext(sequence_numbers=[4, 5, 6])

    async def use() -> tuple[list[str], list[str], list[str]]:
        first, again = await store.add_messages(TALK, numbered), await store.add_messages(TALK, numbered)
        await store.initialize()  # another agent, whose numbers start again
        return first, again, await store.add_messages(TALK, numbered)

    first, again, other = asyncio.run(use())
    assert first == again
    assert not set(first) & set(other)
    assert memory.stats().messages == 4


def test_a_session_id_belongs_to_its_owner(memory: holdfast.Engine) -> None:
    for user in ("ana", "bob", None):
        asyncio.run(HoldfastMemoryStore(memory, session_id="s", user=user).add_messages(TALK[:1]))
        asyncio.run(HoldfastMemoryStore(memory, session_id="s", user=user).add_messages(TALK[2:]))
    assert [len(memory.sessions(user=user)) for user in ("ana", "bob")] == [1, 1]
    assert len(memory.session(id="s", shared=True).messages()) == 2


def test_the_same_content_is_stored_once_and_its_metadata_comes_back(store: HoldfastMemoryStore) -> None:
    async def use() -> Any:
        first = await store.add("prefers dark mode", {"source": {"tool": "settings"}})
        assert (await store.add("prefers dark mode", {"source": {"tool": "settings"}})).id == first.id
        return await store.search("does the user prefer dark mode?")

    (found,) = asyncio.run(use())
    assert found.metadata["source"] == {"tool": "settings"}


def test_users_and_namespaces_are_separate(memory: holdfast.Engine) -> None:
    ana, bob = HoldfastMemoryStore(memory, user="ana"), HoldfastMemoryStore(memory, user="bob")
    notes = HoldfastMemoryStore(memory, user="ana", namespace=("notes",))

    async def use() -> list[int]:
        await ana.add("the harbor has a lighthouse")
        await notes.add("the lighthouse opens on Sundays")
        return [len(await store.search("lighthouse")) for store in (ana, bob, notes)]

    assert asyncio.run(use()) == [2, 0, 1]


def test_the_manager_finds_all_methods_and_writes_through_them(store: HoldfastMemoryStore, memory: holdfast.Engine) -> None:
    asyncio.run(MemoryManager(stores=[store], add_tool_config=True).add("the harbor has a lighthouse"))
    assert [found.text for found in memory.memories(user="ana")] == ["the harbor has a lighthouse"]
    wanted = {name for name in vars(MemoryStore) if not name.startswith("_")} - {"get_tools"}
    assert wanted <= set(dir(store))


def test_a_query_without_words_finds_nothing_and_weak_matches_are_left_out(open_memory: Callable[..., holdfast.Engine]) -> None:
    memory = open_memory()
    store = HoldfastMemoryStore(memory, user="ana")
    asyncio.run(store.add("the harbor has a lighthouse"))
    assert asyncio.run(store.search(" ... ")) == []
    assert asyncio.run(store.search("quantum computing")) == []
    weak = HoldfastMemoryStore(memory, user="ana", relevant_only=False)
    assert len(asyncio.run(weak.search("quantum computing of a harbor"))) == 1


@pytest.mark.parametrize(
    ("config", "problem"),
    [({"name": " "}, "name must not be empty"), ({"max_search_results": 0}, "max_search_results must be at least 1")],
    ids=["name", "limit"],
)
def test_a_wrong_configuration_is_an_error(memory: holdfast.Engine, config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        HoldfastMemoryStore(memory, **config)
    read_only = HoldfastMemoryStore(memory, writable=False)
    with pytest.raises(ValueError, match="not writable"):
        asyncio.run(read_only.add_messages(TALK))
