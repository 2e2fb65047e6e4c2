"""Calendar dates for weekdays: the clause of a weekday decides, not another clause of the same statement."""

from datetime import UTC, datetime

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.dating import dated
from holdfast.models.local.registry import DEFAULT_READER

THURSDAY = datetime(2026, 11, 19, 12, tzinfo=UTC)


def _dated(text: str) -> str:
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    return dated(text, THURSDAY, reader.read(text))


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("My father broke his hip on Tuesday.", "Tuesday (17 November 2026)"),
        ("El martes operaron a mi padre de la cadera.", "El martes (17 de noviembre de 2026)"),
        ("El lunes firmé el divorcio.", "El lunes (16 de noviembre de 2026)"),
        ("Me gradué el sábado.", "el sábado (14 de noviembre de 2026)"),
        ("This morning I fell off my bike.", "This morning (19 November 2026)"),
        ("I couldn't go to practice this Tuesday.", "this Tuesday (17 November 2026)"),
    ],
)
def test_a_weekday_in_the_past_gets_its_date(text: str, date: str) -> None:
    assert date in _dated(text)


@pytest.mark.parametrize(
    "text",
    [
        "My father broke his hip, and on Tuesday I have my driving test.",
        "Mi padre se rompió la cadera, y encima el martes tengo el examen de conducir.",
        "Se ha estropeado el horno y el martes viene el técnico.",
    ],
)
def test_a_weekday_in_a_clause_of_the_present_gets_no_date_in_the_past(text: str) -> None:
    assert "17" not in _dated(text)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("They pushed the exam to Monday.", "Monday (23 November 2026)"),
        ("Me han retrasado la operación a enero.", "enero de 2027"),
        ("I moved to Lisbon in March.", "March 2026"),
        ("This Tuesday I have my driving test.", "This Tuesday (24 November 2026)"),
    ],
)
def test_the_new_date_of_something_that_was_put_off_is_still_to_come(text: str, date: str) -> None:
    assert date in _dated(text)
