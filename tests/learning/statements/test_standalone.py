"""Statements that cannot be understood alone, or that are about nobody, are not kept."""

import pytest

from holdfast import Engine
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.standalone import (
    is_english,
    is_irreal,
    is_question,
    is_unfinished,
    refers_to_someone,
    unnamed,
    without_subordinator,
)


@pytest.mark.parametrize("text", ["I always think about it every year!", "Those are my two favorites."])
def test_a_pronoun_without_a_noun_is_unresolved(text: str) -> None:
    assert unnamed(text, fold_clause(text))


@pytest.mark.parametrize(
    "text",
    [
        "My sister moved to Lyon and she loves it there.",
        "It's hard for me to sleep.",
        "I hate cilantro, it tastes like soap to me.",
        "I don't like it when you use emojis.",
        "I have two cats and they hate water.",
        "I live in Lyon.",
    ],
)
def test_a_pronoun_after_its_noun_is_resolved(text: str) -> None:
    assert not unnamed(text, fold_clause(text))


@pytest.mark.parametrize("text", ["Do you think the birds might still be around", "how long do they expect me to wait"])
def test_a_question_without_a_question_mark_is_recognized(text: str) -> None:
    assert is_question(fold_clause(text))


def test_a_statement_is_not_a_question() -> None:
    assert not is_question("what i like most is jazz")
    assert not is_question("i do have two cats")


def test_a_leading_subordinating_conjunction_is_removed_from_a_clause() -> None:
    assert without_subordinator("because I hated shaving") == "I hated shaving"
    assert without_subordinator("because of the rain I left") == "because of the rain I left"


def test_a_text_of_unknown_language_is_english_if_a_function_word_says_so() -> None:
    assert is_english("the dog is mine", None)
    assert not is_english("ayer nacio mi sobrina julia", None)


def test_a_text_that_breaks_off_is_unfinished() -> None:
    assert is_unfinished("ive recently started to annotate my books as")
    assert not is_unfinished("lyon is the city i live in.")


@pytest.mark.parametrize(
    "said",
    [
        "Keep it up, you're making a big impact!",
        "Healing takes time, and it's okay to be sad.",
        "Your interest in technology is fascinating.",
        "The beaches of the islands are like no other.",
    ],
)
def test_praise_advice_and_statements_about_the_world_are_not_kept(memory: Engine, said: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", said)
    memory.drain()
    assert memory.memories(user="ana") == []


@pytest.mark.parametrize(
    "text", ["Si fuera rico viviría en Cádiz", "y si no fuera por ellos me iba", "Ojalá llueva", "If I were rich I'd travel"]
)
def test_an_unmet_condition_or_a_wish_is_irreal(text: str) -> None:
    assert is_irreal(fold_clause(text))


@pytest.mark.parametrize("text", ["Si llueve no salgo a correr", "Soy de Cádiz", "If it rains I stay in"])
def test_another_condition_is_not_irreal(text: str) -> None:
    assert not is_irreal(fold_clause(text))


@pytest.mark.parametrize(
    "text", ["Él vive en Soria", "el tiene 19 años", "con ella tuve un juicio", "su papá trabaja lejos", "She is 16"]
)
def test_a_text_can_be_about_someone_whom_it_does_not_name(text: str) -> None:
    assert refers_to_someone(text)


@pytest.mark.parametrize(
    "text", ["mi hija y ella son amigas", "le dije a Ana que él no viene", "el coche es rojo", "Vivo en Soria"]
)
def test_a_text_that_names_its_person_refers_to_nobody_else(text: str) -> None:
    assert not refers_to_someone(text)


@pytest.mark.parametrize(
    ("text", "unfinished"), [("a mis pacientes.", True), ("a mis hijos les gusta el tenis", False), ("reza por mí.", False)]
)
def test_a_phrase_without_a_verb_is_unfinished(text: str, *, unfinished: bool) -> None:
    assert is_unfinished(fold_clause(text)) is unfinished
