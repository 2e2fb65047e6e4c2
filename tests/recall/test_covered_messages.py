"""A memory stands for the message that it comes from, unless only the message is relevant."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast import Engine
from holdfast.recall.ranking import Background
from holdfast.recall.reader import _without_sources
from holdfast.recall.search import _Baseline, _Ranked, _says_more
from holdfast.testing.samples import a_memory, a_message
from holdfast.types import Hit

AT = datetime(2026, 3, 1, tzinfo=UTC)
FLOOR = 2.0
BASELINE = _Baseline(Background.of([3.0, 1.0]), FLOOR, 1)


@pytest.mark.ledger("X31")
@pytest.mark.parametrize(
    ("message", "memory", "shown"),
    [(2.3, 1.5, True), (2.3, 2.1, False), (1.9, 1.5, False), (4.0, 2.5, True)],
    ids=["only the message is relevant", "both are relevant", "neither is relevant", "the message is much stronger"],
)
def test_a_message_is_left_out_only_if_its_memory_can_stand_for_it(message: float, memory: float, *, shown: bool) -> None:
    said = a_message("we moved the boat to Falmouth")
    candidate = _Ranked(message, AT, said, None)
    assert _says_more(candidate, {said.id: memory}, set(), BASELINE) is shown


@pytest.mark.parametrize(("margin", "left"), [(0.4, 1), (-0.4, 2)], ids=["a relevant memory", "a weak memory"])
def test_after_reranking_a_weak_memory_does_not_remove_its_relevant_message(margin: float, left: int) -> None:
    said = a_message("we moved the boat to Falmouth")
    memory = replace(a_memory("moved the boat"), sources=(said.id,))
    hits = [Hit(message=said, score=0.9, margin=0.5), Hit(memory=memory, score=0.3, margin=margin)]
    assert len(_without_sources(hits)) == left


@pytest.mark.ledger("X31")
@pytest.mark.parametrize("limit", [1, 2, 10, 20])
def test_the_choice_between_a_memory_and_its_message_does_not_depend_on_the_limit(memory: Engine, limit: int) -> None:
    with memory.session(user="ana") as session:
        session.add("assistant", "Which harbor is your boat in?")
        reply = session.add("user", "Falmouth, by the pier")
    kept = memory.remember("moored at Falmouth, by the pier", user="ana", sources=[reply.id])
    for number in range(30):
        memory.remember(f"boat in harbor number {number} has a red sail and a loud crew", user="ana")
    hits = memory.recall("which harbor is my boat in?", user="ana", limit=limit)
    assert hits[0].id == kept.id
    assert reply.id not in [hit.id for hit in hits]
