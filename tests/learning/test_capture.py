"""How a model's answer becomes memories: its formats, sources and dates, and the parts that are left to the rules."""

import json
from collections.abc import Callable
from typing import Any, Literal

import pytest

from holdfast import Engine
from holdfast.chat import Reply
from holdfast.testing import ScriptedChat

OpenMemory = Callable[..., Engine]
SAID = "I live in Lyon and I have been working as a nurse since 2019."


def digested(memory: Engine, *said: str) -> set[str]:
    """Run a conversation with messages of the user only, digest it, and return the texts of the memories."""
    with memory.session(user="ana") as talk:
        for text in said:
            talk.add("user", text, at="2026-11-14T10:00")
    memory.drain()
    return {str(found) for found in memory.memories(user="ana")}


def note(memory: Engine) -> str:
    return memory.jobs()[0].error or ""


@pytest.mark.parametrize(
    ("preset", "answer", "kept"),
    [
        ("rumi", {"facts": [{"key": "city", "value": "lives in Lyon"}]}, {"city: lives in Lyon"}),
        ("rumi", {"hechos": [{"clave": "city", "valor": "lives in Lyon"}]}, {"city: lives in Lyon"}),
        ("rumi", {"city": "lives in Lyon"}, {"city: lives in Lyon"}),
        ("lobug", [{"fact": "The user lives in Lyon", "type": "personal"}], {"The user lives in Lyon"}),
        ("rostro", {"conclusions": ["The user lives in Lyon"]}, {"The user lives in Lyon"}),
        ("rostro", ["The user lives in Lyon"], {"The user lives in Lyon"}),
        ("default", {"memories": [{"content": "The user lives in Lyon"}]}, {"The user lives in Lyon"}),
        ("default", [{"text": "The user lives in Lyon", "kind": "fact", "messages": [1]}], {"The user lives in Lyon"}),
        ("default", {"items": {"text": "The user lives in Lyon", "kind": "fact"}}, {"The user lives in Lyon"}),
        ("default", {"items": [{"text": "The user lives in Lyon", "kind": "home"}]}, {"The user lives in Lyon"}),
        ("apps", {"content": "The user lives in Lyon and works as a nurse."}, {"The user lives in Lyon and works as a nurse."}),
    ],
    ids=["rumi", "rumi-es", "rumi-map", "lobug", "rostro", "rostro-list", "other", "list", "one-item", "other-kind", "apps"],
)
def test_the_answer_shapes_of_the_designs_are_accepted(open_memory: OpenMemory, preset: str, answer: Any, kept: set[str]) -> None:
    model = ScriptedChat(json.dumps(answer), name="test:model")
    memory = open_memory(chat=model, preset=preset)
    assert kept <= digested(memory, SAID)
    assert not any("test:model failed" in (job.error or "") for job in memory.jobs())


@pytest.mark.ledger("L2")
@pytest.mark.parametrize("answer", ["[]", "{}", "null", '{"items": null}', '{"items": "none"}', "0", "false", '""'])
def test_an_answer_of_the_wrong_type_does_not_count_as_nothing_to_keep(open_memory: OpenMemory, answer: str) -> None:
    memory = open_memory(chat=ScriptedChat(respond=lambda call: answer))
    assert any("Lyon" in text for text in digested(memory, SAID))
    assert "rules took over" in note(memory)


@pytest.mark.parametrize(("preset", "answer"), [("lobug", "[]"), ("rumi", '{"facts": []}')])
def test_the_empty_answer_of_a_design_is_an_answer_in_its_preset(open_memory: OpenMemory, preset: str, answer: str) -> None:
    model = ScriptedChat(answer)
    memory = open_memory(chat=model, preset=preset)
    assert digested(memory, SAID) == set()
    assert (note(memory), len(model.asked)) == ("", 1)


def test_a_plain_list_of_lines_is_an_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(
        chat=ScriptedChat("Conclusions:\n- The user lives in Lyon\n- The user works as a nurse\n"), preset="rostro"
    )
    assert {"The user lives in Lyon", "The user works as a nurse"} <= digested(memory, SAID)


def test_an_empty_list_of_items_is_an_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(chat=ScriptedChat('{"items": []}'))
    assert digested(memory, SAID) == set()
    assert note(memory) == ""


def test_a_refused_item_leaves_its_messages_to_the_rules_and_the_job_says_why(open_memory: OpenMemory) -> None:
    wrong = {"text": "The user is diabetic", "kind": "fact", "messages": [2]}
    right = {"text": "The user lives in Lyon", "kind": "fact", "messages": [1]}
    memory = open_memory(chat=ScriptedChat(json.dumps({"items": [right, wrong]})))
    kept = digested(memory, "I live in Lyon.", "My father is diabetic, and I am allergic to nuts.")
    assert "The user lives in Lyon" in kept
    assert "The user is diabetic" not in kept
    assert any("allergic to nuts" in text for text in kept), "rules keep what they find in the message of the refused item"
    assert not any(text.startswith("I live in Lyon") for text in kept), "the other message is the model's"
    assert "dropped an item about another person" in note(memory)


@pytest.mark.parametrize(
    ("said", "item", "source"),
    [
        (["I live in Lyon."], "The user lives in Lyon", 0),
        (["Nice weather today.", "I live in Lyon.", "Bye now."], "The user lives in Lyon", 1),
    ],
    ids=["only-message", "only-message-with-the-words"],
)
def test_an_item_without_numbers_comes_from_the_only_message_that_can_be_meant(
    open_memory: OpenMemory, said: list[str], item: str, source: int
) -> None:
    memory = open_memory(chat=ScriptedChat(json.dumps({"items": [{"text": item, "kind": "fact"}]})))
    assert item in digested(memory, *said)
    (found,) = [found for found in memory.memories(user="ana") if found.text == item]
    (session,) = memory.sessions(user="ana")
    messages = memory.session(id=session.id, user="ana").messages()
    assert found.sources == (messages[source].id,)


def test_an_item_without_message_numbers_that_fits_two_messages_is_left_to_the_rules(open_memory: OpenMemory) -> None:
    memory = open_memory(chat=ScriptedChat(json.dumps({"items": [{"text": "The user lives in Lyon", "kind": "fact"}]})))
    assert "The user lives in Lyon" not in digested(memory, "I live in Lyon.", "Yes, in Lyon I live.")
    assert "without a source" in note(memory)


@pytest.mark.parametrize("stop", ["length", "end"], ids=["announced", "unannounced"])
def test_the_rest_of_an_answer_that_was_cut_off_is_requested(open_memory: OpenMemory, stop: Literal["length", "end"]) -> None:
    first = '{"items": [{"text": "The user lives in Lyon", "kind": "fact", "messages": [1]}, {"text": "The user wor'
    rest = '{"items": [{"text": "The user works as a nurse", "kind": "fact", "messages": [1]}]}'
    model = ScriptedChat(Reply(text=first, stop=stop), rest)
    memory = open_memory(chat=model)
    assert digested(memory, SAID) == {"The user lives in Lyon", "The user works as a nurse"}
    assert "cut off" in model.asked[1].turns[-1].text
    assert note(memory) == ""


def test_if_the_rest_cannot_be_had_the_job_says_that_the_answer_was_cut_off(open_memory: OpenMemory) -> None:
    first = '{"items": [{"text": "The user lives in Lyon", "kind": "fact", "messages": [1]}, {"text": "The user wor'
    memory = open_memory(chat=ScriptedChat(Reply(text=first, stop="length")))
    assert digested(memory, SAID) == {"The user lives in Lyon"}
    assert "the answer was cut off" in note(memory)


def test_dates_of_an_item_are_kept_if_they_follow_from_the_message(open_memory: OpenMemory) -> None:
    items = [
        {"text": "The user and Tess broke up", "kind": "event", "messages": [1], "happened_at": "2026-11-13"},
        {"text": "The user works at KPMG", "kind": "fact", "messages": [2], "happened_at": "2019", "ended_at": "2031-01-01"},
    ]
    memory = open_memory(chat=ScriptedChat(json.dumps({"items": items})))
    digested(memory, "Tess and I broke up last night", "I have worked at KPMG since 2019")
    dates = {found.text: dict(found.metadata) for found in memory.memories(user="ana")}
    assert dates["The user and Tess broke up"] == {"happened_at": "2026-11-13"}
    assert dates["The user works at KPMG"] == {"happened_at": "2019"}, "nobody stated an end"


@pytest.mark.parametrize(
    ("said", "dates"),
    [
        ("I started my new job yesterday.", {"happened_at": "2026-11-13"}),
        ("Ayer empecé mi nuevo trabajo en el hospital.", {"happened_at": "2026-11-13"}),
        ("I live in Lyon since 2019.", {"happened_at": "2019"}),
        ("Vivo en Lyon desde marzo de 2024.", {"happened_at": "2024-03"}),
        ("I live in Lyon.", {}),
    ],
    ids=["event-en", "event-es", "since-en", "since-es", "none"],
)
def test_without_a_model_events_and_states_carry_the_dates_they_state(
    open_memory: OpenMemory, said: str, dates: dict[str, str]
) -> None:
    memory = open_memory()
    digested(memory, said)
    (found,) = memory.memories(user="ana")
    assert dict(found.metadata) == dates
