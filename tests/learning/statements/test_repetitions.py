"""A statement that says again what another statement of the conversation says is not kept a second time."""

from itertools import pairwise

import pytest

from holdfast import Engine
from holdfast.learning.statements.repetitions import Repetitions
from holdfast.learning.statements.rulebook import Statement
from holdfast.types import Memory

pytestmark = pytest.mark.ledger("X23")


def _stated(text: str, language: str = "en", **fields: object) -> Statement:
    given: dict[str, object] = {"key": "", "kind": "fact", "type": "personal", "importance": 5.0, "asked": False}
    return Statement(text=text, language=language, **{**given, **fields})  # type: ignore[arg-type]


def repeats(new: Statement, known: Statement) -> bool:
    return Repetitions().repeats(new, known)


def _learned(memory: Engine, *said: str) -> list[Memory]:
    """Return the memories of a conversation in which the assistant says "I see." after each message of the user."""
    with memory.session(user="ana") as talk:
        for text in said:
            talk.add("user", text)
            talk.add("assistant", "I see.")
    memory.drain()
    return memory.memories(user="ana")


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("I have a cat named Miso", "I have a cat named Miso and two turtles"),
        ("I'm a nurse on the night shift", "As I said, I'm a nurse on the night shift in Leeds."),
        ("I've been painting watercolors lately", "Lately I have been painting watercolors of the harbor"),
        (
            "I'm using Flask 2.3 and SQLite for my budget tracker",
            "I'm using Flask v2.3 and SQLite for my budget tracker with a small dashboard",
        ),
        (
            "My daughter Ines starts school in Lisbon in September with her cousin",
            "My daughter Ines starts at her new school in Lisbon in September, with her cousin",
        ),
    ],
)
def test_a_statement_is_repeated_by_one_that_says_everything_of_it(new: str, known: str) -> None:
    assert repeats(_stated(new), _stated(known))


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("tengo una gata que se llama Miga", "tengo una gata que se llama Miga y un loro"),
        ("Trabajo de noche en una panadería de Rosario", "trabajo de noche, en una panaderia de Rosario, desde marzo"),
    ],
)
def test_a_spanish_statement_is_repeated_by_one_that_says_everything_of_it(new: str, known: str) -> None:
    assert repeats(_stated(new, "es"), _stated(known, "es"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("my cat eats boiled chicken twice a day", "my dog eats boiled chicken twice a day", id="another-pet"),
        pytest.param(
            "I take enalapril every morning with food", "my mom takes enalapril every morning with food", id="another-person"
        ),
        pytest.param(
            "I will buy a used Vespa with a sidecar from my old neighbor",
            "I buy a used Vespa with a sidecar from my old neighbor",
            id="a-plan-and-a-fact",
        ),
        pytest.param(
            "in the mornings I teach pottery to children at the library in the old town",
            "in the evenings I teach pottery to children at the library in the old town",
            id="another-time-of-day",
        ),
        pytest.param(
            "I ran the city marathon with my club in 2019 and finished",
            "I ran the city marathon with my club in 2022 and finished",
            id="another-number",
        ),
        pytest.param(
            "I studied law and economics for three years at the university of Salamanca",
            "I studied law and economics for three years at the university of Granada",
            id="another-name",
        ),
        pytest.param("I don't eat fish at my parents' house", "I eat fish at my parents' house", id="a-denial"),
        pytest.param("we have three kids", "we have three dogs", id="short-with-another-word"),
        pytest.param("you like old jazz records from Chicago", "I like old jazz records from Chicago", id="about-you"),
    ],
)
def test_two_statements_that_differ_in_what_matters_do_not_repeat_each_other(one: str, other: str) -> None:
    assert not repeats(_stated(one), _stated(other))
    assert not repeats(_stated(other), _stated(one))


def test_a_change_does_not_repeat_what_it_changes() -> None:
    before = "I work with Dana on the billing service for the Lisbon office"

    assert not repeats(_stated("I used to work with Dana on the billing service for the Lisbon office"), _stated(before))
    assert not repeats(_stated("I stopped going to the swimming club"), _stated("I go to the swimming club near the old harbor"))


def test_a_statement_that_says_much_more_is_no_repetition() -> None:
    fuller = "In winter, I restore boats with old wooden hulls with friends, and I sell copper lamps at fairs in summer"

    assert not repeats(_stated(fuller), _stated("I restore boats with old wooden hulls in winter with friends"))


def test_a_statement_that_the_user_asked_to_remember_repeats_nothing() -> None:
    fuller = _stated("I have a cat named Miso and two turtles")

    assert not repeats(_stated("I have a cat named Miso", asked=True), fuller)
    assert not repeats(_stated("I have a cat named Miso", corrects=True), fuller)
    assert not repeats(_stated("I have a cat named Miso", observed=True), fuller)


def test_an_attribute_with_a_key_of_its_own_is_not_lost_in_a_longer_statement() -> None:
    name, fuller = _stated("I'm Dana", key="name", ruled=True), _stated("I'm Dana and I live in Lyon", key="home", ruled=True)

    assert not repeats(name, fuller)
    assert repeats(name, _stated("I'm Dana, hello again", key="name", ruled=True))


@pytest.mark.parametrize(
    "said",
    [
        ("I have a cat named Miso.", "I have a cat named Miso and two turtles."),
        ("I have a cat named Miso and two turtles.", "As I said, I have a cat named Miso."),
    ],
    ids=["the-later-one", "the-earlier-one"],
)
def test_of_two_repetitions_the_fuller_one_is_kept_with_both_messages_as_sources(memory: Engine, said: tuple[str, str]) -> None:
    (kept,) = _learned(memory, *said)

    assert "two turtles" in kept.text
    assert len(kept.sources) == 2


def test_what_two_speakers_say_alike_is_kept_for_each(memory: Engine) -> None:
    with memory.session(user="ana") as talk:
        talk.add("user", "I have played the cello in the city orchestra.", speaker="Ana")
        talk.add("user", "I have played the cello in the city orchestra since 2009.", speaker="Leo")
    memory.drain()

    assert len(memory.memories(user="ana")) == 2


def test_a_chain_of_repetitions_leaves_one_memory(memory: Engine) -> None:
    told = [
        "I have a cat named Miso.",
        "I have a cat named Miso, she is 12.",
        "I have a cat named Miso, she is 12 and nearly deaf.",
    ]
    assert all(repeats(_stated(one), _stated(two)) for one, two in pairwise(told))

    (kept,) = _learned(memory, *told)
    assert kept.text.endswith("nearly deaf.")
    assert len(kept.sources) == 3
