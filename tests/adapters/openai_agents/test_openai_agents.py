"""The session of OpenAI's Agents SDK: behavior that the SDK's suite does not cover."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import holdfast

pytest.importorskip("agents.memory", reason="OpenAI Agents is not installed: make test-adapters runs its tests")

from agents.memory import Session

from holdfast.adapters.openai_agents import HoldfastSession

pytestmark = pytest.mark.ledger("X14")
TALK: list[Any] = [
    {"role": "user", "content": "I live in Lyon. My password is hunter2hunter2."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Lyon"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "12 degrees, rain"},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It rains in Lyon.", "annotations": []}],
    },
]


@pytest.fixture
def session(memory: holdfast.Engine) -> HoldfastSession:
    return HoldfastSession("thread-7", memory, user="ana")


def test_it_is_a_session_of_the_sdk(session: HoldfastSession) -> None:
    assert isinstance(session, Session)


def test_items_are_returned_unchanged(session: HoldfastSession) -> None:
    asyncio.run(session.add_items(TALK))
    assert asyncio.run(session.get_items()) == TALK
    assert asyncio.run(session.get_items(limit=2)) == TALK[-2:]
    assert asyncio.run(session.pop_item()) == TALK[-1]


def test_texts_are_messages_of_the_memory_without_secrets(session: HoldfastSession, memory: holdfast.Engine) -> None:
    asyncio.run(session.add_items(TALK))
    stored = memory.session(id="thread-7", user="ana").messages()
    assert [(message.role, message.text) for message in stored] == [
        ("user", stored[0].text),
        ("assistant", ""),
        ("assistant", ""),
        ("tool", "12 degrees, rain"),
        ("assistant", "It rains in Lyon."),
    ]
    assert "I live in Lyon." in stored[0].text
    assert "hunter2hunter2" not in stored[0].text


@pytest.mark.ledger("X14")
def test_a_fact_learned_in_one_conversation_is_known_in_the_next(session: HoldfastSession, memory: holdfast.Engine) -> None:
    asyncio.run(session.add_items(TALK))
    asyncio.run(session.end())
    memory.drain()
    assert any("Lyon" in known.text for known in memory.memories(user="ana"))
    later = HoldfastSession("thread-8", memory, user="ana")
    assert "Lyon" in asyncio.run(later.context("Where does she live?"))


def test_clearing_erases_the_conversation_and_what_was_learned(
    session: HoldfastSession, memory: holdfast.Engine, files_with: Callable[[str], list[str]]
) -> None:
    asyncio.run(session.clear_session())  # nothing to clear
    asyncio.run(session.add_items(TALK))
    asyncio.run(session.end())
    memory.drain()
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert memory.memories(user="ana") == []
    assert files_with("encrypted_content") == []
    asyncio.run(session.add_items(TALK[:1]))
    assert asyncio.run(session.get_items()) == TALK[:1]


def test_a_list_with_a_wrong_item_is_not_stored(session: HoldfastSession) -> None:
    for wrong in ({"role": "user", "content": object()}, "hello"):
        with pytest.raises(holdfast.InvalidInput, match="Nothing was stored"):
            asyncio.run(session.add_items([*TALK, wrong]))  # type: ignore[list-item]
    assert asyncio.run(session.get_items()) == []


def test_the_same_id_of_another_user_names_another_conversation(session: HoldfastSession, memory: holdfast.Engine) -> None:
    asyncio.run(session.add_items(TALK))
    others = (HoldfastSession("thread-7", memory), HoldfastSession("thread-7", memory, user="bob"))
    for other in others:
        assert asyncio.run(other.get_items()) == []
        asyncio.run(other.add_items(TALK[:1]))
    asyncio.run(session.clear_session())
    assert [asyncio.run(other.get_items()) for other in others] == [TALK[:1], TALK[:1]]
    asyncio.run(others[0].clear_session())
    assert asyncio.run(others[1].get_items()) == TALK[:1]


def test_messages_of_other_programs_are_items(session: HoldfastSession, memory: holdfast.Engine) -> None:
    memory.session(id="thread-7", user="ana").add("user", "Hello")
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": "Hello"}]


def test_a_canceled_write_is_finished_before_the_caller_continues(session: HoldfastSession) -> None:
    async def cancel() -> list[Any]:
        writing = asyncio.create_task(session.add_items(TALK))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        return await session.get_items()

    assert asyncio.run(cancel()) == TALK


def test_a_closed_session_refuses_items_and_the_memory_stays_open(session: HoldfastSession, memory: holdfast.Engine) -> None:
    asyncio.run(session.add_items(TALK))
    session.close()
    for call in (lambda: session.add_items([]), session.get_items, session.pop_item, session.clear_session):
        with pytest.raises(RuntimeError, match="HoldfastSession is closed"):
            asyncio.run(call())
    assert asyncio.run(HoldfastSession("thread-7", memory, user="ana").get_items()) == TALK
