"""Caches of user text: an erasure in any process clears them, and the embedder stays loaded."""

import functools
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast import Engine
from holdfast.recall.caches import TEXT_CACHES, QueryCache, count_erasure
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock, HashEmbedder
from tests.runtime.forking import in_a_forked_child

OpenMemory = Callable[..., Engine]
QUERY = "what is the zorblax diagnosis of bob?"
KEPT = ("hash-256", QUERY)
CHILD = """
import sys
from holdfast import open
from holdfast.recall.caches import TEXT_CACHES
from holdfast.services import services
from holdfast.testing import HashEmbedder

with open(sys.argv[1], embedder=HashEmbedder(), worker="thread") as memory:
    memory.remember("bob likes tea", user="bob")
    memory.drain()
    memory.recall(sys.argv[2], user="bob")
    held = ("hash-256", sys.argv[2]) in services(memory).embedding.queries
    print(held, flush=True)
    for _ in range(100):
        if not services(memory).embedding.queries and not any(cached.cache_info().currsize for cached in TEXT_CACHES):
            break
        __import__("time").sleep(0.1)
    print(len(services(memory).embedding.queries), sum(cached.cache_info().currsize for cached in TEXT_CACHES), flush=True)
"""


def asked(memory: Engine) -> Engine:
    """Return a memory whose engine has cached the vector of the query."""
    memory.remember("bob likes tea", user="bob")
    memory.recall(QUERY, user="bob")
    assert KEPT in services(memory).embedding.queries
    return memory


@pytest.mark.ledger("X5")
def test_erasing_empties_the_cache_and_does_not_reload_the_embedder(open_memory: OpenMemory) -> None:
    loaded: list[HashEmbedder] = []

    def load() -> HashEmbedder:
        loaded.append(HashEmbedder())
        return loaded[-1]

    memory = asked(open_memory(embedder=EmbedderSource(name="hash-256", load=load, computes=True)))
    assert memory.erase(user="bob").verified
    assert len(services(memory).embedding.queries) == 0
    memory.recall("tea", user="ana")
    assert len(loaded) == 1


def test_erasing_empties_the_caches_of_functions_on_text(memory: Engine) -> None:
    asked(memory).erase(user="bob")
    assert [cached.cache_info().currsize for cached in TEXT_CACHES] == [0] * len(TEXT_CACHES)


def test_another_engine_drops_cached_queries_with_its_next_query(open_memory: OpenMemory) -> None:
    one, other = open_memory(), asked(open_memory())
    one.erase(user="bob")
    other.recall("tea", user="ana")
    assert KEPT not in services(other).embedding.queries


def test_another_engine_drops_cached_queries_when_its_worker_runs(open_memory: OpenMemory) -> None:
    one, other = open_memory(), asked(open_memory())
    one.erase(user="bob")
    services(other).scheduler.run_once()
    assert len(services(other).embedding.queries) == 0


@pytest.mark.long
def test_an_idle_process_drops_cached_queries_after_an_erasure_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with holdfast.open(path, embedder=HashEmbedder(), worker="none") as memory:
        command = [sys.executable, "-c", CHILD, str(path), QUERY]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "True\n"
            assert memory.erase(user="bob").memories == 1
            assert child.stdout.readline() == "0 0\n"
        assert child.returncode == 0


def test_a_purge_after_retention_empties_the_caches_too(open_memory: OpenMemory, clock: FrozenClock) -> None:
    one, other = open_memory(), asked(open_memory())
    one.forget(one.memories(user="bob")[0].id)
    clock.advance(one.preset.undo_window + timedelta(days=1))
    one.trust_clock()
    assert one.purge_expired() == 1
    services(other).scheduler.run_once()
    assert len(services(other).embedding.queries) == 0


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_with_an_empty_cache(memory: Engine) -> None:
    asked(memory)
    assert in_a_forked_child(lambda: str(len(services(memory).embedding.queries)).encode()) == b"0"


def test_two_tenants_with_one_embedder_share_no_queries(open_memory: OpenMemory) -> None:
    embedder = HashEmbedder()
    one, other = asked(open_memory(embedder=embedder, tenant="one")), open_memory(embedder=embedder, tenant="other")
    assert KEPT not in services(other).embedding.queries
    asked(other)
    one.erase(user="bob")
    other.recall("tea", user="bob")
    assert KEPT in services(other).embedding.queries


def test_the_query_cache_does_not_contain_the_text(memory: Engine) -> None:
    cache = services(asked(memory)).embedding.queries
    assert "zorblax" not in repr(vars(cache))


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    """An empty store."""
    return SQLiteStore(tmp_path / "memory.db")


def test_a_vector_computed_while_something_was_erased_is_not_kept(store: SQLiteStore) -> None:
    cache, vector = QueryCache(store), np.ones(4, dtype=np.float32)
    _, token = cache.get("m", "tea")
    with store.write() as tx:
        count_erasure(tx)
    cache.drop_erased()
    cache.put("m", "tea", vector, token)
    assert len(cache) == 0


def test_the_least_recently_used_query_is_evicted(store: SQLiteStore) -> None:
    cache, vector = QueryCache(store, max_queries=2), np.ones(4, dtype=np.float32)
    for text in ("one", "two", "one", "three"):
        known, token = cache.get("m", text)
        if known is None:
            cache.put("m", text, vector, token)
    assert [text for text in ("one", "two", "three") if ("m", text) in cache] == ["one", "three"]


def test_every_large_cache_of_a_text_function_is_listed() -> None:
    """Every cache of 1,000 entries or more is listed in ``TEXT_CACHES``, because its keys are user text.

    Smaller caches hold tables that are loaded once, and need not be listed.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith(("holdfast.text.", "holdfast.learning."))]
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, functools._lru_cache_wrapper)
        if (value.cache_parameters()["maxsize"] or 0) >= 1000
    }
    assert found == set(TEXT_CACHES)
