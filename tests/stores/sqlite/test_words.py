"""In-memory BM25 returns exactly the same scores as the SQL implementation."""

import random
from collections.abc import Sequence

import pytest

from holdfast.protocols import Match, Space
from holdfast.stores.sql import bm25
from holdfast.stores.sqlite.allowed_items import AllowedItems
from holdfast.stores.sqlite.words import PartitionState, PartitionTerms, rank

VOCABULARY = [f"word{number}" for number in range(40)]
WANTED = [frozenset({"word1"}), frozenset({"word2", "word3"}), frozenset({"word17"}), frozenset({"word4", "nowhere"})]
SPACES: dict[int, Space] = {3: "memory", 5: "memory"}

Window = tuple[int, int, int, str]


def made_up(count: int) -> list[Window]:
    """Return random rows (item, chunk, partition, terms). Some items have several chunks, and some chunks are equal."""
    chance = random.Random(count)
    windows: list[Window] = []
    for item in range(1, count):
        partition = chance.choice(list(SPACES))
        for window in range(chance.choice([1, 1, 1, 2, 9])):
            said = chance.choices(VOCABULARY, weights=range(40, 0, -1), k=chance.choice([3, 12, 40]))
            windows.append((item, window, partition, " ".join(said)))
    return windows


def in_memory(windows: Sequence[Window]) -> dict[int, PartitionTerms]:
    words = {}
    for partition in SPACES:
        rows = [(item, window, terms) for item, window, place, terms in windows if place == partition]
        terms = sum(len(row[2].split()) for row in rows)
        state = PartitionState(chunks=len(rows), terms=terms, newest=max(row[0] for row in rows))
        half = PartitionTerms.of(rows[: len(rows) // 2], state)
        words[partition] = PartitionTerms.of(rows[len(rows) // 2 :], state, half)
        assert words[partition].is_whole
    return words


def counted(windows: Sequence[Window], limit: int) -> list[Match]:
    """Return the ranking of all chunks by the reference implementation, best first."""
    held = [set(terms.split()) for *_, terms in windows]
    common = [(sum(spelling in each for each in held for spelling in spellings), spellings) for spellings in WANTED]
    totals = len(windows), sum(len(terms.split()) for *_, terms in windows)
    ranked = bm25.rank(windows, SPACES, sorted(common, key=lambda pair: pair[0]), totals, limit=len(windows))
    return [match for match in ranked if match.score > 0][:limit]


@pytest.mark.parametrize("limit", [1, 10, 300, 5000])
@pytest.mark.parametrize("count", [60, 900])
def test_the_ranking_equals_the_reference_for_few_and_many_chunks(count: int, limit: int) -> None:
    windows = made_up(count)
    assert (len(windows) > 512) == (count == 900)
    assert rank(in_memory(windows), SPACES, WANTED, limit=limit) == counted(windows, limit)


@pytest.mark.parametrize("count", [60, 900])
def test_a_filter_removes_items_and_keeps_the_order_of_the_others(count: int) -> None:
    windows = made_up(count)
    ranked = counted(windows, len(windows))
    allowed = AllowedItems.of(frozenset(range(0, count, 3)))
    excluded = set(range(0, count, 2))
    words = in_memory(windows)
    assert rank(words, SPACES, WANTED, limit=12, allowed=allowed) == [m for m in ranked if m.item in allowed.items][:12]
    assert rank(words, SPACES, WANTED, limit=12, excluded=excluded) == [m for m in ranked if m.item not in excluded][:12]
    both = [match for match in ranked if match.item in allowed.items and match.item not in excluded]
    assert rank(words, SPACES, WANTED, limit=12, allowed=allowed, excluded=excluded) == both[:12]


def test_long_texts_in_one_partition_do_not_displace_better_hits_of_another() -> None:
    long = [(item, window, 3, "word1 word1 word1 word2") for item in range(1, 11) for window in range(70)]
    better = [(11, 0, 3, "word1 word2 word9 word9")]
    worse = [(item, 0, 5, "word1 " + "word9 " * 30 + "word8") for item in range(20, 60)]
    windows = [*long, *better, *worse]
    assert rank(in_memory(windows), SPACES, WANTED, limit=32) == counted(windows, 32)
    assert 11 in [match.item for match in counted(windows, 32)]


@pytest.mark.parametrize("count", [60, 900])
def test_words_that_occur_nowhere_find_nothing(count: int) -> None:
    assert rank(in_memory(made_up(count)), SPACES, [frozenset({"nowhere"})], limit=9) == []
