"""The limits at which a model's text is refused: its length, its repetitions, and the words it shares with the old texts."""

import pytest

from holdfast.learning.output_filter import rejection_reason


def refused(text: str, *replaces: str, max_characters: int = 400) -> bool:
    return rejection_reason(text, replaces=replaces, max_characters=max_characters) is not None


def test_a_text_may_have_the_maximum_length_and_no_more() -> None:
    text = "Ana plays the cello and the piano."
    assert not refused(text, "Ana plays the cello.", max_characters=len(text))
    reason = rejection_reason(text, replaces=["Ana plays the cello."], max_characters=len(text) - 1)
    assert reason == f"the text has {len(text)} characters and may have {len(text) - 1}"


def test_one_word_replaces_only_short_texts() -> None:
    assert refused("Cello", "Ana plays cello", "Ana likes the cello")
    assert not refused("Cello", "Ana plays cello", "the cello"), "one of them has two words"


def test_a_text_may_be_ten_times_as_long_as_the_texts_it_replaces() -> None:
    long = " ".join(f"word{number}" for number in range(200))
    assert not refused(long[:200], "cello", max_characters=5000), "short texts count as 20 characters"
    assert refused(long[:201], "cello", max_characters=5000)
    old = ("Ana plays the cello in Lisbon.", "Ana has a piano.")
    total = sum(map(len, old))
    assert not refused(long[: 10 * total], *old, max_characters=5000)
    assert refused(long[: 10 * total + 1], *old, max_characters=5000)


def test_a_text_keeps_a_fifth_of_the_words_or_as_many_as_fit() -> None:
    old = " ".join(f"word{number}" for number in range(20))
    assert not refused("word1 word2 word3 word4", old)
    assert refused("word1 word2 word3", old)
    assert not refused("word1 word2 word3", old, max_characters=120), "three words are enough where twenty fit"


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        ("She said no no no to the cello", False),
        ("She said no no no no to the cello", True),
        ("The phone is 5 5 5 5 5 in Lisbon", False),
        ("The cello is sooooooooooooooooooo loud", False),
        ("The cello is soooooooooooooooooooo loud", True),
        ("plays the cello plays the cello plays the cello plays", False),
        ("plays the cello plays the cello plays the cello plays the cello plays the cello", True),
    ],
)
def test_a_repetition_is_refused_from_its_limit_on(text: str, *, is_loop: bool) -> None:
    old = ("Ana plays the cello and has a loud phone in Lisbon, she said.", "She said no.")
    assert (rejection_reason(text, replaces=old, max_characters=400) == "the text repeats itself") is is_loop


def test_a_translation_is_refused_but_not_a_text_that_shares_half_of_its_words() -> None:
    old = "Ana vive en Lisboa y toca el violonchelo en la orquesta con su hermana."
    assert rejection_reason("She lives with her sister and plays the piano.", replaces=[old], max_characters=400) == (
        "the text is in another language"
    )
    assert not refused("Ana Lisboa violonchelo orquesta hermana with the piano and the teacher", old)


def test_text_of_another_script_is_refused() -> None:
    assert refused("安娜住在里斯本。", "Ana lives in Lisbon.")
    assert not refused("安娜 lives in Lisbon with her dog", "Ana lives in Lisbon with her dog.")
    assert not refused("リスボンに住んでいる。", "安娜住在里斯本。"), "kana and Chinese characters count as one script"


@pytest.mark.parametrize("text", ["", "  ", "...", "?!"])
def test_a_text_without_words_is_refused(text: str) -> None:
    assert rejection_reason(text, replaces=[], max_characters=400) == "the text is empty"
