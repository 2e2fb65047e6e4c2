"""Near misses: hits that share a name with the question, but do not answer it."""

from datetime import UTC, datetime

import pytest

from holdfast import Engine, Memory, Scope
from holdfast.recall.query import RecallQuery
from holdfast.recall.relevance.near_misses import asks_for_detail, is_near_miss
from holdfast.text.periods import periods_of
from holdfast.types import Message

AT = datetime(2026, 3, 1, tzinfo=UTC)
SCOPE = Scope(tenant="t", user="ana")
CALIBRATION = (0.1, 0.5)
UNLIKE, LIKE = 0.4, 0.6


def _memory(text: str) -> Memory:
    return Memory(id="mem_1", scope=SCOPE, kind="fact", text=text, created_at=AT, updated_at=AT, valid_from=AT, recorded_at=AT)


def _asks(text: str) -> bool:
    return asks_for_detail(RecallQuery(text=text, reader=SCOPE, now=AT, periods=periods_of(text, AT)))


@pytest.mark.parametrize(
    ("cosine", "word_match", "expected"),
    [(UNLIKE, 0.4, True), (LIKE, 0.4, False), (UNLIKE, 0.0, False), (UNLIKE, 1.0, False), (None, 0.4, False)],
    ids=["name only", "same meaning", "no word in common", "all words in common", "no vector"],
)
def test_a_near_miss_shares_words_but_not_the_meaning(cosine: float | None, word_match: float, expected: bool) -> None:  # noqa: FBT001
    assert is_near_miss(_memory("My sister Ivy lives in Leeds."), cosine, word_match, CALIBRATION) is expected


def test_a_reply_is_not_a_near_miss() -> None:
    reply = Message(id="msg_1", session="s", scope=SCOPE, role="user", text="14, with the twins", at=AT, asked="How many come?")
    assert not is_near_miss(reply, UNLIKE, 0.4, CALIBRATION)
    assert not is_near_miss(_memory("How many come? 14, with the twins"), UNLIKE, 0.4, CALIBRATION)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is Ivy's shoe size", True),
        ("¿qué número calza Ivy?", True),
        ("when is Ivy's birthday, we're doing cake", True),
        ("Ivy", False),
        ("I bought shoes for Ivy", False),
        ("what did Ivy do last week?", False),
        ("what did I have on the 24th with Ivy", False),
    ],
)
def test_only_a_question_without_a_time_or_a_number_has_near_misses(query: str, expected: bool) -> None:  # noqa: FBT001
    assert _asks(query) is expected


def test_a_block_heads_a_near_miss_as_related(memory: Engine) -> None:
    for text in ("My sister Ivy is a nurse and lives in Leeds with two cats", "The tram was late", "I like tea"):
        memory.remember(text, user="ana")
    query = "which airline does my sister Ivy usually take for a long flight?"
    hit = memory.recall(query, user="ana")[0]
    assert hit.is_near_miss
    text = memory.context(query, user="ana").text
    assert "Relevant now:" not in text
