"""What a score means: how likely a hit is what was asked for, however much is stored."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Engine
from holdfast.ranking import Background, likelihood
from holdfast.services import services
from holdfast.tools import MemoryTools

STRENGTHS = st.floats(-20, 30)
MANY = 60


def scores(memory: Engine, query: str) -> list[float]:
    return [hit.score for hit in memory.recall(query, user="ana", limit=5)]


@given(strength=STRENGTHS, more=st.floats(0.01, 10), others=st.lists(STRENGTHS, max_size=50))
def test_what_is_stronger_is_likelier(strength: float, more: float, others: list[float]) -> None:
    background = Background.of(sorted(others, reverse=True))
    assert 0 <= likelihood(strength, background) < likelihood(strength + more, background) <= 1


@given(strength=STRENGTHS, others=st.lists(st.floats(-20, -7), min_size=4, max_size=50), by=st.floats(0.01, 10))
def test_among_stronger_others_the_same_is_less_likely(strength: float, others: list[float], by: float) -> None:
    others.sort(reverse=True)
    assert likelihood(strength, Background.of([each + by for each in others])) < likelihood(strength, Background.of(others))


def test_where_all_others_are_good_how_good_they_are_makes_no_difference() -> None:
    assert likelihood(9.0, Background.of([9.0] * 40)) == likelihood(9.0, Background.of([20.0] * 40))


def test_the_best_of_many_alike_is_less_likely_than_the_only_one() -> None:
    assert likelihood(2.0, Background.of([2.0] * 20)) < 0.5 * likelihood(2.0, Background.of([2.0]))


@pytest.mark.parametrize("embedder", ["arctic-embed-s", "none"])
@pytest.mark.weights
def test_an_answer_stands_out_and_a_question_without_one_has_no_likely_hit(
    open_memory: Callable[..., Engine], embedder: str
) -> None:
    memory = open_memory(embedder=embedder)
    if embedder != "none" and services(memory).embedding.embedder() is None:
        pytest.skip("needs real weights")
    memory.remember("the parrot is called Basil", user="ana")
    for number in range(MANY):
        memory.remember(f"noted item {number} of the inventory, box {number % 13}", user="ana")
    best, *rest = scores(memory, "what is the parrot called?")
    assert best > 0.5
    assert all(score < 0.1 for score in rest)
    assert all(score < 0.1 for score in scores(memory, "when does the ferry to Naxos leave?"))


def test_how_many_hits_are_wanted_does_not_change_a_score(memory: Engine) -> None:
    for number in range(60):
        memory.remember(f"the heron of pond {number} eats frogs", user="ana")
    few, many = (memory.recall("which heron eats frogs at pond 7?", user="ana", limit=limit)[0] for limit in (1, 30))
    assert few.id == many.id
    assert few.score == pytest.approx(many.score, abs=0.02)


@pytest.mark.parametrize(
    ("text", "question"),
    [("we made soup number {} with leeks", "what did I cook?"), ("mi hija Lucía dibuja el cuadro {}", "¿cómo se llama mi hija?")],
)
@pytest.mark.parametrize("embedder", ["arctic-embed-s", "none"])
@pytest.mark.weights
def test_where_much_is_to_the_point_it_all_goes_into_the_context(
    open_memory: Callable[..., Engine], embedder: str, text: str, question: str
) -> None:
    memory = open_memory(embedder=embedder)
    session = memory.session(user="ana")
    for number in range(40):
        session.add("user", text.format(number))
    found = memory.recall(question, user="ana")
    assert len(memory.context(question, user="ana").hits) >= len(found)


def test_the_search_tool_shows_what_is_found_where_all_is_alike(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(preset="reachy", embedder="none")
    for number in range(40):
        memory.remember(f"Bea likes the restaurant number {number}", user="ana")
    found = MemoryTools(memory, user="ana").call("search_memories", {"query": "which restaurant does Bea like?", "limit": 5})
    assert found.ok
    assert len(found.data) == 5
