"""Later sentences that may have made a hit outdated: recall and contexts show them next to the older statement."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.background.changes.possible_changes import PossibleChange, link, possible_changes
from holdfast.config.models import make_sentence_reader
from holdfast.designs import rumi
from holdfast.engine import Engine
from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.protocols import Comparison, Reading
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import SAID_LATER, Author, Hit, Memory, Message
from holdfast.write import Writer

OpenMemory = Callable[..., Engine]
OLD, NEW = "The piano is in the cellar", "The piano went to my nephew."


def _said(memory: Engine, text: str, *, user: str | None = "ana", app: str | None = None) -> Message:
    return memory.session(user=user, app=app).add("user", text)


def _link(memory: Engine, clock: FrozenClock, old: Memory, *changes: tuple[Message, int]) -> None:
    """Record that sentences of messages may have made a memory outdated."""
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="digest"), now=clock.now())
        made = [PossibleChange(memory=old.id, message=message.id, sentence=number) for message, number in changes]
        writer.apply([link(memory.get(old.id), made)], shown=(old.id,))


def _linked(memory: Engine, clock: FrozenClock, new: str = NEW) -> tuple[Memory, Message]:
    old = memory.remember(OLD, user="ana")
    clock.advance(timedelta(days=1))
    message = _said(memory, new)
    _link(memory, clock, old, (message, 0))
    return memory.get(old.id), message


def _found(memory: Engine, *, user: str | None = "ana", app: str | None = None) -> Hit:
    (hit,) = [hit for hit in memory.recall("piano cellar", user=user, app=app) if hit.memory and "cellar" in hit.text]
    return hit


def test_a_memory_stays_and_comes_with_the_sentence_that_may_have_changed_it(memory: Engine, clock: FrozenClock) -> None:
    old, message = _linked(memory, clock)
    assert (old.status, old.text, old.metadata) == ("live", OLD, {SAID_LATER: [[message.id, 0]]})
    assert _found(memory).later == (NEW,)
    assert f"{OLD} (said later: {NEW})" in memory.context("Where is the piano?", user="ana").text


def test_the_phrase_is_in_the_users_language(memory: Engine, clock: FrozenClock) -> None:
    _linked(memory, clock, "El piano se lo llevó mi sobrino.")
    memory.set_user("ana", language="es")
    assert f"{OLD} (dicho después: El piano se lo llevó mi sobrino.)" in memory.context("piano cellar", user="ana").text


def test_a_message_comes_with_what_may_have_changed_its_memory(memory: Engine, clock: FrozenClock) -> None:
    first = _said(memory, "so the piano is down in the cellar now")
    old = memory.remember(OLD, user="ana", sources=[first.id])
    clock.advance(timedelta(days=1))
    _link(memory, clock, old, (_said(memory, NEW), 0))
    hits = memory.recall("so the piano is down in the cellar now", user="ana", kinds=["message"])
    assert [hit.later for hit in hits if hit.id == first.id] == [(NEW,)]


def test_only_the_sentence_of_a_long_message_is_shown_and_at_most_three_sentences(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember(OLD, user="ana")
    clock.advance(timedelta(days=1))
    long = _said(memory, f"{'We talked about the garden and the rain. ' * 6}{NEW}")
    _link(memory, clock, old, (long, 6))
    assert _found(memory).later == (NEW,)
    _link(memory, clock, old, *((_said(memory, f"Piano news {number}."), 0) for number in range(3)))
    assert _found(memory).later == ("Piano news 0.", "Piano news 1.", "Piano news 2.")


@pytest.mark.parametrize("gone", ["forgotten", "erased"])
def test_a_sentence_that_was_forgotten_or_erased_is_not_shown(memory: Engine, clock: FrozenClock, gone: str) -> None:
    _, message = _linked(memory, clock)
    if gone == "erased":
        memory.erase(session=message.session)
    else:
        memory.forget(memory.remember("The nephew has it", user="ana", sources=[message.id]).id)
    assert _found(memory).later == ()
    assert "nephew" not in memory.context("piano cellar", user="ana").text


@pytest.mark.ledger("X8")
def test_a_private_sentence_is_never_shown_next_to_a_shared_memory(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember("The team's piano is in the cellar", app="team")
    clock.advance(timedelta(days=1))
    _link(memory, clock, old, (_said(memory, NEW, user="bob", app="team"), 0))
    assert _found(memory, user="bob", app="team").later == (NEW,)
    assert _found(memory, user="ana", app="team").later == ()


def test_a_recall_of_an_earlier_time_shows_no_later_sentence(memory: Engine, clock: FrozenClock) -> None:
    _linked(memory, clock)
    (hit,) = memory.recall("piano cellar", user="ana", kinds=["fact"], as_of=clock.now() - timedelta(hours=1))
    assert (hit.text, hit.later) == (OLD, ())


def test_a_memory_that_is_stated_again_or_edited_loses_its_later_sentences(memory: Engine, clock: FrozenClock) -> None:
    old, message = _linked(memory, clock)
    memory.remember(OLD, user="ana")
    assert SAID_LATER not in memory.get(old.id).metadata
    _link(memory, clock, old, (message, 0))
    memory.revise(old.id, importance=8)
    assert SAID_LATER in memory.get(old.id).metadata, "the statement is the same"
    memory.revise(old.id, "The old piano is in the cellar")
    assert SAID_LATER not in memory.get(old.id).metadata


@pytest.mark.parametrize("preset", ["rumi", "rostro", "lobug"])
def test_a_design_shows_both_statements_in_one_line(open_memory: OpenMemory, clock: FrozenClock, preset: str) -> None:
    memory = open_memory(preset=preset, embedder="none", chat="none")
    old = memory.remember(OLD, user="ana", key="hogar" if preset == "rumi" else None)
    clock.advance(timedelta(days=1))
    _link(memory, clock, old, (_said(memory, NEW), 0))
    block = memory.context("Where is the piano? In the cellar?", user="ana").text
    assert f"{OLD} (" in block
    assert f": {NEW})" in block


def test_the_list_of_facts_of_rumi_shows_later_sentences(tmp_path: Path, clock: FrozenClock) -> None:
    store = rumi.MemoryStore(tmp_path / "rumi.db", embedder="none", chat="none", clock=clock, worker="none")
    manager, memory = rumi.MemoryManager(store), store.engine
    old = memory.remember(OLD, key="hogar")
    clock.advance(timedelta(days=1))
    _link(memory, clock, old, (memory.session().add("user", NEW), 0))
    assert f"{OLD} (dicho después: {NEW})" in manager.format_for_prompt(manager.load_all())
    store.close()


@pytest.mark.parametrize("preset", ["default", "apps"])
def test_a_sentence_that_possibly_ends_a_memory_is_linked_and_retires_nothing(open_memory: OpenMemory, preset: str) -> None:
    memory = open_memory(preset=preset, embedder="talk-embed-s", chat="none")
    user, app = (None, "diary") if preset == "apps" else ("ana", None)
    for text in ("My son Emil studies law in Vienna.", "Emil took his suitcase from Vienna.", "I bake bread on Sundays."):
        with memory.session(user=user, app=app) as talk:
            talk.add("user", text)
        memory.drain()
    (old,) = [each for each in memory.memories(user=user, app=app) if "Vienna" in each.text]
    (hit,) = [hit for hit in memory.recall("What does Emil study in Vienna?", user=user, app=app) if hit.id == old.id]
    assert hit.later == ("Emil took his suitcase from Vienna.",)


class Alarmist:
    """A reader for which every new sentence ends every older one."""

    name = "alarmist"

    def __init__(self) -> None:
        reader = make_sentence_reader(DEFAULT_READER)
        assert reader is not None
        self._reader = reader

    def read(self, sentence: str, *, before: str = "") -> Reading:
        return self._reader.read(sentence, before=before)

    def compare(self, old: str, new: str) -> Comparison:
        del old, new
        return Comparison(leaves=0.0, repeats=0.0, ends=1.0)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("The piano went to my nephew.", True),
        ("Please play the piano for my nephew.", False),
        ("The piano.", False),
        ("The old piano was sold to a museum in Ghent.", True),
        ("Someone else plays the piano now.", True),
        ("Pianos are expensive these days.", False),
        ("I guess the piano is a nice thing.", False),
    ],
)
def test_only_statements_that_tell_something_are_possible_changes(
    memory: Engine,
    clock: FrozenClock,
    text: str,
    linked: bool,  # noqa: FBT001
) -> None:
    old, used = memory.remember(OLD, user="ana"), services(memory)
    clock.advance(timedelta(days=1))
    found = possible_changes(
        [_said(memory, text)], store=used.store, embedding=used.embedding, reader=Alarmist(), now=clock.now(), kinds=None
    )
    assert [change.memory for change in found] == [old.id] * linked


@pytest.mark.parametrize(("speaker", "linked"), [("Bo", True), ("Cy", False), (None, True)])
def test_a_sentence_changes_only_what_its_speaker_said(
    memory: Engine,
    clock: FrozenClock,
    speaker: str | None,
    linked: bool,  # noqa: FBT001
) -> None:
    old, used = memory.remember(OLD, user="ana", metadata={"speaker": speaker} if speaker else None), services(memory)
    clock.advance(timedelta(days=1))
    message = memory.session(user="ana").add("user", NEW, speaker="Bo")
    found = possible_changes(
        [message], store=used.store, embedding=used.embedding, reader=Alarmist(), now=clock.now(), kinds=None
    )
    assert [change.memory for change in found] == [old.id] * linked


def test_a_memory_that_is_not_the_nearest_must_share_a_word_with_the_sentence() -> None:
    comparer = ClaimComparer(Alarmist())
    assert comparer.may_end(OLD, "My nephew has the piano.", nearest=False)
    assert not comparer.may_end(OLD, "My nephew has a boat.", nearest=False)
    assert comparer.may_end(OLD, "My nephew has a boat.", nearest=True)
    assert not comparer.may_end("Shelf number 1 is for tea.", "Shelf number 2 is for tea.")
    assert not comparer.may_end("My manager is Ada.", "Deepa's manager is Tom.")
