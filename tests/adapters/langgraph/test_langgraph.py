"""The LangGraph store: behavior that LangGraph's suite does not cover."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import holdfast
from holdfast.adapters import ITEM

pytest.importorskip("langgraph.store.base", reason="LangGraph is not installed: make test-adapters runs its tests")

from langgraph.store.base import GetOp, PutOp, SearchOp

from holdfast.adapters.langgraph import HoldfastStore

pytestmark = pytest.mark.ledger("X14")
ODD = {"auth": {"token": "abc123def456ghi789"}, "card": "4111 1111 1111 1111", "big": 2**70, "text": " É\n\u200b", "none": None}


@pytest.fixture
def memory(open_memory: Callable[..., holdfast.Engine]) -> holdfast.Engine:
    return open_memory(kinds=[ITEM])


@pytest.fixture
def store(memory: holdfast.Engine) -> HoldfastStore:
    return HoldfastStore(memory)


def test_a_value_is_returned_unchanged(store: HoldfastStore) -> None:
    store.put(("docs",), "k", ODD)
    found = store.get(("docs",), "k")
    assert found.value == ODD
    assert (found.key, found.namespace) == ("k", ("docs",))
    assert store.search(("docs",), filter={"auth": {"token": "abc123def456ghi789"}})[0].value == ODD


def test_items_survive_a_restart(open_memory: Callable[..., holdfast.Engine]) -> None:
    HoldfastStore(open_memory(kinds=[ITEM])).put(("docs",), "k", {"text": "hello"})
    assert HoldfastStore(open_memory()).get(("docs",), "k").value == {"text": "hello"}


def test_a_deleted_item_is_gone_from_the_store(store: HoldfastStore, memory: holdfast.Engine) -> None:
    store.put(("docs",), "k", {"text": "hello"})
    store.delete(("docs",), "k")
    assert store.get(("docs",), "k") is None
    assert memory.memories(kind="item", retired=True) == []


def test_a_new_value_replaces_all_of_the_old_one(store: HoldfastStore, memory: holdfast.Engine) -> None:
    store.put(("docs",), "k", {"color": "red"}, ttl=5)
    store.put(("docs",), "k", {})
    assert store.get(("docs",), "k").value == {}
    assert store.search(("docs",), filter={"color": "red"}) == []
    (stored,) = memory.memories(kind="item", key="k")
    assert (stored.expires_at, stored.tags) == (None, ())


def test_owners_are_separate(memory: holdfast.Engine) -> None:
    shared, ana = HoldfastStore(memory), HoldfastStore(memory, user="ana")
    for store, text in ((shared, "shared"), (ana, "of ana")):
        store.put(("docs",), "k", {"text": text})
    assert [item.value["text"] for item in ana.search(("docs",), query="text")] == ["of ana"]
    assert [item.value["text"] for item in shared.search(("docs",))] == ["shared"]
    memory.erase(user="ana")
    assert ana.get(("docs",), "k") is None
    assert shared.get(("docs",), "k") is not None


def test_a_list_in_a_filter_is_compared_as_a_whole(store: HoldfastStore) -> None:
    store.put(("docs",), "pair", {"tags": ["a", "b"]})
    store.put(("docs",), "one", {"tags": "a"})
    assert [item.key for item in store.search(("docs",), filter={"tags": ["a", "b"]})] == ["pair"]


def test_pages_of_a_query_contain_each_item_once(store: HoldfastStore) -> None:
    store.batch([PutOp(("docs",), f"k{number}", {"text": f"note {number}"}, index=False) for number in range(5)])
    store.batch([PutOp(("docs",), f"n{number}", {"text": f"a note about rivers {number}"}) for number in range(5)])
    pages = [store.search(("docs",), query="rivers", limit=3, offset=offset) for offset in range(0, 12, 3)]
    keys = [item.key for page in pages for item in page]
    assert len(keys) == len(set(keys)) == 10
    assert {item.key for item in pages[0]} <= {f"n{number}" for number in range(5)}
    assert [item.score is None for page in pages for item in page] == [False] * 5 + [True] * 5


def test_an_item_lives_as_long_as_it_is_read(open_memory: Callable[..., holdfast.Engine], clock: Any) -> None:
    memory = open_memory(kinds=[ITEM], clock=None)
    store = HoldfastStore(memory, ttl={"default_ttl": 60.0})
    store.put(("docs",), "k", {"text": "hello"})
    store.put(("docs",), "never", {"text": "hello"}, ttl=None)
    (before,) = memory.memories(kind="item", key="k")
    assert before.expires_at is not None
    assert abs(before.expires_at - datetime.now(UTC) - timedelta(minutes=60)) < timedelta(minutes=1)
    memory.revise(before.id, expires_at=datetime.now(UTC) + timedelta(minutes=1))
    assert store.get(("docs",), "k", refresh_ttl=False) is not None
    assert memory.get(before.id).expires_at < datetime.now(UTC) + timedelta(minutes=2)  # type: ignore[operator]
    assert store.search(("docs",))
    assert memory.get(before.id).expires_at > datetime.now(UTC) + timedelta(minutes=50)  # type: ignore[operator]
    memory.revise(before.id, expires_at=datetime.now(UTC) - timedelta(minutes=1))
    assert store.get(("docs",), "k") is None
    assert [item.key for item in store.search(("docs",))] == ["never"]


def test_a_batch_reads_before_it_writes(store: HoldfastStore) -> None:
    store.put(("docs",), "k", {"n": 1})
    results = store.batch([PutOp(("docs",), "k", {"n": 2}), GetOp(("docs",), "k"), PutOp(("docs",), "k", {"n": 3})])
    assert [None if result is None else result.value for result in results] == [None, {"n": 1}, None]
    assert store.get(("docs",), "k").value == {"n": 3}


def test_async_calls_run_concurrently(store: HoldfastStore) -> None:
    async def use() -> list[Any]:
        await asyncio.gather(*(store.aput(("docs",), f"k{number}", {"n": number}) for number in range(10)))
        return list(await asyncio.gather(*(store.aget(("docs",), f"k{number}") for number in range(10))))

    assert [item.value["n"] for item in asyncio.run(use())] == list(range(10))


def test_invalid_json_is_an_error_and_nothing_is_stored(store: HoldfastStore) -> None:
    with pytest.raises(holdfast.InvalidInput, match="not JSON"):
        store.batch([PutOp(("docs",), "good", {"n": 1}), PutOp(("docs",), "bad", {"n": {1, 2}})])
    assert store.batch([SearchOp(("docs",))]) == [[]]


def test_an_embedder_in_the_index_is_an_error(memory: holdfast.Engine) -> None:
    with pytest.raises(holdfast.InvalidInput, match=r"holdfast\.open\(embedder="):
        HoldfastStore(memory, index={"dims": 3, "embed": len})  # type: ignore[arg-type]
