"""Memories that rules extract from a conversation, in English and Spanish, and text that rules ignore."""

from typing import Any

import pytest

from holdfast import Engine, Memory
from holdfast.testing import FrozenClock


def digested(memory: Engine, *said: str, **how: Any) -> list[Memory]:
    """Return the memories extracted from a session with these user messages."""
    talk = memory.session(user="ana")
    for text in said:
        talk.add(how.get("role", "user"), text, **{name: value for name, value in how.items() if name != "role"})
    talk.end()
    memory.drain()
    assert [job.state for job in memory.jobs()] == ["done"]
    return memory.memories(user="ana")


@pytest.mark.ledger("U2")
@pytest.mark.parametrize(
    "statement",
    [
        "My name is Ana Torres.",
        "I live in Lyon.",
        "I work as a nurse at the harbour clinic.",
        "I moved to Lyon in 2019.",
        "I'm allergic to peanuts.",
        "I am a vegetarian.",
        "I have two daughters.",
        "I prefer tea to coffee.",
        "I don't eat meat.",
        "My sister's name is Julia.",
        "My favourite colour is green.",
        "I was born in 1984 in Quito.",
        "Me llamo Ana.",
        "Vivo en Córdoba desde 2024.",
        "Trabajo como enfermera en el hospital.",
        "Soy alérgica a los cacahuetes.",
        "Tengo dos hijas.",
        "Me gusta el té verde.",
        "Prefiero el té.",
        "Mi hermana se llama Julia.",
        "No como carne.",
        "Mi cumpleaños es el 3 de mayo.",
    ],
)
def test_a_statement_about_oneself_is_kept_as_a_fact(memory: Engine, statement: str) -> None:
    (found,) = digested(memory, statement)
    assert (found.kind, found.text, found.origin) == ("fact", statement, "auto")


@pytest.mark.parametrize(
    ("said", "kept", "kind"),
    [
        ("Remember that the gate code is on the fridge.", "the gate code is on the fridge.", "fact"),
        ("Please don't forget that the cat eats at six.", "the cat eats at six.", "fact"),
        ("Recuerda que la llave está bajo la maceta.", "la llave está bajo la maceta.", "fact"),
        ("Acordate de que la reunión es el lunes.", "la reunión es el lunes (2 de marzo de 2026).", "event"),
    ],
)
def test_a_request_to_remember_is_stored_without_the_request_itself(memory: Engine, said: str, kept: str, kind: str) -> None:
    (found,) = digested(memory, said)
    assert (found.kind, found.text) == (kind, kept)
    assert found.importance >= 8


@pytest.mark.parametrize(
    "said", ["Let's use PostgreSQL for the archive.", "We decided to paint it green.", "Hemos decidido pintar la casa."]
)
def test_a_decision_is_stored_as_a_decision(memory: Engine, said: str) -> None:
    (found,) = digested(memory, said)
    assert (found.kind, found.text) == ("decision", said)


@pytest.mark.ledger("U2")
@pytest.mark.parametrize(
    "said",
    [
        "Do I live in Lyon?",
        "I live in Lyon, right?",
        "If I lived in Lyon I would eat more.",
        "What if I am allergic to peanuts.",
        "Imagine I live in Lyon.",
        "I live on the moon, just kidding.",
        "She said I am a fool.",
        "I have a question about trains.",
        "Thanks a lot, that was great.",
        "Hello there my friend.",
        "¿Vivo en Lyon?",
        "Si viviera en Lyon comería más.",
        "Supongamos que tengo dos hijas.",
        "Tengo una pregunta sobre trenes.",
        "> I live in Lyon.",
        "```\nI live in Lyon.\n```",
    ],
)
def test_questions_hypotheses_quotes_and_small_talk_are_not_extracted(memory: Engine, said: str) -> None:
    assert digested(memory, said) == []


@pytest.mark.ledger("X7")
@pytest.mark.parametrize(
    "how",
    [
        {"role": "assistant"},
        {"role": "tool"},
        {"role": "system"},
        {"origin": "web"},
        {"origin": "tool"},
        {"origin": "file"},
        {"action": "IGNORE"},
    ],
)
def test_text_that_no_user_wrote_is_not_extracted(memory: Engine, how: dict[str, str]) -> None:
    assert digested(memory, "I live in Lyon.", **how) == []


@pytest.mark.ledger("L9")
def test_noise_is_stored_and_neither_learned_from_nor_recalled(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "I live in Lyon with a parrot.", action="IGNORE")
    talk.end()
    memory.drain()
    assert len(talk.messages()) == 1
    assert (memory.memories(user="ana"), memory.recall("Lyon parrot", user="ana")) == ([], [])


@pytest.mark.ledger("X4")
def test_a_memory_names_its_message_and_is_valid_from_its_time(memory: Engine, clock: FrozenClock) -> None:
    talk = memory.session(user="ana")
    message = talk.add("user", "Well, it rains. I live in Lyon. And you?", at="2026-02-03T10:00")
    talk.end()
    memory.drain()
    (found,) = memory.memories(user="ana")
    assert (found.text, found.sources, found.valid_from, found.created_at) == (
        "I live in Lyon.",
        (message.id,),
        message.at,
        clock.now(),
    )
    (change,) = memory.history(found.id)
    assert change.author.actor == "digest"
    assert change.author.prompt
    assert change.author.job == memory.jobs()[0].id


@pytest.mark.ledger("X4")
def test_the_same_statement_again_adds_its_message_to_the_sources(memory: Engine) -> None:
    talk = memory.session(user="ana")
    messages = [talk.add("user", text) for text in ("I live in Lyon.", "As I said: yes.", "I live in Lyon!")]
    talk.end()
    memory.drain()
    (found,) = memory.memories(user="ana")
    assert found.sources == (messages[0].id, messages[2].id)


def test_the_language_is_noted(memory: Engine) -> None:
    (found,) = digested(memory, "Vivo en Córdoba con mi hermana desde el año pasado.")
    assert found.language == "es"


def test_one_message_may_hold_several_statements(memory: Engine) -> None:
    found = digested(memory, "Hi! I live in Lyon. I have two daughters.\nWe decided to paint it green. How are you?")
    assert {m.text for m in found} == {"I live in Lyon.", "I have two daughters.", "We decided to paint it green."}


@pytest.mark.ledger("X6")
def test_a_message_removed_before_its_digestion_leaves_no_memory(memory: Engine) -> None:
    talk = memory.session(user="ana")
    gone = talk.add("user", "I live in Lyon.")
    talk.add("user", "I have two daughters.")
    talk.end()
    memory.erase(source=gone.id)
    memory.drain()
    assert [m.text for m in memory.memories(user="ana")] == ["I have two daughters."]
