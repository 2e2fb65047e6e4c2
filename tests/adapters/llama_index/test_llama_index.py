"""The memory block for LlamaIndex. LlamaIndex publishes no tests for memory blocks, so these tests use its own ``Memory``."""

import asyncio
from typing import Any

import pytest

import holdfast

pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: make test-adapters runs its tests")

from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import Memory

from holdfast.adapters.llama_index import HoldfastMemoryBlock

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # LlamaIndex
]


@pytest.fixture
def block(memory: holdfast.Engine) -> HoldfastMemoryBlock:
    return HoldfastMemoryBlock(memory=memory, user="ana", priority=1)


def _user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def _chat(block: HoldfastMemoryBlock, **more: Any) -> Memory:
    """Return a chat memory that passes nearly every message to its memory block."""
    sizes = {"token_limit": 60, "token_flush_size": 20, "chat_history_token_ratio": 0.3, **more}
    return Memory.from_defaults(session_id="chat", memory_blocks=[block], tokenizer_fn=str.split, **sizes)


def test_messages_that_leave_the_short_term_memory_are_learned_from(block: HoldfastMemoryBlock, memory: holdfast.Engine) -> None:
    async def use() -> str:
        chat = _chat(block)
        for text in ("I'm allergic to walnuts.", "The harbor has a lighthouse."):
            await chat.aput(_user(text))
            await chat.aput(ChatMessage(role="assistant", content="Noted, thank you for telling me. " * 3))
        await asyncio.to_thread(memory.drain)
        await chat.aput(_user("am I allergic to walnuts?"))
        return str((await chat.aget())[0].content)

    shown = asyncio.run(use())
    assert "I'm allergic to walnuts." in shown
    assert "quoted data" in shown
    (record,) = memory.sessions(user="ana")
    messages = memory.session(id=record.id).messages()
    assert (messages[0].role, messages[0].text, messages[1].role) == ("user", "I'm allergic to walnuts.", "assistant")


def test_the_block_leaves_out_messages_of_its_own_session(block: HoldfastMemoryBlock, memory: holdfast.Engine) -> None:
    asyncio.run(block.aput([_user("The lighthouse opens on Sundays, they say.")], session_id="chat"))
    question = [_user("when does the lighthouse open?")]
    assert asyncio.run(block.aget(question, session_id="chat")) == ""
    assert "Sundays" in asyncio.run(block.aget(question, session_id="other"))
    assert "Sundays" in asyncio.run(block.aget(question))


def test_parts_that_are_not_text_are_left_out(block: HoldfastMemoryBlock, memory: holdfast.Engine) -> None:
    mixed = ChatMessage(role="user", blocks=[TextBlock(text="a red boat"), ImageBlock(url="file:///boat.png")])
    tool = ChatMessage(role="function", content="12 degrees")
    asyncio.run(block.aput([mixed, tool, ChatMessage(role="assistant", blocks=[])], session_id="chat"))
    (record,) = memory.sessions(user="ana")
    assert [(each.role, each.text) for each in memory.session(id=record.id).messages()] == [
        ("user", "a red boat"),
        ("tool", "12 degrees"),
    ]
    assert "session_id" not in mixed.additional_kwargs


def test_a_block_without_a_question_is_empty(block: HoldfastMemoryBlock) -> None:
    assert asyncio.run(block.aget()) == ""
    assert asyncio.run(block.aget([ChatMessage(role="assistant", content="hello")])) == ""


def test_the_same_session_id_of_another_user_is_another_session(memory: holdfast.Engine) -> None:
    for user in ("ana", "bob", None):
        block = HoldfastMemoryBlock(memory=memory, user=user)
        asyncio.run(block.aput([_user("hello there")], session_id="chat"))
        asyncio.run(block.aput([_user("hello again")], session_id="chat"))
    assert [len(memory.sessions(user=user)) for user in ("ana", "bob")] == [1, 1]
    assert len(memory.session(id="chat", shared=True).messages()) == 2


def test_users_are_separate(block: HoldfastMemoryBlock, memory: holdfast.Engine) -> None:
    memory.remember("the harbor has a lighthouse", user="ana")
    question = [_user("which harbor has a lighthouse?")]
    assert "lighthouse" in asyncio.run(block.aget(question))
    assert asyncio.run(HoldfastMemoryBlock(memory=memory, user="bob").aget(question)) == ""


def test_a_block_that_is_too_long_is_made_shorter(block: HoldfastMemoryBlock, memory: holdfast.Engine) -> None:
    ends = "keeper bakes rye bread|tower is painted red|garden grows figs|lamp needs oil|door squeaks|cellar floods in March|roof leaks"
    for end in ends.split("|"):
        memory.remember(f"the lighthouse {end}, as everybody in the village knows", user="ana", pinned=True)

    async def use() -> tuple[str, str | None, str | None]:
        whole = await block.aget([_user("what does the lighthouse keeper bake?")])
        return whole, await block.atruncate(whole, 60), await block.atruncate(whole, 100_000)

    whole, shorter, nothing = asyncio.run(use())
    assert shorter is not None
    assert len(shorter) < len(whole) - 100
    assert "lighthouse" in shorter
    assert nothing is None


def test_the_block_needs_an_engine(memory: holdfast.Engine) -> None:
    with pytest.raises(ValueError, match=r"holdfast\.open\(\)"):
        HoldfastMemoryBlock(memory=memory.for_user("ana"))
    assert "memory" not in HoldfastMemoryBlock(memory=memory).model_dump()
