"""The apps design: one paragraph per conversation, at most ten paragraphs per app, and one prompt section per app."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import ModelUnavailable, StoreError
from holdfast.learning.summaries.importance import importance_of
from holdfast.presets.apps import APPS
from holdfast.presets.base import Paragraph
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore, SQLiteTransaction
from holdfast.testing import FrozenClock, ScriptedChat
from holdfast.testing.engines import build_engine
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer

OpenMemory = Callable[..., Engine]


def converse(memory: Engine, app: str, *said: str, user: str | None = None) -> str:
    session = memory.session(app=app, user=user)
    for number, text in enumerate(said):
        session.add("assistant" if number % 2 else "user", text)
    session.end()
    memory.drain()
    return session.id


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.ledger("A1")
def test_ending_a_conversation_makes_one_memory_for_its_app(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps")
    converse(
        memory, "calendar", "I prefer meetings after 2pm on weekdays, please move the Phoenix review to 3pm on Friday.", "Done."
    )
    (kept,) = memory.memories(app="calendar")
    assert "Phoenix" in kept.text
    assert len(kept.text) <= 260
    assert 0 <= kept.importance <= 10
    assert kept.tags
    assert kept.metadata["conversation"].startswith("ses_")
    assert len(kept.sources) == 2


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.ledger("A2", "A6")
def test_each_app_keeps_ten_memories_and_none_is_in_the_context_of_another_app(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    memory = open_memory(preset="apps")
    for number in range(12):
        converse(memory, "garden", f"My bed number {number} holds {number + 3} tomato plants from Vila{number}.", "Noted.")
        clock.advance(timedelta(hours=1))
    converse(memory, "music", "I practise the cello on Mondays at 7pm.", "Nice.")
    assert len(memory.memories(app="garden")) == 10
    assert "cello" not in memory.context("what do I practise?", app="garden").text
    assert "tomato" not in memory.context("what do I grow?", app="music").text


@pytest.mark.ledger("A5")
def test_the_context_block_has_exactly_the_format_of_the_design(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    assert memory.context("anything", app="calendar").text == ""
    memory.remember("User experienced database connection issues.", app="calendar")
    clock.advance(timedelta(days=1))
    memory.remember("User prefers meetings after 2pm on weekdays.", app="calendar")
    day = clock.now().date()
    assert memory.context("anything", app="calendar").text == (
        "(memories for app: calendar)\n"
        "The following are memories from previous conversations with this app:\n"
        "\n"
        f"1. [Created: {day}] User prefers meetings after 2pm on weekdays.\n"
        f"2. [Created: {day - timedelta(days=1)}] User experienced database connection issues.\n"
        "\n"
        "Use these memories to provide context-aware responses."
    )


def test_the_block_is_about_two_thousand_characters(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps")
    for number in range(10):
        memory.remember(f"{number} {'Un recuerdo de este año. ' * 8}"[:200], app="calendar")
    whole = memory.apps.context("calendar")
    assert len(whole.hits) == 10
    assert 2000 <= len(whole.text) <= 2600
    for number in range(10):
        memory.remember(f"{number} {'A very long memory of a very long session. ' * 30}", app="novel")
    long = memory.apps.context("novel")
    assert len(long.hits) == 10, "all ten are shown, however long they are"
    assert long.left_out == ()
    assert len(long.text) <= 4600


@pytest.mark.ledger("A1")
def test_a_memory_names_its_related_conversations(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    said = (
        "The Phoenix project has its deadline on November 1, and the Phoenix budget is 3000 euros.",
        "I practise the cello on Mondays at 7pm.",
        "Please move the review of the Phoenix project to Friday, Phoenix needs more time.",
    )
    sessions = []
    for text in said:
        sessions.append(converse(memory, "desk", text, "Noted."))
        clock.advance(timedelta(hours=1))
    by_session = {kept.metadata["conversation"]: kept for kept in memory.memories(app="desk")}
    assert by_session[sessions[2]].metadata["related"] == [sessions[0]]
    assert "related" not in by_session[sessions[1]].metadata


@pytest.mark.ledger("A1")
def test_a_memory_merged_from_another_names_its_conversation(open_memory: OpenMemory, clock: FrozenClock) -> None:
    edit = {"action": "edit", "target": 1, "text": "The user grows tomatoes and onions in bed 0.", "reason": "one garden"}

    def respond(asked: object) -> str:
        if "target" in str(getattr(asked, "schema", "")):
            return json.dumps(edit)
        number = len(memory.memories(app="garden"))
        return json.dumps({"paragraph": f"The user grows tomatoes in bed {number}.", "tags": [f"bed{number}"]})

    memory = open_memory(preset="apps", chat=ScriptedChat(respond=respond))
    sessions = []
    for number in range(11):
        sessions.append(converse(memory, "garden", f"I grow tomatoes in bed {number}.", "Noted."))
        clock.advance(timedelta(hours=1))
    merged = next(kept for kept in memory.memories(app="garden") if "onions" in kept.text)
    assert merged.metadata["conversation"] == sessions[0]
    assert sessions[10] in merged.metadata["related"]


# The cap, on every path.


@pytest.mark.everywhere
@pytest.mark.ledger("A2")
def test_eleven_explicit_memories_become_ten_and_that_can_be_undone(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    for number in range(11):
        memory.remember(f"The user's locker number {number} is in the hall {number * 7}.", app="gym")
        clock.advance(timedelta(minutes=1))
    memory.drain()
    assert len(memory.memories(app="gym")) == 10
    (compaction,) = memory.apps.compactions("gym")
    assert compaction.app == "gym"
    assert compaction.reason
    assert compaction.memory not in [kept.id for kept in memory.memories(app="gym")]
    assert "locker" in compaction.text
    memory.undo(compaction.batch)
    assert len(memory.memories(app="gym")) == 11
    memory.drain()
    assert len(memory.memories(app="gym")) == 11, "an undone compaction is not repeated"
    memory.remember("The user's locker number 12 is in the attic.", app="gym")
    memory.drain()
    assert len(memory.memories(app="gym")) == 10


@pytest.mark.everywhere
@pytest.mark.ledger("A2")
def test_the_cap_applies_to_memories_stored_without_the_engine(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps")
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="import"), now=services(memory).clock.now())
        puts = [
            Put(scope=Scope(app="mail", user=user), kind="memory", text=f"{user} got letter {number} from street {number * 3}")
            for number in range(13)
            for user in ("ana", "ben")
        ]
        writer.apply(puts)
    memory.remember("Few of them.", app="quiet")
    memory.drain()
    assert [len(memory.memories(app="mail", user=user)) for user in ("ana", "ben")] == [10, 10]
    assert len(memory.memories(app="quiet")) == 1


def test_a_merge_names_both_memories(open_memory: OpenMemory) -> None:
    edit = {"action": "edit", "target": 1, "text": "The user grows tomatoes in bed 0 and bed 10.", "reason": "one garden"}
    memory = open_memory(preset="apps", chat=ScriptedChat(respond=lambda _: json.dumps(edit)))
    made = [memory.remember(f"The user grows tomatoes in bed {number}.", app="garden") for number in range(11)]
    memory.drain()
    (compaction,) = memory.apps.compactions("garden")
    assert (compaction.memory, compaction.merged_into, compaction.reason) == (made[10].id, made[0].id, "one garden")


# What is worth keeping, and how much.


@pytest.mark.ledger("A1")
@pytest.mark.parametrize(
    "said",
    [
        ("Hi!", "Hello, how can I help?", "bye", "Bye!"),
        ("tell me a joke", "Why did the chicken cross the road? To see Portugal, 1998."),
        ("what's the weather like?", "Sunny, 21 degrees."),
        ("What is the capital of Peru?", "Lima."),
        ("¿Cuántos habitantes tiene Quito?", "Unos dos millones."),
        ("hola, ¿qué tal?", "Muy bien.", "gracias", "De nada."),
        ("cuéntame un chiste", "Había una vez un pato llamado Juan."),
    ],
    ids=["greeting", "joke", "weather", "question", "pregunta", "saludo", "chiste"],
)
def test_small_talk_makes_no_memory_without_a_model(open_memory: OpenMemory, said: tuple[str, ...]) -> None:
    memory = open_memory(preset="apps")
    converse(memory, "chat", *said)
    assert memory.memories(app="chat") == []


@pytest.mark.ledger("A1")
@pytest.mark.parametrize(
    "nothing",
    [
        None,
        "",
        "  ",
        "Nothing worth keeping.",
        "No significant information to remember from this conversation.",
        "No hay nada que valga la pena recordar.",
        "No hay información relevante para guardar.",
    ],
)
def test_a_model_can_say_that_nothing_is_worth_keeping(open_memory: OpenMemory, nothing: str | None) -> None:
    memory = open_memory(preset="apps", chat=ScriptedChat(json.dumps({"paragraph": nothing})))
    converse(memory, "chat", "I prefer meetings after 2pm on weekdays.", "Noted.")
    assert memory.memories(app="chat") == []
    assert [job.state for job in memory.jobs()] == ["done"]


@pytest.mark.parametrize("text", ["Nothing may be booked before nine.", "Nada de reuniones los lunes."])
def test_a_limit_that_begins_with_nothing_is_kept(open_memory: OpenMemory, text: str) -> None:
    memory = open_memory(preset="apps", chat=ScriptedChat(json.dumps({"paragraph": text})))
    converse(memory, "desk", text, "OK.")
    assert [kept.text for kept in memory.memories(app="desk")] == [text]


@pytest.mark.ledger("A11")
@pytest.mark.parametrize(
    ("matters", "chatter"),
    [
        ("Priya can accept invitations.", "tell me a joke about cats and dogs in the kitchen please"),
        ("Never book anything before nine.", "that was a really funny story, I liked it a lot"),
        ("Only Tom may read my mail.", "what a nice day it is today, is it not"),
        ("My name is Alex.", "can you sing me a song about the sea tonight"),
        ("Lucía puede aceptar invitaciones.", "cuéntame un chiste de gatos y perros en la cocina"),
        ("Nunca reserves antes de las nueve.", "qué buen día hace hoy, da gusto salir a pasear"),
        ("Me llamo Alejandro.", "¿me cantas una canción del mar esta noche?"),
    ],
)
def test_permissions_constraints_and_identity_outrank_small_talk(
    open_memory: OpenMemory, clock: FrozenClock, matters: str, chatter: str
) -> None:
    assert importance_of(matters) >= importance_of(chatter) + 1.5
    memory = open_memory(preset="apps")
    converse(memory, "desk", matters, "Certainly, on 12 May 2031 in Oslo and Bergen with Mr. Hansen.")
    (kept,) = memory.memories(app="desk")
    assert kept.importance == importance_of(matters), "what the assistant said adds nothing"


# Failures while a memory is created.


@pytest.mark.everywhere
@pytest.mark.ledger("A4")
def test_a_model_that_fails_does_not_stop_a_conversation_from_ending(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps", chat=ScriptedChat(ModelUnavailable("the model is away")), worker="inline")
    session = memory.session(app="calendar")
    session.add("user", "I prefer meetings after 2pm on weekdays.")
    session.end()
    (record,) = memory.sessions(app="calendar")
    assert record.status == "ended"
    (kept,) = memory.memories(app="calendar")  # by rules
    assert "2pm" in kept.text


@pytest.mark.ledger("A4")
def test_a_model_that_takes_too_long_is_not_waited_for(open_memory: OpenMemory) -> None:
    assert isinstance(APPS.extractor, Paragraph)
    assert APPS.extractor.timeout == 30

    async def sleep_on_it(_: object) -> str:
        await asyncio.sleep(60)
        return "too late"

    hasty = replace(APPS, extractor=replace(APPS.extractor, timeout=0.05))
    memory = open_memory(preset=hasty, chat=sleep_on_it)
    converse(memory, "calendar", "I prefer meetings after 2pm on weekdays.", "Noted.")
    (kept,) = memory.memories(app="calendar")
    assert "2pm" in kept.text
    assert "did not answer within" in (memory.jobs()[0].error or "")


@pytest.mark.ledger("A4")
def test_an_ordinary_function_that_takes_too_long_is_not_waited_for(open_memory: OpenMemory) -> None:
    assert isinstance(APPS.extractor, Paragraph)
    gate = threading.Event()

    def sleep_on_it(_: object) -> str:
        gate.wait(30)
        return "too late"

    hasty = replace(APPS, extractor=replace(APPS.extractor, timeout=0.05))
    memory = open_memory(preset=hasty, chat=sleep_on_it)
    started = time.monotonic()
    converse(memory, "calendar", "I prefer meetings after 2pm on weekdays.", "Noted.")
    gate.set()
    assert time.monotonic() - started < 10
    (kept,) = memory.memories(app="calendar")
    assert "2pm" in kept.text
    assert "did not answer within" in (memory.jobs()[0].error or "")


class Flaky(SQLiteStore):
    """A store whose writes of memories fail a given number of times."""

    failures = 0

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[SQLiteTransaction]:
        with super().write(durable=durable) as tx:
            yield tx
            if self.failures and tx.memories(MemoryFilter(limit=1)):
                self.failures -= 1
                raise StoreError("disk I/O error")


@pytest.mark.ledger("A4")
def test_a_database_error_is_retried(folder: Path, clock: FrozenClock) -> None:
    store = Flaky(folder / "memory.db")
    with build_engine(store, preset=APPS, clock=clock, worker="none") as memory:
        store.failures = 1
        converse(memory, "calendar", "I prefer meetings after 2pm on weekdays.", "Noted.")
        assert memory.memories(app="calendar") == []
        assert memory.sessions(app="calendar")[0].status == "ended"
        clock.advance(timedelta(seconds=10))
        memory.drain()
        assert len(memory.memories(app="calendar")) == 1


@pytest.mark.ledger("A4")
def test_a_database_that_keeps_failing_leaves_a_visible_job_and_an_ended_conversation(folder: Path, clock: FrozenClock) -> None:
    store = Flaky(folder / "memory.db")
    with build_engine(store, preset=APPS, clock=clock, worker="none") as memory:
        store.failures = 1000
        converse(memory, "calendar", "I prefer meetings after 2pm on weekdays.", "Noted.")
        for _ in range(6):
            clock.advance(timedelta(hours=1))
            memory.drain()
        assert [(job.state, job.error) for job in memory.jobs()] == [("dead", "StoreError: disk I/O error")]
        memory.session(app="calendar").add("user", "And the next conversation goes on as ever.")


# Metrics.


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.ledger("A10")
def test_the_five_metrics_are_counted_from_what_is_stored(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    memory.apps.install("idle")
    for number in range(12):
        converse(memory, "garden", f"My bed number {number} holds {number + 3} tomato plants from Vila{number}.", "Noted.")
        clock.advance(timedelta(hours=1))
    session = memory.session(app="garden")
    session.add("user", "What do I grow?")
    assert memory.apps.context("garden", "unanswered", conversation=session.id).hits
    services(memory).energy.used(1000)
    measured = memory.apps.metrics(since=clock.now() - timedelta(hours=12))
    assert (measured.creations, measured.creations_per_hour) == (12, 1.0)
    assert (measured.compactions, measured.compactions_by_app) == (2, {"garden": 2})
    assert measured.compactions_per_app_per_day == pytest.approx(2 / 2 / 0.5)
    assert (measured.apps, measured.apps_with_memories, measured.share_of_apps_with_memories) == (2, 1, 0.5)
    assert (measured.conversations, measured.conversations_with_memories) == (13, 1)
    assert measured.share_of_conversations_with_memories == pytest.approx(1 / 13)
    assert measured.energy == pytest.approx(14 * 0.1)
    assert measured.energy_share == 0


@pytest.mark.ledger("A10")
def test_metrics_survive_a_restart_and_count_only_the_last_day(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    converse(memory, "garden", "I grow tomatoes in Vila Nova.", "Noted.")
    clock.advance(timedelta(hours=1))
    before = memory.apps.metrics()
    memory.close()
    again = open_memory(preset="apps")
    assert again.apps.metrics() == before
    assert before.creations == 1
    clock.advance(timedelta(days=2))
    later = again.apps.metrics()
    assert (later.creations, later.conversations, later.apps_with_memories) == (0, 0, 1)


def test_metrics_of_an_empty_memory_are_zero(open_memory: OpenMemory) -> None:
    measured = open_memory(preset="apps").apps.metrics()
    assert (measured.creations_per_hour, measured.share_of_apps_with_memories, measured.energy) == (0, 0, 0)


# The whole flow.


@pytest.mark.long
@pytest.mark.ledger("A14")
def test_many_apps_keep_ten_memories_each_and_see_no_others(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="apps")
    apps = [f"app{number}" for number in range(40)]
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="test"), now=services(memory).clock.now())
        writer.apply(
            [Put(scope=Scope(app=app), kind="memory", text=f"{app} knows thing {number}") for app in apps for number in range(10)]
        )
    for app in apps[:3]:
        converse(memory, app, f"My {app} has its yearly service in Braga on Friday.", "Noted.")
    assert {entry.app: entry.memory_count for entry in memory.apps.list()} == dict.fromkeys(apps, 10)
    for app in apps:
        assert all(hit.memory and hit.memory.scope.app == app for hit in memory.apps.context(app).hits)
    assert all(finding.ok for finding in memory.doctor())


@pytest.mark.everywhere
@pytest.mark.ledger("A1", "A5", "A7", "A8")
def test_an_app_remembers_across_a_restart_and_keeps_memories_after_uninstalling_until_a_purge(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    memory = open_memory(preset="apps")
    memory.apps.install("calendar", name="Calendar")
    first = converse(memory, "calendar", "I prefer meetings after 2pm, and the Phoenix review is on Friday.", "Noted.")
    memory.close()

    clock.advance(timedelta(days=1))
    memory = open_memory(preset="apps")  # a restart
    session = memory.session(app="calendar")
    session.add("user", "When is the Phoenix review?")
    block = memory.apps.context("calendar", "unanswered", conversation=session.id)
    assert block.text.startswith("(memories for app: Calendar)\n")
    assert "Phoenix" in block.text
    session.add("assistant", "On Friday.")
    session.end()
    memory.drain()
    assert memory.apps.of_conversation(first) == "calendar"
    assert "Phoenix" not in memory.apps.context("mail").text

    memory.apps.uninstall("calendar")
    memory.close()
    memory = open_memory(preset="apps")
    kept = memory.apps.memories("calendar")
    assert len(kept) == memory.apps.get("calendar").memory_count >= 1
    memory.forget(kept[0].id)
    assert memory.apps.purge("calendar") == len(kept) - 1
    assert memory.apps.memories("calendar") == []
    assert memory.apps.context("calendar").text == ""
