"""A question is not returned as an answer, and a reply forms one unit with its question."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Engine
from holdfast.filters import MessagePlace
from holdfast.recall.relevance.stored_asks import without_questions
from holdfast.testing import FrozenClock
from holdfast.types.common import Act


def _talk(memory: Engine, *turns: tuple[str, str]) -> list[str]:
    with memory.session(user="ana") as session:
        return [session.add(role, text).id for role, text in turns]


@pytest.mark.ledger("X31")
@pytest.mark.parametrize(
    ("fact", "question", "refusal"),
    [
        ("I live in a flat in Lyon.", "Where do I live?", "I'm not sure, sorry."),
        ("my locker code is 4471", "yo quick whats my locker code im stood here", "I don't have that."),
        ("Vivo en un piso de Salamanca.", "¿dónde vivo?", "No lo sé, lo siento."),
    ],
)
def test_an_earlier_unanswered_question_does_not_rank_above_the_answer(
    memory: Engine, fact: str, question: str, refusal: str
) -> None:
    _talk(memory, ("user", fact))
    for _ in range(3):
        _talk(memory, ("user", question), ("assistant", refusal))
    memory.drain()
    hits = memory.recall(question, user="ana")
    assert fact.startswith(hits[0].text.rstrip("."))
    context = memory.context(question, user="ana")
    assert question not in context.text
    assert refusal not in context.text


def test_a_message_that_asks_and_states_is_weakened_only_where_its_question_matches(memory: Engine) -> None:
    _talk(memory, ("user", "what is the plumber called? I had his card on the fridge."))
    _talk(memory, ("user", "the plumber is Graham Tasker"))
    assert memory.recall("what is the plumber called?", user="ana")[0].text == "the plumber is Graham Tasker"
    assert "fridge" in memory.recall("what was on the fridge?", user="ana")[0].text


def test_earlier_questions_are_found_when_they_are_asked_for(memory: Engine) -> None:
    _talk(memory, ("user", "I live in Lyon."))
    _talk(memory, ("user", "How long do eggs boil?"))
    assert memory.recall("What did I ask you about eggs?", user="ana")[0].text == "How long do eggs boil?"


def test_the_last_questions_are_listed_newest_first(memory: Engine, clock: FrozenClock) -> None:
    for text in ("who was the first woman in space?", "my bike is at the repair shop", "how long do I steam broccoli"):
        _talk(memory, ("user", text))
        clock.advance(timedelta(days=3))
    hits = memory.recall("What was my last question?", user="ana")
    assert [hit.text for hit in hits] == ["how long do I steam broccoli", "who was the first woman in space?"]


def test_a_stored_request_is_found_by_a_word_in_it_but_after_a_statement_with_the_word(memory: Engine) -> None:
    _talk(memory, ("user", "give me five names for a shy octopus"))
    _talk(memory, ("user", "the tram was late again"), ("user", "my coat is green"))
    hits = memory.recall("octopus", user="ana")
    assert hits[0].text == "give me five names for a shy octopus"
    assert hits[0].is_relevant
    _talk(memory, ("user", "the octopus at the aquarium is called Nook"))
    assert memory.recall("octopus", user="ana")[0].text == "the octopus at the aquarium is called Nook"


@pytest.mark.ledger("X31")
@pytest.mark.parametrize(
    ("query", "role", "expected"),
    [
        ("What did I ask you yesterday?", "user", {"how long do I steam broccoli", "Could you explain moles simply?"}),
        ("¿Qué te pregunté ayer?", "user", {"how long do I steam broccoli", "Could you explain moles simply?"}),
        ("What did you ask me yesterday?", "assistant", {"Shall I set a timer?"}),
        ("¿Qué me preguntaste ayer?", "assistant", {"Shall I set a timer?"}),
    ],
)
def test_the_questions_of_a_day_are_listed_without_its_statements(
    memory: Engine, clock: FrozenClock, query: str, role: str, expected: set[str]
) -> None:
    _talk(memory, ("user", "who was the first woman in space?"))
    clock.advance(timedelta(days=9))
    _talk(
        memory,
        ("user", "how long do I steam broccoli"),
        ("assistant", "Four minutes. Shall I set a timer?"),
        ("user", "my bike is at the repair shop"),
        ("user", "Could you explain moles simply?"),
    )
    memory.remember("rides a bike to work", user="ana")
    clock.advance(timedelta(days=1))
    hits = memory.recall(query, user="ana")
    assert {asked for hit in hits if hit.is_relevant and (asked := hit.text.removeprefix("Four minutes. "))} == expected
    assert {hit.message.role for hit in hits if hit.message and hit.is_relevant} == {role}


def test_a_reply_is_found_by_its_question_and_shown_with_it(memory: Engine) -> None:
    _talk(memory, ("assistant", "Nice. Do you have any allergies?"), ("user", "just shellfish"))
    _talk(memory, ("user", "the car is in the garage"), ("user", "it rained all day"))
    for query in ("any allergies?", "shellfish"):
        hit = memory.recall(query, user="ana", kinds=["message"])[0]
        assert hit.text == "just shellfish"
        assert hit.asked == "Do you have any allergies?"
    assert 'asked "Do you have any allergies?", user said) just shellfish' in memory.context("allergies", user="ana").text


def test_the_same_answer_to_two_questions_is_found_twice(memory: Engine) -> None:
    _talk(memory, ("assistant", "How many bicycles do you own?"), ("user", "two"))
    _talk(memory, ("assistant", "How many bicycles does your sister own?"), ("user", "two"))
    hits = memory.recall("how many bicycles?", user="ana", kinds=["message"])
    assert sorted(hit.asked for hit in hits if hit.asked) == [
        "How many bicycles do you own?",
        "How many bicycles does your sister own?",
    ]


@pytest.mark.ledger("X31")
def test_a_fact_comes_in_place_of_the_reply_that_it_quotes(memory: Engine) -> None:
    _talk(
        memory,
        ("assistant", "¿Usted habla quechua?"),
        ("user", "Sí, desde wawa."),
        ("assistant", "¿Vive en la ciudad o en el campo?"),
        ("user", "En el campo nomás."),
    )
    _talk(memory, ("user", "Mi hija Nelly estudia enfermería en Loja."), ("user", "La reunión de la comuna es el sábado."))
    _talk(memory, ("user", "Qué frío hace."), ("user", "Mi negocio de ropa se llama Sumak."))
    memory.drain()
    hits = memory.recall("¿Qué idioma hablo desde pequeña?", user="ana")
    assert hits[0].text == "¿Usted habla quechua? Sí, desde wawa."
    assert [hit.text for hit in hits].count("Sí, desde wawa.") == 0


def test_the_assistants_answer_is_not_joined_with_the_users_question(memory: Engine) -> None:
    _talk(memory, ("user", "What is 6% of 4300?"), ("assistant", "258"))
    assert [hit.asked for hit in memory.recall("258", user="ana", kinds=["message"])[:1]] == [None]


def test_messages_of_different_people_count_as_replies(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "Did you go to Paris?", speaker="Ben")
        reply = session.add("user", "yes, with the whole choir", speaker="Eva")
    assert reply.asked == "Did you go to Paris?"


def test_an_erased_question_is_gone_from_the_reply_too(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    question, reply = _talk(memory, ("assistant", "How is your zanzibarian cough?"), ("user", "much better now"))
    memory.drain()
    assert memory.recall("zanzibarian", user="ana", kinds=["message"])
    memory.erase(source=question)
    left = memory.recall("zanzibarian", user="ana", kinds=["message"])
    assert [(hit.id, hit.asked, hit.score_by("text")) for hit in left] == [(reply, None, None)]
    assert files_with("zanzibarian") == []


def test_the_context_is_empty_if_nothing_is_relevant(memory: Engine) -> None:
    for text in ("the parrot is called Basil", "works as a nurse at night", "lives in a red house"):
        memory.remember(text, user="ana")
    context = memory.context("boiling point of mercury", user="ana")
    assert context.text == ""
    assert len(context.left_out) == 3
    assert not any(hit.is_relevant for hit in memory.recall("boiling point of mercury", user="ana"))


def test_only_a_reply_to_a_question_says_which_message_it_answers(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("assistant", "The kettle is on.")
    remark = talk.add("user", "It is green.")
    question = talk.add("assistant", "How many cups do you want?")
    reply = talk.add("user", "Two.")
    assert (remark.asked, remark.answers) == (None, None)
    assert (reply.asked, reply.answers) == ("How many cups do you want?", question.seq)


def test_stored_questions_and_small_talk_keep_a_small_share_of_their_strength() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    acts: tuple[Act, ...] = ("small_talk", "question", "statement")
    places = {
        seq: MessagePlace(seq, "s", "user", None, at, act=act, language="en", text="tea in the morning")
        for seq, act in enumerate(acts, 1)
    }
    found = without_questions(dict.fromkeys(places, 4.0), places, [frozenset({"tea"})])
    assert found[3] == 4.0
    assert found[1] == found[2] < 1.0
