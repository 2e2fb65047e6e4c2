"""The capability for Pydantic AI."""

import asyncio
from typing import Any

import pytest

import holdfast

pytest.importorskip("pydantic_ai_harness", reason="Pydantic AI is not installed: make test-adapters runs its tests")

from pydantic_ai import Agent, ImageUrl
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from holdfast.adapters.pydantic_ai import HoldfastMemory

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # Pydantic AI
]


def _parrot(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that repeats its instructions."""
    return ModelResponse(parts=[ThinkingPart("hmm"), TextPart(f"instructions: {info.instructions}")])


def _agent(memory: holdfast.Engine, **more: Any) -> Agent[Any, str]:
    return Agent(FunctionModel(_parrot), capabilities=[HoldfastMemory(memory, **{"user": "ana", **more})])


def test_a_message_of_one_conversation_is_known_in_the_next(memory: holdfast.Engine) -> None:
    async def use() -> tuple[str, str]:
        agent = _agent(memory)
        first = await agent.run(["I'm allergic to walnuts.", ImageUrl("https://example.invalid/x.png")])
        await asyncio.to_thread(memory.drain)
        return first.output, (await agent.run("am I allergic to walnuts?")).output

    first, second = asyncio.run(use())
    assert "walnuts" not in first
    assert "I'm allergic to walnuts." in second
    assert "quoted data" in second
    sessions = memory.sessions(user="ana")
    assert len(sessions) == 2
    texts = [(each.role, each.text[:12]) for each in memory.session(id=sessions[-1].id).messages()]
    assert texts == [("user", "I'm allergic"), ("assistant", "instructions")]


def test_a_continued_conversation_stays_one_session(memory: holdfast.Engine) -> None:
    async def use() -> None:
        agent = _agent(memory)
        first = await agent.run("hello there")
        await agent.run("and again", message_history=first.all_messages())

    asyncio.run(use())
    assert len(memory.sessions(user="ana")) == 1
    assert memory.stats().messages == 4


def test_the_user_can_be_chosen_for_each_run(memory: holdfast.Engine) -> None:
    memory.remember("the harbor has a lighthouse", user="ana")
    agent: Agent[str, str] = Agent(
        FunctionModel(_parrot), deps_type=str, capabilities=[HoldfastMemory(memory, user=lambda ctx: ctx.deps, learn=False)]
    )

    async def ask(user: str) -> str:
        return str((await agent.run("which harbor has a lighthouse?", deps=user)).output)

    assert "the harbor has a lighthouse" in asyncio.run(ask("ana"))
    assert "the harbor has a lighthouse" not in asyncio.run(ask("bob"))
    assert memory.stats().messages == 0


def test_a_model_can_search_and_remember(memory: holdfast.Engine) -> None:
    memory.remember("the harbor has a lighthouse", user="ana")
    calls = [("remember", {"text": "the cat is called Miso"}), ("search_memories", {"query": "lighthouse"})]

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if calls:
            return ModelResponse(parts=[ToolCallPart(*calls.pop(0))])
        return ModelResponse(parts=[TextPart(str(messages[-1]))])

    agent: Agent[None, str] = Agent(FunctionModel(scripted), capabilities=[HoldfastMemory(memory, user="ana", learn=False)])
    reply = asyncio.run(agent.run("hello")).output
    assert "the harbor has a lighthouse" in reply
    assert "the cat is called Miso" in [found.text for found in memory.memories(user="ana")]


def test_a_message_without_text_stands_for_the_result_of_another_tool(memory: holdfast.Engine) -> None:
    calls = [("search_memories", {"query": "lighthouse"}), ("fetch", {})]

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart(*calls.pop(0))] if calls else [TextPart("The page says hello.")])

    agent: Agent[None, str] = Agent(FunctionModel(scripted), capabilities=[HoldfastMemory(memory, user="ana")])
    agent.tool_plain(lambda: "page text", name="fetch")
    asyncio.run(agent.run("hello there"))
    messages = memory.session(id=memory.sessions(user="ana")[0].id).messages()
    assert [(each.role, each.origin) for each in messages] == [("user", "user"), ("tool", "tool"), ("assistant", "assistant")]
    assert "page text" not in str(messages[1].payload)


def test_tools_can_be_left_out_and_the_memory_must_be_an_engine(memory: holdfast.Engine) -> None:
    assert HoldfastMemory(memory, tools=False).get_toolset() is None
    with pytest.raises(holdfast.InvalidInput, match=r"holdfast\.open\(\)"):
        HoldfastMemory(memory.for_user("ana"))  # type: ignore[arg-type]
