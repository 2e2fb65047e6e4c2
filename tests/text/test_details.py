"""Finding the details of a text: names, numbers and dates, in any spelling."""

import pytest

from holdfast.text.details import details, find_details, kept, missing


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("We met on 14 March.", "14 march"),
        ("We met on March 14th.", "14 march"),
        ("Quedamos el 14 de marzo.", "14 march"),
        ("Quedamos el 14 de marzo de 2026.", "14 march 2026"),
        ("We met on March 14, 2026.", "14 march 2026"),
        ("Due 2026-03-14.", "14 march 2026"),
        ("Due 14/03/2026.", "14 march 2026"),
        ("Due 03/14/2026.", "14 march 2026"),
        ("Due 03/04/2026.", "03/04/2026"),
        ("I started in May.", "may"),
        ("Empecé en mayo de 2024.", "may 2024"),
        ("See you on Tuesday.", "tuesday"),
        ("Nos vemos el miércoles.", "wednesday"),
        ("It starts at 7:30.", "7:30"),
        ("It starts at 7:30 pm.", "19:30"),
        ("Empieza a las 7 de la tarde.", "19:00"),
        ("Empieza a las cinco y media.", "5:30"),
        ("It costs €42.", "42 €"),
        ("It costs 42 euros.", "42 €"),
        ("Cuesta 42,00 €.", "42 €"),
        ("Son 1.200,50 euros.", "1200.5 €"),
        ("That is $3M a year.", "3m $"),
        ("We ran 3.5 km.", "3.5 km"),
        ("Corrimos 3,5 kilómetros.", "3.5 km"),
        ("About 20% of them.", "20 %"),
        ("Un 20 por ciento.", "20 %"),
        ("I have three weeks left.", "3 weeks"),
        ("Me quedan tres semanas.", "3 weeks"),
        ("There were 12 guests.", "12"),
        ("We use version v2.5.1 now.", "2.5.1"),
        ("Flight IB3166 was late.", "ib3166"),
        ("Call +34 600 123 456.", "34600123456"),
        ("Write to Ana.Ruiz@example.com.", "ana.ruiz@example.com"),
        ("See https://example.org/a?b=1.", "https://example.org/a?b=1"),
        ("It is in notes.pdf somewhere.", "notes.pdf"),
        ('We read "Cold Water Gardens" there.', "cold water gardens"),
        ("Leímos «La casa vacía» juntos.", "la casa vacia"),
        ("I told Rosa about it.", "rosa"),
        ("Rosa is coming.", "rosa"),
        ("Se lo dije a Begoña.", "begona"),
        ("We live in New York now.", "new york"),
        ("I saw Dr. Keller.", "keller"),
        ("She is at the Museum of Modern Art today.", "museum of modern art"),
        ("Estudio en la Universidad de Buenos Aires.", "universidad de buenos aires"),
        ("Rosa's dog bit me.", "rosa"),
        ("GitHub is down.", "github"),
        ("Xabier told me so.", "xabier"),
        ("Xabier and Oihana are here.", "xabier"),
        ("my dog is called bibi", "bibi"),
    ],
)
def test_a_detail_is_found_in_its_common_spelling(text: str, detail: str) -> None:
    assert detail in details(text)


@pytest.mark.parametrize(
    "text",
    [
        "Traffic was awful. Maybe tomorrow.",
        "You may march on if you like.",
        "I think I'm fine, and I'll stay.",
        "Después vemos. Quizá mañana.",
        "THIS IS VERY LOUD INDEED",
        "Dinner is ready!",
        "",
    ],
)
def test_ordinary_words_are_no_details(text: str) -> None:
    assert details(text) == frozenset()


def test_part_of_a_longer_name_is_not_a_separate_detail() -> None:
    assert details("I met Ana Torres. Then Ana left.") == {"ana torres"}


def test_the_end_of_a_date_ends_its_sentence() -> None:
    assert details("It is at 7 pm. Traffic was bad on 14 March. Parking was worse.") == {"19:00", "14 march"}


def test_a_bare_number_is_spelled_with_what_it_counts() -> None:
    found = find_details("We had 12 guests at gate 14.")
    assert (found["12"].full, found["14"].full) == ("12 guests", "gate 14")


def test_code_has_no_details() -> None:
    assert details("Look:\n```\nRosa = 42\n```") == frozenset()


def test_kept_details_are_measured_as_a_share() -> None:
    assert kept("I met Rosa on 14 March for 42 euros.", "Rosa was met on March 14th.") == pytest.approx(2 / 3)


def test_a_text_without_details_counts_as_fully_kept() -> None:
    assert kept("nothing of note", "") == 1.0


def test_a_name_within_a_longer_one_is_not_missing() -> None:
    assert missing({"borges", "lisbon"}, "We stay at Hotel Borges.") == {"lisbon"}


def test_a_huge_text_is_read_quickly() -> None:
    assert "rosa" in details("I told Rosa that 12 guests come on 14 March. " * 3000)
