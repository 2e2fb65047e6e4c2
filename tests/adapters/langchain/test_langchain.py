"""LangChain's retriever and chat message history: behavior that LangChain's suites do not cover."""

import asyncio
from collections.abc import Callable

import pytest

import holdfast

pytest.importorskip("langchain_core.retrievers", reason="LangChain is not installed: make test-adapters runs its tests")

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from holdfast.adapters.langchain import HoldfastChatMessageHistory, HoldfastRetriever

pytestmark = [pytest.mark.ledger("X14"), pytest.mark.filterwarnings("ignore:.*deprecated")]
TALK: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("I live in Lyon. My password is hunter2hunter2.", name="Ana", id="h1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Lyon"}, "id": "c1", "type": "tool_call"}]),
    ToolMessage("12 degrees, rain", tool_call_id="c1", artifact={"raw": [12]}),
    AIMessage([{"type": "text", "text": "It rains in Lyon."}], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ChatMessage("Hello", role="referee"),
]  # fmt: skip


@pytest.fixture
def history(memory: holdfast.Engine) -> HoldfastChatMessageHistory:
    return HoldfastChatMessageHistory("thread-7", memory, user="ana")


def test_messages_are_returned_unchanged(history: HoldfastChatMessageHistory) -> None:
    history.add_messages(TALK)
    assert history.messages == TALK
    assert asyncio.run(history.aget_messages()) == TALK


def test_a_limit_returns_the_last_messages(history: HoldfastChatMessageHistory, memory: holdfast.Engine) -> None:
    history.add_messages(TALK)
    assert HoldfastChatMessageHistory("thread-7", memory, user="ana", limit=2).messages == TALK[-2:]


def test_texts_are_messages_of_the_memory_without_secrets(history: HoldfastChatMessageHistory, memory: holdfast.Engine) -> None:
    history.add_messages(TALK)
    stored = memory.session(id="thread-7", user="ana").messages()
    assert [message.role for message in stored] == ["system", "user", "assistant", "tool", "assistant", "referee"]
    assert [message.text for message in stored][2:] == ["", "12 degrees, rain", "It rains in Lyon.", "Hello"]
    assert "hunter2hunter2" not in stored[1].text


def test_learned_facts_can_be_retrieved(history: HoldfastChatMessageHistory, memory: holdfast.Engine) -> None:
    history.add_messages(TALK)
    history.end()
    memory.drain()
    retriever = HoldfastRetriever(memory=memory, user="ana", kinds=["fact"])
    assert any("Lyon" in document.page_content for document in retriever.invoke("Where does Ana live?"))
    later = HoldfastChatMessageHistory("thread-8", memory, user="ana")
    assert "Lyon" in later.context("Where do I live?")


def test_clearing_erases_the_conversation(
    history: HoldfastChatMessageHistory, memory: holdfast.Engine, files_with: Callable[[str], list[str]]
) -> None:
    history.add_messages(TALK)
    asyncio.run(history.aclear())
    assert history.messages == []
    assert files_with("12 degrees") == []


def test_messages_of_other_programs_are_messages(history: HoldfastChatMessageHistory, memory: holdfast.Engine) -> None:
    session = memory.session(id="thread-7", user="ana")
    for role in ("user", "assistant", "referee"):
        session.add(role, "Hello")
    assert history.messages == [HumanMessage("Hello"), AIMessage("Hello"), ChatMessage("Hello", role="referee")]


def test_the_same_id_of_another_user_names_another_conversation(
    history: HoldfastChatMessageHistory, memory: holdfast.Engine
) -> None:
    history.add_messages(TALK)
    assert HoldfastChatMessageHistory("thread-7", memory).messages == []
    assert HoldfastChatMessageHistory("thread-7", memory, user="bob").messages == []
    assert HoldfastChatMessageHistory("thread-7", memory, app="desk").messages == []


def test_a_document_says_where_it_is_from(memory: holdfast.Engine) -> None:
    stored = memory.remember("likes green tea", user="ana", key="drink", metadata={"stars": 5}, namespace=("food",))
    memory.remember("likes green grass", user="ana", metadata={"stars": 1})
    retriever = HoldfastRetriever(memory=memory, user="ana", where={"stars": {"$gte": 4}}, namespace_prefix=("food",))
    (document,) = retriever.invoke("green")
    assert (document.id, document.page_content) == (stored.id, "likes green tea")
    expected = {"kind": "fact", "key": "drink", "stars": 5, "namespace": ["food"], "at": stored.valid_from.isoformat()}
    assert expected.items() <= document.metadata.items()
    assert 0 < document.metadata["score"] <= 1


def test_messages_are_documents_too(memory: holdfast.Engine) -> None:
    memory.session(user="ana", id="thread-7").add("user", "The green parrot flew away.")
    (document,) = HoldfastRetriever(memory=memory, user="ana").invoke("parrot")
    assert document.metadata["kind"] == "message"
    assert (document.metadata["role"], document.metadata["session"]) == ("user", "thread-7")


def test_a_retriever_is_part_of_a_chain(memory: holdfast.Engine) -> None:
    memory.remember("likes green tea", user="ana")
    chain = HoldfastRetriever(memory=memory, user="ana", k=1) | RunnableLambda(lambda documents: documents[0].page_content)
    assert chain.invoke("tea") == "likes green tea"
    assert asyncio.run(chain.ainvoke("tea")) == "likes green tea"


def test_a_retriever_needs_an_engine(memory: holdfast.Engine) -> None:
    with pytest.raises(ValueError, match="Engine"):
        HoldfastRetriever(memory=memory.for_user("ana"))
