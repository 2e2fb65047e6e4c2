"""Sentences that refuse to answer, and sentences with the same opening that state a fact."""

import pytest

from holdfast.text.dialogue_acts import classify_act

REFUSALS = (
    "You never told me that.",
    "Sorry, that has never come up between us.",
    "I'm afraid I can't tell you who sharpens your chisels.",
    "It looks like you haven't told me where you live yet.",
    "There's nothing about a dentist in my notes.",
    "I've got no record of your sister's birthday.",
    "My apologies, I don't know your manager's name.",
    "Todavía no me contaste quién te trae la harina.",
    "Eso no lo sé, nunca me lo dijiste.",
    "Lo siento, no consta en lo que me has contado.",
    "No dispongo de información sobre su médico.",
    "Híjole, ese dato no lo tengo.",
    "Me temo que no lo sé.",
)
FACTS = (
    "I have no siblings",
    "I don't have a car",
    "I don't know how to swim",
    "I'm afraid of moths",
    "Unfortunately my knee needs surgery in May",
    "I can't find work in Dundee",
    "I don't see my dad any more",
    "No tengo hermanos",
    "No como carne ni pescado",
    "No sé nadar",
    "No encuentro trabajo desde marzo",
    "Lamentablemente me quebré el tobillo esquiando",
)


@pytest.mark.ledger("X31")
@pytest.mark.parametrize("text", REFUSALS)
def test_a_sentence_that_refuses_to_answer_states_nothing(text: str) -> None:
    assert classify_act(text) == "small_talk"


@pytest.mark.ledger("X31")
@pytest.mark.parametrize("text", FACTS)
def test_a_fact_that_begins_like_a_refusal_is_a_statement(text: str) -> None:
    assert classify_act(text) == "statement"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Do you have any allergies?", "I have no allergies"),
        ("Do you own a car?", "I don't have one"),
        ("¿Tiene usted hijos?", "No tengo"),
        ("Do you take any medicine?", "I need insulin twice a day"),
        ("¿Qué querés de postre?", "Quiero flan"),
    ],
)
def test_a_short_answer_that_begins_like_a_refusal_or_a_wish_is_a_reply(question: str, answer: str) -> None:
    assert classify_act(answer, question) == "reply"
