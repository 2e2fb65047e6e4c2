"""The classifier of clauses, the joining of short clauses, and clauses that need the sentence before them."""

from datetime import UTC, datetime

import pytest

from holdfast.learning.statements.classifier import ClauseClassifier, ClauseReading, clause_classifier
from holdfast.learning.statements.rulebook import rulebook
from holdfast.learning.statements.statements import statements
from holdfast.learning.statements.threshold import is_telling
from holdfast.text.language import detect_language
from holdfast.types import Message, Scope


def kept(text: str) -> list[str]:
    message = Message(
        id="msg",
        session="ses",
        scope=Scope(user="ana"),
        role="user",
        text=text,
        at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        seq=1,
        origin="user",
        language=detect_language(text),
    )
    return [statement.text for statement in statements(message)]


def clause(text: str) -> ClauseReading:
    return ClauseReading(text=text, folded=text.lower(), ruled=False, passing=False, cues=(), weight=0.0)


@pytest.mark.parametrize(
    "said",
    [
        "the blue recycling bin goes out on Wednesdays, the green one on Fridays",
        "horror movies are a hard pass for me",
        "Tessa's inhaler lives in the blue rucksack",
        "two cats, Pixel and Byte, both indoor",
        "el inhalador de Teo va en la mochila azul",
        "los viernes asado en lo de Ramiro, sagrado",
    ],
)
def test_a_clause_without_a_rule_is_kept_if_it_looks_like_a_personal_fact(said: str) -> None:
    assert kept(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "the second paragraph drags a bit, the one about Rome is much better",
        "a woman in Ohio won the lottery twice in one year",
        "llevo seis horas mirando la pantalla",
        "el camarero le tiró el vino a una señora en la mesa de al lado",
    ],
)
def test_what_only_sounds_like_a_fact_is_not_kept(said: str) -> None:
    assert kept(said) == []


def test_an_article_that_speaks_of_nobody_here_is_not_kept() -> None:
    text = "The city council voted on Tuesday to extend the tram line. Work begins in March 2027. Residents have protested since last summer."
    assert kept(text) == []


def test_a_line_of_a_program_is_not_kept() -> None:
    assert kept("for i in range(10): print(i)") == []


def test_a_short_clause_stays_with_its_neighbor() -> None:
    said = "The bins go out Tuesday nights now, used to be Mondays"
    assert kept(said) == [said]


def test_short_facts_of_different_things_stay_apart() -> None:
    assert kept("I don't eat meat and I live in Oslo") == ["I don't eat meat", "I live in Oslo"]


def test_a_wish_stays_with_its_reason() -> None:
    said = "I gave up drinking two years ago, so please no wine pairings"
    assert kept(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "how do you wash a wool coat? mine is the camel one grandma Ottilie left me",
        "whats the fastest way to the airport from Pollokshields, thats where i live now",
    ],
)
def test_what_speaks_of_something_named_before_is_kept_with_it(said: str) -> None:
    assert kept(said) == [said]


def test_a_secret_is_not_kept_as_context() -> None:
    assert "hunter2" not in " ".join(kept("is hunter2 a good password? mine is the one grandma Ottilie left me"))


def test_a_secret_between_two_statements_joins_neither() -> None:
    assert "1234" not in " ".join(kept("I live in Oslo, my pin is 1234, we have a dog"))


def test_a_full_stop_changes_nothing() -> None:
    english = clause_classifier("en")
    assert english.features(clause("my tea is green.")) == english.features(clause("my tea is green"))


def test_a_classifier_without_weights_returns_one_half() -> None:
    blank = ClauseClassifier(function=frozenset(), endings=(), classes={}, weights={})
    assert blank.probability(clause("my tea is green")) == 0.5


def test_a_word_in_the_plural_is_of_its_class() -> None:
    assert "animal" in clause_classifier("en").classes_in("three tortoises")


@pytest.mark.parametrize(
    ("said", "language"), [("I teach maths at a girls' school", "en"), ("doy clase de mates en un instituto", "es")]
)
def test_a_clause_tells_something_in_its_language(said: str, language: str) -> None:
    assert is_telling(said, said.lower(), rulebook(language))
