"""The base document is written from durable facts, and never from small talk or from facts that have ended."""

from datetime import timedelta

import pytest

from holdfast.learning.summaries.base_document import distill
from holdfast.learning.summaries.durable import durable_facts, is_notable, without_ended
from holdfast.testing.samples import AT, a_memory


@pytest.mark.ledger("L7")
def test_old_lasting_facts_come_before_newer_trifles() -> None:
    old = a_memory("The user is allergic to penicillin.", valid_from=AT)
    trifles = [
        a_memory(f"The user liked pasta shape number {n}.", valid_from=AT + timedelta(days=n), origin="auto")
        for n in range(1, 60)
    ]
    chosen = durable_facts([*trifles, old], limit=10, newest=3)
    assert old in chosen
    assert len(chosen) == 10
    assert [memory.valid_from for memory in chosen] == sorted(memory.valid_from for memory in chosen)


@pytest.mark.parametrize("text", ["Hello, how are you?", "Thanks, that was great.", "Qué bien.", "Nothing much, just bored."])
def test_small_talk_is_not_notable(text: str) -> None:
    assert not is_notable(text)


@pytest.mark.ledger("L7")
def test_small_talk_of_a_summary_is_not_in_the_document() -> None:
    made = distill("", ["Nothing much, just bored. The user moved to Munich in May. That was nice."], [])
    assert "Munich" in made
    assert "bored" not in made
    assert "nice" not in made


@pytest.mark.ledger("L7")
@pytest.mark.parametrize(
    ("text", "ended", "live", "left"),
    [
        ("The user lives in Berlin. The user has a dog.", ["The user lives in Berlin"], [], "The user has a dog."),
        (
            "## Perfil del usuario\n- Vive en Sevilla.\n- Tiene un perro.",
            ["vive en Sevilla"],
            [],
            "## Perfil del usuario\n- Tiene un perro.",
        ),
        ("The user lives in Berlin.", ["The user lives in Berlin"], ["The user lives in Berlin"], "The user lives in Berlin."),
        ("The user visited Berlin.", ["The user lives in Berlin"], [], "The user visited Berlin."),
    ],
    ids=["sentence", "line", "true-again", "something-else"],
)
def test_sentences_that_state_an_ended_fact_are_left_out(text: str, ended: list[str], live: list[str], left: str) -> None:
    assert without_ended(text, ended, live) == left


@pytest.mark.parametrize(
    "question", ["The user asked: what's the capital of Mongolia?", "El usuario preguntó: ¿cuál es la capital de Perú?"]
)
def test_questions_about_the_world_in_summaries_stay_out_of_the_base_document(question: str) -> None:
    document = distill("", [f"{question} The user said: I work at Airbus."], ["The user lives in Toulouse."])
    assert "capital" not in document
    assert "Airbus" in document


@pytest.mark.ledger("L7")
@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("The user said: My brother marries in May; Tell me a joke.", "The user said: My brother marries in May."),
        ("El usuario dijo: Mi hermano se casa en mayo; Jaja, qué bueno.", "El usuario dijo: Mi hermano se casa en mayo."),
        ("El usuario preguntó: ¿Qué hora es en Tokio?", ""),
    ],
)
@pytest.mark.parametrize("source", ["summary", "document"])
def test_small_talk_that_a_report_quotes_next_to_a_fact_is_left_out(sentence: str, kept: str, source: str) -> None:
    document = distill("", [sentence], []) if source == "summary" else distill(f"## Key History\n- {sentence}", [], ["Name: Noa"])
    quoted = [line.removeprefix("- ") for line in document.splitlines() if "usuario" in line or "said" in line]
    assert [line for line in quoted if not line.startswith("#")] == ([kept] if kept else [])
