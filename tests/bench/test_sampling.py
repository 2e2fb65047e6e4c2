"""Tests with many cases run a sample of them, and with ``--full`` every case."""

import subprocess

import pytest

from holdfast_bench.reliability.benchmark import pytest_command
from tests.parsing import ROOT
from tests.sampling import Sample


def test_a_sample_is_every_nth_case_and_three_groups_complete_each_other() -> None:
    sample = Sample(full=False)
    groups = [sample.of(range(10), start=start) for start in range(3)]
    assert groups == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert sample.of(range(10), start=4) == groups[1]
    assert sample.size(1000, short=200) == 200


def test_at_full_size_every_case_runs() -> None:
    sample = Sample(full=True)
    assert sample.of(range(10), start=2) == list(range(10))
    assert sample.size(1000, short=200) == 1000


@pytest.mark.long
def test_the_reliability_rows_run_cases_that_other_runs_leave_out() -> None:
    rows = pytest_command("tests/agent/test_strict_servers.py", None, quick=False)
    others = [word for word in rows if word != "--full"]
    counts = []
    for command in (rows, others):
        ran = subprocess.run([*command, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=True)
        counts.append(int(ran.stdout.splitlines()[0].rsplit(": ")[1]))
    assert counts[0] - counts[1] == 8
