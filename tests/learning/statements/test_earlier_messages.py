"""Statements about someone or something that only an earlier message names, read with the included sentence reader."""

import pytest

from holdfast import Engine
from holdfast.learning.statements.replies import answered_question, leaves_person_out, leaves_topic_out
from holdfast.types import Memory

pytestmark = pytest.mark.ledger("X24")


def _learned(memory: Engine, *turns: str) -> list[Memory]:
    """Return the memories of a conversation. The last turn is the user's, and the speakers alternate."""
    with memory.session(user="ana") as talk:
        for place, text in enumerate(turns):
            talk.add("user" if (len(turns) - place) % 2 else "assistant", text)
    memory.drain()
    return memory.memories(user="ana")


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        (
            ("¿Qué le preparo a mi cuñada para su cumpleaños?", "Una tarta de limón.", "ella es alérgica a las nueces"),
            "¿Qué le preparo a mi cuñada para su cumpleaños? ella es alérgica a las nueces",
        ),
        (
            ("Tengo un alumno ciego en clase.", "¿Usa braille?", "Sí, y es el mejor de la clase."),
            "Tengo un alumno ciego en clase. ¿Usa braille? Sí, y es el mejor de la clase.",
        ),
        (
            ("I need a gift for my brother.", "What about a book?", "He is dyslexic and works as a diver in Malta."),
            "I need a gift for my brother. He is dyslexic and works as a diver in Malta.",
        ),
    ],
)
def test_a_statement_about_someone_is_kept_with_the_sentence_that_names_this_person(
    memory: Engine, turns: tuple[str, ...], kept: str
) -> None:
    assert kept in [each.text for each in _learned(memory, *turns)]


@pytest.mark.parametrize("said", ["he dejado el gimnasio", "He vendido la moto.", "he empezado a trabajar en Correos"])
def test_the_spanish_word_he_refers_to_nobody(memory: Engine, said: str) -> None:
    learned = _learned(memory, "¿Qué le pongo a mi hijo para la merienda?", "Fruta.", said)
    assert said in [each.text for each in learned]


def test_she_is_not_a_man(memory: Engine) -> None:
    turns = ("Mi hermana vive sola.", "Ya veo.", "Mi vecino es sordo.", "Vaya.", "Ella trabaja de enfermera en Cádiz.")

    assert "Mi hermana vive sola. Ella trabaja de enfermera en Cádiz." in [each.text for each in _learned(memory, *turns)]


def test_a_quoted_earlier_message_is_a_source(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        first = talk.add("user", "I need a gift for my brother.")
        talk.add("assistant", "There are many.")
        talk.add("user", "He is dyslexic and works as a diver in Malta.")
    memory.drain()
    quoted = next(each for each in memory.memories(user="ana") if each.text.startswith("I need"))

    assert first.id in quoted.sources


def test_a_message_off_the_record_is_not_quoted(memory: Engine) -> None:
    found = _learned(
        memory,
        "No guardes esto: mi hermana está en la cárcel de Soto del Real.",
        "Entendido.",
        "Ella trabaja de enfermera en Cádiz desde 2019.",
    )

    assert not any("Soto" in each.text for each in found)


def test_a_date_is_kept_with_the_event_that_the_question_leaves_out(memory: Engine) -> None:
    turns = ("Necesito preparar el examen de conducir.", "Claro. ¿Cuándo es?", "el 9 de junio en Toledo")

    assert any("examen de conducir" in each.text and "Toledo" in each.text for each in _learned(memory, *turns))


def test_a_reply_without_a_verb_is_kept_with_its_question(memory: Engine) -> None:
    turns = ("Ayúdame con un cartel.", "¿Qué vendes?", "Natura y Avon, también ropa que traigo de Tacna")

    assert any(each.text.startswith("¿Qué vendes? Natura") for each in _learned(memory, *turns))


def test_a_number_at_the_beginning_of_a_reply_is_not_a_bullet(memory: Engine) -> None:
    turns = ("Busco una moto.", "¿Cuántos km haces por día?", "120. Trabajo de 10 a 22 menos los lunes.")

    assert "Trabajo de 10 a 22 menos los lunes." in [each.text for each in _learned(memory, *turns)]


@pytest.mark.parametrize("question", ["¿Cuándo es?", "¿A qué hora empieza?", "When is it?", "How long does it last?"])
def test_a_question_may_leave_out_what_it_is_about(question: str) -> None:
    assert leaves_topic_out(question)


@pytest.mark.parametrize("question", ["¿Cuándo es la boda?", "¿Dónde trabajas?", "When is the wedding?"])
def test_a_question_may_name_what_it_is_about(question: str) -> None:
    assert not leaves_topic_out(question)


@pytest.mark.parametrize(
    ("question", "leaves_out"), [("¿Usa bastón?", True), ("How old is she?", True), ("¿Tienes hijos?", False)]
)
def test_a_question_may_leave_out_whom_it_is_about(question: str, *, leaves_out: bool) -> None:
    assert leaves_person_out(question) is leaves_out


@pytest.mark.parametrize("question", ["¿Algo más?", "¿Necesita algo más?", "Anything else?"])
def test_an_offer_of_more_help_is_not_the_question_that_a_reply_answers(question: str) -> None:
    assert answered_question([question]) == ""
