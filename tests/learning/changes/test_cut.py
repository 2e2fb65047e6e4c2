"""What has ended is cut out of a text at its joints, and what stays reads as sentences."""

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.learning.changes.parts.cut import cut_ended
from holdfast.models.local.registry import DEFAULT_READER


def _cut(marked: str) -> tuple[str, ...]:
    """Cut the words in brackets out of a text."""
    gone, inside = [], False
    for word in marked.split():
        inside = inside or word.startswith("[")
        gone.append(1.0 if inside else 0.0)
        inside = inside and not word.endswith("]")
    return cut_ended(marked.replace("[", "").replace("]", ""), gone, least=0.5).kept


@pytest.mark.parametrize(
    ("marked", "kept"),
    [
        ("[I sing in the choir, we meet on Mondays,] as I am a seamstress", ("I am a seamstress",)),
        ("I teach maths in Cork [and we rent above a shop]", ("I teach maths in Cork",)),
        ("I keep bees, [my truck is a 1998 Ford,] and my wife is a nurse", ("I keep bees and my wife is a nurse",)),
        ("I'm a baker [at Lidl] and my shifts start at four", ("I'm a baker and my shifts start at four",)),
        ("vendo pan en Tula, [tengo una moto roja] y mi tía me ayuda", ("Vendo pan en Tula y mi tía me ayuda",)),
        ("[Vivo en Lugo.] Mi hermana es juez.", ("Mi hermana es juez.",)),
        ("[I live in Leeds and work nights]", ()),
    ],
)
def test_the_words_that_stay_read_as_sentences(marked: str, kept: tuple[str, ...]) -> None:
    assert _cut(marked) == kept


def test_the_details_of_an_ended_clause_end_with_it() -> None:
    text = "I do crossfit on Mondays at a box in Lyon, and my sister is a vet"
    gone = [0.9, 0.9, 0.9, 0.7, 0.6, 0.3, 0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0]
    assert cut_ended(text, gone, least=0.5).kept == ("My sister is a vet",)


def test_a_text_stays_whole_if_no_part_of_it_is_likely_to_have_ended() -> None:
    cut = cut_ended("I bake bread and keep bees", [0.4] * 6, least=0.5)
    assert cut.kept == ("I bake bread and keep bees",)
    assert cut.gone == 0


@pytest.mark.parametrize("text", ["", "  ", "¡!", "word", "a, b; c: (d) — e"])
def test_a_text_without_sentences_is_cut_without_an_error(text: str) -> None:
    gone = [1.0] * len(text.split())
    assert all(each.strip() for each in cut_ended(text, gone, least=0.5).kept)


def test_fewer_probabilities_than_words_are_no_error() -> None:
    assert cut_ended("I bake bread and keep bees", [], least=0.5).gone == 0


@pytest.mark.ledger("X24")
@pytest.mark.parametrize(
    ("old", "new", "gone", "stays"),
    [
        (
            "my trombone is from my grandad and we rehearse on Sundays, also I can't eat shellfish",
            "sold the trombone on Friday, I couldn't bear to look at it",
            "trombone",
            "shellfish",
        ),
        (
            "tengo una tienda de telas en Cuenca y un gato viejo que se llama Bruno",
            "ayer enterramos a Bruno en el jardín",
            "Bruno",
            "telas",
        ),
        (
            "I live on a narrowboat near Bath and my daughter Wren studies law",
            "we've moved into a proper house at last, no more pumping out the boat",
            "narrowboat",
            "Wren",
        ),
    ],
)
def test_the_reader_cuts_only_what_a_change_ends(old: str, new: str, gone: str, stays: str) -> None:
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    rest = " ".join(ClaimComparer(reader).rest(old, new))
    assert gone not in rest
    assert stays in rest
