"""Changes that a user mentions in passing: a sentence that makes a memory or an earlier message outdated."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast.background.changes.siblings import with_siblings
from holdfast.config.models import make_sentence_reader
from holdfast.engine import Engine
from holdfast.learning.change_reader import ChangeReader, ToldChange, plain_words
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Put

OpenMemory = Callable[..., Engine]


def _tell(memory: Engine, *texts: str) -> None:
    with memory.session(user="ana") as talk:
        for text in texts:
            talk.add("user", text)
    memory.drain()


def _live(memory: Engine) -> str:
    return "\n".join(str(each) for each in memory.memories(user="ana"))


def test_a_sentence_that_ends_a_memory_is_kept_in_its_place(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    _tell(memory, "Remember that the ladder hangs behind the boiler.")
    assert "hangs" in _live(memory)
    _tell(memory, "The ladder is in the barn now, not behind the boiler anymore.")
    assert "barn" in _live(memory)
    assert "hangs" not in _live(memory)


def test_a_related_matter_does_not_end_what_the_user_asked_to_remember(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    _tell(memory, "Remember that the boiler gets serviced in March.", "the oven broke and the repair man comes on Thursday")
    assert "boiler" in _live(memory)


@pytest.mark.parametrize(
    ("turns", "change"),
    [
        (("I live in Leeds.", "How long have you lived there?", "eight years"), "I've moved to York."),
        (("Estudio en la UNED.", "¿Cuánto llevas allí?", "desde 2011"), "He dejado la UNED."),
    ],
)
def test_an_answer_ends_with_the_statement_that_its_question_points_to(
    open_memory: OpenMemory, turns: tuple[str, ...], change: str
) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    with memory.session(user="ana") as talk:
        for place, text in enumerate(turns):
            talk.add("assistant" if place % 2 else "user", text)
    memory.drain()
    assert turns[-1] in _live(memory)
    _tell(memory, change)
    assert turns[-1] not in _live(memory)


def test_an_answer_is_kept_with_its_question_when_another_part_ends(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    with memory.session(user="ana") as talk:
        talk.add("assistant", "Do you have pets?")
        talk.add("user", "Yes, two goats and I work at Acme")
    memory.drain()
    _tell(memory, "I quit my job at Acme.")
    assert "Do you have pets? Yes, two goats" in _live(memory)


def test_rumi_keeps_a_move_under_the_key_of_the_old_home(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="rumi", embedder="talk-embed-s", chat="none")
    _tell(memory, "Vivo en Logroño, cerca del río.")
    _tell(memory, "Nos mudamos el sábado, ahora vivimos en Cuenca.")
    homes = [each for each in memory.memories(user="ana") if each.key == "ubicacion"]
    assert ["Cuenca" in each.text for each in homes] == [True]
    assert "Logroño" not in _live(memory)


def test_a_message_that_is_no_memory_is_shown_with_what_has_changed_since(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="reachy", embedder="talk-embed-s", chat="none")
    talk = memory.session(user="ana")
    talk.add("user", "Could I park there? The van is behind the bakery.")
    talk.add("assistant", "Yes.")
    memory.drain()
    assert not memory.memories(user="ana")
    clock.advance(timedelta(days=3))
    talk.add("user", "The van isn't behind the bakery anymore, I leave it at the school.")
    talk.add("assistant", "All right.")
    memory.drain()
    hits = memory.recall("Could I park there? Where is the van?", user="ana", kinds=["message"])
    old = [hit for hit in hits if hit.text.startswith("Could I park")]
    assert [hit.successor is not None and "school" in hit.successor.text for hit in old] == [True]


def test_a_change_ends_all_memories_that_state_the_claim_of_one_message(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    _tell(memory, "Our choir rehearses in the old mill on Tuesdays.")
    (first,) = memory.memories(user="ana")
    said = 'The user said: "What do you do? Our choir rehearses in the old mill on Tuesdays. Bram brings the cake."'
    second = memory.remember(said, user="ana", origin="auto", sources=first.sources)
    memory.remember("The user plays the viola", user="ana", origin="auto", sources=first.sources)
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    put = Put(scope=first.scope, kind=first.kind, text="Our choir rehearses at the school on Fridays now.", replaces=(first.id,))
    puts, _ = with_siblings([put], [], {}, store=services(memory).store, reader=reader)
    assert puts[-1].replaces == (first.id, second.id), "what else the message says is another claim"
    assert ["Bram brings the cake." in each.text for each in puts[:-1]] == [True], "the rest is still true"


def test_a_meeting_that_both_sentences_name_moves_to_another_day(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="rumi", embedder="talk-embed-s", chat="none")
    _tell(memory, "Anotá que la reunión del consorcio es todos los jueves a las 19.")
    _tell(memory, "La reunión del consorcio pasó para los martes, misma hora.")
    assert "martes" in _live(memory)
    assert "todos los jueves" not in _live(memory)


def test_a_sentence_that_denies_a_change_does_not_replace_the_memory(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="talk-embed-s", chat="none")
    _tell(memory, "Our piano teacher comes on Mondays at six.")
    _tell(memory, "I nearly told the piano teacher to stop coming, but no.")
    assert "Mondays" in _live(memory)


def test_a_reader_keeps_only_the_sentences_that_end_something() -> None:
    inner = make_sentence_reader(DEFAULT_READER)
    assert inner is not None
    told = ChangeReader(inner, lambda _message, _sentence: None)
    told.told[plain_words("They moved the boat to pier nine.")] = ToldChange(area="possession", key="boat")
    assert told.read("They moved the boat to pier nine.").keep > 0.99
    assert told.read("They moved the boat to pier nine.").area == "possession"
    assert told.read("They painted the fence green.") == inner.read("They painted the fence green.")
    assert told.ended_by("moved the boat to pier nine") == ToldChange(area="possession", key="boat")
    assert told.ended_by("nine") is None
