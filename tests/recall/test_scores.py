"""The meaning of a score: the probability that a hit answers the query, for any number of stored items."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Engine, Hit
from holdfast.agent.tools import MemoryTools
from holdfast.filters import MessagePlace
from holdfast.protocols import Role
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.recall.ranking import Background, likelihood, with_context_gains
from holdfast.services import services
from holdfast.testing import HashEmbedder

if TYPE_CHECKING:
    from holdfast.protocols import Vectors

STRENGTHS = st.floats(-20, 30)
MANY = 60


def scores(memory: Engine, query: str) -> list[float]:
    return [hit.score for hit in memory.recall(query, user="ana", limit=5)]


@given(strength=STRENGTHS, more=st.floats(0.01, 10), others=st.lists(STRENGTHS, max_size=50))
def test_a_stronger_hit_has_a_higher_probability(strength: float, more: float, others: list[float]) -> None:
    background = Background.of(sorted(others, reverse=True))
    assert 0 <= likelihood(strength, background) < likelihood(strength + more, background) <= 1


@given(strength=STRENGTHS, others=st.lists(st.floats(-20, -7), min_size=4, max_size=50), by=st.floats(0.01, 10))
def test_the_same_strength_is_less_likely_if_the_others_are_stronger(strength: float, others: list[float], by: float) -> None:
    others.sort(reverse=True)
    assert likelihood(strength, Background.of([each + by for each in others])) < likelihood(strength, Background.of(others))


def test_if_all_other_hits_are_strong_their_exact_strength_does_not_matter() -> None:
    assert likelihood(9.0, Background.of([9.0] * 40)) == likelihood(9.0, Background.of([20.0] * 40))


def test_the_best_of_many_similar_hits_is_less_likely_than_a_single_hit() -> None:
    assert likelihood(2.0, Background.of([2.0] * 20)) < 0.5 * likelihood(2.0, Background.of([2.0]))


@pytest.mark.long
@pytest.mark.parametrize("embedder", ["arctic-embed-s", "none"])
@pytest.mark.weights
def test_an_answer_has_a_high_likelihood_and_an_unanswered_question_has_no_likely_hit(
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
    assert all(score < 0.2 for score in rest)
    assert all(score < 0.2 for score in scores(memory, "when does the ferry to Naxos leave?"))


def test_the_limit_does_not_change_a_score(memory: Engine) -> None:
    for number in range(60):
        memory.remember(f"the heron of pond {number} eats frogs", user="ana")
    few, many = (memory.recall("which heron eats frogs at pond 7?", user="ana", limit=limit)[0] for limit in (1, 30))
    assert few.id == many.id
    assert few.score == pytest.approx(many.score, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "question"),
    [("we made soup number {} with leeks", "what did I cook?"), ("mi hija Lucía dibuja el cuadro {}", "¿cómo se llama mi hija?")],
)
@pytest.mark.parametrize("embedder", ["arctic-embed-s", "none"])
@pytest.mark.weights
def test_all_of_many_relevant_memories_are_in_the_context(
    open_memory: Callable[..., Engine], embedder: str, text: str, question: str
) -> None:
    memory = open_memory(embedder=embedder)
    session = memory.session(user="ana")
    for number in range(40):
        session.add("user", text.format(number))
    found = memory.recall(question, user="ana")
    assert len(memory.context(question, user="ana").hits) >= len(found)


def test_the_search_tool_shows_hits_even_if_all_are_similar(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(preset="reachy", embedder="none")
    for number in range(40):
        memory.remember(f"Bea likes the restaurant number {number}", user="ana")
    found = MemoryTools(memory, user="ana").call("search_memories", {"query": "which restaurant does Bea like?", "limit": 5})
    assert found.ok
    assert len(found.data) == 5


class SlowEmbedder(HashEmbedder):
    """An embedder that is slow, as on a busy machine, and records the size of each batch."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.batches: list[int] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
        """Embed after a pause."""
        time.sleep(self.seconds * len(texts))
        if role == "document":
            self.batches.append(len(texts))
        return super().embed(texts, role=role)


def source(embedder: HashEmbedder, *, computes: bool = True) -> EmbedderSource:
    return EmbedderSource(name=embedder.name, load=lambda: embedder, computes=computes)


def parrot_and_boxes(memory: Engine, boxes: int) -> Hit:
    """Store one text about a parrot and ``boxes`` other texts. Return the best hit for a question about the parrot."""
    memory.remember("the parrot is called Basil", user="ana")
    for number in range(boxes):
        memory.remember(f"noted item {number} of the inventory, box {number % 13}", user="ana")
    return memory.recall("what is the parrot called?", user="ana")[0]


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_score_does_not_depend_on_how_fast_the_machine_is(open_memory: Callable[..., Engine], seconds: float) -> None:
    memory = open_memory(embedder=source(SlowEmbedder(seconds)))
    before = parrot_and_boxes(memory, MANY)
    memory.drain()
    after = memory.recall("what is the parrot called?", user="ana")[0]
    assert (before.text, before.score, before.similarity) == (after.text, after.score, after.similarity)


def test_with_a_large_backlog_recall_first_embeds_the_texts_that_match_by_words(open_memory: Callable[..., Engine]) -> None:
    embedder = SlowEmbedder(0.0)
    memory = open_memory(embedder=source(embedder))
    hit = parrot_and_boxes(memory, 200)
    assert hit.text == "the parrot is called Basil"
    assert hit.similarity is not None
    assert embedder.batches == [32]


def test_a_slow_embedder_on_a_server_is_asked_for_one_batch(open_memory: Callable[..., Engine]) -> None:
    embedder = SlowEmbedder(0.02)
    memory = open_memory(embedder=source(embedder, computes=False), settings={"recall_timeout": 30})
    hit = parrot_and_boxes(memory, 200)
    assert hit.similarity is not None
    assert embedder.batches == [32]


def _placed(*sessions: str, gap: int = 1) -> dict[int, MessagePlace]:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return {seq * gap: MessagePlace(seq * gap, session, "user", "Julia", at) for seq, session in enumerate(sessions, 1)}


def test_a_message_gains_from_a_strong_neighbor_in_its_own_session_only() -> None:
    weak, strong, other = -4.0, 4.0, -4.0

    def gained(places: dict[int, MessagePlace]) -> list[float]:
        strengths = dict(zip(places, (weak, strong, other), strict=True))
        found = with_context_gains(strengths, places, "")
        return [found[seq] for seq in places]

    same, apart = gained(_placed("a", "a", "a")), gained(_placed("a", "a", "b"))
    assert same[0] > weak
    assert same[2] > other
    assert apart[2] < same[2]
    assert apart[2] == gained(_placed("a", "a", "b", gap=1000))[2], "a message of another session is no neighbor"
    far = gained(_placed("a", "a", "a", gap=1000))
    assert far[0] < same[0], "nor is a message far away"


def test_a_message_that_matches_half_as_well_as_the_best_ranks_above_the_neighbors_of_the_best() -> None:
    places = _placed(*["a"] * 9)
    strengths = dict.fromkeys(places, 0.5) | {2: 6.0, 6: 3.0}
    found = with_context_gains(strengths, places, "")
    assert found[2] > found[6] > max(found[1], found[3]) > found[9]


def test_among_equal_matches_a_pinned_memory_comes_first_unless_the_other_is_much_newer(
    open_memory: Callable[..., Engine],
) -> None:
    memory = open_memory(embedder="none")
    for place, pinned, at in (("harbor", True, "2024-03-01"), ("market", False, "2024-03-01"), ("castle", False, None)):
        memory.remember(f"buys tea at the {place}", user="ana", pinned=pinned, valid_from=at, created_at=at)
    found = [hit.text.split()[-1] for hit in memory.recall("tea", user="ana")]
    assert found == ["castle", "harbor", "market"]
