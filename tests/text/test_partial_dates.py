"""Seasons and dates without a year get a year. The sentence reader decides whether they are past or future."""

from datetime import UTC, datetime

import pytest

from holdfast.text.partial_dates import Tense, with_years
from holdfast.text.stated_dates import begin_and_end

NOVEMBER = datetime(2026, 11, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "tense", "dated"),
    [
        ("The lease runs out in June.", "future", "The lease runs out in June 2027."),
        ("La beca acaba en enero.", "future", "La beca acaba en enero de 2027."),
        ("We flew to Malta in April.", "past", "We flew to Malta in April 2026."),
        ("My exam is on January 9th.", "future", "My exam is on January 9th, 2027."),
        ("The hearing is on the 20th.", "future", "The hearing is on the 20th (20 November 2026)."),
        ("Next autumn I start nursing school.", "future", "Next autumn (2027) I start nursing school."),
        ("El verano pasado aprendí a nadar.", "past", "El verano pasado (2026) aprendí a nadar."),
        ("Last winter we lost the boat.", "past", "Last winter (2026) we lost the boat."),
        (
            "El médico me mandó bajar de peso de aquí a junio.",
            "past",
            "El médico me mandó bajar de peso de aquí a junio de 2027.",
        ),
        (
            "They gave us the keys and told us to paint by March.",
            "past",
            "They gave us the keys and told us to paint by March 2027.",
        ),
        (
            "Nico se rompió la pierna en julio y lo operan en enero.",
            "past",
            "Nico se rompió la pierna en julio de 2026 y lo operan en enero.",
        ),
    ],
)
def test_a_partial_date_gets_its_year(said: str, tense: Tense, dated: str) -> None:
    assert with_years(said, NOVEMBER, tense) == dated


@pytest.mark.parametrize(
    ("said", "tense"),
    [
        ("My birthday is March 4th.", "future"),
        ("We go to Malta every April.", "future"),
        ("I signed up for the race on May 3rd.", "future"),  # past words, planned event: either year may be meant
        ("We met on October 2nd.", "future"),
        ("I moved in June 2019.", "past"),
        ("It may rain.", "future"),
    ],
)
def test_a_recurring_or_unclear_date_gets_no_year(said: str, tense: Tense) -> None:
    assert with_years(said, NOVEMBER, tense) == said


def test_a_reported_event_is_in_the_past_whatever_its_words_are() -> None:
    assert begin_and_end("In May I ran a marathon.", NOVEMBER, is_event=True, past=True) == {"happened_at": "2026-05"}


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("I edit the film July 16-18.", "I edit the film July 16-18, 2024."),
        ("We are in Rome April 3 – 10th, all of us.", "We are in Rome April 3 – 10th, 2024, all of us."),
    ],
)
def test_the_year_of_a_range_of_days_follows_its_last_day(said: str, dated: str) -> None:
    assert with_years(said, datetime(2024, 3, 20, tzinfo=UTC), "future") == dated
