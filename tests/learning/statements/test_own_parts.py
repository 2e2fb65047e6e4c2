"""Clauses about the speaker that are cut out of long sentences, and what is kept of such sentences."""

import pytest

from holdfast.learning.statements.own_parts import own_parts
from holdfast.protocols import SentenceReader

from .test_read import kept, reader

__all__ = ["reader"]

RAMBLE = "so the bus was late again and it rained the whole way and then the lady at the desk could not find the form, " * 4
VUELTAS = "pues el autobús llegó tarde otra vez y llovía a cántaros y la señora de la ventanilla no encontraba el papel, " * 4


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        (
            "I need help with my thesis because my advisor moved to Oslo and I've only got until March 3, any ideas?",
            ["I need help with my thesis.", "my advisor moved to Oslo.", "I've only got until March 3."],
        ),
        (
            "Can you help me pick a school, and we live in Leeds, since my son starts in September?",
            ["we live in Leeds.", "my son starts in September."],
        ),
        (
            "Necesito un plan de comidas, y soy celíaca desde los diez años, además mi hija no come pescado, ¿me ayudas?",
            ["Necesito un plan de comidas.", "soy celíaca desde los diez años.", "mi hija no come pescado."],
        ),
        (
            "Quería saber si me puedes ayudar con la mudanza, porque me voy a Lugo en enero y no tengo coche",
            ["Quería saber si me puedes ayudar con la mudanza.", "me voy a Lugo en enero.", "no tengo coche."],
        ),
        ("What would you cook for us?", []),
    ],
)
def test_what_a_long_request_says_about_the_speaker_is_cut_out_of_it(said: str, parts: list[str]) -> None:
    assert own_parts(said) == parts


@pytest.mark.parametrize(
    "said",
    [
        "If I had a dog and I lived in Rome, I would walk it in the park every day.",
        "Imagine I'm a pirate and I live in Tortuga, and my parrot is called Coco.",
        "Si tuviera dinero, y mi jefe me dejara, yo me iría a Bali.",
        "I wish we had a garden, and I could keep bees there.",
        "My sister wrote “I'm getting divorced, and I've found a flat”, and I'm worried about her.",
    ],
)
def test_a_condition_or_a_quotation_is_not_cut_into_facts(said: str) -> None:
    assert own_parts(said) == []


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        (
            f"{RAMBLE}but I start my new job at the harbour office on the 4th of May, and the bus home was late as well",
            "harbour office",
        ),
        (
            f"{VUELTAS}y mi hija Irene estudia arpa en el conservatorio de Gante, y el autobús de vuelta llegó tarde",
            "conservatorio de Gante",
        ),
    ],
)
def test_a_fact_in_a_very_long_sentence_is_kept_without_the_rest(reader: SentenceReader, said: str, fact: str) -> None:
    (text,) = kept(reader, said)
    assert fact in text
    assert len(text) < 120


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "Do you think I should also work on my balance, especially since I've been playing volleyball and handball?",
            ["I've been playing volleyball and handball."],
        ),
        (
            "Is there a cheap flight to Quito in July, given that my brother gets married there on the 18th?",
            ["my brother gets married there on the 18th."],
        ),
        (
            "¿Crees que debería trabajar también el equilibrio, sobre todo porque ahora juego al pádel tres veces por semana?",
            ["ahora juego al pádel tres veces por semana."],
        ),
    ],
)
def test_a_fact_at_the_end_of_a_request_is_kept(reader: SentenceReader, said: str, facts: list[str]) -> None:
    assert kept(reader, said) == facts


def test_a_long_sentence_that_is_not_meant_literally_is_not_split(reader: SentenceReader) -> None:
    assert (
        kept(reader, "Let's play a game where I'm a pirate, and I've buried my treasure in Tortuga, and my parrot is called Coco")
        == []
    )
