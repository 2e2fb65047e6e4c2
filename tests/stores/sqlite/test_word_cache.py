"""The word cache returns the same results as the full-text index, whatever is written meanwhile."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import Engine
from holdfast.protocols import Match, SearchFilter
from holdfast.services import services
from holdfast.stores.sql import partitions
from holdfast.stores.sqlite import fulltext
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.types import Scope

WORDS = ("heron", "pond", "frog", "reed", "heron's", "café", "v2.5")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
STEPS = st.lists(st.one_of(TEXTS, st.tuples(st.sampled_from(["forget", "revise"]), st.integers(0, 5))), min_size=1, max_size=8)
LIVE = SearchFilter(reader=Scope(user="ana"), spaces=["memory"])
EVER = SearchFilter(reader=Scope(user="ana"), spaces=["memory", "archive"])


def opened(folder: Path) -> Engine:
    return holdfast.open(folder / "memory.db", embedder="none", worker="none")


def by_words(memory: Engine, query: str, where: SearchFilter = LIVE) -> list[Match]:
    return services(memory).store.find_text(query, where, languages=("en", "es"), limit=50)


def store_of(memory: Engine) -> SQLiteStore:
    store = services(memory).store
    assert isinstance(store, SQLiteStore)
    return store


def asked(cache: WordCache, memory: Engine, user: str) -> list[Match] | None:
    store = store_of(memory)
    seen = partitions.visible(store.connection, Scope(user=user), ["memory"])
    return cache.search(store.connection, store.tenant, seen, [frozenset({"heron"})], limit=9)


def by_index(memory: Engine, query: str, where: SearchFilter = LIVE) -> list[Match]:
    """Return the results of the full-text index. The word cache is not used."""
    store = store_of(memory)
    seen = partitions.visible(store.connection, where.reader, where.spaces)
    return fulltext.search(store.connection, store.tenant, seen, query, languages=("en", "es"), limit=50)


def rounded(matches: Sequence[Match]) -> list[tuple[int, int, float]]:
    return [(match.item, match.chunk, round(match.score, 9)) for match in matches]


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, query=TEXTS)
def test_the_word_cache_finds_the_same_as_the_full_text_index_after_every_change(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | tuple[str, int]], query: str
) -> None:
    with opened(tmp_path_factory.mktemp("words")) as memory:
        ids: list[str] = []
        for number, step in enumerate(steps):
            if isinstance(step, str):
                ids.append(memory.remember(f"{step} {number}", user="ana").id)
            elif ids and step[0] == "forget":
                memory.forget(ids.pop(step[1] % len(ids)), user="ana")
            elif ids:
                memory.revise(ids[step[1] % len(ids)], text=f"{WORDS[step[1]]} anew {number}")
            for where in (LIVE, EVER):
                assert rounded(by_words(memory, query, where)) == rounded(by_index(memory, query, where))


def test_many_new_words_are_not_read_during_a_search(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        store, cache = store_of(memory), WordCache(eager_terms=20, terms_per_search=1000)
        memory.remember("the heron stands", user="ana")
        assert len(asked(cache, memory, "ana") or ()) == 1
        memory.remember("a heron and a frog", user="ana")
        assert len(asked(cache, memory, "ana") or ()) == 2  # few new words
        memory.remember("heron " + " ".join(f"reed{number}" for number in range(40)), user="ana")
        assert asked(cache, memory, "ana") is None
        assert cache.load_waiting(store.connection, store.tenant)
        assert len(asked(cache, memory, "ana") or ()) == 3


def test_additions_and_removals_of_another_process_are_seen(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, opened(tmp_path) as other:
        first = memory.remember("the heron stands", user="ana")
        assert len(by_words(other, "heron")) == 1
        memory.remember("the heron flies", user="ana")
        assert len(by_words(other, "heron")) == 2
        memory.forget(first.id, user="ana")
        memory.remember("the heron eats", user="ana")
        assert [hit.text for hit in other.recall("heron", user="ana")] == ["the heron eats", "the heron flies"]


def test_a_long_text_is_found_by_its_best_window(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember(f"{'the reed bends ' * 200} the heron stands {'the pond freezes ' * 200}", user="ana")
        (found,) = by_words(memory, "heron")
        assert found.chunk > 0
        assert rounded([found]) == rounded(by_index(memory, "heron"))


def test_the_word_cache_respects_filters_and_excluded_sessions(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("the heron stands", user="ana", metadata={"where": "pond"})
        memory.remember("the heron flies", user="ana", metadata={"where": "sky"})
        session = memory.session(user="ana")
        session.add("user", "a heron is here")
        assert [hit.text for hit in memory.recall("heron", user="ana", where={"where": "sky"})] == ["the heron flies"]
        assert {hit.text for hit in session.recall("heron")} == {"the heron stands", "the heron flies"}


def idle(store: SQLiteStore) -> None:
    """Run the store's idle work until none is left."""
    while store.tidy():
        pass


def test_a_large_partition_is_cached_only_after_several_searches(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        store = store_of(memory)
        store.words = WordCache(eager_terms=10, terms_per_search=10)
        for number in range(4):
            memory.remember(f"the heron of pond {number}", user="ana")
        for _ in range(3):  # 36 terms, and each search pays for 10
            assert len(by_words(memory, "heron")) == 4
            idle(store)
            assert store.words.terms == 0
        by_words(memory, "heron")
        idle(store)
        assert store.words.terms == 36
        assert rounded(by_words(memory, "heron pond 2")) == rounded(by_index(memory, "heron pond 2"))


def test_a_partition_loaded_when_idle_follows_additions_and_removals(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        store = store_of(memory)
        store.words = WordCache(eager_terms=10, terms_per_search=100)
        ids = [memory.remember(f"the heron of pond {number}", user="ana").id for number in range(4)]
        by_words(memory, "heron")
        idle(store)
        memory.remember("the heron of the reeds", user="ana")
        assert len(by_words(memory, "heron")) == 5
        assert store.words.terms == 45
        memory.forget(ids[0], user="ana")
        assert len(by_words(memory, "heron")) == 4
        assert store.words.terms == 0
        idle(store)
        assert rounded(by_words(memory, "heron of the reeds")) == rounded(by_index(memory, "heron of the reeds"))
        assert store.words.terms == 36


def test_the_cache_keeps_the_other_terms_after_the_newest_memory_was_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("the heron stands", user="ana")
        newest = memory.remember("the heron flies", user="ana")
        assert len(by_words(memory, "heron")) == 2
        before = store_of(memory).words.terms
        memory.forget(newest.id, user="ana")
        assert len(by_words(memory, "heron")) == 1
        assert 0 < store_of(memory).words.terms < before


def test_an_idle_worker_drops_cached_data_that_another_process_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, opened(tmp_path) as other:
        memory.remember("the heron of ana", user="ana")
        assert len(by_words(other, "heron")) == 1
        memory.erase(user="ana")
        assert store_of(other).words.terms > 0
        idle(store_of(other))
        assert store_of(other).words.terms == 0


def test_texts_of_many_windows_do_not_crowd_out_those_of_one(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("the heron heron heron stands by the pond in the evening. " * 600, user="ana")
        for number in range(3):
            memory.remember(f"one heron among {number} reeds, frogs, lilies and much else that grows there", user="ana")
        store = store_of(memory)
        found = store.find_text("heron", LIVE, languages=("en", "es"), limit=3)
        assert store.words.terms > 0
        assert len({match.item for match in found}) == 3


def test_the_cache_contains_no_erased_terms(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("the heron stands", user="ana")
        assert by_words(memory, "heron")
        memory.erase(user="ana")
        assert store_of(memory).words.terms == 0


def test_a_search_as_of_an_earlier_time_finds_the_data_of_that_time(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        heron = memory.remember("the heron stands", user="ana")
        assert by_words(memory, "heron")

        with services(memory).store.snapshot():
            assert by_words(memory, "heron")
            other = threading.Thread(target=lambda: (memory.revise(heron.id, text="the stork stands"), by_words(memory, "stork")))
            other.start()
            other.join()
            assert (len(by_words(memory, "heron")), by_words(memory, "stork")) == (1, [])
        assert (by_words(memory, "heron"), len(by_words(memory, "stork"))) == ([], 1)


def test_the_next_search_drops_cached_data_that_another_process_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, opened(tmp_path) as other:
        for user in ("ana", "bob"):
            memory.remember(f"the heron of {user}", user=user)
            assert len(other.recall("heron", user=user)) == 1
        kept = store_of(other).words.terms
        memory.erase(user="ana")
        assert len(other.recall("heron", user="bob")) == 1
        assert 0 < store_of(other).words.terms < kept


def test_the_cache_stays_within_its_limit_and_every_query_is_answered(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        cache = WordCache(max_bytes=4000)
        for user in "abcdefab":
            for number in range(4):
                memory.remember(f"heron {number}", user=user)
            assert len(asked(cache, memory, user) or ()) == 4
            assert 0 < cache.nbytes <= 4000
