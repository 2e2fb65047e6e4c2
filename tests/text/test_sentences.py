"""Sentence boundaries, real and apparent."""

import pytest

from holdfast.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We stayed in.", ["It rained.", "We stayed in."]),
        ("Dr. Smith saw J. R. Ward. Fine.", ["Dr. Smith saw J. R. Ward.", "Fine."]),
        ("La Sra. López vive en EE. UU. desde 1990. Bien.", ["La Sra. López vive en EE. UU. desde 1990.", "Bien."]),
        ("Come fruta, p. ej. peras. Y pan.", ["Come fruta, p. ej. peras.", "Y pan."]),
        ("We met at 5 p.m. She left.", ["We met at 5 p.m.", "She left."]),
        ("We met at 5 p.m. on Monday.", ["We met at 5 p.m. on Monday."]),
        ("See No. 5 of the list. No. I won't.", ["See No. 5 of the list.", "No.", "I won't."]),
        ("It cost 3.50 euros. Son 1.200,50 euros.", ["It cost 3.50 euros.", "Son 1.200,50 euros."]),
        ("Look at https://a.example/b?c=1. Then tell me.", ["Look at https://a.example/b?c=1.", "Then tell me."]),
        ("Well... maybe later. Sure…", ["Well... maybe later.", "Sure…"]),
        ("¿Vienes? ¡Claro! Vale.", ["¿Vienes?", "¡Claro!", "Vale."]),
        ("I read R.F. Kuang. Then I slept.", ["I read R.F. Kuang.", "Then I slept."]),
        ("Hola.¿Qué tal?¡Bien!", ["Hola.", "¿Qué tal?", "¡Bien!"]),
        ("Oye, ¿vienes mañana?", ["Oye, ¿vienes mañana?"]),
        ('"Really?" she asked. Yes.', ['"Really?" she asked.', "Yes."]),
        ("i like it. it is good", ["i like it.", "it is good"]),
        ("今日は。元気？", ["今日は。", "元気？"]),
        ("120. I work nights.", ["120.", "I work nights."]),
        ("", []),
        (" \n\t\n", []),
        ("...", ["..."]),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_each_bullet_is_a_sentence_without_its_mark() -> None:
    assert split_sentences("To do:\n- buy milk\n* call Rosa\n1. pay rent\n2) sleep") == [
        "To do:",
        "buy milk",
        "call Rosa",
        "pay rent",
        "sleep",
    ]


def test_a_wrapped_line_is_joined_with_the_next() -> None:
    text = "This line is so long that whoever wrote it had to\nbreak it in the middle. Done."
    assert split_sentences(text) == [
        "This line is so long that whoever wrote it had to break it in the middle.",
        "Done.",
    ]


@pytest.mark.parametrize(
    "dictated",
    [
        "so i went to the doctor this morning and she told me my iron is low and i take tablets for months but the rest is fine",
        "mira ayer fui al médico por la mañana y me dijo que tengo hierro bajo y que tome pastillas tres meses pero lo demás está bien",
    ],
)
def test_dictation_without_punctuation_is_cut_at_its_conjunctions(dictated: str) -> None:
    pieces = split_sentences(dictated)
    assert len(pieces) == 4
    assert " ".join(pieces) == dictated


def test_no_word_is_lost() -> None:
    text = 'A. B! (c) "d." e… f?! ¿G? 1.5 x.y\n- h\nI'
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace("\n- ", "").replace("\n", "").replace(" ", "")


def test_a_huge_text_is_split_quickly() -> None:
    assert len(split_sentences("Rosa came at 5. " * 20_000)) == 20_000
