"""WordPiece returns the same ids as the reference tokenizer, for any text and in bounded time."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ModelError
from holdfast.models.local.registry import VOCABULARY, find
from holdfast.models.local.weights import locate
from holdfast.models.local.wordpiece import WordPiece

SMALL = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "tea",
    "##s",
    "##pot",
    "the",
    ",",
    "[",
    "]",
    "sep",
    "cafe",
    "字",
    "σ",
    "##σ",
]

REFERENCE = [  # output of the reference tokenizer of BERT uncased
    ("I moved to Lyon last month.", [1045, 2333, 2000, 10241, 2197, 3204, 1012]),
    ("Crème brûlée, naïve façade", [13675, 21382, 7987, 9307, 2063, 1010, 15743, 8508]),
    ("¿Qué tal? ¡Adiós!", [1094, 10861, 21368, 1029, 1067, 27133, 2891, 999]),
    ("东京 is 東京", [100, 1755, 2003, 1879, 1755]),
    ("ΟΔΥΣΣΕΥΣ", [1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733]),
    ("İstanbul", [9960]),
    ("state-of-the-art $9.99", [2110, 1011, 1997, 1011, 1996, 1011, 2396, 1002, 1023, 1012, 5585]),
    ("zero\u200bwidth\u00a0space\tTAB", [5717, 9148, 11927, 2232, 2686, 21628]),
    ("x" * 100, [22038, *[20348] * 49]),
    ("x" * 101, [100]),
    ("unaffable 👍 ok", [14477, 20961, 3468, 100, 7929]),
    ("한국어", [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
    ("don't", [2123, 1005, 1056]),
    ("\u0301", []),
    ("ﬁne Ⅷ", [1984, 2638, 100]),
]


@pytest.fixture(scope="module")
def small() -> WordPiece:
    return WordPiece(SMALL)


@pytest.fixture(scope="module")
def real(weights_of: Callable[[str], Path]) -> WordPiece:
    return WordPiece.load(locate(find("all-minilm-l6-v2"), weights_of("all-minilm-l6-v2"))[VOCABULARY])


def words(tokenizer: WordPiece, text: str) -> list[str]:
    return [SMALL[number] for number in tokenizer.encode(text, max_tokens=50)[1:-1]]


@pytest.mark.parametrize(("text", "ids"), REFERENCE, ids=[ascii(text)[:30] for text, _ in REFERENCE])
def test_the_ids_are_those_of_the_reference(real: WordPiece, text: str, ids: list[int]) -> None:
    assert real.encode(text, max_tokens=512) == [101, *ids, 102]


@pytest.mark.parametrize("text", ["teapots tea", "tea,字tea", "[SEP]", "CAFÉ", "", "\u200b"], ids=ascii)
def test_pieces_are_the_ids_of_a_text_without_start_and_end(small: WordPiece, text: str) -> None:
    assert small.pieces(text) == small.encode(text, max_tokens=512)[1:-1]


def test_pieces_of_a_long_text_are_all_there(small: WordPiece) -> None:
    assert small.pieces("teapots " * 1000) == [4, 6, 5] * 1000


def test_the_pieces_of_words_are_the_pieces_of_their_text(small: WordPiece) -> None:
    text = "the teapots, tea 字tea"
    assert [piece for word in text.split() for piece in small.pieces(word)] == small.pieces(text)


def test_a_special_token_has_its_id_and_a_missing_one_is_an_error(small: WordPiece) -> None:
    assert small.special("[SEP]") == 3
    with pytest.raises(ModelError, match="no \\[MASK\\] token"):
        small.special("[MASK]")


def test_the_longest_known_pieces_are_taken(small: WordPiece) -> None:
    assert words(small, "teapots tea") == ["tea", "##pot", "##s", "tea"]


def test_a_word_with_an_unknown_rest_is_unknown_as_a_whole(small: WordPiece) -> None:
    assert words(small, "teabag tea") == ["[UNK]", "tea"]


def test_case_accents_and_control_characters_do_not_matter(small: WordPiece) -> None:
    assert words(small, "T\x00E\u200bA CAFÉ cafe\u0301") == ["tea", "cafe", "cafe"]


def test_punctuation_and_cjk_characters_are_separate_tokens(small: WordPiece) -> None:
    assert words(small, "tea,字tea") == ["tea", ",", "字", "tea"]


def test_a_final_sigma_is_folded_like_any_other_sigma(small: WordPiece) -> None:
    assert words(small, "ΣΣ") == ["σ", "##σ"]


def test_a_special_token_in_a_text_is_only_text(small: WordPiece) -> None:
    assert words(small, "[SEP]") == ["[", "sep", "]"]


@pytest.mark.parametrize("max_tokens", [2, 3, 10, 512])
def test_a_text_is_cut_to_the_tokens_asked_for(small: WordPiece, max_tokens: int) -> None:
    ids = small.encode("teapots " * 1000, max_tokens=max_tokens)
    assert len(ids) == max_tokens
    assert (ids[0], ids[-1]) == (2, 3)


@given(text=st.text(st.characters(), max_size=200))
def test_any_text_at_all_can_be_encoded(text: str) -> None:
    tokenizer = WordPiece(SMALL)
    ids = tokenizer.encode(text, max_tokens=20)
    assert 2 <= len(ids) <= 20
    assert ids == tokenizer.encode(text, max_tokens=20)


@pytest.mark.parametrize("text", ["\ud800", "\udfff\ud800", "\x00\x07", "", " \ufffd "])
def test_meaningless_characters_give_no_token(small: WordPiece, text: str) -> None:
    assert words(small, text) == []


@pytest.mark.parametrize("piece", ["a", " ", "tea, ", "字", "\ud800", "."])
def test_ten_megabytes_are_encoded_within_half_a_second(small: WordPiece, piece: str) -> None:
    text = piece * (10_000_000 // len(piece))
    began = time.thread_time()
    small.encode(text, max_tokens=512)
    assert time.thread_time() - began < 0.5


def test_a_vocabulary_is_read_from_a_file_with_a_token_a_line(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes("\n".join([*SMALL, "a\u2028b", ""]).encode())
    assert WordPiece.load(path).encode("tea", max_tokens=9) == [2, 4, 3]


def test_a_file_that_is_not_a_bert_vocabulary_is_refused() -> None:
    with pytest.raises(ModelError, match=r"\[UNK\]"):
        WordPiece(["just", "words"])
