"""Statements that the rules keep or drop, in English and Spanish, and the form in which each preset stores them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.learning.capture_by_rules import extract_conclusions, extract_key_values, extract_statements, extract_typed_facts
from holdfast.learning.statements.rulebook import rulebook
from holdfast.learning.statements.statements import Statement, statements
from holdfast.text.language import detect_language
from holdfast.types import Message, MessageOrigin, Put, Scope

_BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def message(text: str, *, role: str = "user", number: int = 0, speaker: str | None = None) -> Message:
    origin: MessageOrigin = "assistant" if role == "assistant" else "user"
    return Message(
        id=f"msg{number}",
        session="ses",
        scope=Scope(user="ana"),
        role=role,
        text=text,
        at=_BEGIN + timedelta(minutes=number),
        seq=number,
        speaker=speaker,
        origin=origin,
        language=detect_language(text),
    )


def talk(*said: str) -> list[Message]:
    """Return the texts as messages. A text that begins with ``A:`` is from the assistant."""
    return [
        message(text.removeprefix("A: "), role="assistant" if text.startswith("A: ") else "user", number=n)
        for n, text in enumerate(said)
    ]


def kept(capture: Callable[[Sequence[Message]], list[Put]], *said: str) -> list[str]:
    return [put.text for put in capture(talk(*said))]


def only(text: str) -> Statement:
    (found,) = statements(message(text))
    return found


@pytest.mark.parametrize(
    ("said", "key", "kind"),
    [
        ("My name's Oliver but everyone calls me Ollie", "name", "fact"),
        ("it's on Tuesday, not on Monday", "note", "fact"),
        ("I've lived in Berlin since 2015", "home", "fact"),
        ("I run a small bakery with my sister", "work", "fact"),
        ("I'm a freelance illustrator", "work", "fact"),
        ("my thesis is about coral bleaching", "study", "fact"),
        ("My wife Hannah is a paramedic", "family", "fact"),
        ("Marta is my sister-in-law", "family", "fact"),
        ("I have a golden retriever named Biscuit", "pet", "fact"),
        ("I can't have dairy", "diet", "fact"),
        ("I have type 1 diabetes", "health", "fact"),
        ("my doctor told me to avoid salt", "health", "fact"),
        ("my favourite band is Radiohead", "preference", "fact"),
        ("from now on answer me in bullet points", "preference", "fact"),
        ("I can't stand olives", "dislike", "fact"),
        ("every Sunday I call my grandmother", "habit", "fact"),
        ("I drive a 2012 Honda Civic", "possession", "fact"),
        ("I know how to weld", "skill", "fact"),
        ("I'm building a mobile app for beekeepers", "project", "fact"),
        ("I have a dentist appointment on Thursday at 4pm", "plan", "event"),
        ("the grant application is due on March 31", "plan", "event"),
        ("my email is lou@example.org", "contact", "fact"),
        ("my mom's birthday is in July", "birthday", "fact"),
        ("for the archive we settled on Postgres", "decision", "decision"),
        ("turns out the router was overheating", "note", "fact"),
        ("todos me dicen Nacho", "nombre", "fact"),
        ("alquilo un depto en Palermo con una amiga", "ubicacion", "fact"),
        ("laburo en un banco", "trabajo", "fact"),
        ("curro en un bar los fines de semana", "trabajo", "fact"),
        ("mi marido es bombero", "familia", "fact"),
        ("tengo una perra que se llama Canela", "mascota", "fact"),
        ("no puedo comer gluten", "dieta", "fact"),
        ("me diagnosticaron TDAH", "salud", "fact"),
        ("me late el mezcal", "preferencia", "fact"),
        ("me mola mucho el cine coreano", "preferencia", "fact"),
        ("no soporto las aceitunas", "disgusto", "fact"),
        ("los domingos llamo a mi abuela", "rutina", "fact"),
        ("me compré una cámara Fuji", "posesion", "fact"),
        ("soy malísima para las matemáticas", "habilidad", "fact"),
        ("estoy desarrollando una app para apicultores", "proyecto", "fact"),
        ("tengo turno con el dentista el jueves a las 16", "plan", "event"),
        ("mi número es 555 0142", "contacto", "fact"),
        ("mi cumple es el 9 de octubre", "cumpleanos", "fact"),
        ("decidimos pintar la cocina de verde", "decision", "decision"),
        ("descubrimos que la fuga venía del tejado", "nota", "fact"),
    ],
)
def test_a_statement_has_a_key_in_its_language_and_a_kind(said: str, key: str, kind: str) -> None:
    found = only(said)
    assert (found.text, found.key, found.kind) == (said, key, kind)


@pytest.mark.parametrize(
    ("said", "quotes"),
    [
        ("By the way since we're talking food, I can't eat gluten", ["I can't eat gluten"]),
        ("Quick question, I'm travelling to Oslo on the 14th - what should I pack?", ["I'm travelling to Oslo on the 14th"]),
        ("I'm vegan, can you suggest a dinner?", ["I'm vegan"]),
        ("hey im dana", ["im dana"]),
        ("Since I'm diabetic, what desserts are ok?", ["I'm diabetic"]),
        ("I live in Lyon and my brother lives in Nice.", ["I live in Lyon", "my brother lives in Nice."]),
        ("My wife and I live in Lyon", ["My wife and I live in Lyon"]),
        ("Did I mention that I'm left-handed?", ["I'm left-handed"]),
        ("my wife's pregnant! Due in November.", ["my wife's pregnant! Due in November."]),
        ("I work at Larkfield and my password there is hunter22", ["I work at Larkfield"]),
        ("una pregunta rápida, viajo a Oslo el 14, ¿qué me llevo?", ["viajo a Oslo el 14"]),
        ("como soy celíaca, ¿qué pido en un italiano?", ["soy celíaca"]),
        ("che, por cierto, soy zurdo", ["soy zurdo"]),
        ("Soy de Rosario pero vivo en Madrid", ["Soy de Rosario", "vivo en Madrid"]),
    ],
)
def test_a_statement_is_extracted_without_the_text_around_it(said: str, quotes: list[str]) -> None:
    assert [found.text for found in statements(message(said))] == quotes


@pytest.mark.parametrize(
    "said",
    [
        "I'm so hungry right now",
        "I'm at the bus stop",
        "I have a headache",
        "I like it",
        "I love that idea",
        "I prefer the second option",
        "write me a poem about the sea",
        "I want you to act as a travel agent",
        "I wish I lived by the sea",
        "My mom says I'm too thin",
        'She told me "I live in Rome"',
        "Yeah right, I'm totally a millionaire /s",
        'Translate "I live in Madrid with my two cats" into French',
        "Proofread this: My name is Karen and I work at Shell.",
        "Write a short story in first person: I am a lighthouse keeper and I live alone.",
        "You're the detective and I'm the suspect. I live in Rome.",
        "I don't want a dog",
        "I might buy a car",
        "I'm thinking about getting a tattoo",
        "my code doesn't work",
        "my coffee is cold",
        "I got an error when running the tests",
        "I have two eggs and some flour, what can I make?",
        "Einstein was born in Ulm",
        "do you remember where I live?",
        "the customer wrote: I am allergic to nuts",
        "[Memories]\n- I work as a diver\n[End of memories]\nhello",
        "<memory>I live in Lyon.</memory> hello",
        "my password is hunter22",
        "estoy cansada",
        "estoy en la parada del bus",
        "me encanta esa idea",
        "prefiero la segunda opción",
        "ojalá viviera en la playa",
        "mi mamá dice que soy muy flaca",
        "sí, claro, soy millonario",
        "Corrige este texto: Me llamo Karen y trabajo en Shell.",
        "juguemos a que soy detective",
        "no quiero un perro",
        "a lo mejor me mudo",
        "mi código no funciona",
        "tengo dos huevos y harina, ¿qué puedo hacer?",
        "Trabajó en Google muchos años",
        "¿te acordás dónde vivo?",
        "la contraseña del correo es Tortuga22",
    ],
)
def test_temporary_quoted_asked_and_secret_text_is_not_kept(said: str) -> None:
    assert statements(message(said)) == []


@pytest.mark.parametrize(
    "said",
    [
        "our plumber is called Anselm",
        "can't do late nights any more",
        "Grandma's hip surgery is in February",
        "our au pair stays with us until August",
        "los miércoles no trabajo",
        "los calamares me sientan fatal",
        "nuestro fontanero se llama Anselmo",
        "acá en el equipo usamos pnpm, nunca npm",
        "al abuelo le operan la rodilla en febrero",
        "el té lo tomo sin leche",
        "la clave del wifi no, pero la red de la cabaña se llama Pinar",
    ],
)
def test_lasting_facts_are_kept_in_any_wording(said: str) -> None:
    assert statements(message(said)) != []


@pytest.mark.parametrize(
    "said",
    [
        "ugh the scanner is jammed again",
        "I ran the script and two steps failed",
        "I was reading about volcanoes",
        "The Nile flows through eleven countries",
        "In chess the rook always moves in straight lines",
        "you always give me long lists",
        "I'm about to hop on a call",
        "my guess is 17",
        "I keep getting the same popup",
        "we should totally open a cafe",
        "never heard of it",
        "my tablet is at 15 percent",
        "You are a patient coach. The athlete is called Max and he is 9.",
        "a farmer sells 12 eggs every week",
        "I asked you for three ideas and you gave me nine",
        "thanks, that fixed it",
        "the third paragraph repeats the second",
        "vi un ciervo en el camino",
        "reinicié el módem y ya va",
        "me da curiosidad cómo vuelan los aviones",
        "el Nilo atraviesa once países",
        "en ajedrez la torre siempre va en línea recta",
        "tengo que irme, hablamos luego",
        "nos quedamos sin pan",
        "eres un entrenador paciente. El atleta se llama Max y tiene 9 años.",
        "te pedí tres ideas y me diste nueve",
        "deberíamos montar un bar jaja",
        "nunca lo había visto",
        "la luz viaja a 300000 km por segundo",
    ],
)
def test_text_that_only_sounds_like_a_statement_is_not_kept(said: str) -> None:
    assert statements(message(said)) == []


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("I'm vegan, anything nice for me near the station?", "I'm vegan"),
        ("mi hijo es alérgico al huevo, me pasas una receta?", "mi hijo es alérgico al huevo"),
    ],
)
def test_a_statement_next_to_a_question_is_kept_without_the_question(said: str, quote: str) -> None:
    assert [found.text for found in statements(message(said))] == [quote]


def test_a_negated_statement_keeps_its_negation() -> None:
    said = "no longer with Craig, we split in May"
    assert only(said).text == said


@pytest.mark.parametrize(
    ("said", "text", "importance"),
    [
        ("please remember: bins go out on Tuesday", "bins go out on Tuesday", 8.0),
        ("I'm allergic to kiwi, please remember that.", "I'm allergic to kiwi", 9.0),
        ("anotá que los nenes tienen natación los miércoles", "los nenes tienen natación los miércoles", 8.0),
        ("soy alérgica al kiwi, no te olvides", "soy alérgica al kiwi", 9.0),
    ],
)
def test_a_memory_stored_on_request_is_more_important(said: str, text: str, importance: float) -> None:
    found = only(said)
    assert (found.text, found.asked, found.importance) == (text, True, importance)


def test_a_health_fact_is_more_important_than_a_taste() -> None:
    assert only("I have asthma").importance > only("I like jazz").importance


@pytest.mark.parametrize(("said", "passing"), [("My flight leaves on Friday at 9", True), ("I live in Lyon", False)])
def test_a_dated_plan_is_temporary(said: str, passing: bool) -> None:  # noqa: FBT001
    assert only(said).temporary is passing


@pytest.mark.parametrize(
    ("said", "last"),
    [
        (["My flight is at 9... sorry, at 10"], "My flight is at 10"),
        (["The meeting is on Monday.", "A: Noted.", "Actually it's Tuesday, not Monday."], "The meeting is on Tuesday."),
        (["My name is Jon.", "Sorry, my name is John."], "my name is John."),
        (
            ["We're going with the walnut table.", "We're going with the oak one instead."],
            "We're going with the oak one instead.",
        ),
        (["Mi vuelo sale el viernes.", "perdón, el domingo"], "Mi vuelo sale el domingo."),
        (["Tengo turno el martes, digo, el jueves"], "Tengo turno el jueves"),
        (["My exam is on 3 and 4 May.", "sorry, on 4 and 5 May"], "My exam is on 4 and 5 May."),
        (["Abrimos del 2 al 9 de julio.", "perdón, del 4 al 11 de julio"], "Abrimos del 4 al 11 de julio."),
        (["My son is called Jonas.", "sorry, Jonah"], "My son is called Jonah."),
    ],
)
def test_of_a_corrected_statement_only_the_last_version_is_kept(said: list[str], last: str) -> None:
    assert kept(extract_statements, *said) == [last]


def test_a_correction_is_held_with_both_messages() -> None:
    (put,) = extract_statements(talk("The meeting is on Monday.", "no, on Tuesday"))
    assert (put.sources, put.valid_from) == (("msg0", "msg1"), _BEGIN + timedelta(minutes=1))


def test_one_speaker_does_not_correct_another() -> None:
    said = [
        message("The meeting is on Monday.", speaker="Ana"),
        message("sorry, on Tuesday", number=1, speaker="Bob"),
    ]
    assert [put.text for put in extract_statements(said)] == ["The meeting is on Monday."]


@pytest.mark.parametrize("retraction", ["just kidding", "haha jk", "es broma", "olvida lo que dije"])
def test_a_retracted_statement_is_not_kept(retraction: str) -> None:
    assert kept(extract_statements, "I have two daughters.", retraction) == []


def test_typed_facts_are_sentences_of_four_types() -> None:
    puts = extract_typed_facts(talk("I live in Lyon.", "I love jazz.", "My flight leaves on Friday.", "We decided to use Rust."))
    assert [(put.kind, put.text, put.metadata["type"]) for put in puts] == [
        ("fact", "The user lives in Lyon.", "personal"),
        ("fact", "The user loves jazz.", "preference"),
        ("fact", "The user's flight leaves on Friday.", "event"),
        ("fact", 'The user said: "We decided to use Rust."', "knowledge"),
    ]


def test_key_value_pairs_contain_only_stable_facts() -> None:
    puts = extract_key_values(talk("Me llamo Lucas.", "Trabajo en Google.", "Mañana viajo a Salta.", "Estoy cansado."))
    assert [(put.kind, put.key, put.text) for put in puts] == [
        ("fact", "nombre", "Lucas"),
        ("fact", "trabajo", "trabaja en Google"),
    ]


def test_conclusions_are_statements_decisions_and_discoveries() -> None:
    puts = extract_conclusions(talk("I'm vegan.", "Let's use Postgres for the archive.", "It turns out the pump was clogged."))
    assert [(put.kind, put.text) for put in puts] == [
        ("conclusion", "The user is vegan."),
        ("conclusion", 'The user said: "Let\'s use Postgres for the archive."'),
        ("conclusion", "It turns out the pump was clogged."),
    ]


@pytest.mark.parametrize(
    ("observed", "answer", "text"),
    [
        ("You seem to prefer mornings.", "Yes, exactly", "The user seems to prefer mornings."),
        ("It sounds like you work best alone, right?", "haha spot on", "The user works best alone"),
        ("Parece que rindes mejor por la mañana.", "tal cual", "El usuario confirmó: «Parece que rindes mejor por la mañana.»"),
        ("Prefieres el tren al avión.", "sí, siempre", "El usuario confirmó: «Prefieres el tren al avión.»"),
    ],
)
def test_an_observation_the_user_confirmed_is_kept_with_both_messages(observed: str, answer: str, text: str) -> None:
    (put,) = extract_conclusions(talk(f"A: {observed}", answer))
    assert (put.text, put.sources, put.trust, put.reason) == (text, ("msg0", "msg1"), 1.0, "confirmed")


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("You seem to prefer mornings.", "not really"),
        ("You seem to prefer mornings.", "no"),
        ("You seem to prefer mornings.", "what makes you say that?"),
        ("Water boils at 100 degrees at sea level.", "ok thanks"),
        ("You can use a for loop here.", "yes, exactly"),
        ("Would you like a list?", "yes"),
        ("Prefieres el tren.", "qué va, el avión"),
        ("Puedes usar un bucle.", "exacto"),
    ],
)
def test_an_unconfirmed_observation_about_the_user_is_not_kept(said: str, answer: str) -> None:
    assert kept(extract_conclusions, f"A: {said}", answer) == []


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "[memory] " * 10_000, "<a>" * 20_000, "my dog and " * 40, "`a" * 30_000, "I like tea.\n" * 300]
)
@pytest.mark.timeout(20)
def test_no_text_takes_long_to_read(text: str) -> None:
    statements(message(text))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Mi vuelo sale el martes, no el lunes.", "martes"),
        ("No, el examen de manejo es el 23 de agosto, no el 13.", "23 de agosto"),
        ("Mi vuelo sale el martes, no, el miércoles.", "miércoles"),
    ],
)
def test_a_rejected_value_does_not_replace_the_value(said: str, kept: str) -> None:
    (put,) = extract_statements([message(said)])
    assert kept in put.text.replace(", no el 13", "").replace(", no el lunes", "")


def test_facts_with_different_keys_stay_apart() -> None:
    assert [found.text for found in statements(message("I don't eat meat and I live in Oslo"))] == [
        "I don't eat meat",
        "I live in Oslo",
    ]


def test_a_clause_about_something_named_before_it_is_kept_with_it() -> None:
    said = "how do you get to Pollokshields? that's where I live now"
    assert only(said).text == said


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("is hunter2 a good password? that's where I live now", "hunter2"),
        ("I live in Oslo, my pin is 1234, we have a dog", "1234"),
    ],
)
def test_a_secret_is_kept_neither_as_context_nor_with_its_neighbors(said: str, secret: str) -> None:
    assert secret not in " ".join(found.text for found in statements(message(said)))


def test_a_message_of_unknown_language_is_read_with_the_rules_of_both_languages() -> None:
    assert [detect_language(text) for text in ("Vivo en Lyon", "im vegan")] == [None, None]
    assert [only(text).language for text in ("Vivo en Lyon", "im vegan")] == ["es", "en"]


@pytest.mark.parametrize(
    ("clause", "states"),
    [("i have asthma", True), ("i have asthma right now", False), ("maybe i have asthma", False), ("the sky is blue", False)],
)
def test_a_clause_states_something_if_a_rule_matches_and_it_is_neither_momentary_nor_vague(clause: str, states: bool) -> None:  # noqa: FBT001
    assert rulebook("en").states(clause) is states


@pytest.mark.parametrize(
    ("time", "is_added"),
    [("Due in the first week of November this year.", True), ("Due in the first week of November of this year.", False)],
)
def test_a_short_sentence_with_a_time_belongs_to_the_statement_before_it(time: str, *, is_added: bool) -> None:
    (found,) = statements(message(f"My sister is pregnant. {time}"))
    assert found.text == (f"My sister is pregnant. {time}" if is_added else "My sister is pregnant.")
