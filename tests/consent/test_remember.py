"""Wishes to remember something. The memory is stored at once, without a chat model, in the same transaction as the message."""

import json
from collections.abc import Callable

import pytest

from holdfast import Engine
from holdfast.testing import ScriptedChat

pytestmark = pytest.mark.ledger("X21")
BOTH = pytest.mark.everywhere("sqlite", "postgres")
OpenMemory = Callable[..., Engine]


@BOTH
@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Remember that my dentist is Dr. Okafor.", "my dentist is Dr. Okafor."),
        ("Recordá que soy alérgica a la penicilina.", "soy alérgica a la penicilina"),
        ("No te olvides de que mi hija se llama Julieta.", "mi hija se llama Julieta"),
        ("My blood type is B positive, don't forget it.", "My blood type is B positive"),
        ("I need you to remember something: my locker is number 12.", "my locker is number 12"),
        ("I want you to remember one important thing about me. I park on level 3.", "I park on level 3"),
        ("Quiero que recuerdes una cosa: aparco en la planta 3.", "aparco en la planta 3"),
        ("rember that my mom is allergic to shrimp", "my mom is allergic to shrimp"),
        ("Could you note that the kids have no school on Friday?", "the kids have no school on Friday"),
        ("¿Puedes tener en cuenta que nunca cenamos antes de las nueve?", "nunca cenamos antes de las nueve"),
        ("About twelve people. Oh, and could you keep in mind that Dan isn't invited?", "Dan isn't invited"),
        ("¿Te acordarás de que la llave está bajo la maceta azul?", "la llave está bajo la maceta azul"),
    ],
    ids=[
        *("en", "es", "negated", "after", "announced", "announced in a sentence", "announced in Spanish", "misspelled"),
        *("asked", "asked in Spanish", "asked at the end", "asked in the future tense"),
    ],
)
def test_a_wish_to_remember_is_stored_when_the_message_is(memory: Engine, text: str, stored: str) -> None:
    said = memory.session(user="ana").add("user", text)
    found = memory.memories(user="ana")
    assert [each.text.rstrip(".") for each in found] == [stored.rstrip(".")]
    assert (found[0].origin, found[0].sources) == ("explicit", (said.id,))
    assert said.consent is not None
    assert [each.id for each in said.consent.memories] == [found[0].id]
    assert said.consent.undo is not None
    memory.undo(said.consent.undo)
    assert not memory.memories(user="ana")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("acuérdate que mi suegra se llama Pilar y su gato es Michi", "mi suegra se llama Pilar y su gato es Michi"),
        ("apunta que mi jefa es Inés y su despacho está en la tercera", "mi jefa es Inés y su despacho está en la tercera"),
        ("Remember that my plumber is Hugh and his van is green.", "my plumber is Hugh and his van is green."),
    ],
)
def test_everything_that_a_sentence_asks_to_remember_is_stored(memory: Engine, text: str, stored: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", text)
    memory.drain()
    assert [(each.text, each.origin) for each in memory.memories(user="ana")] == [(stored, "explicit")]


def test_a_sentence_after_the_one_that_asks_is_learned_on_its_own(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "Remember that my plumber is called Walter. I live in Leeds.")
    memory.drain()
    found = {each.text: each.origin for each in memory.memories(user="ana")}
    assert found == {"my plumber is called Walter.": "explicit", "I live in Leeds.": "auto"}


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Can you remember something for me? My locker code is 7731.", "My locker code is 7731"),
        ("¿Puedes guardar la talla de mi hijo? Usa la 34", "la talla de mi hijo: Usa la 34"),
        ("my shoe size is 43 save that please", "my shoe size is 43"),
        ("quédate con esto: mi talla es la 42", "mi talla es la 42"),
        ("mi número de socia es 55012, guárdamelo", "mi número de socia es 55012"),
        ("la llave es la azul apúntala porfa", "la llave es la azul"),
        ("Buddy, stick this in your files: the boiler man is called Hugh.", "the boiler man is called Hugh"),
    ],
)
def test_the_words_of_the_request_are_not_stored(memory: Engine, text: str, stored: str) -> None:
    memory.session(user="ana").add("user", text)
    found = memory.memories(user="ana")
    assert [(each.text.rstrip("."), each.origin) for each in found] == [(stored, "explicit")]


@pytest.mark.parametrize(
    ("fact", "wish"), [("My godfather is called Bruno.", "please remember that"), ("mi cuñada se llama Rosa", "apúntalo porfa")]
)
def test_a_request_to_remember_that_stores_the_message_before(memory: Engine, fact: str, wish: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", fact)
        session.add("assistant", "Ok.")
        session.add("user", wish)
        assert [(each.text, each.origin) for each in memory.memories(user="ana")] == [(fact, "explicit")]
    memory.drain()
    assert [each.text for each in memory.memories(user="ana")] == [fact]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("The spare key is under the fern. Please remember that for next time.", "The spare key is under the fern."),
        ("I'm left-handed, you'll want to remember that because I'll ask about tools a lot.", "I'm left-handed"),
        ("My nephew is deaf, bear it in mind and tell me which films have subtitles", "My nephew is deaf"),
        ("Soy zurda, tenlo en cuenta para las tijeras.", "Soy zurda"),
        ("Mi vecina cuida al gato, apúntalo porfa que luego se me pasa", "Mi vecina cuida al gato"),
    ],
)
def test_a_request_to_remember_that_stores_what_the_message_says_before_it(memory: Engine, text: str, stored: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", text)
    memory.drain()
    asked = [each.text for each in memory.memories(user="ana") if each.origin == "explicit"]
    assert asked == [stored]


def test_a_fact_that_the_user_asks_to_remember_keeps_its_quotations(memory: Engine) -> None:
    memory.session(user="ana").add("user", 'Remember that at my shop we never say "cheap", we say "good value".')
    assert [each.text for each in memory.memories(user="ana")] == ['at my shop we never say "cheap", we say "good value".']


def test_a_request_to_save_that_is_not_about_a_task(memory: Engine) -> None:
    session = memory.session(user="ana")
    session.add("user", "Write a poem about the sea.")
    session.add("assistant", "The sea is wide.")
    assert session.add("user", "save that").consent is None


def test_the_announcement_of_a_fact_is_not_learned_either(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I want you to remember one important thing about me. I park on level 3.")
    memory.drain()
    assert [each.text.rstrip(".") for each in memory.memories(user="ana")] == ["I park on level 3"]


@pytest.mark.parametrize("preset", ["default", "rumi", "lobug", "reachy", "rostro", "apps"])
def test_digestion_does_not_store_an_explicit_memory_again(open_memory: OpenMemory, preset: str) -> None:
    memory = open_memory(preset=preset)
    with memory.session(user="ana") as session:
        session.add("user", "Remember that I am allergic to penicillin.")
        session.add("assistant", "I will.")
        before = [each.text for each in memory.memories(user="ana")]
        assert len(before) == 1
    memory.drain()
    found = [each for each in memory.memories(user="ana") if "penicillin" in each.text]
    assert [each.text for each in found if each.origin == "explicit"] == before
    assert len(found) == 1 or preset == "apps"  # its paragraph describes the whole conversation


def test_a_fact_that_the_model_words_differently_is_not_stored_again(open_memory: OpenMemory) -> None:
    items = [{"text": "The user is allergic to penicillin.", "kind": "fact", "messages": [1]}]
    memory = open_memory(chat=ScriptedChat(respond=lambda asked: json.dumps({"items": items})))
    with memory.session(user="ana") as session:
        session.add("user", "Remember that I am allergic to penicillin.")
    memory.drain()
    assert len(memory.memories(user="ana")) == 1


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("recordá: cumpleaños: 14 de julio", "cumpleaños", "14 de julio"),
        ("Recuerda: talla: 42", "talla", "42"),
        ("anotá: grupo sanguíneo: B positivo", "grupo sanguíneo", "B positivo"),
    ],
    ids=["voseo", "tuteo", "anotar"],
)
def test_a_key_that_the_user_names_is_the_key(open_memory: OpenMemory, text: str, key: str, value: str) -> None:
    memory = open_memory(preset="rumi")
    memory.session(user="ana").add("user", text)
    assert [(each.key, each.text) for each in memory.memories(user="ana")] == [(key, value)]


def test_rules_alone_remember_without_the_reader(open_memory: OpenMemory) -> None:
    memory = open_memory(settings={"reader": "none"})
    memory.session(user="ana").add("user", "Remember that my plumber is called Walter.")
    assert [each.text for each in memory.memories(user="ana")] == ["my plumber is called Walter."]


@pytest.mark.parametrize(
    "text",
    ["Do you remember when we talked about tides?", "Remind me to call Walter at five.", "I can't remember my PIN."],
    ids=["question", "reminder", "inability"],
)
def test_look_alikes_store_nothing_at_once(memory: Engine, text: str) -> None:
    assert memory.session(user="ana").add("user", text).consent is None
    assert not memory.memories(user="ana")


@pytest.mark.parametrize("preset", ["default", "rumi", "lobug", "reachy", "rostro", "apps"])
def test_a_memory_that_was_asked_for_is_important(open_memory: OpenMemory, preset: str) -> None:
    memory = open_memory(preset=preset)
    memory.session(user="ana", app="kitchen").add("user", "Remember that my dentist is Dr. Okafor.")
    found = [each for each in memory.memories(user="ana", app="kitchen") if "Okafor" in each.text]
    assert found
    assert all(each.importance >= 8 for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "Can you remember that movie with the dog?",
        "Do you remember that my sister lives in Oslo?",
        "Could you note the differences between the two plans?",
        "Could you note in the docstring that the function returns None?",
        "Can you write down that the totals are wrong in the summary?",
        "¿Puedes recordar qué te dije de Roma?",
        "¿Te acuerdas de que mi hermana vive en Oslo?",
    ],
)
def test_a_question_about_remembering_stores_nothing(memory: Engine, text: str) -> None:
    said = memory.session(user="ana").add("user", text)
    assert (said.consent, memory.memories(user="ana")) == (None, [])
