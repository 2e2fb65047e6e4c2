"""Facts about a project are kept in sessions of coding agents, and only there."""

import pytest

from holdfast import Engine
from holdfast.learning.placement import PROJECT

pytestmark = pytest.mark.ledger("X36")

FACTS = [
    "We use PostgreSQL 16 in production.",
    "The API runs on port 8080.",
    "The frontend is written in Svelte.",
    "This repo uses pnpm, not npm.",
    "La API corre en el puerto 9000.",
]
MOMENTS = [
    "The build is broken.",
    "The tests are failing again.",
    "The function returns None here.",
    "This line is wrong.",
    "Add a test for the parser.",
    "Webpack is more configurable than esbuild.",
    "pnpm es más rápido que npm.",
]


def _learned(memory: Engine, text: str, *, project: bool) -> list[str]:
    session = memory.session(user="ana", app="heron")
    session.begin(metadata={PROJECT: "heron"} if project else {})
    session.add("user", text)
    session.end()
    memory.drain()
    return [each.text for each in memory.memories(user="ana", app="heron")]


@pytest.mark.parametrize("text", FACTS)
def test_a_fact_about_the_project_is_kept_in_its_sessions(memory: Engine, text: str) -> None:
    assert _learned(memory, text, project=True) == [text]


@pytest.mark.parametrize("text", MOMENTS)
def test_the_state_of_the_moment_is_not_kept(memory: Engine, text: str) -> None:
    assert _learned(memory, text, project=True) == []


def test_a_fact_about_a_thing_is_left_out_of_personal_talk(memory: Engine) -> None:
    assert _learned(memory, "The frontend is written in Svelte.", project=False) == []


@pytest.mark.parametrize(
    ("about_user", "about_project"),
    [("My sister has cancer.", "This repo uses Bazel 8 for builds."), ("Vivo en Salta.", "Este proyecto usa Go 1.24.")],
)
def test_what_the_user_says_about_themselves_is_no_part_of_a_fact_about_the_project(
    memory: Engine, about_user: str, about_project: str
) -> None:
    assert sorted(_learned(memory, f"{about_user} {about_project}", project=True)) == sorted([about_user, about_project])
