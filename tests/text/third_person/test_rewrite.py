"""First-person statements become third-person sentences or quotations, in English and in Spanish."""

import pytest

from holdfast.text.third_person.rewrite import bare_predicate, observed, third_person

ENGLISH = [
    ("I live in Lyon with my wife", "The user lives in Lyon with their wife"),
    ("I'm allergic to peanuts.", "The user is allergic to peanuts."),
    ("I've lived in Berlin since 2015", "The user has lived in Berlin since 2015"),
    ("I don't eat meat.", "The user doesn't eat meat."),
    ("I study law", "The user studies law"),
    ("I was born in Quito", "The user was born in Quito"),
    ("I no longer work at IBM", "The user no longer works at IBM"),
    ("I have two daughters and work as a nurse", "The user has two daughters and works as a nurse"),
    ("I like to run and swim", "The user likes to run and swim"),
    ("I'm 34 and I teach chemistry", "The user is 34 and they teach chemistry"),
    ("I can't stand olives", "The user can't stand olives"),
    ("My sister's name is Julia.", "The user's sister's name is Julia."),
    ("Our cat died last month", "The user's cat died last month"),
    ("Marta is my sister-in-law", "Marta is the user's sister-in-law"),
    ("moved to Lyon last week", "The user moved to Lyon last week"),
    ("the gate code is on the fridge.", "The gate code is on the fridge."),
]
SPANISH = [
    ("Vivo en Lyon y me gusta el té", "El usuario vive en Lyon y le gusta el té"),
    ("Me llamo Lucas.", "El usuario se llama Lucas."),
    ("No como carne.", "El usuario no come carne."),
    ("Me gusta el té verde.", "Al usuario le gusta el té verde."),
    ("no me gusta madrugar", "Al usuario no le gusta madrugar"),
    ("Soy alérgica a los cacahuetes.", "La usuaria es alérgica a los cacahuetes."),
    ("Nací en Oaxaca", "El usuario nació en Oaxaca"),
    ("Me mudé a Bilbao el mes pasado", "El usuario se mudó a Bilbao el mes pasado"),
    ("he dejado el azúcar", "El usuario ha dejado el azúcar"),
    ("toqué la guitarra diez años", "El usuario tocó la guitarra diez años"),
    ("empecé un trabajo nuevo", "El usuario empezó un trabajo nuevo"),
    ("ya no trabajo en IBM", "El usuario ya no trabaja en IBM"),
    ("me levanto a las 6 y voy al gimnasio", "El usuario se levanta a las 6 y va al gimnasio"),
    ("los domingos llamo a mi abuela", "Los domingos el usuario llama a su abuela"),
    ("Mi hermana se llama Julia.", "La hermana del usuario se llama Julia."),
    ("mi trabajo es aburrido", "El trabajo del usuario es aburrido"),
    ("a mi marido no le gusta el pescado", "Al marido del usuario no le gusta el pescado"),
]


@pytest.mark.parametrize(("said", "turned"), ENGLISH)
def test_an_english_statement_is_rewritten_in_the_third_person(said: str, turned: str) -> None:
    assert third_person(said, "en") == turned


@pytest.mark.parametrize(("said", "turned"), SPANISH)
def test_a_spanish_statement_is_rewritten_in_the_third_person(said: str, turned: str) -> None:
    assert third_person(said, "es") == turned


@pytest.mark.parametrize(
    ("said", "language", "turned"),
    [
        ("I live in Lyon with my wife", "en", "Ana lives in Lyon with their wife"),
        ("My dog is called Rex", "en", "Ana's dog is called Rex"),
        ("Me gusta el té", "es", "A Ana le gusta el té"),
        ("Mi perro se llama Rex", "es", "El perro de Ana se llama Rex"),
    ],
)
def test_a_named_speaker_is_shown_instead_of_the_user(said: str, language: str, turned: str) -> None:
    assert third_person(said, language, subject="Ana") == turned


@pytest.mark.parametrize(
    ("said", "language", "reported"),
    [
        ("We decided to paint it green", "en", 'The user said: "We decided to paint it green"'),
        ("Let's use PostgreSQL", "en", 'The user said: "Let\'s use PostgreSQL"'),
        ("never call me sir", "en", 'The user said: "never call me sir"'),
        ("I told you my name", "en", 'The user said: "I told you my name"'),
        ("Hemos decidido pintar la casa.", "es", "El usuario dijo: «Hemos decidido pintar la casa.»"),
        ("tutéame siempre", "es", "El usuario dijo: «tutéame siempre»"),
        ("nos mudamos a Salta", "es", "El usuario dijo: «nos mudamos a Salta»"),
        ("mi jefa me tiene harta", "es", "El usuario dijo: «mi jefa me tiene harta»"),
        ("tengo alergia al polen, ya me la conozco", "es", "El usuario dijo: «tengo alergia al polen, ya me la conozco»"),
        ("cuando haya leído mi hermana el libro", "es", "El usuario dijo: «cuando haya leído mi hermana el libro»"),
        ("los informes largos los detesto, no los abro", "es", "El usuario dijo: «los informes largos los detesto, no los abro»"),
    ],
)
def test_a_clause_that_cannot_be_rewritten_safely_is_quoted(said: str, language: str, reported: str) -> None:
    assert third_person(said, language) == reported


@pytest.mark.parametrize(
    ("said", "language", "key", "value"),
    [
        ("I work at Google.", "en", "work", "works at Google"),
        ("My name is Lucas", "en", "name", "Lucas"),
        ("I'm Dana, nice to meet you", "en", "name", "Dana"),
        ("My sister's name is Julia", "en", "family", "their sister's name is Julia"),
        ("Trabajo en Google.", "es", "trabajo", "trabaja en Google"),
        ("Me llamo Lucas", "es", "nombre", "Lucas"),
        ("Me gusta el té", "es", "preferencia", "le gusta el té"),
        ("Mis hijos van al colegio", "es", "familia", "sus hijos van al colegio"),
        ("Mi cumpleaños es el 3 de mayo.", "es", "cumpleanos", "su cumpleaños es el 3 de mayo"),
    ],
)
def test_the_value_of_a_key_does_not_name_the_speaker(said: str, language: str, key: str, value: str) -> None:
    assert bare_predicate(said, language, key=key) == value


def test_an_observation_about_a_person_names_that_person() -> None:
    assert observed("You seem to prefer mornings.", "en") == "The user seems to prefer mornings."
    assert observed("Rindes mejor por la mañana.", "es") == "El usuario confirmó: «Rindes mejor por la mañana.»"


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("said", ["", " ", "I", "my", "me", "Mi", "...", "I I I", "a mi", "🙂"])
def test_any_text_gives_a_sentence(said: str, language: str) -> None:
    assert isinstance(third_person(said, language), str)
    assert isinstance(bare_predicate(said, language, key="name"), str)
