"""Dialogue acts: questions, requests, statements, replies and small talk, with and without punctuation."""

import pytest

from holdfast.text.dialogue_acts import asked_in, classify_act, is_about_asking, split_acts

ACTS = {
    "question": (
        "Where do I live?",
        "where do i live",
        "yo quick whats the code for my locker",
        "what did i pay for the boiler",
        "do you know a good plumber",
        "¿Dónde vivo?",
        "cómo se llama mi prima",
        "a qué hora sale el bus",
        "te acuerdas cómo se llamaba el fontanero",
        "cto le debo todavía a beto?",
        "wen is my chem mock",
        "wondering when my MOT is due",
        "I can't think what my dentist is called",
        "necesito saber cuándo es el parcial",
        "no me acuerdo de dónde dejé las llaves",
        "dónde dejé el carro",
        "oye y mi dentista cómo se llama",
    ),
    "request": (
        "set a timer for ten minutes",
        "tell me a joke before i go to bed",
        "could you read that again please",
        "ponme un temporizador de diez minutos",
        "dime un chiste corto antes de acostarme",
        "i need a synonym for big",
    ),
    "statement": (
        "I moved to Lyon last month.",
        "can you word a text to my boss, I can't do Thursday cause of mum's dialysis",
        "what time is it in Osaka, my brother lives there and I want to call",
        "remind me i have the dentist on tuesday",
        "me mudé a Rosario en marzo",
        "mi hermana es celíaca y viene el domingo, qué cocino",
        "recuérdame que el martes tengo dentista",
        "apunta: examen de estadística 14 de marzo 9am",
        "put sticks on my list for when im back two pairs vic firth 5b hickory not the 5as",
        "Order number is 55-812",
        "The recital is in D minor, isn't it?",
        "El ensayo es el jueves, ¿no?",
        "Book club is on the first Tuesday",
        "Make-up gives me a rash",
        "Hace diez años que no fumo",
        "Para mí el café sin azúcar",
        "When I was ten we lived in Basra",
        "I forgot to mention I'm allergic to latex",
    ),
    "small_talk": (
        "thanks love",
        "I'm not sure, sorry.",
        "no sé, lo siento",
        "ok",
        "jaja",
        "hasta mañana mi arma",
        "No lo tengo, perdón.",
    ),
}


@pytest.mark.parametrize(("act", "text"), [(act, text) for act, texts in ACTS.items() for text in texts])
def test_a_message_is_classified_by_what_it_does(act: str, text: str) -> None:
    assert classify_act(text) == act


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Do you have any allergies?", "yes, shellfish"),
        ("Sounds good. How many people are coming", "six, no wait seven"),
        ("¿Qué número calza?", "un 29, pero le crece el pie por días"),
        ("Are you vegetarian?", "yes"),
    ],
)
def test_a_short_answer_to_a_question_is_a_reply(question: str, answer: str) -> None:
    assert classify_act(answer, question) == "reply"
    assert asked_in(question)


@pytest.mark.parametrize("text", ["thanks", "no idea what you mean?", "set a timer", "I'm not sure, sorry."])
def test_a_message_that_answers_nothing_is_not_a_reply(text: str) -> None:
    assert classify_act(text, "Do you have any allergies?") != "reply"


@pytest.mark.parametrize("text", ["Qué pena.", "¡Qué rico!", "How lovely!", "What a shame."])
def test_an_exclamation_is_not_what_was_asked(text: str) -> None:
    assert asked_in(text) is None


def test_only_the_question_at_the_end_of_a_message_is_what_was_asked() -> None:
    assert asked_in("I can do that. What size do you wear?") == "What size do you wear?"
    assert asked_in("Is it cold? Then wear a coat. It will help. Have a good day.") is None


def test_the_asking_part_is_separated_from_the_stating_part() -> None:
    asking, stating = split_acts("what was the name of that plumber? He did my boiler in March.")
    assert asking == ["what was the name of that plumber"]
    assert stating == ["He did my boiler in March."]


@pytest.mark.parametrize(
    "query",
    [
        "What did I ask you yesterday?",
        "my last question",
        "¿qué te pregunté ayer?",
        "qué te pedí el lunes",
        "What have I been asking about this week?",
        "¿Qué te estuve preguntando ayer?",
        "¿qué quería saber ayer?",
    ],
)
def test_a_query_about_earlier_questions_is_recognized(query: str) -> None:
    assert is_about_asking(query)


@pytest.mark.parametrize(
    "query",
    [
        "What is my sister called?",
        "did I tell you where I live?",
        "¿dónde vivo?",
        "What is the answer to my security question?",
        "¿Cuál es la pregunta secreta del banco?",
    ],
)
def test_other_queries_are_not_about_earlier_questions(query: str) -> None:
    assert not is_about_asking(query)
