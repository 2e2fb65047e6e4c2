"""Text without punctuation is cut into clauses where a new subject and its verb begin, and nowhere else."""

import pytest

from holdfast.text.sentences import split_clauses, split_sentences


@pytest.mark.parametrize(
    ("said", "clauses"),
    [
        (
            "my dad is in hospital and i take the bus there every day and then my sister drives me home",
            ["my dad is in hospital", "and i take the bus there every day", "and then my sister drives me home"],
        ),
        ("i got a new flat in cork she has the spare key", ["i got a new flat in cork", "she has the spare key"]),
        (
            "vivo en murcia y mi hija estudia derecho pero yo no cocino nunca",
            ["vivo en murcia", "y mi hija estudia derecho", "pero yo no cocino nunca"],
        ),
        ("soy andrea tengo 52 años", ["soy andrea tengo 52 años"]),
        (
            "how do i get a passport fast my daughter's getting married in february",
            ["how do i get a passport fast", "my daughter's getting married in february"],
        ),
        ("if i win the lottery i'm buying a boat", ["if i win the lottery i'm buying a boat"]),
    ],
)
def test_dictation_is_cut_into_clauses(said: str, clauses: list[str]) -> None:
    assert split_clauses(said) == clauses


@pytest.mark.parametrize(
    "said",
    [
        "i want fish and chips and a beer",
        "the nurse said my iron is low",
        "i think she has a cold",
        "how do i ask my landlord if he is selling",
        "i share a car with my aunt and my uncle in spring",
        "compré pan y vino para la cena",
        "mi primo vive en jaén y tiene dos gatas",
        "no me acuerdo de dónde dejé las llaves del granero",
        "se me olvidó cuándo compré la heladera nueva",
        "cant do wednesdays anymore bc i have swim club at the lido",
        "I live in Bern and I want to move to Basel.",
        "I like sailing, but only on lakes",
    ],
)
def test_text_that_belongs_together_is_not_split(said: str) -> None:
    assert split_clauses(said) == [said]


def test_sentence_splitting_does_not_cut_at_clauses_of_dictation() -> None:
    said = "my dad is in hospital and i take the bus there"
    assert split_sentences(said) == [said]
