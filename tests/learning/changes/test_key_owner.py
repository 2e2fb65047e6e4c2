"""A statement about a relative is not stored under one of the user's own keys, such as ``job``."""

import pytest

from holdfast.learning.changes.key_owner import key_of_owner


@pytest.mark.ledger("U2")
@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("trabajo", "su hermana es médica", "familia"),
        ("empleo", "el padre del usuario trabaja en el ferrocarril", "familia"),
        ("ubicacion", "su primo vive en Salta", "familia"),
        ("nombre", "su perro se llama Toto", "mascota"),
        ("work", "their aunt works at Siemens", "family"),
        ("residence", "The user's brother lives in Oslo.", "family"),
        ("trabajo", "su jefa vive en Oslo", "gente"),
    ],
)
def test_a_relative_gets_a_key_of_their_own(key: str, text: str, expected: str) -> None:
    assert key_of_owner(key, text) == expected


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("trabajo", "médica"),
        ("trabajo", "trabaja en Telmex"),
        ("trabajo", "trabaja en un banco y su mujer es arquitecta"),
        ("familia", "su hermana es médica"),
        ("hermana", "es médica"),
        ("proyecto", "su hermana lo ayuda con el sitio"),
        ("nota", "su hermana es médica"),
    ],
)
def test_facts_about_the_user_and_keys_that_name_no_attribute_keep_their_key(key: str, text: str) -> None:
    assert key_of_owner(key, text) == key
