"""Statements that the included sentence reader keeps or drops, in English and Spanish.

The list contains only clear cases, which a retrained reader must also pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.config.models import make_embedder, make_sentence_reader
from holdfast.engine import Engine
from holdfast.errors import WeightsCorrupt
from holdfast.learning.capture_by_rules import extract_statements, extract_typed_facts
from holdfast.models.local.reader import LocalReader
from holdfast.models.local.registry import DEFAULT_READER, READERS
from holdfast.models.local.weights import path_of
from holdfast.presets import find_preset
from holdfast.protocols import SentenceReader
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.testing.engines import build_engine
from holdfast.text.language import detect_language
from holdfast.types import Message, Put, Scope

SUNDAY = datetime(2026, 3, 1, 12, tzinfo=UTC)

Extract = Callable[[Sequence[Message], SentenceReader | None], list[Put]]


@pytest.fixture(scope="module")
def reader() -> SentenceReader:
    found = make_sentence_reader(DEFAULT_READER)
    assert found is not None
    return found


@pytest.fixture
def damaged(tmp_path: Path) -> LocalReader:
    """Return a reader whose network is damaged: the file has the right size but different bytes."""
    spec = READERS[DEFAULT_READER]
    spec = replace(spec, files=tuple(replace(weight, included=None) for weight in spec.files))
    for weight in spec.files:
        path = path_of(weight, tmp_path)
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(weight.size))
    return LocalReader(spec, tmp_path)


def talk(*said: str) -> list[Message]:
    """Return the texts as messages. A text that begins with ``A:`` is from the assistant."""
    return [
        Message(
            id=f"msg{number}",
            session="ses",
            scope=Scope(user="ana"),
            role="assistant" if text.startswith("A: ") else "user",
            text=text.removeprefix("A: "),
            at=SUNDAY + timedelta(minutes=number),
            seq=number,
            origin="assistant" if text.startswith("A: ") else "user",
            language=detect_language(text),
        )
        for number, text in enumerate(said)
    ]


def kept(reader: SentenceReader | None, *said: str, extract: Extract = extract_statements) -> list[str]:
    return [put.text for put in extract(talk(*said), reader)]


@pytest.mark.parametrize(
    "said",
    [
        "I'm allergic to penicillin.",
        "My sister Clara lives in Bergen with her two boys.",
        "I work as a nurse at the children's hospital.",
        "been gluten-free since 2021",
        "I speak Portuguese and a little German.",
        "My car is a 2012 Honda Civic.",
        "We used to live in Berlin but now we're in Munich.",
        "Soy alérgica a los cacahuetes.",
        "Mi hermano vive en Rosario y es electricista.",
        "Tengo diabetes tipo 1 desde los doce años.",
        "Mi hija Julia nació en 2019.",
        "Hablo portugués y un poco de alemán.",
    ],
)
def test_a_plain_fact_is_kept_as_it_was_said(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.ledger("X22")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Do you have any pets?", "Yes, two cats, Pixel and Byte."),
        ("Do you have any allergies?", "Yes, to penicillin."),
        ("Where do you live?", "In Bergen, near the harbour."),
        ("¿Tienes alguna alergia?", "Sí, a la penicilina."),
        ("¿Dónde vives?", "En Rosario, cerca del río."),
    ],
)
def test_a_reply_is_kept_with_the_question_that_it_answers(reader: SentenceReader, asked: str, answer: str) -> None:
    assert kept(reader, f"A: {asked}", answer) == [f"{asked} {answer}"]


def test_a_reply_that_says_everything_is_kept_without_the_question(reader: SentenceReader) -> None:
    assert kept(reader, "A: What do you do for a living?", "I drive a night bus.") == ["I drive a night bus."]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Since I'm diabetic, what desserts can I eat?", "I'm diabetic"),
        (
            "I'm training for the Lisbon marathon in October, can you write a weekly plan?",
            "I'm training for the Lisbon marathon in October 2026",
        ),
        ("Can you plan a dinner for Saturday? My husband is coeliac.", "My husband is coeliac."),
        ("Tengo dos perros, Canela y Toby, ¿qué pienso me recomiendas?", "Tengo dos perros, Canela y Toby"),
    ],
)
def test_a_fact_inside_a_request_is_kept_without_the_request(reader: SentenceReader, said: str, fact: str) -> None:
    assert kept(reader, said) == [fact]


@pytest.mark.parametrize(
    "said",
    [
        "Never give up!",
        "Everything happens for a reason.",
        "Good morning! How are you today?",
        "Haha that's so true",
        "Thanks, that's great!",
        "What is the capital of France?",
        "The Nile flows through eleven countries.",
        "¡Nunca te rindas!",
        "No hay mal que por bien no venga.",
        "Buenos días, ¿cómo estás?",
        "jajaja qué bueno",
        "El Nilo atraviesa once países.",
    ],
)
def test_small_talk_mottos_and_general_knowledge_are_not_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []


@pytest.mark.parametrize(
    "said",
    [
        "for i in range(10): print(i)",
        "```\nI live in Rome and I have two cats.\n```",
        "ERROR my name is worker-7 and I live in Frankfurt",
        "INFO 12:03 I am ready, worker 7 lives in queue eu-west",
        "SELECT name FROM users WHERE city = 'Rome';",
    ],
    ids=["loop", "fence", "error", "log", "query"],
)
def test_code_and_logs_are_not_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Translate this: I live in Rome and I have two cats.",
        "Translate this into Spanish:\nI have been a nurse for ten years. My husband is called Tom.",
        "Traduce esto al inglés: Vivo en Roma y tengo dos gatos.",
    ],
    ids=["one line", "several lines", "spanish"],
)
def test_a_text_to_translate_is_not_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []


@pytest.mark.ledger("X15")
@pytest.mark.parametrize(
    ("said", "safe"),
    [
        ("my password is hunter22", []),
        ("la contraseña del correo es Tortuga22", []),
        ("My card number is 4111 1111 1111 1111.", []),
        ("I work at Larkfield. My password there is hunter22.", ["I work at Larkfield."]),
    ],
    ids=["password", "contraseña", "card", "beside a fact"],
)
def test_a_sentence_with_a_secret_is_not_kept(reader: SentenceReader, said: str, safe: list[str]) -> None:
    assert kept(reader, said) == safe


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("I had my knee surgery yesterday.", "I had my knee surgery yesterday (28 February 2026)."),
        ("My father died last year.", "My father died last year (2025)."),
        ("My daughter starts school next Monday.", "My daughter starts school next Monday (2 March 2026)."),
        ("Ayer nació mi sobrina Julia.", "Ayer (28 de febrero de 2026) nació mi sobrina Julia."),
        ("El año pasado me operaron de la rodilla.", "El año pasado (2025) me operaron de la rodilla."),
    ],
)
def test_relative_dates_become_absolute(reader: SentenceReader, said: str, dated: str) -> None:
    assert kept(reader, said) == [dated]


def test_a_statement_that_a_later_one_quotes_is_kept_once(reader: SentenceReader) -> None:
    said = "mi comadre Chayo. mi esposo anda en el norte y no le he dicho pa no preocuparlo"
    found = kept(reader, "A: ¿Irá alguien contigo?", said)
    assert sum("Chayo" in text for text in found) == 1
    assert any("mi esposo anda en el norte" in text for text in found)


@pytest.mark.parametrize(
    "said",
    [
        "no tengo hermanos, soy hijo único",
        "no soporto el cilantro ni en pintura",
        "No como carne ni pescado desde 2019.",
        "no kids of my own, just two nephews",
    ],
)
def test_a_negation_at_the_beginning_is_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "what should i get my little cousin eli hes turning 6 and obsessed w sharks",
        "help me write a cover letter for a job at the aquarium, i volunteer there already",
        "is it ok to eat pizza w braces? got mine tuesday",
        "necesito ideas para los 70 de mi padre, que es muy de flamenco",
        "¿Me redactas un correo para la profe de mi hijo Hugo? Lleva dos semanas con varicela.",
        "¿qué le regalo a mi vieja? cumple 60 y le gusta el tango",
        "la responsabilidad civil. La tengo que exponer el jueves con Marta",
    ],
)
def test_a_fact_that_needs_the_request_to_be_understood_keeps_it(reader: SentenceReader, said: str) -> None:
    (text,) = kept(reader, said)
    assert text.startswith(said[:40])


def test_a_clause_with_a_pronoun_is_kept_with_the_clause_that_names_the_person(reader: SentenceReader) -> None:
    said = "my aunt has a bad hip so I drive her every week"
    assert kept(reader, said) == ["my aunt has a bad hip I drive her every week"]


def test_a_request_that_only_looks_like_a_refusal_is_kept(reader: SentenceReader) -> None:
    said = "los martes y jueves tengo terapia a las 18 así que ahí no me pongas nada"
    assert kept(reader, said) == [said]


def test_an_amount_of_something_named_before_is_kept_with_it(reader: SentenceReader) -> None:
    said = "Is it true that filter coffee has more caffeine? I drink three cups daily."
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I have a job interview on Monday at 10.", "I have a job interview on Monday (2 March 2026) at 10."),
        ("El martes tengo cita con el dentista.", "El martes (3 de marzo de 2026) tengo cita con el dentista."),
        ("I was in Leeds on Friday.", "I was in Leeds on Friday (27 February 2026)."),
        ("i have piano at 7 on wednesdays", "i have piano at 7 on wednesdays"),
    ],
)
def test_a_weekday_gets_its_date_if_its_tense_is_clear(reader: SentenceReader, said: str, text: str) -> None:
    assert kept(reader, said) == [text]


def test_what_happens_only_under_a_condition_is_not_kept(reader: SentenceReader) -> None:
    assert kept(reader, "lol if i win the lottery im buying a submarine") == []


@pytest.mark.parametrize(
    "said", ["nací en marzo", "my daughter was born in August", "me presento a auxiliar administrativo en mayo"]
)
def test_a_month_gets_no_year_that_was_not_meant(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I have a sister in Bergen.", "She's a nurse at the children's hospital and has three kids."),
        ("I work at the Larkfield library.", "That's where I met my wife Hannah."),
        ("Tengo un hermano.", "Él vive en Córdoba y trabaja de electricista."),
    ],
)
def test_a_sentence_that_refers_back_is_kept_with_the_previous_sentence(reader: SentenceReader, first: str, second: str) -> None:
    assert kept(reader, f"{first} {second}")[-1] == f"{first} {second}"


@pytest.mark.parametrize(
    "said",
    [
        "I live at 12 St. Mary's Road in Leeds.",
        "My thesis advisor is Prof. Lindqvist at Uppsala University.",
        "Vivo con mi tía en la Av. Corrientes, al lado del Dr. Gómez.",
    ],
)
def test_an_abbreviation_does_not_cut_a_sentence(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("my name is Ana and I live in Lyon", ["my name is Ana", "I live in Lyon"]),
        ("Me llamo Lucía y vivo en Rosario.", ["Me llamo Lucía", "vivo en Rosario."]),
    ],
)
def test_each_attribute_of_a_sentence_becomes_a_memory(reader: SentenceReader, said: str, parts: list[str]) -> None:
    assert kept(reader, said) == parts


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Please remember that the spare key is under the blue pot.", "the spare key is under the blue pot."),
        ("Recuerda que mi vuelo sale el 14 de mayo a las 9.", "mi vuelo sale el 14 de mayo de 2026 a las 9."),
    ],
)
def test_a_text_that_the_user_asks_to_remember_is_kept_and_important(reader: SentenceReader, said: str, text: str) -> None:
    (put,) = extract_statements(talk(said), reader)
    assert (put.text, put.reason) == (text, "asked to remember")
    assert put.importance is not None
    assert put.importance >= 8


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (["I'm allergic to penicillin."], "The user is allergic to penicillin."),
        (["been gluten-free since 2021"], 'The user said: "been gluten-free since 2021"'),
        (["A: Do you smoke?", "Yes, ten a day."], 'The user said: "Do you smoke? Yes, ten a day."'),
    ],
    ids=["rule", "no subject", "reply"],
)
def test_a_text_without_a_subject_is_quoted_in_the_third_person(reader: SentenceReader, said: list[str], text: str) -> None:
    assert kept(reader, *said, extract=extract_typed_facts) == [text]


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "[memory] " * 10_000, "<a>" * 20_000, "my dog and " * 40, "`a" * 30_000, "I like tea.\n" * 50]
)
@pytest.mark.timeout(20)
def test_no_text_takes_long_to_read(reader: SentenceReader, text: str) -> None:
    kept(reader, text)


def test_a_damaged_reader_is_an_error_that_says_what_to_do(damaged: LocalReader) -> None:
    with pytest.raises(WeightsCorrupt, match=r"model\.onnx is damaged"):
        damaged.read("I live in Lyon.")


def test_if_the_reader_cannot_be_used_rules_take_over_and_the_job_notes_it(
    damaged: LocalReader, tmp_path: Path, clock: FrozenClock
) -> None:
    store, embedder = SQLiteStore(tmp_path / "memory.db"), make_embedder(HashEmbedder())
    with build_engine(
        store, preset=find_preset("default"), clock=clock, worker="none", sentence_reader=damaged, embedder=embedder
    ) as memory:
        for said in ("I live in Lyon.", "I moved to Oslo. been gluten-free since 2021"):
            _digest(memory, said)
        jobs = memory.jobs()
        live = [found.text for found in memory.memories(user="ana")]
    assert live == ["I moved to Oslo."]
    assert [job.state for job in jobs] == ["done", "done"]
    assert [(job.error or "").count("the sentence reader cannot be used, rules took over") for job in jobs] == [1, 1]


def _digest(memory: Engine, text: str) -> None:
    session = memory.session(user="ana")
    session.add("user", text)
    session.end()
    memory.drain()


@pytest.mark.ledger("X21")
@pytest.mark.parametrize(
    "said",
    [
        "Don't save this: I'm pregnant.",
        "Off the record, I hate my job. I work at the harbor.",
        "I was diagnosed with diabetes last week. Please don't keep any of this.",
        "No guardes esto: estoy embarazada.",
        "Me separé de Julián. Esto no lo apuntes, por favor.",
    ],
)
def test_nothing_is_kept_of_a_message_that_is_off_the_record(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []


@pytest.mark.parametrize("said", ["Between us we have three kids.", "Don't save the file yet, I live in Porto."])
def test_a_sentence_that_only_resembles_an_off_the_record_wish_is_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) != []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param(
            "I work nights at the bakery and I was wondering if you know quiet gyms", "I work nights at the bakery", id="doubt"
        ),
        pytest.param("Tengo tres gatos, ¿me recomendás un arenero bueno?", "Tengo tres gatos", id="question"),
        pytest.param(
            "By the way, my sister lives in Oslo, can you tell me the time there?", "my sister lives in Oslo", id="lead"
        ),
        pytest.param("I moved to Ghent in May, but I'm not sure how to register", "I moved to Ghent in May 2025", id="not sure"),
    ],
)
def test_a_request_after_the_fact_is_cut_off(reader: SentenceReader, said: str, text: str) -> None:
    assert kept(reader, said) == [text]


@pytest.mark.parametrize(
    "said",
    [
        "Never use emojis in your answers, please write plain text only.",
        "From now on write short answers and please do not use any bullet points.",
        "Siempre responde en español, puedes corregir mis errores también.",
    ],
)
def test_an_instruction_keeps_the_request_at_its_end(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("I live in Bern and I want to move to Basel.", id="plan"),
        pytest.param("I like sailing, but only on lakes", id="limit"),
    ],
)
def test_a_sentence_with_two_facts_is_kept_whole(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == [said]


def test_a_sentence_with_the_pronoun_it_is_kept_with_the_previous_sentence(reader: SentenceReader) -> None:
    assert kept(reader, "I play the accordion. Playing it calms me down every evening.")[-1].startswith("I play the accordion.")


@pytest.mark.parametrize(
    ("said", "instruction"),
    [
        ("Could you stop using emojis?", "Stop using emojis."),
        ("would you please always answer in metric units?", "Always answer in metric units."),
        ("¿Puedes dejar de llamarme señora?", "Dejar de llamarme señora."),
        ("¿Podrías responderme siempre en catalán?", "Responderme siempre en catalán."),
    ],
)
def test_a_polite_question_that_asks_for_a_habit_is_an_instruction(reader: SentenceReader, said: str, instruction: str) -> None:
    assert kept(reader, said) == [instruction]


@pytest.mark.parametrize(
    ("said", "instruction"),
    [
        ("please keep your answers shorter", "From now on, please keep your answers shorter."),
        ("Could you be more direct with me?", "From now on, be more direct with me."),
        ("¿Puedes dejar de tratarme de usted?", "A partir de ahora, dejar de tratarme de usted."),
        ("Háblame de tú.", "A partir de ahora, háblame de tú."),
        ("Quiero que me hables con más calma.", "A partir de ahora, quiero que me hables con más calma."),
        ("Deja de justificarte tanto.", "A partir de ahora, deja de justificarte tanto."),
        ("Stop being so polite.", "From now on, stop being so polite."),
        ("Always correct my grammar.", "Always correct my grammar."),
        ("Corrige siempre mi ortografía.", "Corrige siempre mi ortografía."),
    ],
)
def test_a_wish_about_how_the_assistant_talks_holds_from_now_on(reader: SentenceReader, said: str, instruction: str) -> None:
    assert kept(reader, said) == [instruction]


@pytest.mark.parametrize(
    "said",
    [
        "Can you stop the music?",
        "Talk to me about whales.",
        "Háblame de las ballenas.",
        "Can you check your answers?",
        "No me digas!",
        "Respóndeme en una frase: qué es un fotón.",
        "Deja de llorar.",
        "I'd prefer you to book the earlier train.",
        "Could you remove the emojis from this post?",
        "¿Puedes acortar este texto?",
        "¿Me puedes explicar esto?",
    ],
)
def test_a_polite_question_that_asks_for_a_task_is_not_kept(reader: SentenceReader, said: str) -> None:
    assert kept(reader, said) == []


@pytest.mark.parametrize(
    ("said", "kept_part"),
    [
        ("Plan a weekend in Riga with my aunt and my uncle, my aunt can't climb stairs.", "my aunt can't climb stairs."),
        ("What does this mean: I live in Riga with my aunt.", ""),
        ("¿Qué significa esto: vivo en Riga con mi tía?", ""),
        ("I was only joking. I teach chemistry in Riga.", "I teach chemistry in Riga."),
    ],
)
def test_only_the_users_own_clause_of_a_message_is_kept(reader: SentenceReader, said: str, kept_part: str) -> None:
    assert kept(reader, said) == [kept_part] * bool(kept_part)
