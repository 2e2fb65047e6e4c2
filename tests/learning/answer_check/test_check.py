"""The check accepts the right items of a model's answer and refuses the wrong ones, in English and Spanish."""

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.learning.answer_check.check import problem
from holdfast.learning.answer_check.evidence import evidence_for
from holdfast.text.language import detect_language
from holdfast.types import Message, Scope

_AT = datetime(2026, 11, 14, 10, tzinfo=UTC)
_FILES = ("model_answers.toml", "model_answers_unseen.toml")


def cases() -> Iterator[dict[str, Any]]:
    for file in _FILES:
        yield from tomllib.loads((Path(__file__).parent / file).read_text("utf-8"))["case"]


def answers(which: str) -> list[Any]:
    return [
        pytest.param(case["said"], item, id=f"{case['name']}-{number}")
        for case in cases()
        for number, item in enumerate(case.get(which, ()))
    ]


def checked(said: list[str], item: str) -> str | None:
    messages = [
        Message(
            id=f"msg{seq}",
            session="one",
            scope=Scope(user="user-7"),
            role="user" if line.startswith("U: ") else "assistant",
            text=line[3:],
            at=_AT,
            seq=seq,
            language=detect_language(line[3:]),
        )
        for seq, line in enumerate(said)
    ]
    return problem(item, evidence_for([message for message in messages if message.role == "user"], messages, []))


@pytest.mark.parametrize(("said", "item"), answers("right"))
def test_a_right_item_is_accepted(said: list[str], item: str) -> None:
    assert checked(said, item) is None


@pytest.mark.parametrize(("said", "item"), answers("wrong"))
def test_a_wrong_item_is_refused_with_a_reason_that_does_not_quote_it(said: list[str], item: str) -> None:
    reason = checked(said, item)
    assert reason is not None
    assert reason.startswith("an item ")


def test_the_sets_are_large_and_mostly_decided_right() -> None:
    counted = {which: sum(len(case.get(which, ())) for case in cases()) for which in ("right", "wrong", "missed")}
    assert counted["right"] >= 60
    assert counted["wrong"] >= 60
    assert counted["missed"] <= 0.05 * counted["wrong"]


@pytest.mark.parametrize(
    ("said", "right", "wrong"),
    [
        ("My exam is this month.", "Has an exam in November 2026", "Has an exam in December 2026"),
        ("I will run a marathon this year.", "Will run a marathon on December 31, 2026", "Will run a marathon in January 2027"),
        ("Este año corro una maratón.", "Corre una maratón el 31 de diciembre de 2026", "Corre una maratón en enero de 2027"),
        ("I fly to Rome this week.", "Flies to Rome on November 20, 2026", "Flies to Rome on November 27, 2026"),
    ],
)
def test_a_computed_date_lies_in_the_period_that_was_named(said: str, right: str, wrong: str) -> None:
    assert checked([f"U: {said}"], right) is None
    assert checked([f"U: {said}"], wrong) is not None
