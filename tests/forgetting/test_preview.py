"""The preview of forgetting or erasing several memories: it counts what would be removed, and changes nothing."""

from holdfast import Engine
from holdfast.forgetting.preview import Losses, losses
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Author, Put, Scope
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
