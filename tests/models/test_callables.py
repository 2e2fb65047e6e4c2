"""Tests of functions as chat models, called from threads and from running event loops."""

import asyncio
import json
import threading
from collections.abc import Awaitable

import pytest

from holdfast.chat import Reply, Tool, Turn, usage_of
from holdfast.errors import AnswerInvalid, ModelBusy, ModelError, ModelUnavailable, SettingsError
from holdfast.models.callables import CallableChat, custom_chat
from holdfast.testing import ScriptedChat

HELLO = [Turn(role="system", text="Be brief."), Turn(role="user", text="¿Qué tal?")]


def last_words(messages: list[dict[str, str]]) -> str:
    return messages[-1]["content"]


async def later_words(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return messages[-1]["content"]


def promised_words(messages: list[dict[str, str]]) -> Awaitable[str]:
    return later_words(messages)


@pytest.mark.ledger("L11")
@pytest.mark.parametrize("function", [last_words, later_words, promised_words])
def test_a_function_can_answer(function: object) -> None:
    reply = CallableChat(function).chat(HELLO)  # type: ignore[arg-type]
    assert (reply.text, reply.usage.calls, reply.usage.cost) == ("¿Qué tal?", 1, None)


def test_a_function_is_given_roles_and_contents() -> None:
    seen: list[dict[str, str]] = []

    def note(messages: list[dict[str, str]]) -> str:
        seen.extend(messages)
        return "ok"

    CallableChat(note).chat([*HELLO, Turn(role="tool", text="4", call="c")])
    assert seen == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "¿Qué tal?"},
        {"role": "user", "content": "4"},
    ]


def test_a_function_has_its_own_name_or_the_one_it_is_given() -> None:
    assert CallableChat(last_words).name == "callable:last_words"
    assert CallableChat(last_words, name="mine").name == "mine"


def test_a_function_marked_as_free_costs_nothing() -> None:
    assert CallableChat(last_words, free=True).chat(HELLO).usage.cost == 0.0


@pytest.mark.parametrize("function", [last_words, later_words])
def test_a_function_can_be_asked_from_inside_a_running_loop(function: object) -> None:
    chat = CallableChat(function)  # type: ignore[arg-type]

    async def ask() -> str:
        return chat.chat(HELLO).text

    assert asyncio.run(ask()) == "¿Qué tal?"


def test_coroutines_always_run_in_the_same_event_loop() -> None:
    loops = []

    async def note(messages: list[dict[str, str]]) -> str:
        loops.append(asyncio.get_running_loop())
        return "ok"

    chat = CallableChat(note)
    threads = [threading.Thread(target=chat.chat, args=(HELLO,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 4
    assert len(set(loops)) == 1


def test_a_coroutine_that_takes_too_long_is_stopped() -> None:
    stopped = threading.Event()

    async def sleep(messages: list[dict[str, str]]) -> str:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()
        return "never"

    with pytest.raises(ModelUnavailable, match=r"0\.05 seconds"):
        CallableChat(sleep).chat(HELLO, timeout=0.05)
    assert stopped.wait(20)


def test_a_schema_is_added_to_the_prompt() -> None:
    answer = CallableChat(last_words).chat(HELLO, schema={"type": "object", "properties": {"city": {"type": "string"}}})
    assert json.loads(answer.text.splitlines()[-1])["properties"] == {"city": {"type": "string"}}


def test_any_error_of_a_function_is_a_model_error() -> None:
    def fail(messages: list[dict[str, str]]) -> str:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ModelUnavailable, match="ZeroDivisionError: by zero") as caught:
        CallableChat(fail).chat(HELLO)
    assert usage_of(caught.value).calls == 1


def test_a_functions_own_model_error_is_kept() -> None:
    def busy(messages: list[dict[str, str]]) -> str:
        raise ModelBusy("later", retry_after=3)

    with pytest.raises(ModelBusy, match="later"):
        CallableChat(busy).chat(HELLO)


@pytest.mark.parametrize("answer", [None, b"bytes", 7, {"content": "x"}])
def test_an_answer_that_is_not_text_is_refused(answer: object) -> None:
    with pytest.raises(AnswerInvalid, match="must return a str"):
        CallableChat(lambda messages: answer).chat(HELLO)  # type: ignore[arg-type, return-value]


def test_a_function_cannot_call_tools() -> None:
    with pytest.raises(ModelError, match="cannot call tools"):
        CallableChat(last_words).chat(HELLO, tools=[Tool(name="t", description="d", parameters={})])


def test_a_functions_stream_is_its_answer() -> None:
    piece, last = CallableChat(last_words).stream(HELLO)
    assert isinstance(last, Reply)
    assert piece == last.text == "¿Qué tal?"


class Client:
    """A client of another library, with a method that could be a chat function."""

    def chat(self, messages: list[dict[str, str]]) -> str:
        return last_words(messages)


def test_a_client_of_another_library_is_refused_and_its_method_accepted() -> None:
    with pytest.raises(SettingsError, match=r"Client is not a chat model.*method"):
        custom_chat(Client())  # type: ignore[arg-type]
    assert custom_chat(Client().chat).chat(HELLO).text == "¿Qué tal?"
    scripted = ScriptedChat("hello")
    assert custom_chat(scripted) is scripted
