"""Memories that are derived again after one of their sources was erased: summaries, the base document and topic notes."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.config.models import make_sentence_reader
from holdfast.errors import StoreClosed
from holdfast.forgetting.erase import Erasing, erase
from holdfast.forgetting.rebuild import ReadAgain
from holdfast.learning.capture import Extractor
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Author, Memory, Put, Scope
from holdfast.write import Writer

OpenMemory = Callable[..., Engine]
ANA = Scope(user="ana")
LOST = "The crate of zarzamora stays in Porto."


def put(memory: Engine, clock: FrozenClock, text: str, **more: Any) -> Memory:
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="digest"), now=clock.now())
        return writer.apply([Put(scope=ANA, text=text, **more)])[0]


def of_kind(memory: Engine, kind: str) -> list[Memory]:
    return memory.memories(user="ana", kind=kind)


def test_a_summary_is_written_again_from_the_messages_that_remain(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana")
    kept = session.add("user", "We are going to paint the shed green in spring.")
    clock.advance(timedelta(hours=1))
    lost = session.add("user", LOST)
    other = memory.session(user="ana").add("user", "My sister plays the cello in an orchestra.")
    metadata = {"from": kept.seq, "to": lost.seq, "session": session.id, "about": "zarzamora"}
    before = put(
        memory, clock, "The shed, and a crate of zarzamora.", kind="summary", importance=8.0, tags=("shed", "zarzamora"),
        sources=(kept.id, lost.id), metadata=metadata,
    )  # fmt: skip
    receipt = memory.erase(source=lost.id)
    assert (receipt.verified, receipt.rebuilt, receipt.messages) == (True, 1, 1)
    (after,) = of_kind(memory, "summary")
    assert after.id != before.id
    assert "shed" in after.text
    assert "cello" not in after.text, f"{other.id} was no source"
    assert (after.importance, after.tags, after.sources, after.valid_from) == (8.0, ("shed",), (kept.id,), kept.at)
    assert after.metadata == {"from": kept.seq, "to": lost.seq, "session": session.id}, "the same range counts as summarized"
    (change,) = memory.history(after.id)
    assert (change.reason, change.author.actor) == ("derived again after an erasure", "erase")


def test_a_summary_of_erased_messages_alone_is_not_written_again(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana")
    lost = [session.add("user", LOST), session.add("user", "The key is under the mat.")]
    put(memory, clock, "A crate and a key.", kind="summary", sources=tuple(each.id for each in lost))
    receipt = memory.erase(session=session.id)
    assert (receipt.memories, receipt.rebuilt, receipt.messages, receipt.sessions) == (1, 0, 2, 1)
    assert of_kind(memory, "summary") == []


def test_a_retired_summary_is_not_written_again(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana")
    kept, lost = session.add("user", "We paint the shed green."), session.add("user", LOST)
    summary = put(memory, clock, "The shed, and a crate.", kind="summary", sources=(kept.id, lost.id))
    memory.forget(summary.id)
    receipt = memory.erase(source=lost.id)
    assert (receipt.verified, receipt.rebuilt) == (True, 0)
    assert memory.memories(user="ana", retired=True) == []


def test_the_base_document_is_distilled_again_from_the_remaining_summaries_and_facts(memory: Engine, clock: FrozenClock) -> None:
    base = memory.preset.base
    assert base is not None
    session = memory.session(user="ana")
    kept, lost = session.add("user", "I moved to Lisbon in May to work at Acme."), session.add("user", LOST)
    first = put(memory, clock, "The user moved to Lisbon in May 2021 to work at Acme.", kind="summary", sources=(kept.id,))
    clock.advance(timedelta(hours=1))
    second = put(memory, clock, "A crate of zarzamora stays in Porto.", kind="summary", sources=(lost.id,))
    fact = put(memory, clock, "My sister plays the cello", kind="fact")
    clock.advance(timedelta(hours=1))
    newer = put(memory, clock, "My brother paints boats", kind="fact")
    put(
        memory, clock, "Lisbon, the crate of zarzamora and a cello.", kind=base.kind, key=base.key,
        sources=(first.id, second.id, fact.id, newer.id),
    )  # fmt: skip
    assert memory.erase(source=lost.id).verified
    (after,) = of_kind(memory, base.kind)
    assert ("Lisbon" in after.text, "cello" in after.text, "zarzamora" in after.text) == (True, True, False)
    assert (after.key, after.sources) == (base.key, (first.id, fact.id, newer.id))
    assert after.valid_from == newer.valid_from


def test_a_base_document_without_other_sources_is_gone(memory: Engine, clock: FrozenClock) -> None:
    base = memory.preset.base
    assert base is not None
    lost = memory.session(user="ana").add("user", LOST)
    summary = put(memory, clock, "A crate of zarzamora stays in Porto.", kind="summary", sources=(lost.id,))
    put(memory, clock, "The crate of zarzamora.", kind=base.kind, key=base.key, sources=(summary.id, "mem_unknown"))
    memory.erase(source=lost.id)
    assert of_kind(memory, base.kind) == []


def test_the_note_on_a_topic_is_written_again_from_its_remaining_memories(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="rostro")
    topics = memory.preset.topics
    assert topics is not None
    assert topics.recent_kind is not None
    lost = memory.session(user="ana").add("user", LOST)
    gone = put(memory, clock, "A crate of zarzamora in Porto", kind="conclusion", topic="shed", sources=(lost.id,))
    stays = put(memory, clock, "The shed is painted green", kind="conclusion", topic="shed")
    note = put(
        memory, clock, "zarzamora, shed", kind=topics.recent_kind, key="shed", topic="shed", sources=(gone.id, stays.id),
        valid_from=clock.now() - timedelta(days=1),
    )  # fmt: skip
    assert memory.erase(source=lost.id).verified
    (after,) = of_kind(memory, topics.recent_kind)
    assert "zarzamora" not in after.text
    assert "shed" in after.text
    assert (after.key, after.topic, after.sources) == ("shed", "shed", (stays.id,))
    assert after.valid_from == note.valid_from
    memory.erase(id=stays.id)
    assert of_kind(memory, topics.recent_kind) == []


def test_the_results_of_the_sentence_reader_are_kept_with_the_messages_that_it_read(memory: Engine) -> None:
    said = memory.session(user="ana").add("user", "My sister plays the cello in an orchestra.")
    extractor, reader = memory.preset.extractor, make_sentence_reader("talk-reader-s")
    assert isinstance(extractor, Extractor)
    assert reader is not None
    read = ReadAgain.of(extractor, [said], reader)
    assert read.messages == {said.id}
    assert [each.sources for each in read.puts] == [(said.id,)]


def test_an_erasure_of_a_store_that_is_closed_meanwhile_says_so(memory: Engine, clock: FrozenClock) -> None:
    store, id = services(memory).store, memory.remember("keeps bees", user="ana").id

    def close() -> tuple[Path, ...]:
        store.close()
        return ()

    with pytest.raises(StoreClosed):
        erase(store, memory.preset, {"memory": id}, Erasing(now=clock.now(), files=close))


def test_a_restated_memory_keeps_its_namespace_trust_and_origin_when_it_loses_tags(memory: Engine) -> None:
    session = memory.session(user="ana")
    first, second = session.add("user", f"I live in Porto. {LOST}"), session.add("user", "Again: I live in Porto.")
    options: dict[str, Any] = {"user": "ana", "namespace": ["homes"], "trust": 0.7}
    made = memory.remember("lives in Porto", sources=[first.id], tags=["porto", "zarzamora"], **options)
    memory.remember("lives in Porto", sources=[second.id], **options)
    before = memory.get(made.id)
    assert memory.erase(source=first.id).verified
    (after,) = memory.memories(user="ana")
    assert (after.id, after.tags, after.trust) == (made.id, ("porto",), 0.7)
    assert (after.namespace, after.origin, after.expires_at) == (before.namespace, before.origin, before.expires_at)
