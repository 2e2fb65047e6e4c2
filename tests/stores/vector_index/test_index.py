"""The vector index compared with a brute-force search at every size, and its recall where it is approximate."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.stores.vector_index.cells import CellSieve
from holdfast.stores.vector_index.index import VectorIndex, VectorMatch, dequantize, quantize
from holdfast.stores.vector_index.sieves import BitSieve, FloatSieve
from holdfast.stores.vector_index.tuning import Tuning

DIMENSIONS = 20
SMALL = Tuning(moved_limit=3)
REGIMES = {
    "floats": SMALL,
    "bits": replace(SMALL, exact_limit=0),
    "cells": replace(SMALL, exact_limit=0, bits_limit=0, sample_per_cell=3, min_read=4, min_tail=3),
}
NARROW = {
    name: replace(tuning, few_allowed=0, width_per_result=0, width_per_root=0, min_width=2) for name, tuning in REGIMES.items()
}


def unit(seed: int, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return vector / np.linalg.norm(vector)


def coded(seed: int, dimensions: int = DIMENSIONS) -> tuple[NDArray[np.int8], float]:
    codes, scales = quantize(unit(seed, dimensions)[None, :])
    return codes[0], float(scales[0])


def mixture(
    count: int, queries: int, dimensions: int, *, seed: int = 1, crowd: float = 0.0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return unit vectors distributed like sentence embeddings: a large common part, topics, unequal subtopics, noise.

    The variance is spread over the directions about as in sentences of real conversations: 40 of 384 directions have
    half of the variance. `crowd` is the share of all vectors in a single subtopic.
    """
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))[0]
    colour = (np.arange(1, dimensions + 1)[:, None] ** -0.4 * rotation).astype(np.float32)

    def normal(rows: int) -> NDArray[np.float32]:
        drawn: NDArray[np.float32] = rng.standard_normal((rows, dimensions), dtype=np.float32) @ colour
        return drawn

    centres = np.repeat(normal(300), 20, axis=0) + 0.5 * normal(6_000)
    centres += np.linalg.norm(centres, axis=1).mean() * unit(seed, dimensions)
    weights = rng.lognormal(size=len(centres))
    weights *= (1 - crowd) / weights.sum()
    weights[0] += crowd
    chosen = rng.choice(len(centres), count + queries, p=weights / weights.sum())
    points = centres[chosen] + 0.8 * normal(count + queries)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points[:count], points[count:]


def filled(points: NDArray[np.float32]) -> VectorIndex:
    index = VectorIndex(points.shape[1])
    codes, scales = quantize(points)
    index.load(np.arange(len(points)), np.zeros(len(points), np.int32), codes, scales)
    return index


def recall(
    index: VectorIndex, points: NDArray[np.float32], queries: NDArray[np.float32], allowed: NDArray[np.int64] | None
) -> float:
    """Return the share of the ten results per query that are at least as similar to the query as the true tenth result."""
    stored = dequantize(*quantize(points))
    among = stored if allowed is None else stored[allowed]
    tenth = np.partition(queries @ among.T, len(among) - 10, axis=1)[:, len(among) - 10].clip(max=1)
    good = 0
    for query, least in zip(queries, tenth, strict=True):
        found = index.search(query, 10, allowed=allowed)
        assert len({each.item for each in found}) == 10
        assert allowed is None or set(allowed.tolist()) >= {each.item for each in found}
        good += sum(each.similarity >= least - 1e-6 for each in found)
    return good / (10 * len(queries))


@pytest.fixture(params=REGIMES)
def tuning(request: pytest.FixtureRequest) -> Tuning:
    """Settings of the index, for each kind of sieve (the first stage of a search) in turn.

    The sizes are small enough to compare the results with a brute-force search.
    """
    return REGIMES[request.param]


# --- comparison with the model --------------------------------------------------------------------------------------


class Put(NamedTuple):
    item: int
    window: int
    seed: int


class Load(NamedTuple):
    puts: list[Put]


class Remove(NamedTuple):
    item: int


class Search(NamedTuple):
    seed: int
    k: int
    allowed: list[int] | None


items = st.integers(-3, 25)
puts = st.builds(Put, items, st.integers(0, 2), st.integers(0, 12))
steps = st.lists(
    puts
    | st.builds(Load, st.lists(puts, max_size=30))
    | st.builds(Remove, items)
    | st.builds(Search, st.integers(0, 15), st.integers(0, 40), st.none() | st.lists(st.integers(-5, 30), max_size=30)),
    max_size=25,
)


class Model:
    """Brute-force reference implementation."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], int] = {}

    def search(self, seed: int, k: int, allowed: list[int] | None) -> list[VectorMatch]:
        rows = [(item, window, *coded(code)) for (item, window), code in self.rows.items() if allowed is None or item in allowed]
        if not rows:
            return []
        query = unit(seed).astype(np.float64)
        query = (query / np.sqrt(query @ query)).astype(np.float32)
        codes = np.array([code for _, _, code, _ in rows], np.float32)
        similarities = np.einsum("ij,j->i", codes, query) * np.array([scale for *_, scale in rows], np.float32)
        ranked = sorted((-min(1.0, float(s)), item, window) for s, (item, window, *_) in zip(similarities, rows, strict=True))
        best: dict[int, VectorMatch] = {}
        for loss, item, window in ranked:
            best.setdefault(item, VectorMatch(item, window, -loss))
        return list(best.values())[:k]


def apply(index: VectorIndex, model: Model, step: Put | Load | Remove | Search) -> None:
    match step:
        case Put(item, window, seed):
            index.put(item, window, *coded(seed))
            model.rows[item, window] = seed
        case Load(given_puts):
            codes, scales = quantize(np.array([unit(put.seed) for put in given_puts], np.float32).reshape(-1, DIMENSIONS))
            index.load(
                np.array([put.item for put in given_puts], np.int64),
                np.array([put.window for put in given_puts], np.int32),
                codes,
                scales,
            )
            model.rows.update({(put.item, put.window): put.seed for put in given_puts})
        case Remove(item):
            gone = [key for key in model.rows if key[0] == item]
            assert index.remove(item) == len(gone)
            for key in gone:
                del model.rows[key]
        case Search(seed, k, allowed):
            found = index.search(unit(seed), k, allowed=None if allowed is None else np.array(allowed, np.int64))
            assert found == model.search(seed, k, allowed)


def assert_sieve_describes_rows(index: VectorIndex) -> None:
    """Assert that the data of the sieve (the first stage of a search) matches the stored vector of every row."""
    rows, sieve = index._rows, index._sieve
    every = np.arange(rows.count)
    if isinstance(sieve, FloatSieve):
        np.testing.assert_array_equal(sieve._matrix[: rows.count], rows.vectors(every))
    if isinstance(sieve, BitSieve):
        np.testing.assert_array_equal(sieve._sketches[: rows.count].bits, sieve._sketcher.sketch(rows.vectors(every)).bits)
    if isinstance(sieve, CellSieve):
        places = sieve._place_of[: rows.count]
        np.testing.assert_array_equal(sieve._row_at[places], every)
        assert np.count_nonzero(sieve._row_at[: sieve._used] >= 0) == rows.count
        np.testing.assert_array_equal(sieve._sketches.bits[:, places], sieve._sketcher.sketch(rows.vectors(every)).bits)


@pytest.mark.long
@pytest.mark.parametrize("name", REGIMES)
@settings(max_examples=120, deadline=None)
@given(steps=steps)
def test_any_order_of_changes_and_searches_agrees_with_brute_force(name: str, steps: list[Put | Load | Remove | Search]) -> None:
    index, model = VectorIndex(DIMENSIONS, tuning=REGIMES[name]), Model()
    for step in steps:
        apply(index, model, step)
        assert len(index) == len(model.rows)
        assert_sieve_describes_rows(index)


@pytest.mark.parametrize("name", REGIMES)
@settings(max_examples=40, deadline=None)
@given(steps=steps, seed=st.integers(0, 15), k=st.integers(1, 12), allowed=st.none() | st.sets(items, min_size=1))
def test_narrow_sieves_still_give_k_true_results(
    name: str, steps: list[Put | Load | Remove | Search], seed: int, k: int, allowed: set[int] | None
) -> None:
    """If the first stage returns too few candidates, the search is widened until it has k items.

    All returned items are allowed, and no similarity is higher than the true cosine.
    """
    index, model = VectorIndex(DIMENSIONS, tuning=NARROW[name]), Model()
    for step in steps:
        if not isinstance(step, Search):
            apply(index, model, step)
            index.prepare()
    found = index.search(unit(seed), k, allowed=None if allowed is None else np.array(sorted(allowed), np.int64))
    truth = model.search(seed, 1000, None if allowed is None else sorted(allowed))
    assert len(found) == min(k, len(truth))
    assert found == sorted(found, key=lambda each: (-each.similarity, each.item))
    best = {each.item: each.similarity for each in truth}
    assert all(each.similarity <= best[each.item] for each in found)


# --- recall -------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("count", "dimensions", "sieve"), [(30_000, 384, BitSieve), (160_000, 128, CellSieve)])
def test_recall_at_ten_is_at_least_98_percent(count: int, dimensions: int, sieve: type) -> None:
    points, queries = mixture(count, 40, dimensions)
    index = filled(points)
    rng = np.random.default_rng(2)
    assert recall(index, points, queries, None) >= 0.98
    for share in (0.3, 0.01):
        assert recall(index, points, queries, np.flatnonzero(rng.random(count) < share)) >= 0.98
    assert type(index._sieve) is sieve
    assert index.nbytes < count * (1.25 * dimensions + 60)


@pytest.mark.long
def test_recall_stays_high_if_many_vectors_are_nearly_equal() -> None:
    """The hard case for sketches (short bit codes): a fifth of all vectors are in one subtopic and differ only by noise."""
    points, queries = mixture(20_000, 60, 384, crowd=0.2)
    assert recall(filled(points), points, queries, None) >= 0.95


@pytest.mark.long
def test_recall_holds_after_growth_and_removal() -> None:
    points, queries = mixture(110_000, 30, 64)
    index = filled(points[:102_000])
    index.prepare()
    codes, scales = quantize(points)
    index.load(np.arange(102_000, 110_000), np.zeros(8_000, np.int32), codes[102_000:], scales[102_000:])
    for item in range(0, 3_000, 2):
        index.remove(item)
    left = np.concatenate((np.arange(1, 3_000, 2), np.arange(3_000, 110_000)))
    assert len(index) == len(left)
    assert recall(index, points, queries, left) >= 0.98
    found = index.search(points[109_999], 1)[0]
    assert found.item == 109_999


def test_allowed_items_far_from_the_query_are_found() -> None:
    points, _ = mixture(10_000, 1, 64)
    index = filled(points)
    farthest = np.sort(np.argsort(points @ points[0])[:4_000])
    found = index.search(points[0], 20, allowed=farthest)
    expected = dequantize(*quantize(points))[farthest] @ points[0]
    np.testing.assert_allclose([each.similarity for each in found], np.sort(expected)[::-1][:20], atol=2e-3)


# --- single cases -------------------------------------------------------------------------------


def test_quantising_keeps_cosines_to_a_thousandth() -> None:
    points, queries = mixture(500, 50, 384)
    exact, stored = queries @ points.T, queries @ dequantize(*quantize(points)).T
    assert np.abs(exact - stored).max() < 2e-3
    assert np.abs(exact - stored).mean() < 1e-3


def test_quantising_zero_tiny_and_empty_vectors() -> None:
    codes, scales = quantize(np.array([[0, 0], [1e-44, -1e-44], [3e38, -3e38]], np.float32))
    assert np.isfinite(dequantize(codes, scales)).all()
    assert scales[0] == 0
    assert not codes[0].any()
    assert quantize(np.empty((0, 4), np.float32))[0].shape == (0, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_quantising_refuses_what_is_not_a_number(bad: float) -> None:
    with pytest.raises(ValueError, match="NaN"):
        quantize(np.array([[bad, 1.0]], np.float32))


def test_equal_vectors_are_ordered_by_item_number(tuning: Tuning) -> None:
    index = VectorIndex(DIMENSIONS, tuning=tuning)
    for item in (9, 4, 7, 1, 8, 2, 3):
        index.put(item, 0, *coded(item % 2))
    found = index.search(unit(1), 4)
    assert [each.item for each in found] == [1, 3, 7, 9]
    assert len({each.similarity for each in found}) == 1


def test_the_same_changes_give_the_same_answers(tuning: Tuning) -> None:
    def answers() -> list[VectorMatch]:
        index = VectorIndex(DIMENSIONS, tuning=tuning)
        for item in range(200):
            index.put(item, 0, *coded(item))
        index.prepare()
        for item in range(0, 200, 3):
            index.remove(item)
        return index.search(unit(5000), 20)

    assert answers() == answers()


def test_an_item_is_found_once_by_its_best_window(tuning: Tuning) -> None:
    index = VectorIndex(DIMENSIONS, tuning=tuning)
    for window in range(300):
        index.put(1, window, *coded(window))
    index.put(2, 0, *coded(1000))
    found = index.search(unit(77), 2)
    assert [(each.item, each.chunk) for each in found] == [(1, 77), (2, 0)]
    assert found[0].similarity == pytest.approx(1, abs=5e-3)


def test_windows_of_one_item_do_not_crowd_out_others_above_the_exact_limit() -> None:
    points, _ = mixture(6_000, 1, 64)
    index = filled(points)
    codes, scales = quantize(np.repeat(points[:1], 3_000, axis=0))
    index.load(np.full(3_000, 10_000), np.arange(3_000, dtype=np.int32), codes, scales)
    found = index.search(points[0], 10)
    assert [each.item for each in found][:2] == [0, 10_000]
    assert len({each.item for each in found}) == 10


def test_empty_indexes_and_limits_beyond_the_size_work(tuning: Tuning) -> None:
    index = VectorIndex(DIMENSIONS, tuning=tuning)
    assert index.search(unit(1), 5) == []
    assert index.search(unit(1), 5, allowed=np.array([1], np.int64)) == []
    assert index.remove(3) == 0
    for item in range(5):
        index.put(item, 0, *coded(item))
    assert index.search(unit(1), 0) == []
    assert index.search(unit(1), -1) == []
    assert len(index.search(unit(1), 50)) == 5
    assert index.search(unit(1), 5, allowed=np.array([], np.int64)) == []
    assert [each.item for each in index.search(unit(1), 5, allowed=np.array([99, 3, 3, -4, 2**62], np.int64))] == [3]
    assert [each.item for each in index.search(np.zeros(DIMENSIONS, np.float32), 3)] == [0, 1, 2]
    for item in range(5):
        assert index.remove(item) == 1
    assert len(index) == 0
    assert index.search(unit(1), 5) == []


def test_a_zero_vector_is_stored_and_matches_nothing() -> None:
    index = VectorIndex(DIMENSIONS)
    index.put(1, 0, np.zeros(DIMENSIONS, np.int8), 0.0)
    index.put(2, 0, *coded(2))
    assert [(each.item, round(each.similarity, 2)) for each in index.search(unit(2), 2)] == [(2, 1.0), (1, 0.0)]


@pytest.mark.parametrize("factor", [1e-38, 1e-3, 7.0, 1e38])
def test_similarity_is_a_cosine_for_queries_of_any_length(factor: float) -> None:
    index = VectorIndex(DIMENSIONS)
    index.put(1, 0, *coded(1))
    assert index.search(unit(1) * np.float32(factor), 1)[0].similarity == pytest.approx(1, abs=5e-3)
    assert index.search(-unit(1) * np.float32(factor), 1)[0].similarity == pytest.approx(-1, abs=5e-3)
    assert index.search(unit(1), 1)[0].similarity <= 1


@pytest.mark.parametrize(
    "query", [np.full(DIMENSIONS, np.nan), np.full(DIMENSIONS, np.inf), np.ones(DIMENSIONS + 1), np.ones((1, DIMENSIONS))]
)
def test_an_impossible_query_is_refused(query: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="query"):
        VectorIndex(DIMENSIONS).search(query.astype(np.float32), 1)


def test_impossible_rows_are_refused() -> None:
    index = VectorIndex(DIMENSIONS)
    code, scale = coded(1)
    with pytest.raises(ValueError, match="int8"):
        index.put(1, 0, code[:-1], scale)
    with pytest.raises(ValueError, match="int8"):
        index.put(1, 0, code.astype(np.float32), scale)
    with pytest.raises(ValueError, match="scale"):
        index.put(1, 0, code, float("nan"))
    with pytest.raises(ValueError, match="same length"):
        index.load(np.arange(1), np.zeros(2, np.int32), code[None, :], np.array([scale], np.float32))
    with pytest.raises(ValueError, match="dimension"):
        VectorIndex(0)
    assert len(index) == 0


def test_vectors_of_returns_the_first_chunk_and_zeros_for_unknown_items() -> None:
    index = VectorIndex(DIMENSIONS)
    index.put(5, 2, *coded(1))
    index.put(5, 1, *coded(2))
    index.put(6, 0, *coded(3))
    given = index.vectors_of([6, 404, 5])
    np.testing.assert_allclose(given[[0, 2]], [unit(3), unit(2)], atol=5e-3)
    assert not given[1].any()
    assert index.vectors_of([]).shape == (0, DIMENSIONS)


def test_memory_is_freed_after_removal() -> None:
    index = filled(mixture(3_000, 1, 64)[0])
    index.prepare()
    full = index.nbytes
    for item in range(2_900):
        index.remove(item)
    index.prepare()
    assert index.nbytes < full / 5


@pytest.mark.long
def test_searches_during_changes_see_complete_states() -> None:
    """A writer replaces and removes vectors while readers search. Each result matches some complete state of the index."""
    index = filled(mixture(4_500, 1, DIMENSIONS)[0])
    done = threading.Event()
    failures: list[object] = []

    def read() -> None:
        while not done.is_set():
            found = index.search(unit(1), 2)
            if len(found) != 2 or not all(-1 <= each.similarity <= 1 for each in found):
                failures.append(found)
            if any(each.item == 9_999 and each.similarity < 0.99 for each in found):
                failures.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(300):
        index.put(9_999, 0, *coded(1))
        index.put(turn, 0, *coded(turn))
        index.remove(9_999)
        index.remove(turn)
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
