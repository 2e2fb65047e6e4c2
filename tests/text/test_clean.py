"""Cleaning of text for storage, comparison and display."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, TextTooLong
from holdfast.text.clean import (
    MAX_TEXT,
    clean_name,
    clean_query,
    clean_text,
    content_hash,
    count_tokens,
    escape_line,
    fold,
    one_line,
)


@given(st.text(alphabet=st.characters(), max_size=100))
def test_cleaned_text_can_be_stored_and_changes_only_what_cannot(text: str) -> None:
    if not text.replace("\x00", "x").strip():
        return
    cleaned = clean_text(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(b in {a, "\ufffd"} for a, b in zip(text, cleaned, strict=True))


def test_a_text_up_to_the_limit_is_accepted() -> None:
    assert len(clean_text("x" * MAX_TEXT)) == MAX_TEXT
    with pytest.raises(TextTooLong):
        clean_text("x" * (MAX_TEXT + 1))


@pytest.mark.parametrize("empty", ["", " ", "\n\t\u2028"])
def test_an_empty_text_is_refused_by_name(empty: str) -> None:
    with pytest.raises(InvalidInput, match=r"the note is empty\. Give at least one character that is not a space."):
        clean_text(empty, what="the note")


def test_a_name_is_one_visible_line() -> None:
    assert clean_name(" a\u200bna\n de\tLyon ", what="user") == "ana de Lyon"
    assert clean_name(None, what="user") is None
    with pytest.raises(InvalidInput):
        clean_name("\u200b\u200e", what="user")
    with pytest.raises(TextTooLong):
        clean_name("x" * 513, what="user")


def test_a_query_may_be_any_text_and_is_truncated_at_a_limit() -> None:
    assert clean_query("") == ""
    assert clean_query("a\x00\ud800") == "a\ufffd\ufffd"
    assert len(clean_query("x" * 1_000_000)) == 20_000


@given(st.text(max_size=100))
def test_an_escaped_line_is_one_line_without_brackets(text: str) -> None:
    line = escape_line(text)
    assert len(line.splitlines()) <= 1
    assert not {"<", ">"} & set(line)


@given(st.text(max_size=100))
def test_one_line_of_one_line_changes_nothing(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)


@pytest.mark.parametrize(
    "variant", ["Café au lait", "CAFE AU LAIT", "cafe\u0301 au lait.", " ¡Café  au\nlait! ", "ｃａｆé au lait"]
)
def test_folding_forgets_case_accents_width_spaces_and_punctuation_at_the_ends(variant: str) -> None:
    assert fold(variant) == "cafe au lait"


@pytest.mark.parametrize(("one", "other"), [("C", "C++"), ("1.5", "15"), ("can", "can't"), ("a b", "ab"), ("-5", "5")])
def test_folding_keeps_what_makes_a_difference(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_the_hash_distinguishes_its_parts() -> None:
    assert content_hash("a", "bc") != content_hash("ab", "c")
    assert content_hash("fact", None, "Tea.") == content_hash("fact", None, "tea")
    assert content_hash("fact", None, "tea") != content_hash("fact", "drink", "tea")


@given(st.text(max_size=200), st.text(max_size=200))
def test_counting_tokens_never_says_less_for_the_whole_than_for_a_part(one: str, other: str) -> None:
    assert count_tokens(one + other) >= count_tokens(one)
    assert count_tokens(one) + count_tokens(other) >= count_tokens(one + other)


@pytest.mark.parametrize(("text", "least"), [("hello world", 2), ("\u6f22\u5b57" * 10, 20), ("🎉" * 10, 5)])
def test_the_token_estimate_is_not_too_low(text: str, least: int) -> None:
    assert count_tokens(text) >= least
