"""Reachy's design: three types with lifetimes, the newest value of a context, metadata."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.testing import FrozenClock

OpenMemory = Callable[..., Engine]


@pytest.mark.ledger("C1", "C3")
def test_types_live_as_long_as_the_design_says(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="reachy")
    memory.set_user("ana", timezone="America/New_York")
    clock.set("2026-03-02T02:00:00Z")  # still the first of March in New York
    memory.remember("we talked about the sea", kind="conversation", user="ana")
    memory.remember("likes the sea", user="ana")
    memory.remember("packing a suitcase", kind="context", key="task", user="ana")

    def kinds() -> set[str]:
        return {found.kind for found in memory.memories(user="ana")}

    assert kinds() == {"conversation", "fact", "context"}
    clock.set("2026-03-02T05:30:00Z")  # past midnight there
    assert kinds() == {"conversation", "fact"}
    clock.advance(timedelta(days=31))
    assert kinds() == {"fact"}
    assert [str(hit) for hit in memory.recall("sea", user="ana", kinds=["conversation", "fact", "context"])] == ["likes the sea"]


@pytest.mark.ledger("C2")
def test_the_newest_value_of_a_context_wins(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy")
    memory.remember("waving", kind="context", key="task")
    memory.remember("dancing", kind="context", key="task")
    assert [found.text for found in memory.memories(kinds=["context"], key="task")] == ["dancing"]


@pytest.mark.ledger("C4")
def test_a_profile_is_facts_with_metadata_that_can_be_filtered(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy")
    memory.remember("User prefers to be called Alex", metadata={"category": "user_profile", "field": "name", "sure": True})
    memory.remember("The battery is new", metadata={"category": "hardware", "volts": 11.1})
    profile = memory.memories(where={"category": "user_profile"})
    assert [found.text for found in profile] == ["User prefers to be called Alex"]
    assert [hit.text for hit in memory.recall("battery", where={"volts": {"$gt": 10}})] == ["The battery is new"]


def test_nothing_is_learnt_unasked(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="reachy")
    talk = memory.session()
    talk.add("user", "I live in Lyon.")
    talk.end()
    memory.drain()
    assert memory.memories() == []
    assert memory.jobs() == []
