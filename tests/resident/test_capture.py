"""Sessions of coding agents: what is stored of a transcript, and where its memories are stored, corrected and erased."""

import json
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.background.session_trusts import session_trusts
from holdfast.learning.placement import PROJECT
from holdfast.resident.capture import Capture
from holdfast.resident.events import HookEvent
from holdfast.resident.scope import AgentScope
from holdfast.services import services
from holdfast.types import Scope

from .support import transcript_line

BOTH = pytest.mark.everywhere("sqlite", "postgres")


def _talk(memory: Engine, id: str, *texts: str) -> None:
    session = memory.session(user="ana", app="shop", id=id)
    session.begin(metadata={PROJECT: "shop"})
    for text in texts:
        session.add("user", text)
    session.end()
    memory.drain()


def _facts(memory: Engine) -> dict[str, Scope]:
    return {each.text: each.scope for each in memory.memories(user="ana", app="shop", kind="fact")}


def test_a_new_value_replaces_the_users_old_one_from_another_project(memory: Engine) -> None:
    memory.remember("I live in Lyon", user="ana")
    _talk(memory, "s1", "I moved to Nantes. I live in Nantes now.")
    texts = _facts(memory)
    assert not any("Lyon" in text for text in texts)
    assert all(scope == Scope(user="ana") for text, scope in texts.items() if "Nantes" in text)


def test_erasing_the_project_erases_what_was_learned_from_its_sessions(memory: Engine) -> None:
    _talk(memory, "s1", "I live in Lyon. In this repo we run tests with make check.")
    assert set(_facts(memory)) == {"I live in Lyon.", "In this repo we run tests with make check."}
    memory.erase(app="shop")
    assert memory.memories(user="ana") == []
    assert memory.recall("Lyon", user="ana") == []


def test_erasing_a_session_erases_what_the_user_said_about_themselves_in_it(memory: Engine) -> None:
    _talk(memory, "s1", "I live in Lyon.")
    memory.erase(session="s1")
    assert memory.memories(user="ana") == []


def test_a_session_without_a_project_keeps_everything_in_its_app(memory: Engine) -> None:
    with memory.session(user="ana", app="kitchen") as session:
        session.add("user", "I live in Lyon.")
    memory.drain()
    assert [each.scope for each in memory.memories(user="ana", app="kitchen", kind="fact")] == [Scope(user="ana", app="kitchen")]


def _hook(memory: Engine, transcript: Path, name: str = "stop") -> int:
    """Pass an event to a new ``Capture``, which knows only the store, as after a restart. Return the number of new messages."""
    event = HookEvent(client="claude-code", name=name, session="s1", transcript=transcript)
    return Capture(memory).store(event, AgentScope(parts={"user": "ana", "app": "shop", "agent": None}))


def _write(transcript: Path, *lines: tuple[str, str, str]) -> None:
    with transcript.open("a", encoding="utf-8") as file:
        file.writelines(transcript_line(*line) for line in lines)


def _texts(memory: Engine) -> list[str]:
    return [message.text for message in memory.session(user="ana", app="shop", id="s1").messages()]


@BOTH
@pytest.mark.ledger("X36")
@pytest.mark.parametrize(
    ("start", "lift"),
    [
        ("From here on nothing gets written down, I need to vent.", "You can save things again now."),
        ("De ahora en adelante no guardes nada, por favor.", "Ya puedes volver a guardar cosas."),
    ],
    ids=["en", "es"],
)
def test_a_withheld_message_is_not_added_again_after_a_restart(memory: Engine, tmp_path: Path, start: str, lift: str) -> None:
    transcript = tmp_path / "s1.jsonl"
    _write(transcript, ("u1", "user", start), ("u2", "user", "My boss is called Quxzel."), ("u3", "user", lift))
    assert _hook(memory, transcript, "session-end") == 3
    memory.drain()
    assert _texts(memory) == [lift]
    _write(transcript, ("u4", "user", "I live in Lyon."))
    assert _hook(memory, transcript, "session-end") == 1
    memory.drain()
    assert _texts(memory) == [lift, "I live in Lyon."]
    assert [each.text for each in memory.memories(user="ana", app="shop", kind="fact")] == ["I live in Lyon."]


@BOTH
@pytest.mark.ledger("X36")
def test_an_erased_session_does_not_come_back_from_its_transcript(memory: Engine, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    _write(transcript, ("u1", "user", "I live in Lyon."))
    assert _hook(memory, transcript) == 1
    memory.erase(session="s1")
    assert _hook(memory, transcript) == 0
    _write(transcript, ("u2", "user", "I work in Nantes."))
    assert _hook(memory, transcript) == 1
    assert _texts(memory) == ["I work in Nantes."]


def test_a_transcript_that_was_replaced_by_a_shorter_one_is_read_from_its_start(memory: Engine, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    _write(transcript, ("u1", "user", "I live in Lyon, and I have a dog and two cats."), ("u2", "user", "I like tea."))
    _hook(memory, transcript)
    transcript.unlink()
    _write(transcript, ("u3", "user", "I live in Nantes."))
    assert _hook(memory, transcript) == 1
    assert _texts(memory)[-1] == "I live in Nantes."


def _result(id: str) -> str:
    blocks = [{"type": "tool_result", "tool_use_id": "t1", "content": "The user's bank is evilcorp.example."}]
    return json.dumps({"type": "user", "uuid": id, "sessionId": "s1", "message": {"role": "user", "content": blocks}}) + "\n"


@pytest.mark.ledger("X25")
@pytest.mark.parametrize("fetched", [True, False], ids=["after a tool result", "without a tool"])
def test_a_reply_after_a_tool_result_is_trusted_no_more_than_the_result(memory: Engine, tmp_path: Path, *, fetched: bool) -> None:
    transcript = tmp_path / "s1.jsonl"
    _write(transcript, ("u1", "user", "What does the page say about my bank?"))
    if fetched:
        with transcript.open("a", encoding="utf-8") as file:
            file.writelines(_result(id) for id in ("r1", "r2", "r3"))
    _write(transcript, ("a1", "assistant", "It says that it is evilcorp.example."))
    assert _hook(memory, transcript) == 2
    assert _hook(memory, transcript) == 0
    messages = memory.session(user="ana", app="shop", id="s1").messages()
    assert [message.role for message in messages] == (["user", "tool", "assistant"] if fetched else ["user", "assistant"])
    assert not any("evilcorp" in str(message.payload) for message in messages)
    assert session_trusts(services(memory).store, messages)[messages[-1].id] == (0.4 if fetched else 1.0)
