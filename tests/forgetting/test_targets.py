"""The targets of an erasure: the rows it names, the rows derived from them, and the rows that stay."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from holdfast import Engine
from holdfast.forgetting.records import counted, mark_of
from holdfast.forgetting.targets import MEMORIES_OF_APP, ErasureTargets, find_targets, is_restated, owner_of
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.testing.samples import a_memory
from holdfast.types import Author, Put, Receipt, Scope
from holdfast.write import Writer

ANA = Scope(user="ana")


def derive(memory: Engine, clock: FrozenClock, text: str, *sources: str, scope: Scope = ANA) -> str:
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="digest"), now=clock.now())
        return writer.apply([Put(scope=scope, kind="fact", text=text, sources=sources)])[0].id


def found(memory: Engine, target: Mapping[str, str], scope: Scope | None = None) -> ErasureTargets:
    return find_targets(services(memory).store, target, scope)


def test_everything_derived_is_found_through_all_derivation_steps(memory: Engine, clock: FrozenClock) -> None:
    said = memory.session(user="ana").add("user", "My sister plays the cello.")
    first = derive(memory, clock, "first", said.id)
    second = derive(memory, clock, "second", first)
    third = derive(memory, clock, "third", second)
    other = derive(memory, clock, "other")
    targets = found(memory, {"source": said.id})
    assert (targets.messages, targets.memories, set(targets.mixed)) == ({said.id}, {first, second, third}, set())
    assert targets.removed == {said.id, first, second, third}
    assert other not in targets.removed
    assert {"first", "second", "third", "My sister plays the cello."} <= set(targets.texts)


def test_a_memory_with_another_source_is_made_again(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana", id="s1")
    gone, stays = session.add("user", "I play the cello."), memory.session(user="ana", id="s2").add("user", "I play chess.")
    mixed = derive(memory, clock, "cello and chess", gone.id, stays.id)
    above = derive(memory, clock, "hobbies", mixed)
    targets = found(memory, {"session": "s1"}, ANA)
    assert (set(targets.mixed), targets.sessions, targets.messages) == ({mixed, above}, {("s1", ANA)}, {gone.id})
    assert targets.removed == {gone.id, mixed, above}


@pytest.mark.ledger("X5")
def test_a_memory_derived_from_a_mixed_memory_loses_the_erased_part(
    memory: Engine, clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    gone = memory.session(user="ana", id="s1").add("user", "Zarzalejo has my cello.")
    stays = memory.session(user="ana", id="s2").add("user", "I play chess.")
    mixed = derive(memory, clock, "chess, and a cello at Zarzalejo", gone.id, stays.id)
    derive(memory, clock, "hobbies at Zarzalejo", mixed)
    derive(memory, clock, "chess", stays.id)
    receipt = memory.erase(session="s1")
    assert receipt.verified
    assert [each.text for each in services(memory).store.memories(MemoryFilter(statuses=None))] == ["chess"]
    assert files_with("Zarzalejo") == []


def test_the_owner_of_a_target_consists_of_user_app_and_agent() -> None:
    assert owner_of({"user": "ana", "app": "a", "agent": "b", "memory": "m"}) == {"user": "ana", "app": "a", "agent": "b"}
    assert owner_of({MEMORIES_OF_APP: "a"}) == owner_of({"session": "s"}) == {}


@pytest.mark.parametrize("part", ["user", "app", "agent"])
def test_a_part_of_a_scope_is_found_with_its_sessions_and_no_others(memory: Engine, clock: FrozenClock, part: str) -> None:
    names: list[dict[str, Any]] = [{part: "mine"}, {part: "other"}]
    mine, other = (Scope(**name) for name in names)
    for scope in (mine, other):
        memory.session(id=f"of-{getattr(scope, part)}", **{part: getattr(scope, part)}).add("user", "hi")
    kept = derive(memory, clock, "of the other", scope=other)
    own = derive(memory, clock, "of mine", scope=mine)
    targets = found(memory, {part: "mine"})
    assert (targets.memories, targets.sessions) == ({own}, {("of-mine", mine)})
    assert len(targets.messages) == 1
    assert kept not in targets.removed


def test_erasing_the_memories_of_an_app_hides_its_messages_and_keeps_its_sessions(memory: Engine, clock: FrozenClock) -> None:
    said = memory.session(id="s1", user="ana", app="a").add("user", "I play the cello.")
    own = derive(memory, clock, "of the app", scope=Scope(user="ana", app="a"))
    memory.apps.install("a")
    memory.apps.purge("a")
    store = services(memory).store
    assert store.memories(MemoryFilter(ids=[own], statuses=None)) == []
    assert [each.action for each in store.messages(MessageFilter(ids=[said.id]))] == ["forgotten"]
    assert store.session("s1", Scope(user="ana", app="a")) is not None


@pytest.mark.parametrize(
    ("sources", "same", "stays"),
    [
        ([("gone",), ("gone", "kept")], True, True),
        ([("gone",), ("gone", "kept")], False, False),
        ([("kept",), ("kept", "gone")], True, True),
        ([("gone",), ("gone", "gone2")], True, False),
        ([("gone",)], True, False),
        ([("gone",), ("gone",)], True, False),
    ],
)
def test_a_memory_stays_if_a_remaining_source_states_its_text(sources: list[tuple[str, ...]], *, same: bool, stays: bool) -> None:
    hashes = ["h"] * len(sources) if same else [f"h{number}" for number in range(len(sources))]
    revisions = [a_memory("x", sources=each, content_hash=hash) for each, hash in zip(sources, hashes, strict=True)]
    assert is_restated(revisions, {"gone", "gone2"}) is stays


def test_a_receipt_counts_rows_by_table_and_nothing_else(clock: FrozenClock) -> None:
    receipt = counted(Receipt(id="r", target={}, at=clock.now()), {"memories": 1, "messages": 2, "vectors": 3, "terms": 9})
    assert (receipt.memories, receipt.messages, receipt.vectors, receipt.sessions) == (1, 2, 3, 0)


def test_the_hash_of_an_erased_name_depends_on_the_secret_and_the_scope() -> None:
    assert mark_of("00" * 16, {"memory": "mem_1"}, None) == "mem_1"
    assert mark_of("00" * 16, {"source": "msg_1"}, None) == "msg_1"
    marks = {
        mark_of("00" * 16, {"user": "ana"}, None),
        mark_of("11" * 16, {"user": "ana"}, None),
        mark_of("00" * 16, {"user": "ana", "app": "a"}, None),
        mark_of("00" * 16, {"session": "ana"}, ANA),
        mark_of("00" * 16, {"session": "ana"}, Scope(user="bob")),
        mark_of("", {"user": "ana"}, None),
    }
    assert len(marks) == 6
    assert all(len(mark) == 32 and "ana" not in mark for mark in marks)


def test_erasing_the_memories_of_an_app_removes_every_trace_of_the_app(memory: Engine) -> None:
    memory.apps.install("a")
    traced = {app: memory.context("zarzamora", user="ana", app=app).trace for app in ("a", "b")}
    memory.remember("plays the cello", user="ana", app="a")
    assert [each.id for each in memory.traces(user="ana", app="a")] == [traced["a"]]
    memory.apps.purge("a")
    assert memory.traces(user="ana", app="a") == []
    assert [each.id for each in memory.traces(user="ana", app="b")] == [traced["b"]]
