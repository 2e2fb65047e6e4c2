"""Memories from work on a project: those that belong to the user, and those that belong to the project."""

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.placement import belongs_to_user, placed
from holdfast.types import Put, Scope

pytestmark = pytest.mark.ledger("X36")

OF_USER = [
    "I live in Lyon",
    "my sister is a surgeon.",
    "My name is Ana.",
    "I prefer tabs over spaces.",
    "I work at Acme as a backend engineer.",
    "call me Lu.",
    "I'm allergic to walnuts.",
    "I use vim.",
    "We have two kids.",
    "Always answer briefly.",
    "I hate Java.",
    "The user prefers short answers.",
    "Please reply in Spanish",
    "Vivo en Valencia",
    "trabajo en Indra.",
    "Prefiero respuestas cortas.",
    "Odio los comentarios largos.",
    "Responde siempre en español.",
    "El usuario prefiere que le tuteen.",
    "Tenemos dos hijos.",
]
OF_PROJECT = [
    "We use PostgreSQL 16 in production.",
    "We decided to use FastAPI for the gateway.",
    "In this repo we run tests with make check.",
    "the deploy key lives in vault.",
    "The API server listens on port 8081.",
    "Never use mocks in the tests of this project.",
    "I am working on the importer.",
    "Our staging database is called heron.",
    "I want the tests to run in parallel.",
    "En este proyecto usamos pnpm.",
    "El servidor escucha en el puerto 8081.",
    "Usamos Django 5 en producción.",
    "Estoy refactorizando el módulo de pagos.",
    "Nuestra base de datos se llama garza.",
    "Release branches start with rel/.",
]


@pytest.mark.parametrize("text", OF_USER)
def test_identity_and_standing_preferences_belong_to_the_user(text: str) -> None:
    assert belongs_to_user(text)


@pytest.mark.parametrize("text", OF_PROJECT)
def test_facts_and_rules_of_the_work_belong_to_the_project(text: str) -> None:
    assert not belongs_to_user(text)


def test_a_decision_belongs_to_the_project_unless_it_is_about_the_persons_life() -> None:
    assert not belongs_to_user("I decided to drop Python 3.10.", kind="decision")
    assert belongs_to_user("I moved to Berlin.", kind="decision")


def test_a_fact_without_a_subject_is_placed_by_its_key() -> None:
    assert belongs_to_user("prefers dark themes", key="preference")
    assert not belongs_to_user("listens on 8081", key="gateway port")


def test_only_memories_of_the_project_are_placed() -> None:
    own = Put(scope=Scope(user="ana", app="shop"), kind="fact", text="I live in Lyon")
    other = Put(scope=Scope(user="ana", app="kitchen"), kind="fact", text="I live in Lyon")
    nobody = Put(scope=Scope(app="shop"), kind="fact", text="I live in Lyon")
    assert [put.scope.app for put in placed([own, other, nobody], project="shop")] == [None, "kitchen", "shop"]
    assert placed([own], project=None) == [own]


@pytest.mark.parametrize(
    "text",
    [
        "I decided to move to Berlin",
        "I've decided to go vegan.",
        "we decided to have a second child",
        "He decidido mudarme a Berlín.",
    ],
)
def test_a_decision_about_the_users_life_belongs_to_the_user(text: str) -> None:
    assert belongs_to_user(text, kind="decision", reader=make_sentence_reader("talk-reader-s"))


@pytest.mark.parametrize(
    "text",
    [
        "I decided to use SQLite for the cache",
        "I chose Rust for the parser",
        "we decided to split the service in two",
        "Decidí usar Redis para las sesiones.",
    ],
)
def test_a_decision_about_the_work_belongs_to_the_project(text: str) -> None:
    assert not belongs_to_user(text, kind="decision", reader=make_sentence_reader("talk-reader-s"))


@pytest.mark.parametrize(
    "text", ["I get a 500 when I click save.", "I see a blank page after login.", "My login fails with a 403."]
)
def test_an_observation_of_a_bug_does_not_follow_the_user_into_other_projects(text: str) -> None:
    assert not belongs_to_user(text, kind="fact", reader=make_sentence_reader("talk-reader-s"))


@pytest.mark.parametrize("text", ["My dog sleeps in the kitchen.", "My shoes are size 43."])
def test_a_lasting_statement_about_the_users_own_things_belongs_to_the_user(text: str) -> None:
    assert belongs_to_user(text, kind="fact", reader=make_sentence_reader("talk-reader-s"))
