"""Tests of the benchmark with many apps."""

from pathlib import Path

from holdfast_bench.apps import measure


def test_every_context_is_complete_and_contains_only_its_own_app(tmp_path: Path) -> None:
    measured = measure(tmp_path, apps=8, each=10, seed=1)
    assert (measured["apps"], measured["memories_each"], measured["leaks"]) == (8, 10, 0)
    assert 0 < measured["median_ms"] <= measured["p95_ms"] <= measured["most_ms"]
