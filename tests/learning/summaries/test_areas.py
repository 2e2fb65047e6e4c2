"""Each memory about a person belongs to one area of life."""

import pytest

from holdfast.learning.summaries.areas import area_of
from holdfast.testing.samples import a_memory

pytestmark = pytest.mark.ledger("X37")


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("Her sister Clara is allergic to walnuts", "health"),
        ("Le diagnosticaron diabetes en marzo", "health"),
        ("Has two daughters, Ines and Olivia", "family"),
        ("Su hermano toca el bajo", "family"),
        ("Works as a nurse in Graz", "work"),
        ("Trabaja de electricista", "work"),
        ("Lives in a village near Porto", "home"),
        ("Vive en Rosario", "home"),
        ("The mortgage costs 900 euros a month", "money"),
        ("Decided to learn Danish", "plans"),
        ("Only on weekdays, and no later than nine", "rules"),
        ("Prefers tea to coffee", "preferences"),
        ("My name is Ines", "identity"),
        ("The lamp is green", "other"),
    ],
)
def test_the_area_follows_from_the_words_of_a_memory(text: str, area: str) -> None:
    assert area_of(a_memory(text)) == area


@pytest.mark.parametrize(
    ("key", "text", "area"),
    [("job", "Baker", "work"), ("ciudad", "Lima", "home"), ("birthday", "3 May", "identity"), ("wife", "Ada", "family")],
)
def test_a_known_key_determines_the_area_before_the_words_do(key: str, text: str, area: str) -> None:
    assert area_of(a_memory(text, key=key)) == area


def test_with_an_unknown_key_the_words_determine_the_area() -> None:
    assert area_of(a_memory("Works as a diver", key="zq7")) == "work"
