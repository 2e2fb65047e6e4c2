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


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("Don't save this: I want to stop the treatment, it hurts while I sleep.", "message"),
        ("Don't log this: I was robbed earlier, a man took my phone.", "message"),
        ("Off the record, we're living at my aunt's for the time being.", "message"),
        ("No apuntes esto: hoy por la noche dejo a mi marido.", "message"),
        ("Esto no lo guardes: a partir de ahora cobro en negro.", "message"),
        ("From now on don't save anything: my father is ill.", "rest"),
        ("I shouldn't have told you that, don't keep it.", "previous"),
        ("aposté la paga. Haz como que no lo leíste.", "message"),
        ("Vivo en Lugo y me drogo, esto último no lo anotes", "message"),
        ("Lo que te dije antes no lo anotes, mi jefe mira el móvil.", "previous"),
        ("Lo que hablemos hoy de mi hermana no lo conserves", "next"),
    ],
)
def test_only_the_words_of_the_wish_itself_say_what_it_covers(reader: SentenceReader | None, text: str, reach: str) -> None:
    found = read_wish(text, before="Ok.", reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", reach)


@pytest.mark.parametrize(
    "text",
    [
        "i smoke weed dont save that",
        "dont save this ok my wife left",
        "she got fired but dont keep it",
        "no lo anotes pero robé en el trabajo",
        "tomo litio no lo guardes",
    ],
)
def test_a_wish_without_punctuation_covers_the_message_in_which_it_stands(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, before="Ok.", reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "message")


@pytest.mark.parametrize(
    "text",
    [
        "I'd rather you didn't hold on to that one, thanks.",
        "I would like that to be left out of your notes.",
        "I'd be glad if that stayed out of your memory.",
        "Make sure nothing about that gets stored.",
        "Let that not leave this room.",
        "Preferiría que eso no se quedara en tu memoria.",
        "Que nada de eso quede guardado.",
    ],
)
def test_a_polite_wish_of_its_own_covers_the_messages_around_it(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, before="Ok.", reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "around")


@pytest.mark.parametrize(
    "text",
    [
        "te voy a decir algo que no quiero que anotes",
        "mija lo que le voy a contar ahora no lo escriba en ningun lado",
        "la próxima cosa que te diga no la archives",
        "I am going to tell you something and I do not want it kept",
    ],
)
def test_a_wish_that_announces_something_in_any_words_covers_the_next_message(reader: SentenceReader | None, text: str) -> None:
    found = read_wish(text, before="Ok.", reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "next")


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("I want nothing of this kept.", "all"),
        ("Prefiero que no guardes nada de esto.", "all"),
        ("Bórralo mejor, no quiero que eso quede en ninguna parte.", "around"),
        ("Two years now. Right, don't keep my next message please.", "next"),
        ("Tres años. Oye, lo que viene ahora no lo guardes.", "next"),
    ],
)
def test_a_wish_that_names_what_it_covers_reaches_that_far(reader: SentenceReader | None, text: str, reach: str) -> None:
    found = read_wish(text, before="Ok.", reader=reader)
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", reach)


def test_a_turn_about_something_else_does_not_hide_a_wish() -> None:
    text = "that worked. quiz me on hashing? interview with Datadog on thursday. treat that as ephemeral, don't persist it"
    found = read_wish(text, before="Add an include_object hook to the script.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "off_record"
