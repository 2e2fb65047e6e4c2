"""Weak hits after the best one: which of them a context block shows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import Engine, Memory, Scope
from holdfast.recall.ranking import Background, likelihood, likelihood_margin
from holdfast.recall.relevance.companions import companion_margin
from holdfast.types import Message

AT = datetime(2026, 3, 1, tzinfo=UTC)
SCOPE = Scope(tenant="t", user="ana")
LONG = "I took the old bike over to Nadia's so that her brother can look at the brakes before the trip"
BACKGROUND = Background.of([0.0] * 32)
BEST = 20.0


def _message(text: str, *, role: str = "user", **fields: Any) -> Message:
    return Message(id="msg_1", session="ses_1", scope=SCOPE, role=role, text=text, at=AT, **fields)


def _memory() -> Memory:
    return Memory(
        id="mem_1", scope=SCOPE, kind="fact", text="has a bike", created_at=AT, updated_at=AT, valid_from=AT, recorded_at=AT
    )


def _strength_of(score: float) -> float:
    return -likelihood_margin(0.0, BACKGROUND, score)


@pytest.mark.parametrize(
    ("owner", "important", "minimum"),
    [
        (_memory(), False, 0.06),
        (_memory(), True, 0.04),
        (_message(LONG), False, 0.1),
        (_message("set a timer"), False, 0.35),
        (_message("sixty at most", asked="What is your budget?"), False, 0.2),
        (_message("Your bike is with Nadia.", role="assistant"), False, 0.25),
    ],
    ids=["memory", "important memory", "message", "short message", "short reply", "assistant"],
)
def test_each_sort_of_weak_hit_has_its_minimum_score(owner: Memory | Message, important: bool, minimum: float) -> None:  # noqa: FBT001
    for score, shown in ((minimum - 0.01, False), (minimum + 0.01, True)):
        strength = _strength_of(score)
        assert likelihood(strength, BACKGROUND) == pytest.approx(score)
        assert (companion_margin(owner, strength, BACKGROUND, best=BEST, is_important=important) >= 0) is shown


def test_a_hit_that_is_about_as_strong_as_the_best_one_has_no_minimum() -> None:
    said, strength = _message("set a timer"), _strength_of(0.05)
    assert companion_margin(said, strength, BACKGROUND, best=strength + 0.9, is_important=False) > 0
    assert companion_margin(said, strength, BACKGROUND, best=strength + 1.1, is_important=False) < 0


def test_a_short_message_of_a_named_speaker_has_no_minimum() -> None:
    said = _message("set a timer", speaker="Ben")
    assert companion_margin(said, _strength_of(0.01), BACKGROUND, best=BEST, is_important=False) > 0


def test_a_sentence_without_spaces_is_not_a_short_message() -> None:
    said = _message("我把旧自行车送到娜迪亚家让她弟弟在旅行前看看刹车")
    assert companion_margin(said, _strength_of(0.12), BACKGROUND, best=BEST, is_important=False) > 0


def test_without_an_embedder_shared_words_are_enough() -> None:
    background = Background.of([0.0] * 32, words_alone=True)
    assert companion_margin(_message("set a timer"), -3.0, background, best=BEST, is_important=False) > 0


def test_a_weak_short_message_is_found_but_not_shown_next_to_the_answer(memory: Engine) -> None:
    answer, filler = (
        "the spare key of the allotment shed is behind the blue watering can by the fence",
        "the old key works very well",
    )
    walks = [f"on day {n} we walked past an allotment and a mill and then along the canal all the way home" for n in range(30)]
    for text in (answer, filler, *walks):
        with memory.session(user="ana") as session:
            session.add("user", text)
    best, second = memory.recall("where is the spare key of the allotment shed?", user="ana", limit=2)
    assert (best.text, best.is_relevant) == (answer, True)
    assert (second.text, second.is_relevant) == (filler, False)
