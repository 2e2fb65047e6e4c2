"""Memories that do not expire even if they are never used: identity, health, family and standing instructions."""

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.learning.summaries.lasting import is_lasting
from holdfast.protocols.sentence_reader import Comparison, Reading
from holdfast.testing.samples import a_memory


class BrokenReader:
    """A sentence reader whose weights cannot be read."""

    name = "broken"

    def read(self, sentence: str, *, before: str = "") -> Reading:
        raise ModelUnavailable("no weights")

    def compare(self, old: str, new: str) -> Comparison:
        raise ModelUnavailable("no weights")


@pytest.mark.ledger("X33")
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("nombre", "Lucas"),
        ("Alergias", "nueces"),
        ("cumpleaños", "14 de julio"),
        ("hermana", "vive en Rosario"),
        ("instrucción", "tutearlo"),
        (None, "The user is allergic to penicillin."),
        (None, "My daughter Ines has started school."),
        (None, "Su madre vive en Mendoza."),
        (None, "Never call me before nine."),
        (None, "Siempre respondeme en una sola frase."),
        (None, "The user wants answers in German."),
        (None, "I was born in Oaxaca."),
        (None, "The user's name is Wanjiru."),
        (None, "The user's pronouns are they/them."),
        (None, "The user is transgender."),
        (None, "The user carries an EpiPen."),
        (None, "The user uses a wheelchair."),
        (None, "La usuaria tiene marcapasos."),
        (None, "The user's grandmother raised them."),
        (None, "El cuñado del usuario vive en Lugo."),
    ],
)
def test_identity_health_family_and_instructions_last(key: str | None, text: str) -> None:
    assert is_lasting(a_memory(text, key=key))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("hobby", "juega al ajedrez"),
        ("editor", "usa Neovim"),
        (None, "The user liked the second hiking boot."),
        (None, "Los platos favoritos del usuario son tres."),
        (None, "I bought a blue bicycle."),
    ],
)
def test_other_memories_are_not_lasting(key: str | None, text: str) -> None:
    assert not is_lasting(a_memory(text, key=key))


def test_nothing_expires_while_the_reader_cannot_be_used() -> None:
    assert is_lasting(a_memory("I bought a blue bicycle."), BrokenReader())
