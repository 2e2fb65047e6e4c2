"""Facts in wordings that an earlier version missed, such as dictation, requests, corrections, and sentences next to a secret."""

import pytest

from holdfast.learning.capture_by_rules import extract_statements
from holdfast.learning.input_filter import extractable
from holdfast.protocols import SentenceReader

from .test_read import kept, reader, talk

__all__ = ["reader"]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "um so my name is gareth and i live in swansea and my wife is a midwife",
            ["my name is gareth", "i live in swansea", "my wife is a midwife"],
        ),
        ("pues mira yo vivo en murcia y mi hija es veterinaria", ["yo vivo en murcia", "mi hija es veterinaria"]),
    ],
)
def test_dictation_becomes_one_memory_per_fact(reader: SentenceReader, said: str, facts: list[str]) -> None:
    assert [text for text in kept(reader, said) if any(fact in text for fact in facts)] != []
    assert all(any(text.endswith(fact) for text in kept(reader, said)) for fact in facts)


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("write a limerick for my nephew Oscar, he turns nine", "my nephew Oscar, he turns nine"),
        ("I need a present for my father in law, he collects stamps.", "my father in law, he collects stamps."),
        ("Escribe un poema para mi abuela Carmen, cumple noventa años.", "mi abuela Carmen, cumple noventa años."),
        ("Draft a note to my landlord Mr. Osei saying the sink leaks.", "my landlord Mr. Osei"),
    ],
)
def test_the_people_in_a_request_are_kept(reader: SentenceReader, said: str, fact: str) -> None:
    assert kept(reader, said) == [fact]


@pytest.mark.parametrize(
    "said", ["We deploy with Nomad.", "Our backend is written in Elixir.", "Usamos Pulumi para la infraestructura."]
)
def test_statements_about_how_a_team_works_are_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    ("before", "correction", "text"),
    [
        ("The christening is on May 2nd.", "No, the christening is on May 9th, not the 2nd.", "the christening is on May 9th"),
        ("Mi vuelo sale el 3 de marzo.", "No, mi vuelo sale el 5 de marzo, no el 3.", "mi vuelo sale el 5 de marzo"),
        ("My cousin's name is Lara.", "Sorry, my cousin's name is Clara, not Lara.", "my cousin's name is Clara, not Lara."),
        ("My hearing is on June 7th.", "Sorry, June 14th, not the 7th.", "My hearing is on June 14th"),
    ],
)
def test_a_correction_leaves_only_the_new_value(reader: SentenceReader, before: str, correction: str, text: str) -> None:
    found = kept(reader, before, "A: All right.", correction)
    assert len(found) == 1
    assert found[0].startswith(text)


def test_a_no_to_the_assistant_s_question_is_kept_with_it(reader: SentenceReader) -> None:
    assert kept(reader, "A: So your daughter is seven?", "No, she's eight.") == ["So your daughter is seven? No, she's eight."]


@pytest.mark.ledger("X15")
@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("My wifi password is hunter2 and I live in Bath.", ["I live in Bath."]),
        ("Mi contraseña es perro123 y tengo dos hijos.", ["tengo dos hijos."]),
        ("My passphrase is correct, horse, battery and staple.", []),
    ],
)
def test_only_the_clause_with_a_secret_is_dropped(reader: SentenceReader, said: str, facts: list[str]) -> None:
    assert kept(reader, said) == facts


@pytest.mark.ledger("X25")
@pytest.mark.parametrize(
    "said",
    [
        "Is this e-mail too harsh?\n\nHi Jo, I am leaving the band and I moved to Hull. I keep the drums. Cheers, Mick",
        "My tenant texted me: I lost my job and I am moving to my sister in Kent.",
        "Mira lo que me escribió mi prima:\nEstoy embarazada y vivo con mi suegra.",
    ],
)
def test_pasted_words_in_the_first_person_are_not_the_user_s(reader: SentenceReader, said: str) -> None:
    assert extract_statements(extractable(talk(said)), reader) == []


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Which exercises are good for my obliques", []),
        ("Can I use my airline miles to upgrade to a higher class on my return flight", []),
        ("find me dinner ideas that respect my peanut allergy", ["my peanut allergy"]),
        ("suggest a game for my 12-year-old son with ADHD", ["my 12-year-old son with ADHD"]),
    ],
)
def test_a_phrase_of_a_request_is_kept_only_if_the_request_shows_a_fact(
    reader: SentenceReader, said: str, facts: list[str]
) -> None:
    assert kept(reader, said) == facts


@pytest.mark.parametrize(
    "said", ["I want you to remember this case.", "Please remember this.", "recuerda este caso", "recuerda esto"]
)
def test_a_request_to_remember_something_that_is_not_said_stores_nothing(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []
