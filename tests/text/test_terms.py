"""Search terms of texts and queries."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.text.language import detect_language
from holdfast.text.terms import document_terms, query_terms

SAFE = set(string.ascii_letters + string.digits)


def found(stored: str, query: str, language: str | None = "en") -> bool:
    """Return True if any term of a query matches the stored text."""
    terms = set(document_terms(stored, language))
    return any(spellings & terms for spellings in query_terms(query, ("en", "es")))


@pytest.mark.parametrize(
    ("stored", "query", "language"),
    [
        ("she was running", "runs", "en"),
        ("the parrots", "parrot", "en"),
        ("canciones", "canción", "es"),
        ("trabajamos mucho", "trabajar", "es"),
        ("CAFÉ", "cafe", "es"),
        ("ＦＵＬＬ width", "full", "en"),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac", None),
        ("\u6771\u4eac\u90fd", "\u90fd", None),
        ("c++ and c", "C++", "en"),
        ("version v2.5 is out", "v2.5", "en"),
        ("open a/b.py now", "a/b.py", "en"),
        ("open a/b.py now", "py", "en"),
        ("party 🎉 time", "🎉", "en"),
        ("party🎉", "🎉", "en"),
    ],
)
def test_forms_of_one_word_match(stored: str, query: str, language: str | None) -> None:
    assert found(stored, query, language)


@pytest.mark.parametrize(("stored", "query"), [("tea", "coffee"), ("🎉", "🎊"), ("\u6771\u4eac", "\u5317\u6d77")])
def test_different_words_do_not_match(stored: str, query: str) -> None:
    assert not found(stored, query)


@pytest.mark.parametrize(("stored", "query"), [("well done 🎉🎊", "🎉"), ("well done 🎉!", "🎉"), ("well done 🎉", "is it 🎉?")])
def test_a_symbol_next_to_other_symbols_is_found(stored: str, query: str) -> None:
    assert found(stored, query)


@pytest.mark.parametrize("stored", ["tea au lait", "parrot und tea", "the tea da casa"])
def test_a_short_text_is_found_by_its_words_whatever_language_it_seems_to_be_in(stored: str) -> None:
    assert found(stored, "tea", detect_language(stored))


def test_stop_words_are_left_out_of_a_question_that_has_others() -> None:
    assert query_terms("what is the name of the parrot", ("en",)) == [frozenset({"name"}), frozenset({"parrot"})]


def test_a_query_of_stop_words_alone_still_has_terms() -> None:
    assert query_terms("to be or not to be", ("en",))


def test_a_long_question_is_cut_to_a_bounded_number_of_words() -> None:
    assert len(query_terms(" ".join(f"word{n}" for n in range(10_000)), ("en", "es"))) < 100


@given(st.text(max_size=200))
@example("¨")
def test_no_term_holds_anything_but_letters_and_digits(text: str) -> None:
    terms = document_terms(text, None)
    assert all(c in SAFE or c.isalnum() for term in terms for c in term)
    assert all(" " not in term and term for term in terms)


@given(st.text(min_size=1, max_size=30))
def test_a_text_used_as_a_query_finds_itself(text: str) -> None:
    if document_terms(text, "en"):
        assert found(text, text)
