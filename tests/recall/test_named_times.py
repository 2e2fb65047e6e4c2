"""Queries that name a time find the messages of that time among many earlier and later ones."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.testing import FrozenClock

pytestmark = pytest.mark.long

DAY = timedelta(days=1)
THINGS = ("the harbour", "a violin", "bread", "the cinema", "a lantern", "the river", "tickets", "the market")


def talk(memory: Engine, clock: FrozenClock, said: str) -> None:
    """Store a year of similar conversations: four messages every fourth day, the last of them two days ago."""
    start = clock.now() - 366 * DAY
    for day in range(0, 366, 4):
        texts = [f"{said.format(thing=THINGS[(day + number) % len(THINGS)])}, {day}.{number}" for number in range(4)]
        memory.session(user="ana", id=f"day {day}").add_all(
            {"role": "user", "text": text, "at": start + day * DAY + number * timedelta(minutes=1)}
            for number, text in enumerate(texts)
        )


@pytest.mark.parametrize(
    ("usual", "then", "question"),
    [
        ("we talked about {thing}", "the boiler hums", "What did we talk about two days ago?"),
        ("ya te conté lo de {thing}", "la caldera zumba", "¿Qué te conté anteayer?"),
    ],
)
def test_all_that_was_said_on_a_day_comes_first_although_the_rest_sounds_more_like_the_question(
    memory: Engine, clock: FrozenClock, usual: str, then: str, question: str
) -> None:
    talk(memory, clock, usual)
    session = memory.session(user="ana", id="then")
    for number in range(3):
        session.add("user", f"{then} {number}", at=clock.now() - 2 * DAY - timedelta(hours=number))
    found = {hit.text for hit in memory.recall(question, user="ana", limit=7)}
    assert {f"{then} {number}" for number in range(3)} < found


def test_within_the_day_the_subject_of_the_question_decides(memory: Engine, clock: FrozenClock) -> None:
    talk(memory, clock, "we talked about {thing}")
    assert memory.recall("What did I say of bread 22 days ago?", user="ana")[0].text == "we talked about bread, 344.2"


@pytest.mark.parametrize("embedder", [None, "none"])
def test_a_day_with_many_messages_fills_the_context(
    open_memory: Callable[..., Engine], clock: FrozenClock, embedder: str | None
) -> None:
    memory = open_memory(embedder=embedder) if embedder else open_memory()
    session = memory.session(user="ana")
    for number in range(40):
        session.add("user", f"entry {number}: {THINGS[number % len(THINGS)]}", at=clock.now() - DAY)
    assert len(memory.context("What did we talk about yesterday?", user="ana").hits) >= 10


def test_the_only_message_of_a_day_comes_before_older_memories(memory: Engine, clock: FrozenClock) -> None:
    for thing in THINGS:
        memory.remember(f"told me about {thing}", user="ana", valid_from=clock.now() - 30 * DAY)
    memory.session(user="ana").add("user", "the boiler hums", at=clock.now() - DAY)
    assert memory.recall("What did I tell you yesterday?", user="ana")[0].text == "the boiler hums"


def test_a_query_that_names_a_day_without_messages_finds_older_ones(
    open_memory: Callable[..., Engine], clock: FrozenClock
) -> None:
    memory = open_memory()
    memory.session(user="ana").add("user", "the ferry leaves at nine", at=clock.now() - 40 * DAY)
    assert [hit.text for hit in memory.recall("what about the ferry yesterday?", user="ana")] == ["the ferry leaves at nine"]
