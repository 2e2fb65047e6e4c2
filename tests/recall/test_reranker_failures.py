"""A reranker that fails, waits or answers nonsense: hits keep their order, and the reranker is paused."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.protocols import Candidate
from holdfast.recall.reranking import Reranking
from holdfast.testing.samples import AT, a_memory
from holdfast.types import Hit


class Custom:
    """A reranker that runs in this process. It rates a text by the number at its end, returns ``answer``, or raises an error."""

    name = "custom"
    computes = True

    def __init__(self, *, fails: bool = False, answer: Any = None) -> None:
        self.fails = fails
        self.answer = answer
        self.calls = 0
        self.loaded = 0

    def load(self) -> None:
        self.loaded += 1

    def rate(self, question: str, candidates: Sequence[Candidate], *, asked_at: datetime) -> Sequence[float | None]:
        self.calls += 1
        assert (question, asked_at) == ("tea?", AT)
        if self.fails:
            raise ModelUnavailable("the weights are gone")
        return [int(each.text[-1]) / 10 for each in candidates] if self.answer is None else self.answer


HITS = [Hit(memory=a_memory(f"fact {number}"), score=0.5) for number in (1, 9, 5)]


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def test_ratings_change_the_order_and_are_listed_as_a_reason() -> None:
    ranked = Reranking(Custom()).rank("tea?", HITS, now=AT)
    assert texts(ranked) == ["fact 9", "fact 5", "fact 1"]
    assert [(hit.why[-1].arm, hit.why[-1].rank) for hit in ranked] == [
        ("rerank:custom", 1),
        ("rerank:custom", 2),
        ("rerank:custom", 3),
    ]
    assert ranked[0].score > HITS[1].score > ranked[-1].score


def test_a_reranker_that_fails_is_paused_and_hits_keep_their_order() -> None:
    reranker = Custom(fails=True)
    reranking = Reranking(reranker)
    for _ in range(20):
        assert reranking.rank("tea?", HITS, now=AT) == HITS
    assert 0 < reranker.calls < 20
    assert "the weights are gone" in (reranking.problem or "")


def test_a_reranker_that_works_again_has_no_problem() -> None:
    reranker = Custom(fails=True)
    reranking = Reranking(reranker)
    reranking.rank("tea?", HITS, now=AT)
    reranker.fails = False
    other = Reranking(reranker)
    other.rank("tea?", HITS, now=AT)
    assert other.problem is None


@pytest.mark.parametrize("answer", [[0.5], [0.5, 0.5, float("nan")], [0.5, 0.5, 1.5], [0.5, 0.5, "1"], 7])
def test_ratings_that_are_invalid_change_nothing(answer: Any) -> None:
    reranking = Reranking(Custom(answer=answer))
    assert reranking.rank("tea?", HITS, now=AT) == HITS
    assert reranking.problem
    with pytest.raises(ModelError):
        reranking.rate("tea?", [Candidate(text=hit.text, at=AT) for hit in HITS], now=AT)


def test_a_hit_without_a_rating_keeps_its_score() -> None:
    ranked = Reranking(Custom(answer=[None, 0.9, None])).rank("tea?", HITS, now=AT)
    assert {hit.text: hit.score == 0.5 for hit in ranked} == {"fact 1": True, "fact 9": False, "fact 5": True}
    assert Reranking(Custom(answer=[None] * 3)).rank("tea?", HITS, now=AT) == HITS


def test_one_hit_or_an_empty_question_needs_no_reranker() -> None:
    reranker = Custom()
    assert Reranking(reranker).rank("tea?", HITS[:1], now=AT) == HITS[:1]
    assert Reranking(reranker).rank(" ", HITS, now=AT) == HITS
    assert Reranking(None).rank("tea?", HITS, now=AT) == HITS
    assert reranker.calls == 0


def test_more_hits_are_found_for_a_reranker_than_without_one() -> None:
    assert (Reranking(None).depth(3), Reranking(Custom()).depth(0)) == (3, 0)
    deep = Reranking(Custom()).depth(3)
    assert deep > 3
    assert Reranking(Custom()).depth(deep + 1) == deep + 1


def test_the_weights_of_a_reranker_that_computes_are_loaded_ahead() -> None:
    reranker = Custom()
    Reranking(reranker).load()
    assert reranker.loaded == 1
    waiting = Custom()
    waiting.computes = False
    Reranking(waiting).load()
    assert (waiting.loaded, Reranking(waiting).waits, Reranking(reranker).waits, Reranking(None).waits) == (0, True, False, False)
    Reranking(None).load()
    assert (Reranking(reranker).name, Reranking(None).name, Reranking(None).active) == ("custom", None, False)
