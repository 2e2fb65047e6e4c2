"""The app memories' design: one paragraph a conversation, ten an app, a block by app."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.testing import FrozenClock

OpenMemory = Callable[..., Engine]


def converse(memory: Engine, app: str, *said: str) -> None:
    talk = memory.session(app=app)
    for number, text in enumerate(said):
        talk.add("assistant" if number % 2 else "user", text)
    talk.end()
    memory.drain()


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


@pytest.mark.ledger("A2", "A6")
def test_ten_an_app_and_none_of_them_in_anothers_context(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="apps")
    for number in range(12):
        converse(memory, "garden", f"My bed number {number} holds {number + 3} tomato plants from Vila{number}.", "Noted.")
        clock.advance(timedelta(hours=1))
    converse(memory, "music", "I practise the cello on Mondays at 7pm.", "Nice.")
    assert len(memory.memories(app="garden")) == 10
    assert "cello" not in memory.context("what do I practise?", app="garden").text
    assert "tomato" not in memory.context("what do I grow?", app="music").text


@pytest.mark.ledger("A5")
def test_the_block_is_the_designs_to_the_letter(open_memory: OpenMemory, clock: FrozenClock) -> None:
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
