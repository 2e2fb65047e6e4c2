"""Keys with the same meaning are unified in the spelling that the store already has."""

import pytest

from holdfast.learning.changes.keys import attribute_of, canonical_key, same_key


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
def test_a_key_that_means_something_else_stays_itself(given: str, known: list[str]) -> None:
    assert canonical_key(given, known) == given


def test_a_store_keeps_its_language() -> None:
    assert canonical_key("trabajo") == "trabajo"


def test_an_unknown_key_is_cleaned() -> None:
    assert canonical_key("  Blood Type ") == "blood_type"


def test_the_exact_spelling_wins_over_a_synonym() -> None:
    assert canonical_key("empleo", ["trabajo", "empleo"]) == "empleo"


def test_no_key_is_only_the_same_as_no_key() -> None:
    assert same_key(None, None)
    assert not same_key("trabajo", None)


def test_a_key_tells_which_slot_its_value_fills() -> None:
    assert attribute_of("ubicacion") == "residence"
    assert attribute_of("hobby") is None
