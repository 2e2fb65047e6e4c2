"""The check accepts the right items of a model's answer and refuses the wrong ones, in English and Spanish."""

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.errors import ModelUnavailable
from holdfast.learning.answer_check.amounts import Said, wrong_amount
from holdfast.learning.answer_check.check import problem, without_distortions
from holdfast.learning.answer_check.evidence import evidence_for
from holdfast.protocols import Comparison, Reading, SentenceReader
from holdfast.text.language import detect_language
from holdfast.types import Message, Scope

_AT = datetime(2026, 11, 14, 10, tzinfo=UTC)
_READER = make_sentence_reader("talk-reader-s")
_FILES = ("model_answers.toml", "model_answers_unseen.toml", "model_answers_people.toml")


def cases() -> Iterator[dict[str, Any]]:
    for file in _FILES:
        yield from tomllib.loads((Path(__file__).parent / file).read_text("utf-8"))["case"]


def answers(which: str) -> list[Any]:
    return [
        pytest.param(case["said"], item, id=f"{case['name']}-{number}")
        for case in cases()
        for number, item in enumerate(case.get(which, ()))
    ]


def checked(said: list[str], item: str, reader: SentenceReader | None = None) -> str | None:
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
    return problem(item, evidence_for([message for message in messages if message.role == "user"], messages, []), reader)


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


@pytest.mark.parametrize(
    ("said", "item"),
    [
        ("I can't stand cilantro", "The user dislikes coriander."),
        ("odio volar", "The user hates flying."),
        ("I finally handed in my badge at Lufthansa, last flight was Monday", "The user no longer flies for Lufthansa."),
        ("me dieron de baja en el gimnasio por no pagar", "El usuario ya no es socio del gimnasio."),
        ("we called off the wedding", "The user is no longer getting married."),
    ],
)
def test_the_sentence_reader_accepts_what_shares_no_word_or_states_an_end(said: str, item: str) -> None:
    assert checked([f"U: {said}"], item) is not None, "words alone do not show it"
    assert checked([f"U: {said}"], item, _READER) is None


@pytest.mark.parametrize(
    ("said", "item"),
    [
        ("I like my job at KPMG", "The user no longer works at KPMG."),
        ("I'm thinking of quitting KPMG", "The user no longer works at KPMG."),
        ("I started at KPMG on Monday", "The user no longer works at KPMG."),
        ("empecé en Iberia ayer", "El usuario ya no trabaja en Iberia."),
        ("set a timer for ten minutes", "The user enjoys cooking pasta."),
        ("I collect stamps", "As an AI language model I cannot extract memories from this conversation."),
        ("my father is diabetic", "The user is diabetic."),
        ("I don't drink coffee after noon", "The user drinks coffee after noon."),
    ],
)
def test_the_sentence_reader_does_not_rescue_a_wrong_item(said: str, item: str) -> None:
    assert checked([f"U: {said}"], item, _READER) is not None


class _BrokenReader:
    """A sentence reader whose weights cannot be read."""

    name = "broken"

    def read(self, sentence: str, *, before: str = "") -> Reading:
        raise ModelUnavailable("no weights")

    def compare(self, old: str, new: str) -> Comparison:
        raise ModelUnavailable("no weights")


def test_without_a_working_reader_words_decide() -> None:
    assert checked(["U: odio volar"], "The user hates flying.", _BrokenReader()) is not None
    assert checked(["U: I hate flying"], "The user hates flying.", _BrokenReader()) is None


def test_a_sentence_of_a_summary_without_any_word_of_the_conversation_is_left_out() -> None:
    said = Message(
        id="msg1", session="one", scope=Scope(user="ana"), role="user", text="Set a timer for ten minutes.", at=_AT, seq=1
    )
    text, reasons = without_distortions(
        "The user set a timer. They love elephants and purple bananas.", evidence_for([said], [said], [])
    )
    assert text == "The user set a timer."
    assert reasons == ("left out a sentence whose words do not occur in the conversation",)


def test_a_month_follows_from_a_day_of_that_month() -> None:
    assert checked(["U: I moved on 5 May 2019"], "The user moved in May 2019.") is None
    assert checked(["U: I moved on 5 May 2019"], "The user moved in June 2019.") is not None


@pytest.mark.parametrize(
    ("item", "follows"),
    [
        ("The user moved in May 2019.", True),
        ("The user moved on 5 May.", True),
        ("The user moved in June 2019.", False),
        ("The user moved in May 2018.", False),
    ],
)
def test_a_date_follows_from_a_known_text_if_their_common_parts_are_equal(item: str, *, follows: bool) -> None:
    assert (wrong_amount(item, [Said("Yes, that is right.", _AT)], ["moved on 5 May 2019"]) is None) is follows


def test_words_about_one_relative_are_not_evidence_about_another() -> None:
    assert checked(["U: my sister is a surgeon and my brother is a painter"], "The user's sister is a painter.") is not None
    assert checked(["U: my sister is a surgeon and my brother is a painter"], "The user's brother is a painter.") is None
