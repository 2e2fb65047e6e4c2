"""Two statements that only name the same thing are one fact: "has a boat called Marabou", "their boat is named Marabou"."""

import pytest

from holdfast.learning.changes.sameness import same_words
from holdfast.learning.changes.things.named_things import named_thing


@pytest.mark.ledger("U8")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tiene un gato llamado Michi", "su gato se llama Michi"),
        ("tiene una hija llamada Inés", "su hija se llama Inés"),
        ("El usuario tiene una tortuga que se llama Manuelita.", "La tortuga del usuario se llama Manuelita."),
        ("Tengo un hermano llamado Bruno", "mi hermano se llama Bruno"),
        ("The user has a cat named Michi.", "The user's cat is called Michi."),
        ("has a boat called Marabou", "their boat is named Marabou"),
        ("I have a sister named Nora", "my sister's name is Nora"),
    ],
)
def test_two_ways_to_name_the_same_thing_are_one_fact(one: str, other: str) -> None:
    assert same_words(one, other)
    assert same_words(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tiene un gato llamado Michi", "su gato se llama Tom"),
        ("tiene un gato llamado Michi", "su perro se llama Michi"),
        ("tiene un gato llamado Michi", "su gato se llama Michi y tiene seis años"),
        ("their sister is a doctor", "their sister is called Nora"),
    ],
)
def test_another_name_another_thing_or_an_addition_is_another_fact(one: str, other: str) -> None:
    assert not same_words(one, other)


def test_a_statement_without_a_name_names_nothing() -> None:
    assert named_thing("su gato duerme en la cocina") is None
    assert named_thing("their cat is grey") is None
