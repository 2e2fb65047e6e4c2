"""The memory service for Google ADK. ADK publishes no tests for memory services, so these tests use its sessions and runner."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import pytest

import holdfast

pytest.importorskip("google.adk.memory", reason="Google ADK is not installed: make test-adapters runs its tests")

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from holdfast.adapters.google_adk import HoldfastMemoryService

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # ADK
]
WHO: dict[str, Any] = {"app_name": "shop", "user_id": "ana"}


def _content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def _event(id: str, text: str, author: str = "user", **more: Any) -> Event:
    return Event(id=id, author=author, content=_content(text), timestamp=1_700_000_000.0, **more)


def _session(*events: Event) -> Session:
    return Session(id="s1", app_name="shop", user_id="ana", events=list(events))


@pytest.fixture
def service(memory: holdfast.Engine) -> HoldfastMemoryService:
    return HoldfastMemoryService(memory)


def _search(service: BaseMemoryService, query: str, **who: str) -> list[MemoryEntry]:
    return list(asyncio.run(service.search_memory(query=query, **{**WHO, **who})).memories)


TALK = (_event("e1", "I'm allergic to walnuts."), _event("e2", "Noted.", "waiter"))


def test_a_session_becomes_messages_and_memories(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    asyncio.run(service.add_session_to_memory(_session(*TALK)))
    memory.drain()
    (record,) = memory.sessions(user="ana", app="shop")
    messages = memory.session(id=record.id).messages()
    assert [(each.role, each.speaker, each.text) for each in messages] == [
        ("user", None, "I'm allergic to walnuts."),
        ("assistant", "waiter", "Noted."),
    ]
    assert messages[0].at == datetime.fromtimestamp(1_700_000_000, UTC)
    (found, *_) = _search(service, "is she allergic to walnuts?")
    assert "walnuts" in found.content.parts[0].text
    assert found.timestamp is not None
    assert found.timestamp.startswith("2023-11-14")


def test_a_session_that_grows_is_added_again(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    partial = _event("e3", "I also li", partial=True)
    asyncio.run(service.add_session_to_memory(_session(*TALK, partial)))
    asyncio.run(service.add_session_to_memory(_session(*TALK, _event("e4", "I also like figs."))))
    asyncio.run(service.add_events_to_memory(events=[_event("e4", "I also like figs.")], session_id="s1", **WHO))
    assert memory.stats().messages == 3
    asyncio.run(service.add_events_to_memory(events=[_event("e5", "No session.")], custom_metadata={"ttl": 1}, **WHO))
    assert memory.stats().messages == 4


def test_events_without_text_are_skipped(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    call = types.Part(function_call=types.FunctionCall(name="order", args={}))
    thought = types.Part(text="hmm", thought=True)
    events = [Event(author="waiter", content=types.Content(role="model", parts=[part])) for part in (call, thought)]
    asyncio.run(service.add_session_to_memory(_session(*events, Event(author="waiter"))))
    assert memory.stats().messages == 0


def test_a_message_without_text_stands_for_a_tool_result(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    result = types.Part(function_response=types.FunctionResponse(name="fetch", response={"page": "page text"}))
    fetched = Event(id="r1", author="waiter", content=types.Content(role="user", parts=[result]), timestamp=1_700_000_000.0)
    for _ in range(2):
        asyncio.run(service.add_session_to_memory(_session(TALK[0], fetched, TALK[1])))
    messages = memory.session(user="ana", app="shop", id="s1").messages()
    assert [(each.role, each.origin) for each in messages] == [("user", "user"), ("tool", "tool"), ("assistant", "assistant")]
    assert "page text" not in str(messages[1].payload)


def test_users_and_apps_are_separate(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    memory.remember("the harbor has a lighthouse", user="ana")
    entry = MemoryEntry(content=_content("the lighthouse opens on Sundays"))
    asyncio.run(service.add_memory(memories=[entry], **WHO))
    assert len(_search(service, "lighthouse")) == 2
    assert len(_search(service, "lighthouse", app_name="other")) == 1
    assert _search(service, "lighthouse", user_id="bob") == []


def test_memories_are_returned_as_they_were_added(service: HoldfastMemoryService) -> None:
    entry = MemoryEntry(
        content=_content("the lighthouse opens on Sundays"),
        author="ana",
        timestamp="2024-05-01T10:00:00+00:00",
        custom_metadata={"source": {"page": 3}},
    )
    asyncio.run(service.add_memory(memories=[entry], custom_metadata={"batch": 7}, **WHO))
    (found,) = _search(service, "lighthouse on Sundays")
    assert (found.author, found.timestamp) == ("ana", "2024-05-01T10:00:00+00:00")
    assert (found.custom_metadata["source"], found.custom_metadata["batch"]) == ({"page": 3}, 7)
    with pytest.raises(holdfast.InvalidInput, match="no text"):
        asyncio.run(service.add_memory(memories=[entry, MemoryEntry(content=types.Content(parts=[]))], **WHO))


def test_deleted_items_do_not_come_back(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    session = _session(_event("e1", "The lighthouse opens on Sundays, they say."))
    asyncio.run(service.add_session_to_memory(session))
    (found,) = _search(service, "when does the lighthouse open?")
    asyncio.run(service.delete_memory(memory_id=found.id, app_name="shop", user_id="bob"))
    assert len(_search(service, "lighthouse")) == 1
    asyncio.run(service.delete_memory(memory_id=found.id, **WHO))
    asyncio.run(service.delete_memory(memory_id="msg_unknown", **WHO))
    asyncio.run(service.delete_memory(memory_id="mem_unknown", **WHO))
    asyncio.run(service.add_session_to_memory(session))
    memory.drain()
    assert _search(service, "lighthouse") == []
    asyncio.run(service.add_memory(memories=[MemoryEntry(content=_content("figs are ripe"))], **WHO))
    (figs,) = _search(service, "figs")
    asyncio.run(service.delete_memory(memory_id=figs.id, **WHO))
    assert _search(service, "figs") == []


class Parrot(BaseLlm):
    """A model that repeats its input."""

    async def generate_content_async(self, llm_request: Any, stream: Any = None) -> AsyncGenerator[LlmResponse, None]:
        texts = [part.text for content in llm_request.contents for part in content.parts or () if part.text]
        yield LlmResponse(content=_content(" ".join(texts), "model"))


def test_an_agent_gets_memories_of_another_session(service: HoldfastMemoryService, memory: holdfast.Engine) -> None:
    asyncio.run(service.add_session_to_memory(_session(*TALK)))
    memory.drain()

    async def ask() -> str:
        sessions = InMemorySessionService()
        await sessions.create_session(session_id="s2", **WHO)
        agent = LlmAgent(name="waiter", model=Parrot(model="parrot"), tools=[PreloadMemoryTool()])
        runner = Runner(agent=agent, app_name="shop", session_service=sessions, memory_service=service)
        question = _content("is she allergic to walnuts?")
        replies = [event async for event in runner.run_async(user_id="ana", session_id="s2", new_message=question)]
        return str(replies[-1].content.parts[0].text)

    assert "I'm allergic to walnuts." in asyncio.run(ask())
