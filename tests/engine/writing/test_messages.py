"""Messages: their stored fields, their links to the questions they answer, and the window of a session."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, InvalidInput
from holdfast.messages import Acts, make_message
from holdfast.presets.default import DEFAULT
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Message, Scope

ANA = Scope(user="ana")
_QUESTION = "Where do you live?"


def message(clock: FrozenClock, role: str, text: str, **more: Any) -> Message:
    made = make_message("s1", ANA, clock.now(), role=role, text=text, **more)
    return replace(made, seq=1)


def test_a_message_has_every_given_value(clock: FrozenClock) -> None:
    made = message(
        clock, "user", "I live in Lyon with my sister.", at="2026-02-03T04:05:06Z", speaker="Ana", id="c1", origin="file",
        action="IGNORE", payload={"a": 1},
    )  # fmt: skip
    assert (made.session, made.scope, made.role, made.text) == ("s1", ANA, "user", "I live in Lyon with my sister.")
    assert (made.at.isoformat(), made.speaker, made.client_id, made.origin) == (
        "2026-02-03T04:05:06+00:00", "Ana", "c1", "file",
    )  # fmt: skip
    assert (made.action, made.payload, made.language) == ("IGNORE", {"a": 1}, "en")
    assert message(clock, "user", "hi").at == clock.now()


@pytest.mark.parametrize(
    ("role", "origin"), [("user", "user"), ("assistant", "assistant"), ("tool", "tool"), ("system", "file"), ("Ana", "user")]
)
def test_the_role_decides_the_origin_unless_it_is_given(clock: FrozenClock, role: str, origin: str) -> None:
    assert message(clock, role, "hi").origin == origin
    assert message(clock, role, "hi", origin="web").origin == "web"


@pytest.mark.parametrize("field", ["role", "speaker", "id", "action", "at", "origin", "text"])
def test_an_error_names_the_field(clock: FrozenClock, field: str) -> None:
    given: dict[str, Any] = {"role": "user", "text": "hi", field: 7}
    with pytest.raises(InvalidInput, match=rf"\b{field}\b"):
        make_message("s1", ANA, clock.now(), **given)


def test_a_role_is_needed(clock: FrozenClock) -> None:
    with pytest.raises(InvalidInput, match="role is empty"):
        message(clock, "", "hi")


def test_secrets_are_replaced_in_every_field_and_listed_unless_redaction_is_off(clock: FrozenClock) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    made = message(clock, f"user {key}", f"my key is {key}", speaker=f"Ana {key}", action=f"note {key}")
    assert key not in repr((made.role, made.text, made.speaker, made.action))
    assert {each.field for each in made.redacted} == {"role", "text", "speaker", "action"}
    kept = message(clock, "user", f"my key is {key}", redact=False)
    assert (key in kept.text, kept.redacted) == (True, ())


@pytest.mark.parametrize("change", [{"role": "assistant"}, {"text": "I live in Nantes."}, {"payload": {"a": 2}}])
def test_the_same_id_with_other_content_is_a_conflict_and_stores_nothing(memory: Engine, change: dict[str, Any]) -> None:
    session = memory.session(user="ana")
    first: dict[str, Any] = {"role": "user", "text": "I live in Lyon.", "payload": {"a": 1}, "id": "c1"}
    stored = session.add(**first)
    assert session.add(**first).id == stored.id
    with pytest.raises(Conflict, match="c1"):
        session.add(**{**first, **change})
    assert len(session.messages()) == 1


@pytest.mark.parametrize(
    ("asked", "replied", "answers"),
    [
        ({"role": "assistant"}, {"role": "user"}, True),
        ({"role": "user"}, {"role": "assistant"}, False),
        ({"role": "user"}, {"role": "user"}, False),
        ({"role": "assistant"}, {"role": "assistant"}, False),
        ({"role": "user", "speaker": "Ana"}, {"role": "user", "speaker": "Bob"}, True),
        ({"role": "user", "speaker": "Ana"}, {"role": "user", "speaker": "Ana"}, False),
        ({"role": "assistant"}, {"role": "user", "speaker": "Bob"}, True),
        ({"role": "tool"}, {"role": "user"}, False),
        ({"role": "assistant", "origin": "web"}, {"role": "user"}, False),
        ({"role": "assistant", "action": "IGNORE"}, {"role": "user"}, False),
    ],
)
def test_a_message_answers_only_a_question_of_another_speaker(
    clock: FrozenClock, asked: dict[str, str], replied: dict[str, str], *, answers: bool
) -> None:
    question = message(clock, text=_QUESTION, **asked)
    reply = Acts().with_act(message(clock, text="In Lyon.", **replied), question)
    assert (reply.asked, reply.answers) == ((_QUESTION, 1) if answers else (None, None))


def test_a_question_in_return_is_not_an_answer(clock: FrozenClock) -> None:
    reply = Acts().with_act(message(clock, "user", "Why do you ask?"), message(clock, "assistant", _QUESTION))
    assert (reply.asks, reply.asked) == (True, None)
    plain = Acts().with_act(message(clock, "user", "I live in Lyon."), message(clock, "assistant", "I see."))
    assert (plain.asks, plain.asked, plain.answers) == (False, None, None)


def test_the_window_has_the_last_messages_without_noise_and_starts_again_when_cleared(memory: Engine) -> None:
    session, size = memory.session(user="ana"), DEFAULT.window
    session.add_all({"role": "user", "text": f"number {number}"} for number in range(size * 5))
    assert [each.text for each in session.window()] == [f"number {number}" for number in range(size * 4, size * 5)]
    session.add("user", "mm", action="IGNORE")
    assert session.window()[-1].text == f"number {size * 5 - 1}"
    assert len(session.window()) == size, "noise takes no place"
    session.clear_window()
    assert session.window() == []
    session.add("user", "after")
    assert [each.text for each in session.window()] == ["after"]
    assert len(session.messages()) == size * 5 + 2
    assert [each.text for each in session.messages(limit=2)] == ["mm", "after"]


def test_clearing_the_window_of_an_empty_session_does_nothing(memory: Engine) -> None:
    session = memory.session(user="ana", id="s1")
    session.clear_window()
    session.begin(metadata={"a": 1})
    session.clear_window()
    assert services(memory).store.session("s1", session.scope) == session.begin(metadata={"a": 2})
    assert session.begin().metadata == {"a": 1}


def test_a_session_off_the_record_keeps_its_messages_only_in_memory(memory: Engine) -> None:
    session = memory.session(user="ana", off_record=True)
    session.add_all({"role": "user", "text": f"number {number}"} for number in range(3))
    assert [each.text for each in session.messages(limit=2)] == ["number 1", "number 2"]
    assert [each.text for each in session.messages(limit=9)] == [each.text for each in session.window()]
    assert repr(session).endswith("off the record>")
    popped = session.pop()
    assert popped is not None
    assert popped.text == "number 2"
    session.clear_window()
    assert (session.messages(), session.pop()) == ([], None)
    assert memory.stats().messages == 0
    assert memory.sessions(user="ana") == []


def test_the_dialogue_act_of_a_message_is_stored(memory: Engine) -> None:
    session = memory.session(user="ana")
    for role, text in (
        ("user", "Where is my viola?"),
        ("assistant", "Where do you live?"),
        ("user", "In Lyon."),
        ("user", "thanks!"),
    ):
        session.add(role, text)
    stored = session.messages()
    assert [each.act for each in stored] == ["question", "question", "reply", "small_talk"]
    assert [each.asks for each in stored] == [True, True, False, False]


def test_a_session_recalls_text_of_others_only_on_request(memory: Engine) -> None:
    memory.session(user="ana").add("user", "The museum opens at ten.", origin="web")
    session = memory.session(user="ana")
    assert session.recall("museum opens") == []
    assert [hit.provenance for hit in session.recall("museum opens", untrusted=True)] == ["web"]
