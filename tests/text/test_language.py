"""Language identification by stop words, accents and scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.language import STOP_WORDS, detect_language, is_foreign, is_stop_word


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I have lived in the red house for two years and I like it.", "en"),
        ("Vivo en una casa roja desde hace dos años y me gusta mucho.", "es"),
        ("¿Dónde está mi hermana?", "es"),
        ("J'habite dans une maison rouge avec mes enfants et je suis content.", "fr"),
        ("Ich wohne seit zwei Jahren in einem roten Haus und es ist schön.", "de"),
        ("Abito in una casa rossa con la mia famiglia e sono felice.", "it"),
        ("Eu moro em uma casa vermelha com a minha família e não quero sair.", "pt"),
        ("Я живу в красном доме", "ru"),
    ],
)
def test_a_sentence_shows_its_language(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("text", ["", "   ", "12345", "v2.5", "\u6f22\u5b57", "🎉", "parrot"])
def test_a_text_of_unclear_language_has_no_language(text: str) -> None:
    assert detect_language(text) is None


@given(st.text(max_size=300))
def test_any_text_gets_a_known_answer(text: str) -> None:
    assert detect_language(text) in {None, "ru", *STOP_WORDS}


def test_stop_words_go_by_language() -> None:
    assert is_stop_word("the", "en")
    assert not is_stop_word("the", "es")
    assert is_stop_word("que", "es")
    assert is_stop_word("the", None)


@pytest.mark.parametrize(
    "text",
    [
        "¿Dónde vivo?",
        "Vivo en Madrid",
        "Qué coche conduzco",
        "Soy alérgica a los cacahuetes.",
        "ME GUSTA EL TÉ",
        "Je ne mange pas de viande",
        "Ich wohne in der Stadt und bin müde",
        "Я живу в Москве",
        "私は東京に住んでいます",
    ],
)
def test_text_in_another_language_counts_as_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Lyon now.",
        "Loves Las Vegas",
        "Los Angeles is hot",
        "See ya!",
        "",
        "42",
        "👍",
        "Basil",
        "No",
        "She read Don Quijote de la Mancha to us",
        "the café near us",
        "Prefers tea",
        "Who moved to El Paso?",
    ],
)
def test_english_and_ambiguous_text_does_not_count_as_foreign(text: str) -> None:
    assert not is_foreign(text)
