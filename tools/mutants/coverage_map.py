"""A map of the tests that run each line. It is recorded with coverage.py and kept for later runs.

A test with many cases (parameters) is one test here. Only a few of its cases are recorded, but all of them run for a mutant.
"""

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tools.mutants.runner import backend_options

T = TypeVar("T")
MAX_CASES = 2
"""Maximum number of cases of a test that are recorded. Most cases of a test run the same lines."""
UNRECORDED = ("tests/server/dashboard", "tests/server/routes/test_schema.py", "tests/server/test_process.py")
"""Tests that take half of the time: they drive a browser, generate requests, or run the code in another process."""


@dataclass(slots=True)
class CoverageMap:
    """The tests that run each line, and the duration of each test."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    partial: set[str] = field(default_factory=set)
    """The tests of which not all cases were recorded. Their other cases may run other lines."""
    sources: dict[str, list[str]] = field(default_factory=dict)
    """The lines of each file at the time of the recording. They are used to find a line in a file that has changed since."""

    def tests_of(self, path: str, lines: Iterable[int], function: range | None, source: Sequence[str]) -> list[str]:
        """Return the tests that run any of the given lines of a file, quickest first.

        If there are none, return the tests that run other lines of the same function. If there are none either, return the
        tests that run any line of the file and have cases that were not recorded.

        ``function`` is None for lines that run at import, such as a constant. For such lines, the last resort is all tests
        that run any line of the file.
        """
        known = self.lines.get(path, {})
        old = self.old_lines(path, source)
        found = {test for line in lines for test in known.get(old.get(line, 0), ())}
        if not found and function is not None:
            found = {test for line in function for test in known.get(old.get(line, 0), ())}
        if not found:
            whole = {test for tests in known.values() for test in tests}
            found = whole if function is None else whole & self.partial
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def tests_in(self, folder: str) -> list[str]:
        """Return all tests of a folder, quickest first. Used for a file that is newer than the recording."""
        return sorted((test for test in self.seconds if test.startswith(folder)), key=lambda test: (self.seconds[test], test))

    def old_lines(self, path: str, source: Sequence[str]) -> dict[int, int]:
        """Map the line numbers of a file to those at the time of the recording."""
        recorded = self.sources.get(path, [])
        if list(source) == recorded:
            return {number: number for number in range(1, len(recorded) + 1)}
        blocks = difflib.SequenceMatcher(None, source, recorded, autojunk=False).get_matching_blocks()
        return {new + step + 1: old + step + 1 for new, old, size in blocks for step in range(size)}

    def add(self, other: "CoverageMap", tests: Sequence[str]) -> None:
        """Add a recording of test files or folders. It replaces their earlier recording."""
        gone = {test for test in self.seconds if test.startswith(tuple(tests))}
        self.seconds = {test: seconds for test, seconds in self.seconds.items() if test not in gone} | other.seconds
        self.partial = self.partial - gone | other.partial
        for path, source in other.sources.items():
            old = other.old_lines(path, self.sources.get(path, source))
            kept = {line: covering - gone for line, covering in self.lines[path].items()}
            moved: dict[int, set[str]] = defaultdict(set)
            for line, covering in kept.items():
                if line in old:
                    moved[old[line]] |= covering
            for line, covering in other.lines[path].items():
                moved[line] |= covering
            self.lines[path], self.sources[path] = moved, source

    def save(self, path: Path) -> None:
        """Write the map as JSON. Tests are listed by number, because their names would be repeated for thousands of lines."""
        number = {test: index for index, test in enumerate(self.seconds)}
        lines = {
            file: {line: sorted(number[test] for test in tests) for line, tests in known.items() if tests}
            for file, known in self.lines.items()
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"seconds": self.seconds, "partial": sorted(self.partial), "lines": lines, "sources": self.sources}),
            "utf-8",
        )

    @classmethod
    def load(cls, path: Path) -> "CoverageMap":
        """Read a map that :meth:`save` wrote, or return an empty map."""
        found = cls()
        if path.exists():
            data = json.loads(path.read_text("utf-8"))
            tests = list(data["seconds"])
            found.seconds, found.sources, found.partial = data["seconds"], data["sources"], set(data.get("partial", ()))
            for file, known in data["lines"].items():
                for line, covering in known.items():
                    found.lines[file][int(line)] = {tests[index] for index in covering}
        return found


class _Contexts:
    """A pytest plugin that tells coverage.py which test is running, and records the seconds of each test that passed."""

    def __init__(self, coverage: Any) -> None:
        self.seconds: dict[str, float] = {}
        self._coverage = coverage
        self._ran: set[str] = set()
        self._failed: set[str] = set()
        self._cases: dict[str, tuple[int, int]] = {}
        """The number of all cases of each test, and of the recorded ones."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all but a few cases of each test."""
        cases = defaultdict(list)
        for item in items:
            cases[without_case(item.nodeid)].append(item)
        chosen = {test: some_of(found, MAX_CASES) for test, found in cases.items()}
        self._cases = {test: (len(found), len(chosen[test])) for test, found in cases.items()}
        kept = {id(item) for found in chosen.values() for item in found}
        items[:] = [item for item in items if id(item) in kept]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(without_case(item.nodeid))
        result = yield
        self._coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = without_case(report.nodeid)
        if report.failed:
            self._failed.add(test)
        elif report.when == "call" and report.passed:
            self._ran.add(test)
        every, recorded = self._cases[test]
        self.seconds[test] = round(self.seconds.get(test, 0.0) + report.duration * every / recorded, 3)

    def partial(self) -> set[str]:
        """Return the tests of which not all cases ran."""
        return {test for test, (every, recorded) in self._cases.items() if recorded < every}

    def passed(self) -> dict[str, float]:
        """Return the seconds of all cases of each test. Tests that failed or were skipped are left out."""
        return {test: seconds for test, seconds in self.seconds.items() if test in self._ran - self._failed}


def without_case(nodeid: str) -> str:
    """Return the name of a test, without its case: ``t.py::test_it`` for ``t.py::test_it[3]``."""
    return nodeid.partition("[")[0]


def some_of(items: Sequence[T], number: int) -> list[T]:
    """Return at most ``number`` items, spread evenly. The first and the last item are among them."""
    if len(items) <= number:
        return list(items)
    return [items[index * (len(items) - 1) // (number - 1)] for index in range(number)]


def record(root: Path, files: Sequence[Path], tests: Sequence[str]) -> CoverageMap:
    """Run tests in this process and return the map of the given files. Tests that fail or are skipped are left out."""
    with _measured(files) as coverage:
        contexts = _Contexts(coverage)
        options = ["-n", "0", "-p", "no:cacheprovider", "-m", "not long", *(f"--ignore={path}" for path in UNRECORDED)]
        pytest.main([*options, *backend_options(root), *tests], plugins=[contexts])
    data = coverage.get_data()
    found = CoverageMap(seconds=contexts.passed(), partial=contexts.partial())
    for file in files:
        path = str(file.relative_to(root))
        found.sources[path] = file.read_text("utf-8").splitlines()
        for line, names in data.contexts_by_lineno(str(file)).items():
            found.lines[path][line] = {name for name in names if name in found.seconds}
    return found


@contextmanager
def _measured(files: Sequence[Path]) -> Iterator[Any]:
    """Measure the coverage of files inside the ``with`` block. Only this function imports coverage.py."""
    import coverage  # noqa: PLC0415

    measuring = coverage.Coverage(data_file=None, include=[str(file) for file in files], config_file=False)
    measuring.start()
    try:
        yield measuring
    finally:
        measuring.stop()
