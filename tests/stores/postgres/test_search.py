"""Searches by words and by vectors have the same results in PostgreSQL and in SQLite, for small and large partitions."""

import random
import time
from collections.abc import Iterator

import numpy as np
import pytest

from holdfast.protocols import Match, MemoryFilter, SearchFilter, Store
from holdfast.stores.postgres import PostgresStore, vector_indexes
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.testing import HashEmbedder
from holdfast.testing.samples import ANA, a_memory, a_message, remember, say
from holdfast.types import Memory, Scope
from tests.stores.postgres.support import OpenPostgres, Run, Server, as_owner, open_store, server

__all__ = ["as_owner", "open_store", "server"]

_WORDS = (
    "tea coffee garden window parrot harbour ticket Tuesday meeting lantern violin market river bread cinema train "
    "jardín ventana loro puerto billete martes reunión farol violín mercado río pan cine tren desayuno corazón"
).split()
_EMBEDDER = HashEmbedder()
_TEXTS = 600
_SCANS = "SELECT sum(idx_scan)::int FROM pg_stat_all_indexes WHERE indexrelname LIKE '%hnsw'"


def _fill(store: Store) -> None:
    chance = random.Random(5)
    texts = [" ".join(chance.choices(_WORDS, k=chance.randint(3, 25))) for _ in range(_TEXTS)]
    with store.write() as tx:
        tx.use_model("a")
    remember(store, *(a_memory(text, id=f"mem_{n}", kind=chance.choice(["fact", "event"])) for n, text in enumerate(texts)))
    say(store, *(a_message(f"said {text}", id=f"msg_{n}", session=f"ses_{n % 3}") for n, text in enumerate(texts[:100])))
    waiting = store.missing_vectors("a", limit=2 * _TEXTS)
    vectors = _EMBEDDER.embed([window.text for window in waiting], role="document")
    with store.write() as tx:
        tx.put_vectors("a", [(window.item, window.chunk) for window in waiting], vectors)


@pytest.fixture(scope="module")
def stores(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """A PostgreSQL and a SQLite store with the same memories, for tests that only read.

    SQLite's word cache is off, so that both stores find candidates in the same way: by the rarest terms of the query.
    """
    url = server.new()
    ours, theirs = PostgresStore(url), SQLiteStore(tmp_path_factory.mktemp("stores") / "memory.db")
    theirs.words = WordCache(eager_terms=0)
    for store in (ours, theirs):
        _fill(store)
    yield ours, theirs
    for store in (ours, theirs):
        store.close()
    server.drop(url)


def _numbered(matches: list[Match], first: int) -> list[tuple[int, int, str]]:
    return [(match.item - first, match.chunk, match.space) for match in matches]


@pytest.mark.long
@pytest.mark.parametrize("narrow", [{}, {"kinds": ("event",)}, {"without_session": "ses_1"}])
@pytest.mark.parametrize("query", ["parrot", "the violin by the river", "el loro en el jardín", "coffee tea bread cinema train"])
def test_both_stores_return_the_same_results_for_words(
    stores: tuple[Store, Store], query: str, narrow: dict[str, object]
) -> None:
    where = SearchFilter(reader=ANA, spaces=("memory", "message"), **narrow)  # type: ignore[arg-type]
    firsts = [min(memory.item for memory in _memories(store)) for store in stores]
    ours, theirs = (store.find_text(query, where, languages=("en", "es"), limit=10) for store in stores)
    assert len(theirs) == 10
    assert [match.score for match in ours] == pytest.approx([match.score for match in theirs], abs=1e-9)
    assert _numbered(ours, firsts[0]) == _numbered(theirs, firsts[1])


@pytest.mark.long
@pytest.mark.parametrize("narrow", [{}, {"kinds": ("event",)}, {"without_session": "ses_1"}])
def test_both_stores_return_the_same_results_for_vectors(stores: tuple[Store, Store], narrow: dict[str, object]) -> None:
    where = SearchFilter(reader=ANA, spaces=("memory", "message"), **narrow)  # type: ignore[arg-type]
    query = _EMBEDDER.embed(["the parrot in the garden"], role="query")[0]
    ours, theirs = (store.find_vectors("a", query, where, limit=10) for store in stores)
    assert [match.score for match in ours] == pytest.approx([match.score for match in theirs], abs=0.005)


@pytest.mark.long
def test_both_stores_return_the_same_similarities(stores: tuple[Store, Store]) -> None:
    items = [sorted(memory.item for memory in _memories(store))[:20] for store in stores]
    ours, theirs = (store.similarities("a", each) for store, each in zip(stores, items, strict=True))
    assert ours is not None
    assert theirs is not None
    assert np.abs(ours - theirs).max() < 0.01


def _memories(store: Store) -> list[Memory]:
    return store.memories(MemoryFilter())


_MIN_INDEXED = 1000
"""Number of vectors from which a partition gets an index."""


@pytest.fixture(scope="module")
def filled(server: Server) -> Iterator[str]:
    """The address of a database with one partition that is large enough for an index, and one small partition."""
    address = server.new()
    store = PostgresStore(address, min_indexed_vectors=_MIN_INDEXED)
    chance = np.random.default_rng(3)
    with store.write() as tx:
        tx.use_model("a")
        stored = [
            tx.add_revision(a_memory(f"number {n}", id=f"mem_{n}", kind="event" if n % 50 == 0 else "fact")) for n in range(1500)
        ]
        few = [tx.add_revision(a_memory(f"bob {n}", id=f"bob_{n}", scope=Scope(user="bob"))) for n in range(5)]
    vectors = chance.standard_normal((1505, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with store.write() as tx:
        tx.put_vectors("a", [(memory.item, 0) for memory in (*stored, *few)], vectors)
    store.close()
    yield address
    server.drop(address)


@pytest.fixture
def url(server: Server, filled: str) -> Iterator[str]:
    """The address of a copy of that database. Copying takes a tenth of the time of filling."""
    copied = server.new(copy_of=filled)
    yield copied
    server.drop(copied)


@pytest.fixture
def large(open_store: OpenPostgres) -> PostgresStore:
    """A store on that copy."""
    return open_store(min_indexed_vectors=_MIN_INDEXED)


@pytest.mark.long
def test_a_large_partition_gets_an_index_and_its_search_uses_it(large: PostgresStore, as_owner: Run) -> None:
    # With few vectors the planner does not use the index.
    as_owner(
        'INSERT INTO vectors SELECT tenant, partition, model, item + number * 10000000, "window", embedding '
        "FROM vectors, generate_series(1, 5) AS number"
    )
    query = np.eye(32, dtype=np.float32)[0]
    where = SearchFilter(reader=ANA, spaces=["memory"])
    exact = large.find_vectors("a", query, where, limit=10)
    assert large.tidy()
    assert not large.tidy()
    as_owner("SELECT pg_stat_reset()")
    found = large.find_vectors("a", query, where, limit=10)
    assert [match.score for match in found] == pytest.approx([match.score for match in exact], abs=0.05)
    large.close()  # a connection reports its statistics a little after it closes
    deadline = time.monotonic() + 60
    while not (scans := int(str(as_owner(_SCANS)[0][0]))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert scans == 1


@pytest.mark.long
def test_a_filter_is_applied_before_ranking_in_a_large_partition_too(large: PostgresStore) -> None:
    query = np.eye(32, dtype=np.float32)[0]
    where = SearchFilter(reader=ANA, spaces=["memory"], kinds=("event",))
    exact = large.find_vectors("a", query, where, limit=30)
    assert large.tidy()
    found = large.find_vectors("a", query, where, limit=30)
    assert len(found) == 30
    assert len({match.item for match in exact} & {match.item for match in found}) >= 28


@pytest.mark.long
def test_removing_the_indexes_changes_no_answer(large: PostgresStore, as_owner: Run) -> None:
    large.tidy()
    large.rebuild_index()
    assert as_owner("SELECT 1 FROM pg_indexes WHERE indexname LIKE '%hnsw'") == []
    assert (
        len(large.find_vectors("a", np.eye(32, dtype=np.float32)[0], SearchFilter(reader=ANA, spaces=["memory"]), limit=10)) == 10
    )


@pytest.mark.long
def test_the_index_of_a_model_that_is_gone_is_removed(large: PostgresStore, as_owner: Run) -> None:
    large.tidy()
    with large.write() as tx:
        tx.drop_model("a")
    assert large.tidy()
    assert not large.tidy()
    assert as_owner("SELECT 1 FROM pg_indexes WHERE indexname LIKE '%hnsw'") == []


@pytest.mark.long
def test_while_another_process_builds_an_index_there_is_nothing_to_tidy(large: PostgresStore, as_owner: Run) -> None:
    as_owner(f"SELECT pg_advisory_lock({vector_indexes._BUILD_LOCK})")
    assert not large.tidy()
    as_owner(f"SELECT pg_advisory_unlock({vector_indexes._BUILD_LOCK})")
    assert large.tidy()
