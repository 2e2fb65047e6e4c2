"""The messages that a wish covers, and sentences that only sound like a wish."""

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.wishes import read_wish
from holdfast.protocols import SentenceReader

pytestmark = pytest.mark.ledger("X21")


@pytest.fixture(scope="module")
def reader() -> SentenceReader | None:
    return make_sentence_reader("talk-reader-s")


@pytest.mark.parametrize(
    "text",
    [
        "Nothing of note here.",
        "Nothing worth writing down happened at the office.",
        "nothing in my calendar worth keeping",
        "nada que anotar hoy",
    ],
)
def test_a_report_that_nothing_happened_is_not_a_wish(reader: SentenceReader | None, text: str) -> None:
    assert read_wish(text, reader=reader) is None


@pytest.mark.parametrize("text", ["Nothing of this goes in your notes.", "nothing about my divorce goes anywhere, please"])
def test_a_wish_that_nothing_is_kept_counts(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, reader=reader)
    assert found is not None
    assert found.wish == "off_record"


@pytest.mark.parametrize(
    "text",
    [
        "off the record, I quit",
        "off the record they sacked her",
        "between us: he drinks",
        "just between us, she left",
        "strictly confidential, I'm pregnant",
        "please don't log that I smoke",
        "don't remember this one - I drank",
        "I resigned, off the record",
        "entre nos: renuncié",
        "que no salga de aquí: perdí el trabajo",
    ],
)
def test_a_wish_with_its_content_covers_that_message_only(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "message")


@pytest.mark.parametrize("text", ["Off the record.", "Between us.", "hey, off the record please", "esto no lo guardes, porfa"])
def test_a_wish_without_content_covers_the_messages_around_it(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "around")


@pytest.mark.parametrize("text", ["私は東京に住んでいます。", "Я живу в Москве.", "أعيش في القاهرة"])
def test_the_reader_finds_no_wish_in_a_script_that_it_does_not_know(reader: SentenceReader | None, text: str) -> None:
    assert read_wish(text, reader=reader) is None
