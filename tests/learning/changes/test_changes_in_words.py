"""Statements that end or replace an older statement although neither of them fills a slot, in English and Spanish.

A slot is an attribute with one value at a time, such as the home city. Similar sentences must not replace anything.
"""

import time
from datetime import UTC, datetime

import pytest

from holdfast.learning.changes.changes_in_words import change_in_words
from holdfast.learning.changes.end_reason import replaces
from holdfast.learning.changes.reconcile import ReconcileRules, reconcile
from holdfast.types import Put, Scope

NOW = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("We have a subscription to VeggieBox", "cancelled veggiebox, it got too pricey", "en"),
        ("The user is learning to play the banjo", "I gave up on the banjo", "en"),
        ("I'm reading Ulysses", "Finally finished Ulysses!", "en"),
        ("I have a scooter, a Vespa", "sold the Vespa to a guy in Turin", "en"),
        ("I sing in the parish choir", "I left the choir in May", "en"),
        ("Estamos aprendiendo euskera", "Hemos dejado el euskera", "es"),
        ("El usuario está abonado al Teatro Real", "me di de baja del Teatro Real", "es"),
        ("Juego al voleibol los martes", "ya no juego al voleibol por el hombro", "es"),
    ],
)
def test_a_statement_that_something_ended_retires_the_old_statement(old: str, new: str, language: str) -> None:
    assert replaces(old, new, language)


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("The user's physio session is on Monday at 4pm", "physio got bumped to Thursday at 2", "en"),
        ("I take 10 mg of lisinopril", "my doctor upped the lisinopril to 20 mg", "en"),
        ("I swim every morning", "I swim in the evenings now", "en"),
        ("Our docs are on Confluence", "we've migrated the docs to Outline", "en"),
        ("The project uses Node 16", "the project runs on Node 20 now", "en"),
        ("Voy a la piscina por las mañanas", "ahora voy a la piscina por las noches", "es"),
        ("El servidor está en Linode", "movimos el servidor a Scaleway", "es"),
    ],
)
def test_another_value_replaces_the_old_one(old: str, new: str, language: str) -> None:
    assert replaces(old, new, language)


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("I use Safari", "switched to Brave last week", "en"),
        ("The user drinks soy milk", "went back to regular milk", "en"),
        ("I use a mechanical gaming keyboard", "I switched to an ergonomic keyboard", "en"),
        ("I ride a red mountain bike", "I switched to a road bike", "en"),
        ("Uso un teclado mecánico grande", "me pasé a teclado ergonómico", "es"),
        ("Uso Telegram con mis clientes", "me pasé a Signal", "es"),
        ("Keep answers short", "I'd rather have detailed answers from now on", "en"),
        ("Trátame de usted", "mejor tutéame", "es"),
        ("My daughter's coach is Ms Berner", "I got the name wrong, it's Ms Werner", "en"),
    ],
)
def test_a_switch_ends_the_use_of_the_same_kind_of_thing(old: str, new: str, language: str) -> None:
    assert replaces(old, new, language)


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("My rent is 900 euros", "The rent for the flat is now 1000 euros", "en"),
        ("I pay 40 euros for the gym", "The gym in Leith costs 55 euros now", "en"),
        ("El alquiler es de 700 euros", "el alquiler del piso de Lugo subió a 900 euros", "es"),
    ],
)
def test_a_new_amount_replaces_the_old_one_even_if_it_names_its_topic_more_fully(old: str, new: str, language: str) -> None:
    assert replaces(old, new, language)


@pytest.mark.parametrize(
    ("old", "new", "language"),
    [
        ("I drink coffee every day", "I stopped drinking coffee after 6pm", "en"),
        ("I drink coffee every day", "I stopped drinking coffee after six", "en"),
        ("Tomo café todos los días", "dejé de tomar café después de las seis de la tarde", "es"),
        ("I work at Netflix", "I cancelled Netflix", "en"),
        ("I like jazz", "I stopped playing jazz piano", "en"),
        ("I own two bikes", "I sold the old bike", "en"),
        ("I use Slack for work", "I use Discord for gaming now", "en"),
        ("My office is on the third floor", "My desk is on the second floor now", "en"),
        ("The deadline for the grant is May 3", "The deadline for the paper is now May 10", "en"),
        ("I have a subscription to The Times", "my dad cancelled his subscription to The Times", "en"),
        ("My flight to Oslo leaves on the 2nd", "no, my flight is on the 9th, not the 8th", "en"),
        ("gave up smoking in January", "I quit smoking", "en"),
        ("My dog is called Max", "My new dog is called Rex", "en"),
        ("Me llamo Joaquín", "se llama Felipa pero todos le dicen Pipa", "es"),
        ("Como carne", "dejé de comer carne roja", "es"),
        ("Mi alquiler es de 700", "a mi hermana le subieron el alquiler a 900", "es"),
        ("El vuelo a Lima sale a las 9", "el vuelo a Quito ahora sale a las 11", "es"),
        ("Tengo dos gatos", "se murió el gato de mi vecina", "es"),
        ("Le pongo azúcar al mate", "dejé de ponerle azúcar al café", "es"),
    ],
)
def test_a_statement_with_similar_words_of_change_replaces_nothing(old: str, new: str, language: str) -> None:
    assert not replaces(old, new, language)


def _put(text: str) -> Put:
    return Put(scope=Scope(user="ana"), kind="fact", text=text, valid_from=NOW, language="en")


def _kept(*texts: str) -> list[str]:
    puts = [_put(text) for text in texts]
    return [put.text for put in reconcile(puts, [[] for _ in puts], ReconcileRules(), calibration=None)]


def test_a_change_in_the_same_batch_replaces_the_only_statement_it_can_mean() -> None:
    assert _kept("I have a Vespa scooter", "I sold the Vespa") == ["I sold the Vespa"]


def test_a_change_in_the_same_batch_that_could_mean_several_replaces_none() -> None:
    said = ("I sing in the parish choir", "I play the organ in the parish choir", "I left the choir")
    assert _kept(*said) == list(said)


def test_other_statements_of_the_same_batch_stay() -> None:
    assert _kept("I live in Lyon and work at Acme", "I moved to Nantes") == ["I work at Acme", "I moved to Nantes"]


@pytest.mark.parametrize("piece", ["a ", "my flat in ", "no more ", "moved to ", "the x is 5 ", "en un piso ", "ya no, ", "Ana "])
def test_a_long_odd_text_is_read_quickly(piece: str) -> None:
    text = ("I have a " + piece * 150)[:300]
    begun = time.thread_time()
    change_in_words(text, text[::-1] + piece)
    replaces(text, text + "x")
    assert time.thread_time() - begun < 2.0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Oslo.", 'The user said: "We moved to Bergen last week."'),
        ("El usuario vive en Oslo.", "El usuario dijo: «Nos mudamos a Bergen la semana pasada.»"),
        ("lives in Oslo", 'said: "We\'ve moved to Bergen, so new address!"'),
        ('The user said: "We live in Oslo."', "The user moved to Bergen."),
    ],
)
def test_a_statement_that_is_stored_as_a_quotation_replaces_and_is_replaced(old: str, new: str) -> None:
    assert replaces(old, new)


def test_a_quotation_about_other_people_replaces_nothing() -> None:
    assert not replaces("The user lives in Oslo.", 'The user said: "My friends moved to Bergen and we miss them."')
