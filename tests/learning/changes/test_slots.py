"""Subject, attribute and value of statements, in English and Spanish."""

import pytest

from holdfast.learning.changes.slots import Slot, slots_of


def _first(text: str, attribute: str, **more: str) -> Slot:
    found = [slot for slot in slots_of(text, **more) if slot.attribute == attribute]
    assert found, f"{text!r} gave {slots_of(text, **more)}"
    return found[0]


@pytest.mark.parametrize(
    ("text", "subject", "attribute", "value"),
    [
        ("I live in Portland", "user", "residence", "portland"),
        ("we moved to Seattle last week", "user", "residence", "seattle"),
        ("I live in a small flat in Lyon", "user", "residence", "lyon"),
        ("The user lives in Portland", "user", "residence", "portland"),
        ("Me mudé a Sevilla", "user", "residence", "sevilla"),
        ("El usuario vive en Lyon", "user", "residence", "lyon"),
        ("vive en Lyon", "user", "residence", "lyon"),
        ("ubicacion: vive en Lyon", "user", "residence", "lyon"),
        ("work: Google", "user", "employer", "google"),
        ("I got a new job at Apple", "user", "employer", "apple"),
        ("Soy empleada de Google", "user", "employer", "google"),
        ("Trabajo como enfermera", "user", "occupation", "enfermera"),
        ("My name is Ana", "user", "name", "ana"),
        ("Me llamo Ana", "user", "name", "ana"),
        ("I just turned 31", "user", "age", "31"),
        ("Tengo 30 años", "user", "age", "30"),
        ("I got married", "user", "marital status", "married"),
        ("Estoy casada", "user", "marital status", "married"),
        ("My wife's name is Laura", "partner", "name", "laura"),
        ("My favourite colour is green", "user", "favourite =color", "green"),
        ("My sister lives in Madrid", "sister", "residence", "madrid"),
        ("Mi hermana Lucía trabaja en Acme", "sister:lucia", "employer", "acme"),
        ("Ana works at Stripe", "ana", "employer", "stripe"),
        ("I'm vegan", "user", "diet", "vegan"),
        ("Soy vegetariana", "user", "diet", "vegetarian"),
        ("My phone number is 555-1234", "user", "phone", "555-1234"),
        ("I drive a Honda Civic", "user", "car", "honda civic"),
        ("My rent went up to 950 euros", "user", "rent", "950 euros"),
    ],
)
def test_a_statement_fills_a_slot(text: str, subject: str, attribute: str, value: str) -> None:
    slot = _first(text, attribute)
    assert (slot.subject, slot.value) == (subject, value)


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("I no longer work at Acme", "employer"),
        ("ya no trabajo en Acme", "employer"),
        ("I quit my job", "employer"),
        ("Me despidieron", "employer"),
        ("I sold my car", "car"),
        ("I'm not vegan anymore", "diet"),
        ("Dejé de fumar", "does"),
        ("I stopped playing tennis", "does"),
        ("My dog Rex died", "pet"),
        ("We broke up", "relationship"),
        ("I used to live in Paris", "residence"),
    ],
)
def test_a_statement_that_something_ended_is_recognized(text: str, attribute: str) -> None:
    assert _first(text, attribute).ended


@pytest.mark.parametrize("text", ["I used to live in Paris", "I lived in Paris", "Vivía en París", "Trabajó en Acme"])
def test_the_past_is_distinguished_from_the_present(text: str) -> None:
    assert all(slot.past for slot in slots_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Paris I would be happy",
        "I might move to Berlin",
        "Quiero mudarme a Berlín",
        "Sam told me he moved to Seattle",
        "Do I live in Portland?",
        "I'm staying in Paris this week",
        "I live in Lisbon for the summer",
        "My company moved to Austin",
    ],
)
def test_an_unstated_home_fills_no_slot(text: str) -> None:
    assert not [slot for slot in slots_of(text) if slot.attribute == "residence"]


@pytest.mark.parametrize("text", ["I also work at a bakery", "También trabajo en una panadería", "I work at a bar part-time"])
def test_an_additional_employer_is_not_marked_as_the_only_one(text: str) -> None:
    assert not _first(text, "employer").single


def test_a_key_names_the_attribute_of_a_bare_value() -> None:
    assert _first("Google", "employer", key="trabajo").value == "google"
    assert _first("profesora", "occupation", key="trabajo").value == "profesora"


def test_each_clause_has_its_own_slot() -> None:
    slots = slots_of("I live in Portland and work at Google")
    assert {(slot.attribute, slot.value) for slot in slots} == {("residence", "portland"), ("employer", "google")}


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("My dentist appointment is on Tuesday at 3pm", "when appoint dentist"),
        ("My dentist appointment got moved to Thursday", "when appoint dentist"),
        ("La cita con el dentista se pasó al jueves", "when cit dentist"),
    ],
)
def test_an_appointment_is_known_by_its_name(text: str, attribute: str) -> None:
    assert _first(text, attribute).single


@pytest.mark.parametrize("text", ["todo en Go con postgres atrás y nada más", "dijo: «el depto en Córdoba»"])
def test_a_sentence_or_a_quotation_under_a_key_is_not_the_value_of_the_key(text: str) -> None:
    assert {"employer", "occupation"}.isdisjoint(slot.attribute for slot in slots_of(text, key="trabajo", language="es"))
    assert [slot.attribute for slot in slots_of("fintech en Rosario", key="trabajo", language="es")] == ["employer"]
