"""Replies that choose, references to persons, jokes and given texts, read with the included sentence reader."""

import re

import pytest

from holdfast import Engine
from holdfast.learning.statements.replies import answered_question, chosen_statement, words_to_answer

pytestmark = pytest.mark.ledger("X24")


def _learned(memory: Engine, *turns: str) -> list[str]:
    """Return the memories of a conversation. The last turn is the user's, and the speakers alternate."""
    with memory.session(user="ana") as talk:
        for place, text in enumerate(turns):
            talk.add("user" if (len(turns) - place) % 2 else "assistant", text)
    memory.drain()
    return [found.text for found in memory.memories(user="ana")]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Do you take the tram or the bus to work?", "the tram"),
        ("Do you usually work from home or in the office?", "from home"),
        ("¿Prefieres té o café por la mañana?", "té"),
        ("Do you prefer trains or planes?", "the first one"),
        ("¿Prefieres el mar o la sierra?", "la segunda"),
    ],
)
def test_a_reply_that_chooses_is_kept_with_its_question(memory: Engine, question: str, reply: str) -> None:
    assert _learned(memory, question, reply) == [f"{question} {reply}"]


@pytest.mark.parametrize(("question", "reply"), [("Should I use tabs or spaces here?", "spaces"), ("Red or green?", "green")])
def test_a_choice_about_the_current_task_is_not_kept(memory: Engine, question: str, reply: str) -> None:
    assert _learned(memory, question, reply) == []


@pytest.mark.parametrize(
    ("question", "reply", "stated"),
    [
        ("Do you take the tram or the bus to work?", "the bus", "i take the bus to work"),
        ("Do you work from home or in the office?", "From home.", "i work from home"),
        ("¿Vives en casa o en piso?", "en piso", "vivo en piso"),
        ("Do you like it?", "yes", ""),
    ],
)
def test_a_chosen_alternative_becomes_a_statement(question: str, reply: str, stated: str) -> None:
    assert chosen_statement(question, reply) == stated


@pytest.mark.parametrize(
    ("turn", "asked"),
    [
        ("I'm divorced with two kids, how old are yours?", "how old are yours?"),
        ("I love football, what about you?", ""),
        ("Can I ask how old you are?", "Can I ask how old you are?"),
    ],
)
def test_words_of_the_other_speaker_about_themselves_are_no_part_of_the_question(turn: str, asked: str) -> None:
    assert answered_question([turn]) == asked


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ("Got it. Which database do you deploy?", "Which database do you deploy?"),
        ("¡Qué bien! ¿Cuántos días entrenas por semana?", "¿Cuántos días entrenas por semana?"),
        ("I love the sea. And you?", "I love the sea. And you?"),
        (
            "You wrote that the pump fails every night at two. Which pump is it?",
            "You wrote that the pump fails every night at two. Which pump is it?",
        ),
        ("Which one? Tell me more.", "Which one? Tell me more."),
    ],
)
def test_a_short_lead_in_is_no_part_of_the_question(turn: str, words: str) -> None:
    assert words_to_answer(turn) == words


@pytest.mark.parametrize(
    ("question", "reply"),
    [("How do you deploy it?", "podman compose on a rented box"), ("How many rehearsals a week?", "two, Tuesdays and Fridays")],
)
def test_an_answer_is_learned_even_after_a_lead_in(memory: Engine, question: str, reply: str) -> None:
    assert _learned(memory, f"Great. {question}", reply) == [f"{question} {reply}"]


def test_a_statement_of_the_assistant_is_never_part_of_a_memory(memory: Engine) -> None:
    assert not any("South Park" in text for text in _learned(memory, "Man, I love South Park.", "My husband got me into it."))


@pytest.mark.parametrize(
    "text",
    [
        "Please keep your answers short",
        "How do I boil an egg? Please keep your answers short.",
        "Mantén las respuestas cortas, por favor.",
    ],
)
def test_an_instruction_about_all_replies_is_kept(memory: Engine, text: str) -> None:
    assert len(_learned(memory, text)) == 1


@pytest.mark.parametrize(
    "text", ["Please keep this email short", "Please keep the box closed", "Remember that movie Varsity Blues?"]
)
def test_a_request_for_one_text_is_not_kept(memory: Engine, text: str) -> None:
    assert _learned(memory, text) == []


def test_a_given_text_in_quotation_marks_is_not_the_users_own(memory: Engine) -> None:
    text = 'Necesito un resumen: "La empresa emplea a 300 personas. Vivo en Vigo desde entonces, afirma su director."'
    assert _learned(memory, text) == []


@pytest.mark.parametrize(
    ("said", "question", "reply"),
    [
        ("I teach in Bergen.", "How long have you taught there?", "six years"),
        ("We adopted three kittens.", "What are their names?", "Pip, Dot and Moss"),
        ("Mi primo Ciro se mudó a Quito.", "¿Lo ves a menudo?", "cada verano"),
        ("Mi abuelo tiene diabetes.", "¿Toma medicina?", "metformina"),
        ("My uncle lives in Perth.", "Does he drive?", "no, he takes the tram"),
    ],
)
def test_a_question_that_points_back_is_kept_with_what_it_points_to(memory: Engine, said: str, question: str, reply: str) -> None:
    assert f"{said} {question} {reply}" in _learned(memory, said, question, reply)


@pytest.mark.parametrize(
    ("said", "question", "reply"),
    [
        ("2.7, the vendor is slow.", "How do you deploy it?", "podman compose on a rented box"),
        ("el domingo contra el Lugo.", "¿Los quieres en lista o en tabla?", "en tabla, siempre en tabla"),
    ],
)
def test_an_answer_to_another_question_is_no_part_of_the_next_one(memory: Engine, said: str, question: str, reply: str) -> None:
    assert f"{question} {reply}" in _learned(memory, "Hi.", "Which version?", said, question, reply)


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        (("Any food to avoid?", "Olives. My girls won't eat them."), "Any food to avoid? Olives. My girls won't eat them."),
        (("What's the cat's name?", "Miso. He bites strangers."), "What's the cat's name? Miso. He bites strangers."),
        (
            ("We're selling the boat.", "Why?", "it leaks. my brother keeps it for his fishing trips"),
            "We're selling the boat. it leaks. my brother keeps it for his fishing trips",
        ),
        (
            ("Ayer nació mi nieto.", "¡Enhorabuena!", "gracias. pesó tres kilos y se llama Bruno"),
            "Ayer nació mi nieto. pesó tres kilos y se llama Bruno",
        ),
    ],
)
def test_a_pronoun_is_kept_with_what_it_stands_for(memory: Engine, turns: tuple[str, ...], kept: str) -> None:
    assert any(re.sub(r" \([^)]*\)", "", found) == kept for found in _learned(memory, *turns))


def test_he_is_kept_with_the_last_sentence_that_names_someone(memory: Engine) -> None:
    found = _learned(memory, "I'm dating someone. It is going well. He lives in Graz and has two sons.")
    assert any("dating someone" in text and "Graz" in text for text in found)


def test_a_confirmed_guess_about_the_moment_is_not_kept(memory: Engine) -> None:
    assert _learned(memory, "Hello", "I think you can end now.", "Yes!") == []


def test_only_the_first_message_after_a_question_answers_it(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("assistant", "Do you have any pets?")
        talk.add("user", "What a good idea, I would love that!")
        talk.add("user", "By the way, I restore old vinyl players in Cuenca.")
    memory.drain()

    assert [each.text for each in memory.memories(user="ana") if "vinyl" in each.text] == [
        "I restore old vinyl players in Cuenca."
    ]


def test_an_answer_can_come_in_several_short_messages(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("assistant", "Do you have any pets?")
        talk.add("user", "yes")
        talk.add("user", "a blind parrot")
    memory.drain()

    assert any("pets" in each.text and "a blind parrot" in each.text for each in memory.memories(user="ana"))
