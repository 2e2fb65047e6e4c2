"""Compare-and-set, expiry in ``revise``, nested metadata, and filters in every call that accepts them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Conflict, Engine, InvalidInput, RevisionConflict, TextTooLong
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Author, Put
from holdfast.write import Writer

NESTED = {
    "place": {"city": "Lyon", "rooms": [{"name": "kitchen"}, {"name": "hall"}]},
    "n": 2**70,
    "list": [[1], []],
    "none": None,
}


@pytest.mark.ledger("X40")
@pytest.mark.everywhere("sqlite", "postgres")
def test_a_change_needs_the_revision_that_it_names(memory: Engine) -> None:
    tea = memory.remember("prefers tea", user="ana")
    green = memory.revise(tea.id, "prefers green tea", if_revision=1)
    assert green.revision == 2
    with pytest.raises(RevisionConflict, match="has revision 2, not 1") as caught:
        memory.for_user("ana").revise(tea.id, "prefers black tea", if_revision=1)
    assert (caught.value.expected, caught.value.current, caught.value.code) == (1, 2, "revision_conflict")
    assert isinstance(caught.value, Conflict)
    assert memory.get(tea.id).text == "prefers green tea"
    memory.remember("has a cat", user="ana", if_revision=0)
    with pytest.raises(RevisionConflict):
        memory.remember("Has a cat!", user="ana", if_revision=0)  # the same statement
    with pytest.raises(InvalidInput, match="if_revision"):
        memory.remember("has a dog", user="ana", if_revision="0")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="if_revision"):
        memory.revise(tea.id, "x", if_revision="2")  # type: ignore[arg-type]


@pytest.mark.everywhere("sqlite", "postgres")
def test_of_several_writers_with_the_same_revision_one_wins(memory: Engine) -> None:
    counter = memory.remember("0", user="ana")

    def change(n: int) -> bool:
        try:
            memory.revise(counter.id, f"value {n}", if_revision=1)
        except RevisionConflict:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(change, range(8))) == 1


@pytest.mark.everywhere("sqlite", "postgres")
def test_revise_sets_and_removes_an_expiry(memory: Engine, clock: FrozenClock) -> None:
    tea = memory.remember("prefers tea", user="ana")
    soon = clock.now() + timedelta(hours=1)
    changed = memory.revise(tea.id, expires_at=soon)
    assert (changed.expires_at, changed.revision) == (soon, 1)
    assert memory.get(tea.id) == changed
    with pytest.raises(RevisionConflict):
        memory.revise(tea.id, expires_at=soon, if_revision=4)
    kept = memory.revise(tea.id, "prefers green tea")
    assert (kept.expires_at, kept.revision) == (soon, 2)
    assert memory.revise(tea.id, expires_at="never").expires_at is None
    assert memory.revise(tea.id, "tea", expires_at=soon).expires_at == soon
    assert memory.revise(tea.id, "coffee", expires_at="never").expires_at is None
    memory.revise(tea.id, expires_at=soon.isoformat())
    clock.advance(timedelta(hours=2))
    assert memory.memories(user="ana") == []
    with pytest.raises(InvalidInput, match="expires_at"):
        memory.revise(memory.remember("x", user="ana").id, expires_at="soon")


@pytest.mark.everywhere("sqlite", "postgres")
def test_metadata_may_be_nested(memory: Engine, open_memory: Callable[..., Engine]) -> None:
    stored = memory.remember("a house", user="ana", metadata=NESTED)
    assert open_memory().get(stored.id).metadata == NESTED
    assert [found.id for found in memory.memories(user="ana", where={"place.city": "Lyon"})] == [stored.id]
    assert memory.count_memories(user="ana", where={"place.city": {"$ne": "Lyon"}}) == 0
    assert memory.revise(stored.id, metadata={"a": {"b": 1}}).metadata == {"a": {"b": 1}}
    assert all(finding.ok for finding in memory.doctor())


def test_secrets_in_nested_metadata_are_redacted(memory: Engine) -> None:
    stored = memory.remember("a login", user="ana", metadata={"auth": [{"token": "abc123def456ghi789"}]})
    assert stored.metadata == {"auth": [{"token": "[redacted token]"}]}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": {"b": object()}}, "'b' must be JSON"),
        ({"a": [float("nan")]}, "finite number"),
        ({"a": 10**400}, "finite number"),
        ({"a": {1: 2}}, "keys are text"),
        ([1], "mapping"),
    ],
    ids=["object", "nan", "huge number", "number as key", "list"],
)
def test_metadata_that_is_not_json_is_refused(memory: Engine, metadata: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        memory.remember("x", user="ana", metadata=metadata)


def test_metadata_has_limits(memory: Engine) -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(InvalidInput, match="nested too deeply"):
        memory.remember("x", user="ana", metadata=deep)
    with pytest.raises(TextTooLong, match="metadata"):
        memory.remember("x", user="ana", metadata={"a": "x" * 5_000_000})


@pytest.mark.everywhere
def test_recall_takes_every_operator(memory: Engine) -> None:
    for n, room in enumerate(["kitchen", "hall", "garden"]):
        memory.remember(
            f"the lamp of the {room} is number {n}", user="ana", metadata={"room": room, "n": n, "tags": [room, "lamp"]}
        )
    memory.remember("the lamp of nowhere", user="ana")
    memory.drain()

    def rooms(where: dict[str, Any]) -> set[str]:
        return {str(hit.memory.metadata.get("room")) for hit in memory.recall("lamp", user="ana", where=where) if hit.memory}

    assert rooms({"room": {"$in": ["kitchen", "hall"]}}) == {"kitchen", "hall"}
    assert rooms({"room": {"$nin": ["kitchen", "hall"]}}) == {"garden", "None"}
    assert rooms({"$or": [{"n": {"$lt": 1}}, {"tags": {"$contains": "garden"}}]}) == {"kitchen", "garden"}
    assert rooms({"room": {"$exists": False}}) == {"None"}
    assert rooms({"$not": {"n": {"$gte": 1}}}) == {"kitchen", "None"}
    with pytest.raises(InvalidInput, match="Unknown comparison"):
        memory.recall("lamp", user="ana", where={"n": {"$mod": 2}})
    with pytest.raises(InvalidInput, match="Unknown operator"):
        memory.for_user("nobody").recall("lamp", where={"$nor": []})


def test_the_language_of_a_revision_is_the_given_one(memory: Engine) -> None:
    kept = memory.remember("likes green tea in the morning", user="ana")
    service = services(memory)
    with service.store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="test"), now=service.clock.now())
        writer.apply([Put(id=kept.id, scope=kept.scope, kind="fact", text="likes the black tea in the evening", language="fr")])
    assert memory.get(kept.id).language == "fr"
    assert memory.revise(kept.id, "likes the white tea in the evening").language == "en"


@pytest.mark.everywhere("sqlite", "postgres")
def test_counts_follow_writes_expiry_and_time(memory: Engine, clock: FrozenClock) -> None:
    """Counts are cached between writes, so the test requests each count twice. A memory is not counted after it has expired."""

    def counts() -> set[int]:
        return {memory.count_memories(user="ana") for _ in range(2)} | {len(memory.memories(user="ana"))}

    start = clock.now()
    memory.remember("prefers tea", user="ana")
    memory.remember("has a parcel to collect", user="ana", expires_at=start + timedelta(hours=1))
    assert counts() == {2}
    assert {memory.stats().memories, memory.stats().memories_by_kind["fact"]} == {2}
    clock.advance(timedelta(hours=2))
    assert counts() == {1}
    later = memory.remember("lives in Porto", user="ana")
    assert counts() == {2}
    assert memory.count_memories(user="ana", known_at=start + timedelta(minutes=5)) == 2
    memory.forget(id=later.id)
    assert counts() == {1}
    assert memory.stats().retired == {"forgotten": 1}
