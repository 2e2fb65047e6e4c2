"""How useful a possible memory is: the sentence reader's verdict on its text, corrected by a few rules."""

from dataclasses import replace

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.statements.candidate import Candidate, worth


def _candidate(text: str, *, asked: str = "") -> Candidate:
    reader = make_sentence_reader("talk-reader-s")
    assert reader is not None
    whole = f"{asked} {text}".strip()
    return Candidate(text=whole, own=text, reading=reader.read(text, before=asked), judged=reader.read(whole, before=asked))


@pytest.mark.parametrize(
    "text",
    [
        "My brother Anselm runs a bakery in Graz.",
        "I've been vegetarian since 2019.",
        "Mi abuela cumple noventa años el 3 de mayo.",
        "Trabajo de enfermera en el hospital de Talca.",
    ],
)
def test_a_lasting_fact_is_useful(text: str) -> None:
    assert worth(_candidate(text)) > 0.5


@pytest.mark.parametrize(
    "text",
    [
        "That sounds like a great idea, I love it!",
        "She works there now and loves it.",
        "Never give up on your dreams!",
        "¡Qué buena idea, me encanta cómo lo explicas!",
        "Hard work always pays off in the end.",
    ],
)
def test_praise_sayings_and_words_without_their_subject_are_not_useful(text: str) -> None:
    assert worth(_candidate(text)) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "I'm thinking of getting a second lamp for the hallway.",
        "I've been considering joining a pottery class near the station.",
        "I'm considering a trip to Iceland, but I've heard it is expensive.",
        "Estoy pensando en vender mis viejos vinilos para hacer sitio.",
    ],
)
def test_what_the_user_only_considers_is_not_useful(text: str) -> None:
    assert worth(_candidate(text)) < 0.5


def test_an_intention_with_a_date_is_a_plan() -> None:
    assert worth(_candidate("I'll fly to Oslo on Friday with my mother.")) > 0.5


def test_a_home_that_a_rule_recognizes_is_useful_although_the_reader_does_not_know_the_place() -> None:
    moved = _candidate("Me he mudado a Wqy.")
    assert worth(moved) < 0.5
    assert worth(replace(moved, names_home=True)) > 0.5


def test_how_a_team_works_is_useful() -> None:
    assert worth(_candidate("We deploy with Nomad.")) > 0.5
