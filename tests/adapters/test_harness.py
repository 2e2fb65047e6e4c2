"""The harness notices failures, missing tests, unused adapters and wrong downloads."""

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters import harness
from tests.adapters.frameworks import ROOT, Framework, Suite, frameworks
from tests.adapters.harness import HarnessError, Outcome, own_problems, suite_problems, summary

SUITE = Suite(
    archive="demo==1.0", sha256="", tests=["tests/test_demo.py"], passed=2, excluded={"tests/test_demo.py::test_c": "why"}
)
FRAMEWORK = Framework(name="demo", title="Demo", modules=["demo"], minutes=1, suites=[SUITE])
GOOD = Outcome(passed=["a", "b"], excluded={"tests/test_demo.py::test_c[1]": "tests/test_demo.py::test_c"}, uses=3)


def test_a_suite_that_passes_as_expected_has_no_problems() -> None:
    assert suite_problems(SUITE, GOOD) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"failed": ["x"]}, "failed: x"),
        ({"passed": ["a"]}, "1 tests passed; suite.toml expects 2"),
        ({"passed": ["a", "b", "c"]}, "3 tests passed; suite.toml expects 2"),
        ({"uses": 0}, "the suite never used the adapter"),
        ({"excluded": {}}, "the exclusion tests/test_demo.py::test_c matches no test"),
    ],
    ids=["failure", "fewer", "more", "unused", "stale-exclusion"],
)
def test_each_problem_of_a_suite_is_reported(change: dict[str, object], problem: str) -> None:
    assert problem in suite_problems(SUITE, replace(GOOD, **change))  # type: ignore[arg-type]


def test_skipped_and_missing_tests_of_ours_are_problems() -> None:
    assert own_problems(Outcome(passed=["a"])) == []
    assert own_problems(Outcome(passed=["a"], skipped=["b"])) == ["skipped: b"]
    assert own_problems(Outcome()) == ["none of our tests ran"]


def test_the_summary_has_one_line_of_counts_and_names_the_excluded_tests() -> None:
    shown = summary(FRAMEWORK, [GOOD], Outcome(passed=["a"]), [], "1 s").splitlines()
    assert shown[0] == "demo            ok; demo==1.0: 2 passed, 0 failed, 1 excluded; our tests: 1 passed, 0 failed; 1 s"
    assert shown[1:] == ["    excluded test_c: why"]
    assert "FAILED" in summary(FRAMEWORK, [GOOD], Outcome(), ["none of our tests ran"], "1 s")


def test_an_archive_with_another_hash_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "archives" / "demo-1.0" / "demo-1.0.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as packed:
        packed.addfile(tarfile.TarInfo("demo-1.0/tests/test_demo.py"), io.BytesIO())
    right = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert harness.fetch(replace(SUITE, sha256=right), tmp_path) == archive
    with pytest.raises(HarnessError, match="wrong hash"):
        harness.fetch(replace(SUITE, sha256=64 * "0"), tmp_path)


def test_an_unknown_framework_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        harness.main(["nothing"])
    assert "unknown framework 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("name", frameworks())
def test_every_environment_is_locked_with_hashes(name: str) -> None:
    lines = frameworks()[name].lock.read_text("utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert len(pinned) > 10
    assert all("==" in line and line.endswith("\\") for line in pinned)
    assert all(any(line.startswith(suite.archive) for line in pinned) for suite in frameworks()[name].suites)


@pytest.mark.parametrize("name", frameworks())
def test_the_suites_are_not_part_of_the_repository(name: str) -> None:
    framework = frameworks()[name]
    tests = {path.name: path.read_text("utf-8") for path in framework.folder.rglob("test_*.py")}
    assert [name for name, text in tests.items() if 'pytest.mark.ledger("X14")' not in text] == []
    for suite in framework.suites:
        assert not set(tests) & {Path(each).name for each in suite.tests}


def test_continuous_integration_runs_the_harness() -> None:
    assert "make test-adapters" in (ROOT / ".ci" / "run").read_text("utf-8")
