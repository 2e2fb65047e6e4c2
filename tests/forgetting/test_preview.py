"""The preview of an erasure, and of forgetting or erasing several memories: it counts what would be removed, and changes nothing."""

from collections.abc import Mapping

import pytest

from holdfast import Engine
from holdfast.by_id.erasing import count_losses
from holdfast.forgetting.preview import ErasureLosses, Losses, losses
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Author, Put, Receipt, Scope
from holdfast.write import Writer

ANA = Scope(user="ana")


def put(memory: Engine, clock: FrozenClock, text: str, *sources: str, id: str | None = None) -> str:
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="digest"), now=clock.now())
        return writer.apply([Put(scope=ANA, kind="fact", text=text, sources=sources, id=id)])[0].id


def count(memory: Engine, *ids: str, erase: bool) -> Losses:
    return losses(services(memory).store, ids, erase=erase)


def test_forgetting_counts_the_memories_and_the_messages_that_are_hidden(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana")
    first, second = session.add("user", "I play the cello."), session.add("user", "I play chess.")
    one, two = put(memory, clock, "cello", first.id), put(memory, clock, "chess", first.id, second.id)
    put(memory, clock, "hobbies", one)
    assert count(memory, one, two, erase=False) == Losses(memories=2, messages=2)
    assert count(memory, one, erase=False) == Losses(memories=1, messages=1)
    assert count(memory, erase=False) == Losses(memories=0)


def test_erasing_also_counts_revisions_and_derived_memories(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana")
    first, second = session.add("user", "I play the cello."), session.add("user", "I play chess.")
    one = put(memory, clock, "cello", first.id)
    put(memory, clock, "cello and viola", id=one)
    other = put(memory, clock, "chess", second.id)
    put(memory, clock, "strings", one)
    put(memory, clock, "hobbies", one, other)
    before = memory.memories(user="ana")
    assert count(memory, one, erase=True) == Losses(memories=1, derived=1, rebuilt=1, revisions=4, messages=1)
    both = count(memory, one, other, erase=True)
    assert (both.memories, both.derived + both.rebuilt, both.revisions, both.messages) == (2, 2, 5, 2)
    assert count(memory, erase=True) == Losses(memories=0)
    assert memory.memories(user="ana") == before, "nothing changed"
    receipt = memory.erase(id=one)
    assert (receipt.memories, receipt.revisions) == (3, 4), "the erasure removes what was counted"


def test_the_count_includes_memories_that_were_forgotten(memory: Engine, clock: FrozenClock) -> None:
    one = put(memory, clock, "cello")
    memory.forget(one)
    assert count(memory, one, erase=True) == Losses(memories=1, revisions=2)


def _filled(memory: Engine, clock: FrozenClock) -> dict[str, str]:
    """Store data of two users, an app and an agent, with a retired memory and memories derived from data of both users."""
    ana, bob = memory.session(user="ana", app="kitchen"), memory.session(user="bob")
    first, second = ana.add("user", "I play the cello."), bob.add("user", "We play chess.")
    forgotten = memory.remember("keeps bees", user="ana", app="kitchen", agent="cook")
    memory.revise(forgotten.id, "keeps many bees")
    memory.forget(forgotten.id)
    memory.remember("the oven runs hot", app="kitchen")
    memory.remember("answers briefly", agent="cook")
    put(memory, clock, "cello", first.id)
    put(memory, clock, "games and music", first.id, second.id)
    return {"memory": forgotten.id, "session": ana.id, "source": first.id}


TARGETS: list[dict[str, str]] = [
    {"user": "ana"},
    {"app": "kitchen"},
    {"agent": "cook"},
    {"user": "ana", "app": "kitchen"},
    {"user": "nobody"},
    {"memory": ""},
    {"session": ""},
    {"source": ""},
]


@pytest.mark.parametrize("target", TARGETS, ids="+".join)
def test_a_preview_counts_what_the_receipt_reports_afterwards(
    memory: Engine, clock: FrozenClock, target: Mapping[str, str]
) -> None:
    ids = _filled(memory, clock)
    wanted = {name: value or ids[name] for name, value in target.items()}
    by_id = {name: wanted.get(name) for name in ("memory", "session", "source")}
    owner = {name: wanted.get(name) for name in ("user", "app", "agent")}
    before = memory.stats()
    found = count_losses(services(memory), memory=by_id["memory"], session=by_id["session"], source=by_id["source"], owner=owner)
    assert memory.stats() == before, "nothing changed"
    receipt = memory.erase(id=by_id["memory"], session=by_id["session"], source=by_id["source"], **owner)
    assert _counts(receipt) == (found.memories + found.rebuilt, found.revisions, found.messages, found.sessions)
    assert any(_counts(receipt)) == (wanted != {"user": "nobody"})


def _counts(receipt: Receipt) -> tuple[int, int, int, int]:
    return receipt.memories, receipt.revisions, receipt.messages, receipt.sessions


def test_a_preview_tells_retired_derived_and_rebuilt_memories_apart(memory: Engine, clock: FrozenClock) -> None:
    _filled(memory, clock)
    found = count_losses(services(memory), owner={"app": "kitchen"})
    # "cello" and "games and music" belong to no app, but were derived from a message of the app.
    assert found == ErasureLosses(memories=3, live=2, derived=1, rebuilt=1, revisions=6, messages=1, sessions=1)


def test_a_preview_of_an_apps_memories_keeps_its_sessions(memory: Engine, clock: FrozenClock) -> None:
    _filled(memory, clock)
    memory.apps.install("kitchen")
    found = count_losses(services(memory), owner={}, memories_of="kitchen")
    assert (found.memories, found.live, found.messages, found.sessions, found.hidden) == (2, 1, 0, 0, 1)
    assert memory.apps.purge("kitchen") == found.live
    assert not services(memory).store.count_memories(MemoryFilter(owner={"app": "kitchen"}, statuses=None))
