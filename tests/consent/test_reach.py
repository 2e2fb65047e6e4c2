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


@pytest.mark.parametrize(
    "text",
    [
        "please wipe what I just said",
        "Please discard the above from your memory.",
        "erase that from your brain",
        "Request you to ignore and delete my previous statement from memory.",
        "borrá lo que te acabo de decir",
        "Ay no, mejor borre eso que le dije.",
        "borre lo que recién le conté",
        "lo último que puse no lo tengas en cuenta para la memoria",
        "delete that please",
        "bórralo, por favor",
    ],
)
def test_a_wish_that_names_no_subject_covers_what_was_just_said(text: str) -> None:
    found = read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "off_record"
    assert found.reach in ("previous", "around")


@pytest.mark.parametrize(
    "text",
    [
        "my card number is 4411 8820, delete it when you're done",
        "Mi clave es 8820, bórrala en cuanto termines.",
        "For this chat only: I take sertraline.",
        "Solo para esta charla: tomo sertralina.",
    ],
)
def test_a_wish_next_to_the_content_covers_only_its_own_message(text: str) -> None:
    found = read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "message")


def test_a_bare_wish_to_delete_after_a_longer_text_is_about_that_text() -> None:
    letter = "Dear Ms Haigh, thank you for your letter of the third of May. I would be glad to see you on Monday."
    assert read_wish("delete that please", before=letter, reader=make_sentence_reader("talk-reader-s")) is None


@pytest.mark.parametrize(
    "text",
    [
        "desde ahora no me guardes más nada",
        "no me esté grabando lo que hablo",
        "No me vaya a estar guardando las cosas que le cuento hoy día.",
        "Until further notice do not memorize anything.",
        "quit recording me for a while",
        "no more notes today please",
    ],
)
def test_a_wish_about_anything_without_content_covers_the_rest(text: str) -> None:
    found = read_wish(text, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "rest")
