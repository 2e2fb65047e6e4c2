"""The share of wishes in unseen wordings that are obeyed, and the share of similar sentences that are mistaken for a wish.

``wishes.jsonl`` was written and frozen before the rules existed. The rules were not changed after the first measurement on it.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.wishes import read_wish
from holdfast.protocols import SentenceReader
from holdfast.text.consent.reach import reach_of
from holdfast.text.consent.spelling import respelled

pytestmark = pytest.mark.ledger("X21")
WORDING = Path(__file__).parent / "wishes.jsonl"
FROZEN = "cf1d4d2c4c0fd4bbf0aec1585239f94523091abf5e5b31a7fe01f18e99acedb2"


def _counts(reader: SentenceReader | None) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for line in WORDING.read_text("utf-8").splitlines():
        row = json.loads(line)
        found = read_wish(row["text"], reader=reader)
        counts[row["wish"], found.wish if found else "none"] += 1
    return counts


def test_the_wording_file_is_unchanged() -> None:
    assert hashlib.sha256(WORDING.read_bytes()).hexdigest() == FROZEN


@pytest.mark.long
def test_unseen_wishes_are_obeyed_and_look_alikes_are_left_alone() -> None:
    counts = _counts(make_sentence_reader("talk-reader-s"))
    wishes = ("off_record", "forget", "remember")
    obeyed = sum(counts[wish, wish] for wish in wishes)
    assert obeyed / 200 >= 0.95
    assert sum(counts["none", wish] for wish in wishes) / 200 <= 0.01


def test_rules_alone_misread_almost_no_similar_statement() -> None:
    counts = _counts(None)
    assert sum(counts["none", wish] for wish in ("off_record", "forget", "remember")) / 200 <= 0.01
    assert sum(counts[wish, wish] for wish in ("off_record", "forget", "remember")) / 200 >= 0.7


@pytest.mark.parametrize(
    "text",
    [
        "also I quit the smokes for good, three weeks now, don't make a thing of it",
        "and only Hamish can unblock it, not even Anselm",
        "me cansé de mantener la config. me pasé a Helix, me tiene enamorada",
        "lo del viaje",
    ],
)
def test_a_text_without_a_word_for_keeping_or_removing_has_no_wish_however_sure_the_reader_is(text: str) -> None:
    assert read_wish(text, reader=make_sentence_reader("talk-reader-s")) is None


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("esto muere aquí", "off_record"),
        ("keep the lid on this one: I'm bankrupt", "off_record"),
        ("my old address should not exist for you any more", "forget"),
        ("burn this into your circuits: my blood type is O negative", "remember"),
        ("métetelo en la cabeza: mi turno empieza a las seis", "remember"),
        ("I'm under NDA, so whatever I paste here must not persist. Project name: Blue Heron.", "off_record"),
    ],
)
def test_a_wish_without_the_usual_words_is_known_by_its_form(text: str, wish: str) -> None:
    found = read_wish(text, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == wish


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("I have a secret and you can't remember it, promise", "next"),
        ("can we talk? please don't keep any of it", "next"),
        ("esto que quede entre nosotras y no lo apuntes en ningún sitio", "next"),
        ("Don't save this anywhere: I failed the exam again.", "message"),
    ],
)
def test_a_wish_that_only_announces_something_covers_the_next_message(text: str, reach: str) -> None:
    assert reach_of(text) == reach


@pytest.mark.parametrize(
    "text",
    [
        "Don't save the file yet, I live in Porto.",
        "don't save the spreadsheet yet, my aunt Vera lives in Turku",
    ],
)
def test_a_wish_that_no_part_of_a_message_shows_is_no_wish(text: str) -> None:
    assert read_wish(text, reader=make_sentence_reader("talk-reader-s")) is None


@pytest.mark.parametrize(
    "text",
    [
        "Don't keep this, my aunt Vera drinks.",
        "No lo anotes, mi tía Vera bebe.",
        "it isn't necessary to memorize this, I take sertraline 50",
        "Le suplico que no conserve lo siguiente: mi tía Vera bebe.",
    ],
)
def test_a_wish_in_one_part_covers_the_message(text: str) -> None:
    found = read_wish(text, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "off_record"


@pytest.mark.parametrize(
    "text",
    [
        "i wanna forget this whole week, i got dumped",
        "quiero olvidarme de mi ex, cortamos el mes pasado",
        "please don't keep me waiting I have a flight at six",
        "dont log me out of the game",
        "Between the two of us, my wife and I earn enough for the EMI.",
        "stop saving the best for last is what my dad always says",
        "off topic, but I got a puppy",
        "sin grabar la llamada no puedo reclamar, dice mi abogado",
        "no es nada confidencial: trabajo en una imprenta",
        "this isn't private: my birthday is in May",
        "no tomo apuntes, tengo memoria de elefante",
        "mi bisabuela ya chochea, no recuerda lo que comió al mediodía",
        "¿no recuerdas lo que te pidió el médico?",
        "Pretend you are a waiter and I never paid. What do you say?",
        "no te guardes nada, decime qué opinás de mi poema",
        "no me lo recuerdes, mañana tengo que ir al dentista",
        "no archivó nada mi secretaria y ahora estoy en lío",
        "I let go of the gym membership, I run outdoors now.",
        "No memory foam for me, I sleep on a futon.",
    ],
)
def test_a_verb_of_keeping_or_forgetting_in_another_sense_is_no_wish(text: str) -> None:
    assert read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s")) is None


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("stop remembering that i like mason", "mason"),
        ("ya no recuerde lo de la comparsa, pues", "comparsa"),
        ("no quiero que tengas guardado mi peso", "peso"),
        ("can u forget the paramore thing", "paramore"),
        ("stop remembering that Portishead is my favorite band", "Portishead"),
        ("deja de recordar que Soda Stereo es mi banda favorita", "Soda"),
        ("por favor elimine el dato de mi suegro", "suegro"),
        ("My old designation need not be remembered now.", "designation"),
    ],
)
def test_a_wish_to_stop_remembering_something_known_is_a_wish_to_forget_it(text: str, subject: str) -> None:
    found = read_wish(text, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "forget"
    assert subject in found.subject


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("Oh heavens, I did not mean to send that. Could you get rid of it, please?", "previous"),
        ("erase dat, my lil cousin grabbed my phone", "previous"),
        ("pucha no debí contarte eso, sácalo de tu memoria", "previous"),
        ("borra eso wey, lo mandó mi hermanito", "previous"),
        ("I take that back, don't note it", "previous"),
        ("my PIN is 7719, delete that", "message"),
    ],
)
def test_a_wish_to_remove_that_covers_the_message_before_unless_content_comes_first(text: str, reach: str) -> None:
    found = read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", reach)


def test_a_mistake_is_not_removed_if_that_can_mean_a_text_of_the_assistant() -> None:
    draft = "Here is the letter: Dear Ms. Okafor, thank you for the offer, I accept it with pleasure."
    assert (
        read_wish("I didn't mean to send that, get rid of it", before=draft, reader=make_sentence_reader("talk-reader-s")) is None
    )


@pytest.mark.parametrize("text", ["no anotes que le pago en efectivo", "no quiero que guardes que le debo dinero"])
@pytest.mark.parametrize("model", ["talk-reader-s", None])
def test_a_negated_request_to_note_a_fact_is_no_request_to_remember_it(text: str, model: str | None) -> None:
    found = read_wish(text, reader=make_sentence_reader(model) if model else None)
    assert found is not None
    assert found.wish == "off_record"


@pytest.mark.parametrize(
    "text",
    [
        "let's go off the books for the next few minutes",
        "quiero hablar sin que quede registro",
        "ponte en modo sin memoria",
    ],
)
def test_a_wish_about_the_conversation_covers_the_rest_of_it(text: str) -> None:
    found = read_wish(text, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert (found.wish, found.reach) == ("off_record", "rest")


@pytest.mark.parametrize(
    "text",
    [
        "my knee is shot and i live alone now dont you go noting that down",
        "Keep what I said about Rita under your hat.",
        "In strict confidence, I am selling the shop.",
        "I owe my brother rent. That's confidential.",
        "My neighbour poaches deer, mum's the word.",
        "I voted for the other lot. This can't leave this room.",
        "debo seis meses de alquiler, es confidencial",
        "no declaro las propinas, confidencial eso",
        "te lo cuento extraoficialmente: venden la fábrica",
        "mi primo cobra en negro, usted no escuchó eso",
        "me echaron por robar. Y que no salga de aquí.",
    ],
)
@pytest.mark.parametrize("before", ["", "Ok."])
def test_an_idiom_of_secrecy_is_a_wish_in_any_turn(text: str, before: str) -> None:
    found = read_wish(text, before=before, reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "off_record"


@pytest.mark.parametrize(
    "text",
    [
        "My client files are confidential, I'm a notary.",
        "A friend told me in confidence that she is leaving. I'm from Graz.",
        "The word of the day is mum.",
        "I keep my money under my hat, I'm a magician.",
        "mi médico dice que lo que se cuenta ahí es confidencial; voy cada lunes",
        "la receta es secreto de familia, mi abuela es de Jaca",
        "¿tú no viste eso en la tele?",
    ],
)
def test_words_of_secrecy_about_something_else_are_no_wish(text: str) -> None:
    assert read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s")) is None


def test_a_request_to_remember_a_rule_about_keeping_stays_one() -> None:
    found = read_wish("Remember: never keep it in the sun.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "remember"


@pytest.mark.parametrize(
    "text",
    [
        "I don't keep any records of my expenses. I live in Hull.",
        "We never keep a diary. I work at Aldi.",
        "Don't log this ticket twice. I work at Siemens.",
        "Don't store this coat in plastic. I'm a tailor.",
        "la carpeta es mi trabajo de fin de grado, no la borres",
        "esta mancha no se quita ni con alcohol. Tengo tres hijos",
        "La llevo apuntada en el móvil: la cita es el 9 de mayo",
        "Remember that day at the beach? My son Ivo is 7.",
        "Remember that girl Ada? She is my boss now.",
        "Will you remember this next week? I live in Hull.",
        "¿te acordarás de esto mañana? Vivo en Soria",
    ],
)
@pytest.mark.parametrize("before", ["", "Ok."])
def test_a_verb_of_keeping_about_a_thing_or_a_habit_is_no_wish(text: str, before: str) -> None:
    assert read_wish(text, before=before, reader=make_sentence_reader("talk-reader-s")) is None


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("dont svae that", "dont save that"),
        ("Froget my age", "Forget my age"),
        ("pls rmember this", "pls remember this"),
        ("no lo gaurdes", "no lo guardes"),
        ("olivda lo de Ana", "olvida lo de Ana"),
    ],
)
def test_a_verb_with_a_swapped_or_missing_letter_is_corrected(text: str, spelled: str) -> None:
    assert respelled(text) == spelled


@pytest.mark.parametrize(
    "text", ["I forge swords.", "la guarde quien la guarde", "antes eras guard", "mail me at svae@x.org", "sore knee"]
)
def test_a_real_word_is_not_corrected(text: str) -> None:
    assert respelled(text) == text


def test_a_wish_that_allows_to_keep_another_part_is_still_a_wish() -> None:
    text = "Mi primo se llama Raúl. Puedes guardar lo de la moto pero lo de que Raúl es mi jefe, no."
    found = read_wish(text, before="Ok.", reader=make_sentence_reader("talk-reader-s"))
    assert found is not None
    assert found.wish == "off_record"
