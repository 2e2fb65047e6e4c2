"""The reliability benchmark: the checks of all forty requirements exist, and the verdicts follow from the counts."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from holdfast_bench.reliability.benchmark import Outcome, run
from holdfast_bench.server.fairness import Times
from holdfast_bench.server.soak import growth, soak

ROOT = Path(__file__).parent.parent.parent
ROWS = tomllib.loads((resources.files("holdfast_bench.reliability") / "rows.toml").read_text("utf-8"))

pytestmark = pytest.mark.ledger("X28")


def test_there_are_forty_rows_and_every_check_exists() -> None:
    assert len(ROWS) == 40
    for name, row in ROWS.items():
        assert row["what"], name
        assert row["tests"] or row.get("bench"), name
        assert [path for path in row["tests"] if not (ROOT / path).exists()] == [], name


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome(passed=3), "pass"),
        (Outcome(passed=3, skipped=1), "incomplete"),
        (Outcome(passed=3, failed=1, skipped=1), "FAIL"),
        (Outcome(), "incomplete"),
    ],
    ids=["all passed", "some skipped", "some failed", "none ran"],
)
def test_a_row_passes_only_if_all_its_checks_ran_and_passed(outcome: Outcome, verdict: str) -> None:
    assert outcome.verdict == verdict


def test_growth_compares_the_middle_of_a_run_with_its_end() -> None:
    assert growth([50.0] * 10 + [100.0] * 10 + [120.0] * 10) == pytest.approx(0.2)
    assert growth([100.0] * 30) == 0
    assert growth([1.0, 2.0]) is None


def test_a_percentile_is_in_milliseconds() -> None:
    times = Times()
    times.seconds["add"] = [0.001 * n for n in range(1, 101)]
    assert times.percentile("add") == 100.0
    assert times.percentile("recall") is None


@pytest.mark.long
def test_a_row_is_run_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root=ROOT, rows=["I4"], quick=True, as_json=False)
    assert "I4  pass" in capsys.readouterr().out


@pytest.mark.long
def test_a_short_soak_has_no_failed_request_and_no_foreign_text() -> None:
    result = soak(seconds=6, clients=6, embedder="none")
    assert (result["failed"], result["hostile_5xx"], result["foreign_texts"]) == (0, 0, 0)
    assert result["hostile_statuses"]
