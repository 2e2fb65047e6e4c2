"""Keys with the same meaning are unified. The store's existing spelling is used."""

import pytest

from holdfast.learning.changes.keys import attribute_of, canonical_key, equal_keys, known_spelling, same_key, split_key


@pytest.mark.ledger("U8")
@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        ("empleo", ["trabajo"], "trabajo"),
        ("laburo", ["trabajo"], "trabajo"),
        ("ocupación", ["trabajo"], "trabajo"),
        ("profesion", ["empleo"], "empleo"),
        ("job", ["work"], "work"),
        ("trabajo", ["work"], "work"),
        ("residencia", ["ubicacion"], "ubicacion"),
        ("Ciudad", ["ubicación"], "ubicación"),
        ("home", ["location"], "location"),
        ("nombre_completo", ["nombre"], "nombre"),
        ("mascotas", ["mascota"], "mascota"),
        ("afición", ["hobby"], "hobby"),
        ("pasatiempo", ["aficion"], "aficion"),
        ("trabajo_actual", ["trabajo"], "trabajo"),
        ("currentJob", ["job"], "job"),
        ("favorite color", ["color_favorito"], "color_favorito"),
        ("recetas", ["receta"], "receta"),
    ],
)
def test_a_key_takes_the_spelling_that_is_known(given: str, known: list[str], expected: str) -> None:
    assert canonical_key(given, known) == expected


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("ciudad_natal", ["ciudad"]),
        ("work_phone", ["work"]),
        ("nombre_del_perro", ["nombre"]),
        ("color", ["color_favorito"]),
        ("edad", ["ciudad"]),
        ("libros", ["libreria"]),
    ],
)
def test_a_key_with_another_meaning_is_not_changed(given: str, known: list[str]) -> None:
    assert canonical_key(given, known) == given


def test_a_store_keeps_its_language() -> None:
    assert canonical_key("trabajo") == "trabajo"


def test_an_unknown_key_is_cleaned() -> None:
    assert canonical_key("  Blood Type ") == "blood_type"


def test_the_exact_spelling_wins_over_a_synonym() -> None:
    assert canonical_key("empleo", ["trabajo", "empleo"]) == "empleo"


def test_a_missing_key_equals_only_another_missing_key() -> None:
    assert same_key(None, None)
    assert not same_key("trabajo", None)


def test_a_key_decides_which_slot_its_value_fills() -> None:
    assert attribute_of("ubicacion") == "residence"
    assert attribute_of("hobby") is None


@pytest.mark.ledger("U3")
@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("cumpleaños: 14 de julio", "cumpleaños", "14 de julio"),
        ("recordá: cumpleaños: 14 de julio", "cumpleaños", "14 de julio"),
        ("Recordá : Talle de zapatillas : 42", "Talle de zapatillas", "42"),
        ("remember: shoe size: 9", "shoe size", "9"),
        ("mi gato: Michi", "mi gato", "Michi"),
        ("fecha de nacimiento: 3/4/90", "fecha de nacimiento", "3/4/90"),
        ("café: sin azúcar", "café", "sin azúcar"),
        ("mamá: vive en Rosario", "mamá", "vive en Rosario"),
        ("preferencia_editor: Neovim", "preferencia_editor", "Neovim"),
        ("nota: comprar yerba", "nota", "comprar yerba"),
    ],
)
def test_a_key_before_a_colon_is_split_from_its_value(text: str, key: str, value: str) -> None:
    assert split_key(text) == (key, value)


@pytest.mark.ledger("U3")
@pytest.mark.parametrize(
    "text",
    [
        "Ojo: no llamar",
        "Cuidado: el perro muerde",
        "Importante: no tocar",
        "Por cierto: mañana no vengo",
        "Heads up: the meeting moved",
        "Warning: hot",
        "Me dijo Ana: no vengas",
        "Hoy: dentista",
        "no: ni loco",
        "mira https://example.org/x",
        "son las 10:30",
    ],
)
def test_a_word_such_as_note_or_a_whole_sentence_before_a_colon_is_no_key(text: str) -> None:
    assert split_key(text) == (None, text)


def test_a_request_without_a_key_leaves_the_text() -> None:
    assert split_key("recordá: soy celíaco") == (None, "soy celíaco")


@pytest.mark.ledger("U8")
def test_keys_are_found_by_spelling_and_by_meaning_only_with_synonyms() -> None:
    known = ["Ubicación", "ubicacion", "ciudad", "trabajo"]
    assert equal_keys("UBICACION", known, synonyms=False) == ["Ubicación", "ubicacion"]
    assert equal_keys("UBICACION", known, synonyms=True) == ["Ubicación", "ubicacion", "ciudad"]
    assert known_spelling("empleo", known, synonyms=True) == "trabajo"
    assert known_spelling("empleo", known, synonyms=False) == "empleo"
    assert known_spelling("ciudad", known, synonyms=True) == "ciudad"
