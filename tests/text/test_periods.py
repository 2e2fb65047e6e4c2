"""Periods of time that questions name, as first and last day."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.text.periods import period_of_last_questions, periods_of

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)  # a Sunday


def days(question: str) -> list[tuple[str, str]]:
    """Return the first and last day of each period, without the extra days around it that a search includes."""
    edge = timedelta(hours=14)
    return [
        ((period.start + edge).date().isoformat(), (period.end - edge - timedelta(seconds=1)).date().isoformat())
        for period in periods_of(question, NOW)
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I eat yesterday?", ("2026-11-14", "2026-11-14")),
        ("¿Qué comí ayer?", ("2026-11-14", "2026-11-14")),
        ("¿Con quién hablé anteayer?", ("2026-11-13", "2026-11-13")),
        ("What did I buy 10 days ago?", ("2026-11-04", "2026-11-06")),
        ("What did I plant two weeks ago?", ("2026-10-29", "2026-11-03")),
        ("¿Qué planté hace dos semanas?", ("2026-10-29", "2026-11-03")),
        ("¿Qué compré hace un mes?", ("2026-10-07", "2026-10-24")),
        ("Who did I meet last Tuesday?", ("2026-11-10", "2026-11-10")),
        ("¿A quién vi el martes pasado?", ("2026-11-10", "2026-11-10")),
        ("¿A quién vi el pasado martes?", ("2026-11-10", "2026-11-10")),
        ("Where was I last weekend?", ("2026-11-07", "2026-11-08")),
        ("Where did I go last month?", ("2026-10-01", "2026-10-31")),
        ("¿Dónde estuve el mes pasado?", ("2026-10-01", "2026-10-31")),
        ("¿Qué hice el año pasado?", ("2025-01-01", "2025-12-31")),
        ("How many films in the past three months?", ("2026-08-17", "2026-11-15")),
        ("¿Cuántas películas vi en los últimos 3 días?", ("2026-11-12", "2026-11-15")),
        ("Which museums in March?", ("2026-03-01", "2026-03-31")),
        ("¿Qué museos visité en diciembre?", ("2025-12-01", "2025-12-31")),
        ("What happened on 7 May 2023?", ("2023-05-07", "2023-05-07")),
        ("What happened on May 7th?", ("2026-05-07", "2026-05-07")),
        ("¿Qué pasó el 7 de mayo de 2023?", ("2023-05-07", "2023-05-07")),
        ("What did I note on 2026-01-31?", ("2026-01-31", "2026-01-31")),
        ("Who flew on Valentine's Day?", ("2026-02-14", "2026-02-14")),
        ("¿Qué cené en Nochebuena?", ("2025-12-24", "2025-12-24")),
        ("Where did I live in 2019?", ("2019-01-01", "2019-12-31")),
    ],
)
def test_the_period_that_a_question_names_is_found(question: str, expected: tuple[str, str]) -> None:
    assert days(question) == [expected]


@pytest.mark.parametrize("question", ["What was my last question?", "¿Cuál fue mi última pregunta?", "my previous questions"])
def test_a_query_for_the_last_questions_covers_the_last_year(question: str) -> None:
    (period,) = period_of_last_questions(question, NOW)
    assert period.alone
    assert period.holds(NOW - timedelta(days=200))


@pytest.mark.parametrize("question", ["That was my question.", "What was my last question about Rome?", "my last job"])
def test_other_queries_do_not_ask_for_the_last_questions(question: str) -> None:
    assert period_of_last_questions(question, NOW) == []


@pytest.mark.parametrize(
    "question",
    [
        "How many days ago did I meet Emma?",
        "May I have coffee?",
        "¿Cuántos años tengo?",
        "Who is April?",
        "On 31 February?",
        "",
        "el mar",
    ],
)
def test_questions_without_a_time_name_no_period(question: str) -> None:
    assert days(question) == []


def test_a_day_includes_times_of_other_time_zones() -> None:
    (period,) = periods_of("What did I say yesterday?", NOW)
    assert period.holds(datetime(2026, 11, 13, 14, tzinfo=UTC))
    assert period.holds(datetime(2026, 11, 15, 10, tzinfo=UTC))
    assert not period.holds(datetime(2026, 11, 12, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about yesterday?", "what did I tell you last week", "What did I do yesterday?", "what happened today",
        "¿Qué te conté ayer?", "¿de qué hablamos el martes pasado?", "¿Qué hice ayer?", "¿De qué estuvimos hablando ayer?",
    ],
)  # fmt: skip
def test_a_question_only_for_a_time_asks_for_everything_said_then(question: str) -> None:
    (period,) = periods_of(question, NOW)
    assert period.alone


@pytest.mark.parametrize(
    "question",
    [
        "What did I say about bread yesterday?", "¿Qué compré ayer?", "who called last week?", "How are you today?",
        "¿Cómo estás hoy?", "¿Qué tal hoy?", "what should I do today?", "I am not here today",
    ],
)  # fmt: skip
def test_a_question_for_a_subject_and_a_time_does_not_ask_for_everything(question: str) -> None:
    (period,) = periods_of(question, NOW)
    assert not period.alone
