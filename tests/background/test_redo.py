"""Work that rules did while the model was unavailable: the model redoes it later, and a silent model delays no other work."""

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.chat import Reply, Usage
from holdfast.errors import ModelUnavailable
from holdfast.models.chat_budget import ChatSource
from holdfast.services import services
from holdfast.testing import FrozenClock, RecordedCall, ScriptedChat

OpenMemory = Callable[..., Engine]


def items(*texts: str) -> str:
    return json.dumps({"items": [{"text": text, "kind": "fact", "messages": [1]} for text in texts]})


def talk(memory: Engine, text: str, user: str = "ana", id: str | None = None) -> None:
    session = memory.session(user=user, id=id)
    session.add("user", text)
    session.end()


def texts(memory: Engine, user: str = "ana") -> set[str]:
    return {found.text for found in memory.memories(user=user)}


class Model:
    """A model that can be unavailable. It says that the user lives in the town named in the conversation."""

    name = "test:model"

    def __init__(self) -> None:
        self.away = True
        self.calls = 0

    def __call__(self, call: RecordedCall) -> Any:
        self.calls += 1
        if self.away:
            return ModelUnavailable("no connection")
        said = call.turns[-1].text
        return items(f"The user lives in {said.split('live in ')[1].split('.')[0]}")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def memory(open_memory: OpenMemory, model: Model) -> Engine:
    return open_memory(chat=ScriptedChat(respond=model, name="test:model"))


@pytest.mark.ledger("X32")
def test_work_of_rules_is_redone_when_the_model_answers_again(memory: Engine, model: Model, clock: FrozenClock) -> None:
    talk(memory, "I live in Lyon.")
    memory.drain()
    assert texts(memory) == {"I live in Lyon."}
    (by_rules,) = memory.memories(user="ana")
    memory.drain()
    assert texts(memory) == {"I live in Lyon."}, "it is still away"
    model.away = False
    clock.advance(timedelta(minutes=2))
    memory.drain()
    assert texts(memory) == {"The user lives in Lyon"}
    replaced = memory.get(by_rules.id)
    assert replaced.status == "superseded"
    assert memory.history(memory.memories(user="ana")[0].id)[0].author.model == "test:model"
    assert [(job.kind, job.state, job.error) for job in memory.jobs()] == [("digest", "done", None), ("redo", "done", None)]
    calls = model.calls
    memory.drain()
    assert model.calls == calls, "it is redone once"


@pytest.mark.ledger("X32")
def test_a_redo_leaves_alone_what_the_user_stored_edited_pinned_or_forgot(
    open_memory: OpenMemory, clock: FrozenClock, model: Model
) -> None:
    said = ("I live in Lyon.", "I have a dog called Rex.", "I play the cello.", "I am allergic to nuts.")
    found = [
        "The user lives in Lyon",
        "The user has a dog called Rex",
        "The user plays the cello",
        "The user is allergic to nuts",
    ]

    def respond(call: RecordedCall) -> Any:
        answer = [{"text": text, "kind": "fact", "messages": [number]} for number, text in enumerate(found, 1)]
        return ModelUnavailable("down") if model.away else json.dumps({"items": answer})

    memory = open_memory(chat=ScriptedChat(respond=respond))
    session = memory.session(user="ana")
    for text in said:
        session.add("user", text)
    session.end()
    memory.drain()
    kept = {memory_.text: memory_ for memory_ in memory.memories(user="ana")}
    memory.revise(kept["I am allergic to nuts."].id, "Nuts and latex make me ill, ask Doctor Ito. I am allergic to nuts.")
    memory.revise(kept["I have a dog called Rex."].id, pinned=True)
    memory.forget(id=kept["I play the cello."].id)
    explicit = memory.remember("Speaks Basque", user="ana")
    clock.advance(timedelta(days=1))
    model.away = False
    memory.drain()
    assert texts(memory) == {
        "The user lives in Lyon",
        "I have a dog called Rex.",
        "Nuts and latex make me ill, ask Doctor Ito. I am allergic to nuts.",
        "Speaks Basque",
    }
    assert memory.get(explicit.id).revision == 1


@pytest.mark.ledger("X32")
@pytest.mark.parametrize("edited", [False, True], ids=["untouched", "edited"])
def test_a_redo_replaces_the_paragraph_of_a_conversation_unless_the_user_edited_it(
    open_memory: OpenMemory, model: Model, *, edited: bool
) -> None:
    written = "Somebody called Ana lives in Lyon and looks for a new flat."

    def respond(call: RecordedCall) -> Any:
        return ModelUnavailable("down") if model.away else json.dumps({"paragraph": written, "importance": 5, "tags": []})

    memory = open_memory(chat=ScriptedChat(respond=respond), preset="apps")
    session = memory.session(app="calendar", user="ana")
    session.add("user", "I am in Lyon and want to find a new flat soon, with a balcony and two rooms.")
    session.end()
    memory.drain()
    (by_rules,) = memory.memories(app="calendar", user="ana")
    if edited:
        memory.revise(by_rules.id, "My own words about the search.")
    model.away = False
    memory.drain()
    kept = [found.text for found in memory.memories(app="calendar", user="ana")]
    assert kept == (["My own words about the search."] if edited else [written])
    assert memory.get(by_rules.id).status == ("live" if edited else "superseded")


@pytest.mark.ledger("X32")
def test_redoing_keeps_within_the_daily_limits(
    open_memory: OpenMemory, clock: FrozenClock, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DAILY_CALLS", "2")
    model.away = False
    memory = open_memory(chat=ScriptedChat(respond=model))
    for number in range(5):
        talk(memory, f"I live in Town{number}x.", user=f"user{number}")
    memory.drain()
    memory.drain()
    assert model.calls == 2
    waiting = [job for job in memory.jobs() if job.kind == "redo"]
    assert [job.state for job in waiting] == ["queued"] * 3
    for _ in range(2):
        clock.advance(timedelta(days=1))
        memory.drain()
    assert model.calls == 5
    assert [texts(memory, f"user{number}") for number in range(5)] == [{f"The user lives in Town{n}x"} for n in range(5)]


def test_new_conversations_come_before_those_to_redo(memory: Engine, model: Model) -> None:
    talk(memory, "I live in Lyon.", user="old")
    memory.drain()
    talk(memory, "I live in Porto.", user="new")
    order = [job.kind for job in sorted(memory.jobs(states=["queued"]), key=lambda job: -job.priority)]
    assert order == ["digest", "redo"]


def test_a_job_during_which_workers_died_is_done_by_rules(open_memory: OpenMemory, clock: FrozenClock, model: Model) -> None:
    model.away = False
    memory = open_memory(chat=ScriptedChat(respond=model))
    talk(memory, "I live in Lyon.")
    for _ in range(3):
        with services(memory).store.write() as tx:
            tx.lease_job(worker="another-machine:1:life:1", now=clock.now(), until=clock.now() + timedelta(minutes=5))
        clock.advance(timedelta(minutes=6))
    memory.drain()
    assert model.calls == 0, "the model may be what kills the workers"
    assert texts(memory) == {"I live in Lyon."}
    assert "3 workers died during this job" in (memory.jobs()[0].error or "")
    assert [job.kind for job in memory.jobs()] == ["digest"]


class Silent:
    """A model that does not answer certain conversations until it is released."""

    name = "test:silent"

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []

    def chat(self, turns: Any, **_: Any) -> Reply:
        said = turns[-1].text
        self.asked.append(said)
        if "Silence" in said:
            self.released.wait(30)
        town = said.split("live in ")[1].split(".")[0]
        return Reply(text=items(f"The user lives in {town}"), usage=Usage(calls=1))


@pytest.fixture
def silent() -> Any:
    model = Silent()
    yield model
    model.released.set()


def eventually(what: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.ledger("X28")
def test_a_silent_call_does_not_hold_up_other_users_embedding_or_housekeeping(open_memory: OpenMemory, silent: Silent) -> None:
    source = ChatSource(name=silent.name, load=lambda: silent, max_calls=2)  # type: ignore[arg-type,return-value]
    memory = open_memory(chat=source, worker="thread")
    talk(memory, "I live in Silence.", user="slow")
    assert eventually(lambda: len(silent.asked) == 1)
    for number in range(5):
        talk(memory, f"I live in Town{number}x.", user=f"user{number}")
    assert eventually(lambda: all(texts(memory, f"user{number}") for number in range(5)))
    assert texts(memory, "slow") == set()
    silent.released.set()
    assert eventually(lambda: texts(memory, "slow") == {"The user lives in Silence"})


def test_two_jobs_of_one_user_do_not_run_at_once(open_memory: OpenMemory, silent: Silent) -> None:
    source = ChatSource(name=silent.name, load=lambda: silent, max_calls=4)  # type: ignore[arg-type,return-value]
    memory = open_memory(chat=source, worker="thread")
    talk(memory, "I live in Silence.", id="one")
    assert eventually(lambda: len(silent.asked) == 1)
    talk(memory, "I live in Porto.", id="two")
    talk(memory, "I live in Oslo.", user="bob")
    assert eventually(lambda: texts(memory, "bob") == {"The user lives in Oslo"})
    assert not any("Porto" in said for said in silent.asked), "the second could not see what the first finds"
    silent.released.set()
    assert eventually(lambda: texts(memory) == {"The user lives in Porto"})


@pytest.mark.ledger("X28")
def test_the_timeout_of_a_call_is_a_setting_and_ends_calls_that_cannot_be_interrupted(
    open_memory: OpenMemory, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CHAT_TIMEOUT", "0.1")
    memory = open_memory(chat=silent)
    talk(memory, "I live in Silence.", user="slow")
    began = time.monotonic()
    memory.drain()
    assert time.monotonic() - began < 20
    assert texts(memory, "slow") == {"I live in Silence."}
    assert "did not answer" in (memory.jobs()[0].error or "")
    talk(memory, "I live in Porto.", user="next")
    services(memory).scheduler.run_once()
    assert eventually(lambda: memory.jobs()[-1].kind == "redo")
    assert len(silent.asked) == 1, "after a silent call, the next job does not wait for the model"
    assert "is not asked for a moment" in " ".join(job.error or "" for job in memory.jobs())


def _finding(memory: Engine) -> str:
    return next(found.detail for found in memory.doctor() if found.check == "jobs")


@pytest.mark.everywhere("sqlite", "postgres")
@pytest.mark.ledger("X32")
def test_work_that_waits_for_the_model_is_counted_separately_from_the_lag(memory: Engine, clock: FrozenClock) -> None:
    talk(memory, "I live in Lyon.")
    clock.advance(timedelta(minutes=1))
    assert services(memory).jobs.lag() == timedelta(minutes=1), "a conversation waits for its digest"
    memory.drain()
    clock.advance(timedelta(hours=1))
    assert (memory.stats().jobs["queued"], memory.stats().waiting_for_model) == (1, 1)
    assert services(memory).jobs.lag() == timedelta(0)
    assert (
        _finding(memory) == "0 waiting, 0 dead; conversations that rules digested and that wait until test:model answers again: 1"
    )


@pytest.mark.ledger("X32")
def test_without_a_model_a_redo_is_given_up_after_a_month_and_the_rules_stand(
    memory: Engine, open_memory: OpenMemory, clock: FrozenClock
) -> None:
    talk(memory, "I live in Lyon.")
    memory.drain()
    memory.close()
    alone = open_memory(chat=None)
    assert (
        _finding(alone)
        == "0 waiting, 0 dead; conversations that rules digested and that wait for a chat model, but none is set: 1"
    )
    for days, waiting in ((29, 1), (2, 0)):
        clock.advance(timedelta(days=days))
        alone.trust_clock()
        alone.purge_expired()
        assert alone.stats().waiting_for_model == waiting
    (given_up,) = alone.jobs(states=["done"])
    assert (given_up.kind, "no model answered for 30 days" in (given_up.error or "")) == ("redo", True)
    assert texts(alone) == {"I live in Lyon."}
