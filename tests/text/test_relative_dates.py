"""Calendar dates are added to relative dates, in English and Spanish."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.text.relative_dates import dates_in, with_dates, with_right_days, with_weekdays
from holdfast.text.stated_dates import begin_and_end

SUNDAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def on(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("I got the keys today.", "I got the keys today (1 March 2026)."),
        ("We got married yesterday!", "We got married yesterday (28 February 2026)!"),
        ("The movers come tomorrow at 9.", "The movers come tomorrow (2 March 2026) at 9."),
        ("She called the day before yesterday.", "She called the day before yesterday (27 February 2026)."),
        ("I fly the day after tomorrow.", "I fly the day after tomorrow (3 March 2026)."),
        ("I broke my glasses last night.", "I broke my glasses last night (28 February 2026)."),
        ("I saw the dentist this morning.", "I saw the dentist this morning (1 March 2026)."),
        ("Last Tuesday I quit.", "Last Tuesday (24 February 2026) I quit."),
        ("I start next Monday.", "I start next Monday (2 March 2026)."),
        ("The exam is this Friday.", "The exam is this Friday (6 March 2026)."),
        ("We moved 10 days ago.", "We moved 10 days ago (19 February 2026)."),
        ("I broke my leg three weeks ago.", "I broke my leg three weeks ago (week of 2 February 2026)."),
        ("The baby is due in two months.", "The baby is due in two months (May 2026)."),
        ("I stopped smoking a year ago.", "I stopped smoking a year ago (2025)."),
        ("I was in Oslo last week.", "I was in Oslo last week (week of 16 February 2026)."),
        ("We bought the boat last month.", "We bought the boat last month (February 2026)."),
        ("I retire next year.", "I retire next year (2027)."),
    ],
)
def test_an_english_date_is_added_after_the_words_that_mean_it(said: str, dated: str) -> None:
    assert with_dates(said, SUNDAY) == dated


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("Hoy me dieron las llaves.", "Hoy (1 de marzo de 2026) me dieron las llaves."),
        ("Ayer nació mi sobrina.", "Ayer (28 de febrero de 2026) nació mi sobrina."),
        ("Anteayer me llamó.", "Anteayer (27 de febrero de 2026) me llamó."),
        ("Pasado mañana vuelo a Salta.", "Pasado mañana (3 de marzo de 2026) vuelo a Salta."),
        ("El martes pasado renuncié.", "El martes pasado (24 de febrero de 2026) renuncié."),
        ("El pasado martes renuncié.", "El pasado martes (24 de febrero de 2026) renuncié."),
        ("Empiezo el lunes que viene.", "Empiezo el lunes que viene (2 de marzo de 2026)."),
        ("El próximo sábado es la boda.", "El próximo sábado (7 de marzo de 2026) es la boda."),
        ("Nos mudamos hace tres semanas.", "Nos mudamos hace tres semanas (semana del 2 de febrero de 2026)."),
        ("Saqué el permiso hace dos años.", "Saqué el permiso hace dos años (2024)."),
        ("Dentro de dos meses nace el bebé.", "Dentro de dos meses (mayo de 2026) nace el bebé."),
        ("El año pasado me operaron.", "El año pasado (2025) me operaron."),
        ("La semana que viene viajo.", "La semana que viene (semana del 2 de marzo de 2026) viajo."),
        ("El mes que viene me caso.", "El mes que viene (abril de 2026) me caso."),
    ],
)
def test_a_spanish_date_is_added_in_spanish(said: str, dated: str) -> None:
    assert with_dates(said, SUNDAY) == dated


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("Mañana me mudo.", ["2026-03-02"]),
        ("mañana por la mañana tengo turno", ["2026-03-02"]),
        ("Esta mañana corrí.", ["2026-03-01"]),
        ("Por la mañana tomo mate.", []),
        ("Trabajo de 8 de la mañana a 4 de la tarde.", []),
        ("Una mañana de enero nevó.", []),
        ("Cada mañana corro.", []),
        ("A media mañana como fruta.", []),
        ("Esa mañana llovía.", []),
        ("A la mañana siguiente nos fuimos.", []),
        ("Todas las mañanas corro.", []),
        ("Pasado mañana viajo.", ["2026-03-03"]),
        ("Llamadas solo por la tarde, nada de mañana.", []),
        ("Cambié al turno de mañana.", []),
        ("Entreno de mañana y estudio de noche.", []),
        ("La reunión de mañana se cancela.", ["2026-03-02"]),
        ("¿Y lo de mañana?", ["2026-03-02"]),
    ],
)
def test_manana_is_tomorrow_unless_it_is_the_morning(said: str, days: list[str]) -> None:
    assert [day.date().isoformat() for day in dates_in(said, SUNDAY)] == days


@pytest.mark.parametrize(
    "said",
    [
        "My last day at work was great.",
        "The next day we flew home.",
        "It rained for the last week.",
        "I lost 3 kilos over the last year.",
        "I work in the last week of May.",
        "This is my last year of school.",
        "Hoy en día vivo solo.",
        "I live in Lyon.",
        "I was born in 1984.",
        "",
    ],
)
def test_words_that_name_no_day_get_no_date(said: str) -> None:
    assert with_dates(said, SUNDAY) == said


@pytest.mark.parametrize(
    "said",
    [
        "We met last Tuesday, 24 February.",
        "We met yesterday (28 February).",
        "Nos vimos ayer, el 28.",
        "Next Monday the 2nd I start.",
    ],
)
def test_a_date_already_in_the_text_is_not_added_again(said: str) -> None:
    assert with_dates(said, SUNDAY) == said


@pytest.mark.parametrize(
    ("at", "said", "dated"),
    [
        ("2024-03-01", "yesterday", "yesterday (29 February 2024)"),
        ("2026-03-01", "yesterday", "yesterday (28 February 2026)"),
        ("2024-02-28", "tomorrow", "tomorrow (29 February 2024)"),
        ("2024-02-29", "a year ago", "a year ago (2023)"),
        ("2024-02-29", "in one year", "in one year (2025)"),
        ("2024-02-29", "a month ago", "a month ago (January 2024)"),
    ],
)
def test_leap_days_are_valid_dates(at: str, said: str, dated: str) -> None:
    assert with_dates(said, on(at)) == dated


@pytest.mark.parametrize(
    ("at", "said", "dated"),
    [
        ("2026-01-31", "next month", "next month (February 2026)"),
        ("2026-03-31", "last month", "last month (February 2026)"),
        ("2026-05-31", "hace tres meses", "hace tres meses (febrero de 2026)"),
        ("2026-08-31", "in one month", "in one month (September 2026)"),
        ("2026-04-30", "tomorrow", "tomorrow (1 May 2026)"),
    ],
)
def test_the_end_of_a_long_month_works_in_a_short_one(at: str, said: str, dated: str) -> None:
    assert with_dates(said, on(at)) == dated


@pytest.mark.parametrize(
    ("at", "said", "dated"),
    [
        ("2027-01-01", "yesterday", "yesterday (31 December 2026)"),
        ("2026-12-31", "mañana", "mañana (1 de enero de 2027)"),
        ("2026-12-15", "next month", "next month (January 2027)"),
        ("2027-01-15", "el mes pasado", "el mes pasado (diciembre de 2026)"),
        ("2027-01-05", "two months ago", "two months ago (November 2026)"),
        ("2027-01-02", "last week", "last week (week of 21 December 2026)"),
        ("2027-01-02", "last year", "last year (2026)"),
    ],
)
def test_the_year_changes_with_the_day(at: str, said: str, dated: str) -> None:
    assert with_dates(said, on(at)) == dated


@pytest.mark.parametrize(
    ("at", "said", "dated"),
    [
        ("2026-11-19", "My hearing is next Friday.", "My hearing is next Friday (27 November 2026)."),
        ("2026-11-19", "My hearing is this Friday.", "My hearing is this Friday (20 November 2026)."),
        ("2026-11-19", "The fair is next Saturday.", "The fair is next Saturday (28 November 2026)."),
        ("2026-11-19", "El juicio es el viernes que viene.", "El juicio es el viernes que viene (27 de noviembre de 2026)."),
        ("2026-11-16", "My hearing is next Friday.", "My hearing is next Friday (20 November 2026)."),
        ("2026-11-22", "My hearing is next Monday.", "My hearing is next Monday (23 November 2026)."),
        ("2026-11-19", "We sail on Tuesday week.", "We sail on Tuesday week (1 December 2026)."),
    ],
)
def test_a_day_of_this_week_that_is_very_near_is_not_the_next_one(at: str, said: str, dated: str) -> None:
    assert with_dates(said, on(at)) == dated


def test_a_date_follows_its_weekday_when_the_weekday_changes() -> None:
    at = on("2026-11-19")
    assert with_right_days("the vet is on Thursday (24 November 2026)", at) == "the vet is on Thursday (26 November 2026)"
    assert with_right_days("el lunes (17 de noviembre de 2026) pagué", at) == "el lunes (16 de noviembre de 2026) pagué"
    assert with_right_days("on Friday (20 November 2026)", at) == "on Friday (20 November 2026)"


def test_a_weekday_named_on_the_same_weekday_means_a_week_later() -> None:
    assert [day.date().isoformat() for day in dates_in("last Sunday, next Sunday", SUNDAY)] == ["2026-02-22", "2026-03-08"]


@pytest.mark.parametrize("said", ["nos mandaron una maqueta para el lunes", "they wanted it by Monday"])
def test_the_weekday_of_a_deadline_is_in_the_future(said: str) -> None:
    assert "2026)" in with_weekdays(said, SUNDAY, future=False)
    assert with_weekdays(said, SUNDAY, future=False) == with_weekdays(said, SUNDAY, future=True)


@pytest.mark.parametrize(
    "said",
    [
        "we meet on Monday, February 27th",
        "nos vemos el lunes, febrero 27",
        "I queued for hours on Black Friday",
        "we have tacos on Taco Tuesday",
        "trabajo el viernes santo",
        "compré la tele el viernes negro",
        "I arrive on a Friday, early",
    ],
)
def test_a_weekday_with_a_date_or_a_name_of_its_own_gets_no_other_date(said: str) -> None:
    assert with_weekdays(said, SUNDAY, future=False) == said


@pytest.mark.parametrize(
    "said", ["it feels like just yesterday", "it seems like yesterday", "parece que fue ayer", "como si fuera ayer"]
)
def test_a_comparison_with_yesterday_gets_no_date(said: str) -> None:
    assert with_dates(said, SUNDAY) == said


def test_a_wish_for_a_day_is_no_comparison() -> None:
    assert with_dates("I would like tomorrow off", SUNDAY) == "I would like tomorrow (2 March 2026) off"


def test_a_weekday_after_a_capitalized_word_that_is_no_name_gets_its_date() -> None:
    assert with_weekdays("On Friday I fly to Oslo", SUNDAY, future=True) == "On Friday (6 March 2026) I fly to Oslo"


def test_several_dates_are_added_each_in_its_place() -> None:
    said = "Yesterday I signed, tomorrow I move."
    assert with_dates(said, SUNDAY) == "Yesterday (28 February 2026) I signed, tomorrow (2 March 2026) I move."


def test_the_day_is_that_of_the_time_zone_in_which_it_was_said() -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert with_dates("today", late) == "today (1 March 2026)"


def test_letters_that_change_their_length_do_not_move_the_date() -> None:
    assert with_dates("İstanbul ﬁne, yesterday 🎉", SUNDAY) == "İstanbul ﬁne, yesterday (28 February 2026) 🎉"


@pytest.mark.parametrize("said", ["999 years ago", "in 999 years", "hace 999 días", "in 999 months"])
def test_a_huge_number_in_a_relative_date_is_not_an_error(said: str) -> None:
    assert len(dates_in(said, SUNDAY)) == 1


@pytest.mark.timeout(10)
def test_a_long_text_is_processed_quickly() -> None:
    assert len(dates_in("yesterday and " * 500, SUNDAY)) == 500


SAID = datetime(2026, 3, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Trabajé en Telmex de 2018 a 2022.", {"happened_at": "2018", "ended_at": "2022"}),
        ("I lived in Oslo from 2015 to 2019.", {"happened_at": "2015", "ended_at": "2019"}),
        ("Estuve en Roma del 3 al 9 de mayo de 2024.", {"happened_at": "2024-05-03", "ended_at": "2024-05-09"}),
        ("I was at KPMG until last June.", {"ended_at": "2025-06"}),
        ("I've been vegan for two years.", {"happened_at": "2024"}),
        ("Llevo tres años en Bilbao.", {"happened_at": "2023"}),
        ("I've been at Acme since May.", {"happened_at": "2025-05"}),
        ("Trabajaré en Siemens desde septiembre.", {"happened_at": "2026-09"}),
        ("My birthday is on 3 May.", {}),
        ("I have to wait for two weeks.", {}),
    ],
)
def test_the_begin_and_end_of_a_state_are_extracted(text: str, dates: dict[str, str]) -> None:
    assert begin_and_end(text, SAID, is_event=False) == dates


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Dejé de fumar en enero.", "2026-01"),
        ("I got married in July.", "2025-07"),
        ("My exam is in July.", "2026-07"),
        ("We'll move in February.", "2027-02"),
        ("El 3 de mayo es mi examen.", "2026-05-03"),
        ("Me operaron el 12 de enero.", "2026-01-12"),
        ("Anteayer me operaron de la rodilla.", "2026-03-16"),
    ],
)
def test_the_tense_completes_a_date_without_a_year(text: str, day: str) -> None:
    assert begin_and_end(text, SAID, is_event=True) == {"happened_at": day}
