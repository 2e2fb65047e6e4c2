"""Run the checks of the forty reliability requirements, the rows of ``rows.toml``, and print one line per row.

The checks are the project's tests, so a checkout is required. Rows about load also run a benchmark. A row passes if all
its checks ran and passed. A row whose checks were partly skipped, for example because there is no browser, is
incomplete.
"""

import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import click

from holdfast_bench.server import fairness, soak

_TIMEOUT_SECONDS = 3600


class Outcome(NamedTuple):
    """How many checks of a row passed, failed and were skipped, and a note about the row's benchmark."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""

    @property
    def verdict(self) -> str:
        """The result of a row in one word: ``pass``, ``FAIL`` or ``incomplete``."""
        if self.failed:
            return "FAIL"
        return "pass" if self.passed and not self.skipped else "incomplete"


def run(*, root: Path, rows: Sequence[str], quick: bool, as_json: bool) -> bool:
    """Run the rows and print them. Return True if no row failed."""
    if not (root / "tests").is_dir():
        raise click.ClickException(f"{root} is not a checkout of Holdfast: it has no tests. Name one with --root.")
    known = tomllib.loads((resources.files("holdfast_bench.reliability") / "rows.toml").read_text("utf-8"))
    unknown = set(rows) - set(known)
    if unknown:
        raise click.ClickException(f"There is no row {', '.join(sorted(unknown))}. The rows are {', '.join(known)}.")
    results, memo = [], dict[str, Outcome]()
    for name in rows or known:
        begin = time.monotonic()
        outcome = _check(known[name], root, quick=quick, memo=memo)
        seconds = round(time.monotonic() - begin, 1)
        result = {"row": name, "what": known[name]["what"], **outcome._asdict(), "seconds": seconds, "result": outcome.verdict}
        results.append(result)
        if not as_json:
            print(_line(result), flush=True)  # noqa: T201  (output of the command)
    verdicts = [result["result"] for result in results]
    total = {verdict: verdicts.count(verdict) for verdict in ("pass", "incomplete", "FAIL")}
    size = "quick" if quick else "full"
    if as_json:
        print(json.dumps({"size": size, "rows": results, "total": total}))  # noqa: T201
    else:
        print(f"size {size}: " + ", ".join(f"{count} {verdict}" for verdict, count in total.items()))  # noqa: T201
    return not total["FAIL"]


def _line(result: Mapping[str, Any]) -> str:
    size = f"{result['passed']} checks" + (f", {result['skipped']} skipped" if result["skipped"] else "")
    failed = f", {result['failed']} failed" if result["failed"] else ""
    note = f" ({result['note']})" if result["note"] else ""
    return f"{result['row']:3} {result['result']:10} {size}{failed}, {result['seconds']} s: {result['what']}{note}"


def _check(row: Mapping[str, Any], root: Path, *, quick: bool, memo: dict[str, Outcome]) -> Outcome:
    """Run the tests of a row and its benchmark. Test files that several rows share run only once."""
    found = Outcome()
    for path in row["tests"]:
        key = f"{path} {row.get('only', '')}"
        if key not in memo:
            memo[key] = _tests(root, path, row.get("only"), quick=quick)
        found = _sum(found, memo[key])
    bench: Callable[[bool], Outcome] | None = _BENCHMARKS.get(row.get("bench", ""))
    return found if bench is None else _sum(found, bench(quick))


def _sum(one: Outcome, other: Outcome) -> Outcome:
    counts = (one.passed + other.passed, one.failed + other.failed, one.skipped + other.skipped)
    return Outcome(*counts, note="; ".join(note for note in (one.note, other.note) if note))


def pytest_command(path: str, only: str | None, *, quick: bool) -> list[str]:
    """Return the command that runs a test file or folder: with every case, or without the long tests."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", path]
    command += ["-m", "not long"] if quick else ["--full"]
    return [*command, "-k", only] if only else command


def _tests(root: Path, path: str, only: str | None, *, quick: bool) -> Outcome:
    """Run one test file or folder in its own process, and count the results."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [*pytest_command(path, only, quick=quick), f"--junitxml={report}"]
        try:
            subprocess.run(command, cwd=root, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(failed=1, note=f"{path} took longer than {_TIMEOUT_SECONDS} s")
        if not report.exists():
            return Outcome(failed=1, note=f"{path} did not run")
        suites = list(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314  (written by our own process)
    counts = {name: sum(int(suite.get(name) or 0) for suite in suites) for name in ("tests", "errors", "failures", "skipped")}
    failed = counts["errors"] + counts["failures"]
    return Outcome(counts["tests"] - failed - counts["skipped"], failed, counts["skipped"])


def _fairness(quick: bool) -> Outcome:  # noqa: FBT001  (a callback)
    options: dict[str, Any] = {"seconds": 3, "attackers": 4, "embedder": "none"} if quick else {}
    result = fairness.measure(queue=0, **options)
    return _judged(fair=result["fair"], note=f"worst ratio {result['worst_ratio']}, {result['errors']} errors")


def _queue(quick: bool) -> Outcome:  # noqa: FBT001  (a callback)
    options: dict[str, Any] = {"seconds": 3, "queue": 500, "embedder": "none"} if quick else {"queue": 20_000}
    result = fairness.measure(attacks=(), **options)
    return _judged(fair=result["fair"], note=f"queue of {result['queue']}, worst ratio {result['worst_ratio']}")


def _soak(quick: bool) -> Outcome:  # noqa: FBT001  (a callback)
    result = soak.soak(seconds=60, clients=12, embedder="none") if quick else soak.soak()
    note = f"{result['seconds']:g} s, {result['clients']} clients, {result['failed']} failed, growth {result['growth']}"
    return _judged(fair=result["passed"], note=note)


def _judged(*, fair: bool, note: str) -> Outcome:
    return Outcome(passed=int(fair), failed=int(not fair), note=note)


_BENCHMARKS: Mapping[str, Callable[[bool], Outcome]] = {"fairness": _fairness, "queue": _queue, "soak": _soak}
