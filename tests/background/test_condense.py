"""Condensing through the engine: superseded facts, summaries, the base document, limits on the number of memories, topic pages."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.background.condense import Condenser
from holdfast.errors import ModelUnavailable
from holdfast.learning.capture_kinds import CONCLUSIONS, KEY_VALUES, TYPED_FACTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.learning.summaries.roll_up import RollUp
from holdfast.presets.base import BaseDocument, MemoryCap, Paragraph, Preset, TopicRules
from holdfast.presets.default import DEFAULT
from holdfast.protocols import Reads
from holdfast.services import services
from holdfast.testing import FrozenClock, ScriptedChat
from holdfast.types import Kind, Message, Scope

pytestmark = pytest.mark.long

OpenMemory = Callable[..., Engine]

CASCADE = replace(
    DEFAULT,
    name="cascade",
    extractor=TYPED_FACTS,
    extract_at="turn",
    roll_up=RollUp(threshold=6, keep=2),
    base=BaseDocument(when=RollUp(threshold=3, keep=1), kind="profile"),
    idle_after=None,
)
CAPPED = Preset(
    name="capped",
    kinds=(Kind(name="memory", meaning="What a conversation with an app left"),),
    default_kind="memory",
    extractor=Paragraph(kind="memory"),
    cap=MemoryCap(kind="memory", max_memories=3),
)
PAGES = Preset(
    name="pages",
    kinds=(Kind(name="conclusion", meaning="What a conversation led to"),),
    default_kind="conclusion",
    extractor=CONCLUSIONS,
    topics=TopicRules(kind="conclusion", max_lines=12),
)
CONCLUDING = replace(PAGES, name="concluding", topics=None)
KEYED = replace(DEFAULT, name="keyed", extractor=KEY_VALUES, reconcile_rules=ReconcileRules(normalize_keys=True))


def say(memory: Engine, *said: str, user: str | None = "ana", app: str | None = None) -> None:
    session = memory.session(user=user, app=app)
    for number, text in enumerate(said):
        session.add("assistant" if number % 2 else "user", text)
    session.end()
    memory.drain()


def test_a_long_queue_is_summarized_without_gaps_and_without_a_job_per_conversation(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=replace(DEFAULT, roll_up=RollUp(threshold=6, keep=2)))
    for number in range(60):
        with memory.session(user="ana", id=f"s{number}") as session:
            session.add_all({"role": "user", "text": f"Fine, number {number} {place}."} for place in range(5))
    memory.drain()
    summaries = sorted(memory.memories(user="ana", kinds=["summary"]), key=lambda found: found.metadata["from"])
    spans = [(found.metadata["from"], found.metadata["to"]) for found in summaries]
    assert spans[0][0] == 1
    assert all(before[1] + 1 == after[0] for before, after in itertools.pairwise(spans)), (
        "no message is left out or covered twice"
    )
    assert 300 - spans[-1][1] < 6, "fewer messages wait than the threshold"
    assert len([job for job in memory.jobs(limit=1000) if job.kind == "rollup"]) < 50


class CountingCondenser(Condenser):
    """A condenser that counts how often it reads the messages of a scope."""

    reads = 0

    def _unsummarized(self, reads: Reads, scope: Scope) -> Iterator[Message]:
        self.reads += 1
        return super()._unsummarized(reads, scope)


def test_the_messages_of_a_long_queue_are_not_read_again_with_each_conversation(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=replace(DEFAULT, roll_up=RollUp(threshold=6, keep=2)))
    for number in range(5):
        memory.session(user="ana", id=f"s{number}").add_all({"role": "user", "text": f"Fine, {number}."} for _ in range(50))
    parts, scope = services(memory), Scope(user="ana")
    condenser = CountingCondenser(parts.store, parts.preset, parts.clock, embedding=parts.embedding, chat=parts.chat)

    def follow_up() -> int:
        before = condenser.reads
        with parts.store.write() as tx:
            condenser.follow_up(tx, scope)
        return condenser.reads - before

    assert [follow_up() for _ in range(5)] == [1, 1, 0, 0, 0], "the second time, it finds the job that the first has queued"
    while parts.jobs.run_one():
        pass
    assert follow_up() == 1, "there is a new summary"


@pytest.mark.ledger("X3")
@pytest.mark.parametrize(
    "said",
    [
        ("I live in Portland. I like Portland a lot.", "I moved to Seattle last week.", "live in Portland", "like Portland"),
        ("Vivo en Sevilla. Me gusta Sevilla.", "Me mudé a Bilbao.", "Vivo en Sevilla", "gusta Sevilla"),
        ("Vivo en Sevilla. Me gusta Sevilla.", "nos mudamos a Bilbao la semana pasada", "Vivo en Sevilla", "gusta Sevilla"),
    ],
)
def test_a_move_retires_the_old_home_and_no_look_alike(
    open_memory: OpenMemory, clock: FrozenClock, said: tuple[str, str, str, str]
) -> None:
    before, after, gone, stays = said
    memory = open_memory()
    say(memory, before, "ok")
    clock.advance(timedelta(days=30))
    say(memory, after, "ok")
    live = [found.text for found in memory.memories(user="ana")]
    assert not any(gone in text for text in live)
    assert any(stays in text for text in live)
    (retired,) = memory.memories(user="ana", retired=True)
    assert gone in retired.text
    assert retired.reason
    assert retired.valid_to == clock.now()
    held = memory.memories(user="ana", as_of=clock.now() - timedelta(days=1))
    assert any(gone in found.text for found in held)


def test_a_change_of_fact_can_be_undone(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory()
    say(memory, "I live in Portland.", "ok")
    clock.advance(timedelta(days=1))
    say(memory, "I moved to Seattle.", "ok")
    (new,) = memory.memories(user="ana")
    memory.undo(memory.history(new.id)[-1])
    assert ["Portland" in found.text for found in memory.memories(user="ana")] == [True]


@pytest.mark.ledger("U8")
def test_keys_that_mean_the_same_become_one(open_memory: OpenMemory) -> None:
    answers = [
        json.dumps({"items": [{"key": key, "value": value, "messages": [1]}]})
        for key, value in (("trabajo", "trabaja en una panadería"), ("empleo", "trabaja en un museo"))
    ]
    memory = open_memory(preset=KEYED, chat=ScriptedChat(*answers))
    say(memory, "Trabajo en una panadería.", "ok")
    say(memory, "Ahora trabajo en un museo.", "ok")
    assert {found.key for found in memory.memories(user="ana")} == {"trabajo"}


@pytest.mark.ledger("U8")
def test_learned_memories_that_are_never_used_expire_and_can_be_restored(open_memory: OpenMemory, clock: FrozenClock) -> None:
    preset = replace(DEFAULT, unused_after=timedelta(days=90))
    memory = open_memory(preset=preset)
    say(memory, "I live in Lyon.", "ok")
    told = memory.remember("prefers tea", user="ana")
    (learnt,) = [found for found in memory.memories(user="ana") if found.id != told.id]
    clock.advance(timedelta(days=100))
    memory.trust_clock()
    memory.drain()
    assert [found.id for found in memory.memories(user="ana")] == [told.id]
    assert memory.get(learnt.id).reason == "not used for 90 days"
    memory.undo(memory.history(learnt.id)[-1])
    assert len(memory.memories(user="ana")) == 2


@pytest.mark.ledger("L6")
def test_older_messages_become_summaries_that_record_their_range(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=CASCADE)
    session = memory.session(user="ana")
    for number in range(8):
        session.add("user", f"On day {number} I met Rosa at the harbour at {number + 8}:30.")
        session.add("assistant", "Noted.")
        memory.drain()
    summaries = sorted(memory.memories(user="ana", kinds=["summary"]), key=lambda found: found.metadata["from"])
    ranges = [(found.metadata["from"], found.metadata["to"]) for found in summaries]
    assert ranges[0][0] == session.messages()[0].seq
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))
    assert all(found.sources for found in summaries)
    assert "Rosa" in summaries[0].text
    assert len(session.messages()) == 16, "the messages stay"


@pytest.mark.ledger("L7")
def test_summaries_are_worked_into_one_base_document_that_is_always_in_the_context(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=CASCADE)
    session = memory.session(user="ana")
    for number in range(16):
        session.add("user", f"My project Harbour{number} has a budget of {number}00 euros.")
        session.add("assistant", "Noted.")
        memory.drain()
    (base,) = memory.memories(user="ana", kinds=["profile"])
    summaries = {found.id for found in memory.memories(user="ana", kinds=["summary"])}
    assert set(base.sources) & summaries
    assert len(base.text.split()) <= 400
    assert base.pinned
    assert len(memory.history(base.id)) >= 1


def test_a_failed_summary_leaves_the_messages_and_the_facts_alone(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=CASCADE, chat=ScriptedChat(respond=lambda call: ModelUnavailable("down")))
    session = memory.session(user="ana")
    for number in range(4):
        session.add("user", f"My dog Rex{number} is {number} years old.")
        session.add("assistant", "Noted.")
    memory.drain()
    assert len(session.messages()) == 8
    assert memory.memories(user="ana", kinds=["fact"])
    assert memory.memories(user="ana", kinds=["summary"]), "rules take over"
    assert all(job.state == "done" for job in memory.jobs() if job.kind != "redo")


@pytest.mark.ledger("A2")
def test_one_memory_above_the_cap_is_compacted_by_one_decision_of_the_model(open_memory: OpenMemory) -> None:
    def respond(call: Any) -> str:
        if "action" in json.dumps(dict(call.schema or {})):
            return json.dumps({"action": "delete", "target": 2, "reason": "the least useful"})
        number = call.text.count("conversation") and call.text.split("number ")[1].split(".")[0]
        return json.dumps({"text": f"The user talked about plan number {number} today.", "importance": 5, "tags": ["plan"]})

    memory = open_memory(preset=CAPPED, chat=ScriptedChat(respond=respond))
    for number in range(4):
        say(memory, f"Let us talk about plan number {number}.", "Sure.", app="planner", user=None)
    live = memory.memories(app="planner")
    assert len(live) == 3
    (dropped,) = memory.memories(app="planner", retired=True)
    assert dropped.reason == "the least useful"


def test_a_compaction_whose_memories_changed_meanwhile_is_repeated_with_the_new_ones(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    decisions: list[str] = []

    def respond(call: Any) -> str:
        if "action" not in json.dumps(dict(call.schema or {})):
            number = call.text.split("number ")[1].split(".")[0]
            return json.dumps({"text": f"The user talked about plan number {number} today.", "importance": 5, "tags": ["plan"]})
        decisions.append(call.text)
        if len(decisions) == 1:  # the user corrects a memory while the model decides
            (third,) = [found for found in memory.memories(app="planner") if "number 3" in found.text]
            memory.revise(third.id, "The user gave up plan number 3.")
        return json.dumps({"action": "delete", "target": 2, "reason": "the least useful"})

    memory = open_memory(preset=CAPPED, chat=ScriptedChat(respond=respond))
    for number in range(4):
        say(memory, f"Let us talk about plan number {number}.", "Sure.", app="planner", user=None)
    assert (len(decisions), len(memory.memories(app="planner"))) == (1, 4), "nothing was retired for an outdated reason"
    clock.advance(timedelta(minutes=1))
    memory.drain()
    assert ["gave up plan number 3" in shown for shown in decisions] == [False, True]
    assert len(memory.memories(app="planner")) == 3


@pytest.mark.ledger("A3")
def test_a_compaction_that_fails_drops_the_oldest(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset=CAPPED, chat=ScriptedChat(respond=lambda call: ModelUnavailable("down")))
    for number in range(4):
        say(memory, f"My garden bed number {number} has {number + 3} tomato plants.", "Sure.", app="garden", user=None)
        clock.advance(timedelta(hours=1))
    live = [found.text for found in memory.memories(app="garden")]
    assert len(live) == 3
    assert not any("number 0" in text for text in live)


def test_a_page_that_grew_too_long_is_split_and_loses_no_line(open_memory: OpenMemory) -> None:
    memory = open_memory(preset=PAGES)
    lines = [f"bread number {n} needs flour and yeast" for n in range(8)] + [
        f"rice number {n} needs broth and saffron" for n in range(8)
    ]
    for line in lines[:-1]:
        memory.remember(line, user="ana", topic="cooking")
    say(memory, f"We decided that {lines[-1]}.", "ok")
    memory.remember("one more", user="ana", topic="cooking")
    say(memory, "It turns out that the oven runs hot.", "Good to know.")
    pages = {found.topic for found in memory.memories(user="ana", limit=100) if found.topic}
    texts = {found.text for found in memory.memories(user="ana", limit=100)}
    assert set(lines[:-1]) <= texts
    assert len(pages) > 1
    assert all(page.startswith("cooking") for page in pages)


def test_a_page_that_cannot_be_split_costs_no_second_call(open_memory: OpenMemory) -> None:
    chat = ScriptedChat(
        respond=lambda call: json.dumps({"items": []}) if "items" in str(call.schema) else json.dumps({"groups": []})
    )
    memory = open_memory(preset=PAGES, chat=chat)
    for number in range(14):
        memory.remember("the same line " + "x" * number, user="ana", topic="same")
    say(memory, "We decided to keep it.", "ok")
    first = sum("groups" in str(call.schema) for call in chat.asked)
    say(memory, "We decided to keep it again.", "ok")
    assert sum("groups" in str(call.schema) for call in chat.asked) == first


@pytest.mark.ledger("R6")
def test_three_conclusions_make_a_topic_and_two_do_not(open_memory: OpenMemory) -> None:
    def conclusions(*texts: str) -> str:
        return json.dumps({"items": [{"conclusion": text, "messages": [1]} for text in texts]})

    answers = [
        conclusions("the oven needs ten minutes", "the bread needs steam"),
        conclusions("the rice needs broth", "the rice wants saffron", "the rice pan must be wide"),
        json.dumps({"name": "rice"}),
    ]
    memory = open_memory(preset=PAGES, chat=ScriptedChat(*answers))
    say(memory, "The oven needs ten minutes and the bread needs steam.", "ok")
    assert {found.topic for found in memory.memories(user="ana")} == {None}
    say(memory, "The rice needs broth, wants saffron and a wide pan.", "ok")
    topics = {found.text: found.topic for found in memory.memories(user="ana")}
    assert topics["the bread needs steam"] is None
    assert len({topics[text] for text in topics if "rice" in text}) == 1
    assert topics["the rice needs broth"]


@pytest.mark.ledger("X5")
def test_erasing_a_user_removes_everything_derived_from_their_words(
    open_memory: OpenMemory, files_with: Callable[[str], list[str]]
) -> None:
    memory = open_memory(preset=CASCADE)
    for user, town in (("quixotica", "Zarzalejo"), ("bob", "Kelso")):
        session = memory.session(user=user)
        for number in range(10):
            session.add("user", f"I own house {number} in {town}, near the mill.")
            session.add("assistant", "Noted.")
            memory.drain()
    assert memory.memories(user="quixotica", kinds=["summary"])
    assert memory.memories(user="quixotica", kinds=["profile"])
    receipt = memory.erase(user="quixotica")
    assert receipt.verified
    assert files_with("quixotica") == []
    assert files_with("Zarzalejo") == []
    assert files_with("Kelso"), "the other's is untouched"
    assert memory.memories(user="bob", kinds=["profile"])


@pytest.mark.ledger("X5")
def test_erasing_one_message_makes_its_summary_and_the_base_document_again_without_it(
    open_memory: OpenMemory, files_with: Callable[[str], list[str]]
) -> None:
    memory = open_memory(preset=CASCADE)
    session = memory.session(user="ana")
    for number in range(16):
        place = "Zarzalejo" if number == 1 else f"Kelso{number}"
        session.add("user", f"I own house {number} in {place}, near the mill.")
        session.add("assistant", "Noted.")
        memory.drain()
    message = next(said for said in session.messages() if "Zarzalejo" in said.text)
    assert any("Zarzalejo" in found.text for found in memory.memories(user="ana", kinds=["summary"]))
    before = len(memory.memories(user="ana", kinds=["summary"]))
    receipt = memory.erase(source=message.id)
    assert receipt.rebuilt >= 2
    assert files_with("Zarzalejo") == []
    assert len(memory.memories(user="ana", kinds=["summary"])) == before
    (base,) = memory.memories(user="ana", kinds=["profile"])
    assert "Kelso" in base.text
