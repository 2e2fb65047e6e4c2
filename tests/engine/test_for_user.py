"""The view of one user (``memory.for_user``): its calls need no scope, and reach no data of other users."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast import AsyncScopedMemory, Engine, InvalidInput, NotFound, ScopedMemory
from holdfast.by_id import memories as by_id
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.types import Retire


@pytest.fixture
def ana(memory: Engine) -> ScopedMemory:
    return memory.for_user("ana")


def test_memories_stored_through_a_view_belong_to_its_user(memory: Engine, ana: ScopedMemory) -> None:
    kept = ana.remember("prefers tea", key="drink")
    ana.session(id="ses_1").add("user", "I live in Lyon now.")
    assert kept.scope.user == "ana"
    assert memory.memories(user="ana") == ana.memories(kind="fact") == [kept]
    assert (ana.count_memories(key="drink"), ana.count_memories(key="pet")) == (1, 0)
    assert [record.id for record in ana.sessions()] == ["ses_1"]
    assert "tea" in ana.context("what to drink?").text
    assert ana.recall("tea")[0].id == kept.id


def test_app_and_agent_narrow_a_view(memory: Engine) -> None:
    robot = memory.for_user("ana", app="garden", agent="robot")
    kept = robot.remember("waters the roses")
    assert (kept.scope.user, kept.scope.app, kept.scope.agent) == ("ana", "garden", "robot")
    assert memory.for_user("ana").memories() == []


@pytest.mark.parametrize("name", ["", " ", None])
def test_a_view_needs_a_user(memory: Engine, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.for_user(name)


def test_ids_of_other_users_are_not_found(memory: Engine, ana: ScopedMemory) -> None:
    foreign = memory.remember("prefers coffee", key="drink", user="bob")
    change = memory.history(foreign.id)[0]
    talk = memory.session(user="bob", id="ses_bob")
    said = talk.add("user", "I live in Rome now.")
    calls: list[Callable[[], object]] = [
        lambda: ana.get(foreign.id),
        lambda: ana.history(foreign.id),
        lambda: ana.revise(foreign.id, "prefers water"),
        lambda: ana.forget(foreign.id),
        lambda: ana.forget(key="drink"),
        lambda: ana.undo(change),
        lambda: ana.erase(id=foreign.id),
        lambda: ana.erase(session="ses_bob"),
        lambda: ana.erase(source=said.id),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert memory.get(foreign.id) == foreign
    assert [message.id for message in talk.messages()] == [said.id]


def test_a_view_changes_what_its_user_has(ana: ScopedMemory) -> None:
    kept = ana.remember("prefers tea", key="drink")
    assert ana.revise(kept.id, "prefers green tea").revision == 2
    assert ana.forget(kept.id) == 1
    assert [memory.text for memory in ana.undo(ana.history(kept.id)[-1])] == ["prefers green tea"]
    assert ana.forget(key="drink", kinds=["fact"]) == 1
    assert ana.get(kept.id).status == "forgotten"
    assert ana.erase(id=kept.id).memories == 1


def test_a_user_cannot_undo_a_batch_that_also_changed_another_users_memory(memory: Engine, ana: ScopedMemory) -> None:
    users = [memory.remember("tea", key="drink", user=user) for user in ("ana", "bob")]
    with services(memory).store.write() as tx:
        changes = [Retire(id=kept.id, status="forgotten", reason="asked") for kept in users]
        by_id.writer(services(memory), tx).apply(changes)
    change = ana.history(users[0].id)[-1]
    with pytest.raises(NotFound):
        ana.undo(change)
    assert len(memory.undo(change)) == 2


def test_erasing_through_a_view_erases_only_its_user(memory: Engine, ana: ScopedMemory) -> None:
    ana.remember("prefers tea")
    memory.remember("prefers coffee", user="bob")
    memory.remember("the kitchen is closed")
    receipt = ana.erase()
    assert (receipt.memories, receipt.verified, dict(receipt.target)) == (1, True, {"user": "ana"})
    assert [found.text for found in memory.memories(user="bob")] == ["the kitchen is closed", "prefers coffee"]
    with pytest.raises(NotFound):
        ana.erase(id="")


def test_a_profile_is_set_through_a_view(ana: ScopedMemory) -> None:
    assert ana.set_user(timezone="Europe/Madrid").user == "ana"
    assert ana.set_user(language="es").timezone == "Europe/Madrid"


def test_forget_needs_either_an_id_or_a_key(ana: ScopedMemory) -> None:
    for given in ({}, {"id": "mem_x", "key": "drink"}):
        with pytest.raises(InvalidInput):
            ana.forget(**given)


def test_a_view_has_every_scoped_call_of_the_engine() -> None:
    parts = {"user", "app", "agent"}
    for name, method in inspect.getmembers(Engine, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        if name.startswith("_") or name == "for_user" or (not parts & {*parameters} and name != "count_memories"):
            continue
        own = {*inspect.signature(getattr(ScopedMemory, name)).parameters}
        expected = {*parameters} - parts - {"shared", "default_user"}  # a view has a user, so nothing in it lacks an owner
        assert own == expected or "wanted" in own, name


def test_the_async_view_has_the_same_calls_and_works(folder: Path, clock: FrozenClock) -> None:
    assert _public(AsyncScopedMemory) == _public(ScopedMemory)

    async def use() -> None:
        async with holdfast.open_async(folder / "memory.db", worker="none", embedder=HashEmbedder(), clock=clock) as memory:
            ana = memory.for_user("ana")
            kept = await ana.remember("prefers tea")
            async with ana.session() as talk:
                await talk.add("user", "I live in Lyon now.")
            assert [found.id for found in await ana.memories(kinds="fact")] == [kept.id]
            assert [record.status for record in await ana.sessions()] == ["ended"]
            with pytest.raises(NotFound):
                await memory.for_user("bob").get(kept.id)

    asyncio.run(use())


def _public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}
