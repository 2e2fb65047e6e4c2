"""Plant small bugs (mutants) in the code, and count how many of them the tests notice: ``make mutants``.

The tests run in a copy of the source tree, which is removed at the end. The working tree is never changed.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tools.mutants.coverage_map import CoverageMap, record
from tools.mutants.operators import Mutant, compiles, mutants_of
from tools.mutants.runner import FIRST_TESTS, Result, Runner, body_at, copy_tree, import_paths, uses_of

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path("src/holdfast")
CACHE = Path(".cache/mutants")
_SAVED = ROOT / CACHE / "coverage.json"
AREAS: Mapping[str, tuple[str, ...]] = {
    "writing": ("write.py", "values.py", "messages.py", "session.py"),
    "erasing": ("forgetting",),
    "access": ("access",),
    "recall": ("recall",),
    "learning": ("learning",),
    "server": ("server",),
}
"""The files of each area. A sample has the same number of mutants from each area."""
TESTS = (
    "access", "agent", "background", "consent", "designs", "engine", "forgetting", "learning", "mcp", "recall", "server", "stores/sqlite",
)  # fmt: skip
"""The test folders that may notice a mutant. Coverage is recorded for each folder in its own process."""

_OWN_TESTS = {"writing": "engine", "erasing": "forgetting"}
"""Maps an area to its test folder, for areas whose test folder has a different name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return 1 if fewer mutants are killed than ``--min-killed`` requires."""
    chosen = _parser().parse_args(arguments)
    if chosen.record_one:
        record(Path.cwd(), list(_files()), [chosen.record_one]).save(Path(os.environ["MUTANTS_OUT"]))
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_tree(ROOT, Path(folder).resolve())
        known = CoverageMap.load(_SAVED) if chosen.recorded else _coverage(copy, chosen.record)
        if chosen.count == 0:
            return 0
        sample = _again(copy, chosen.again) if chosen.again else _sample(copy, chosen.count, chosen.seed, chosen.area or AREAS)
        files = sorted({test.split("::")[0] for test in known.seconds})
        passing = known.seconds.keys() - known.partial
        runner = Runner(copy, time_limit_seconds=chosen.time_limit, files=files, passing=passing)
        results = []
        for number, (area, mutant) in enumerate(sample, 1):
            covering = _covering(known, area, mutant, (copy / mutant.path).read_text("utf-8"))
            tests = within(nearest_first(covering, area, mutant.path), known.seconds, chosen.test_seconds)
            result = runner.run(mutant, tests, covering=len(covering))
            results.append((area, result))
            _print(f"{number:4}/{len(sample)} {result.seconds:5.1f} s  {result.verdict:8} {area:8} {mutant}")
    return _report(results, chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="number of mutants; 0 only records the coverage")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and source give the same mutants")
    parser.add_argument("--area", action="append", choices=AREAS, help="only mutate this area; can be given several times")
    parser.add_argument("--again", type=Path, help="run only the mutants that survived in this report")
    parser.add_argument("--record", nargs="*", default=[], metavar="TESTS", help="record these tests again, such as tests/engine")
    parser.add_argument("--recorded", action="store_true", help="record nothing, even if tests are missing in the recording")
    parser.add_argument("--record-one", help=argparse.SUPPRESS)
    parser.add_argument(
        "--test-seconds", type=float, default=30.0, help="run tests of this total time for each mutant, after the nearest ones"
    )
    parser.add_argument("--time-limit", type=float, default=300.0, help="a mutant whose tests run longer counts as killed")
    parser.add_argument("--min-killed", type=float, default=0.9, help="share of mutants that the tests must kill")
    return parser


def _files() -> Iterator[Path]:
    """Yield the files of the current folder that can be mutated."""
    for name in (name for names in AREAS.values() for name in names):
        yield from _python_files(Path.cwd() / PACKAGE / name)


def _coverage(copy: Path, again: Sequence[str]) -> CoverageMap:
    """Return the coverage map. Record coverage for folders that it lacks, and for the tests in ``again``."""
    known = CoverageMap.load(_SAVED)
    missing = [f"tests/{name}" for name in TESTS if not any(test.startswith(f"tests/{name}/") for test in known.seconds)]
    for tests in dict.fromkeys([*([] if again else missing), *again]):
        _print(f"recording {tests}")
        part = copy / "part.json"
        environment = {
            **os.environ,
            "MUTANTS_OUT": str(part),
            "PYTHONPATH": os.pathsep.join([*import_paths(copy), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
        }
        subprocess.run([sys.executable, "-m", "tools.mutants", "--record-one", tests], cwd=copy, env=environment, check=True)
        known.add(CoverageMap.load(part), [tests])
        known.save(_SAVED)
    return known


def _sample(copy: Path, count: int, seed: int, areas: Collection[str]) -> list[tuple[str, Mutant]]:
    """Draw mutants from the given areas. The share of an area is ``count`` divided by the number of all areas, given or not."""
    chosen: list[tuple[str, Mutant]] = []
    for index, (area, names) in enumerate(AREAS.items()):
        wanted = (count + index) // len(AREAS) if area in areas else 0
        files = [path for name in names for path in _python_files(copy / PACKAGE / name)] if wanted else []
        found = [mutant for file in files for mutant in mutants_of(str(file.relative_to(copy)), file.read_bytes())]
        drawn = (mutant for mutant in _shuffled(found, seed) if compiles(mutant.apply((copy / mutant.path).read_bytes())))
        chosen += [(area, mutant) for mutant, _ in zip(drawn, range(wanted), strict=False)]
    return chosen


def _shuffled(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Return mutants in random order. The position depends only on the mutant itself, so a source change moves few of them."""
    seen: Counter[str] = Counter()
    order = {}
    for mutant in mutants:
        name = f"{seed} {mutant.path} {mutant.operator} {mutant.before} {mutant.after}"
        order[mutant] = hashlib.sha256(f"{name} {seen[name]}".encode()).digest()
        seen[name] += 1
    return sorted(mutants, key=order.__getitem__)


def _python_files(path: Path) -> list[Path]:
    return [path] if path.suffix else sorted(path.rglob("*.py"))


def _again(copy: Path, report: Path) -> list[tuple[str, Mutant]]:
    """Return the mutants that survived in an earlier report. Mutants whose code has changed are left out."""
    found = []
    for each in json.loads(report.read_text("utf-8"))["survivors"]:
        old = Mutant(**each["mutant"])
        same = [new for new in mutants_of(old.path, (copy / old.path).read_bytes()) if _alike(new) == _alike(old)]
        found += [(each["area"], min(same, key=lambda new: abs(new.line - old.line)))] if same else []
    return found


def _alike(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.operator, mutant.before, mutant.after


def _covering(known: CoverageMap, area: str, mutant: Mutant, source: str) -> list[str]:
    """Return the tests that may notice a mutant. If its file is newer than the recording, return all tests of the area."""
    if mutant.path not in known.sources:
        return known.tests_in(_own_folder(area))
    lines = [*range(mutant.line, mutant.last_line + 1), *uses_of(source, mutant.line)]
    return known.tests_of(mutant.path, lines, body_at(source, mutant.line), source.splitlines())


def nearest_first(tests: Sequence[str], area: str, path: str) -> list[str]:
    """Sort tests: those whose path shares the most names with the mutated file come first.

    With equal numbers of shared names, tests of the file's area come first.
    """
    names = _names(path)

    def shared(test: str) -> int:
        others = _names(test.split("::", maxsplit=1)[0])
        return sum(any(name.startswith(other) or other.startswith(name) for other in others) for name in names)

    return sorted(tests, key=lambda test: (-shared(test), not test.startswith(_own_folder(area))))


def _names(path: str) -> set[str]:
    """Return the names in a path, such as ``recall`` and ``traces`` for ``tests/recall/test_traces.py``."""
    return {part.removeprefix("test_") for part in Path(path).with_suffix("").parts[1:]}


def _own_folder(area: str) -> str:
    return f"tests/{_OWN_TESTS.get(area, area)}/"


def within(tests: Sequence[str], seconds: Mapping[str, float], limit: float) -> list[str]:
    """Return the first ``FIRST_TESTS`` tests, followed by as many other tests as fit into the time limit.

    The time of the first tests does not count, because it may include the time to load a model.
    """
    chosen = list(tests[:FIRST_TESTS])
    total = 0.0
    for test in tests[FIRST_TESTS:]:
        cost = seconds[test] + 0.01  # each test has some overhead
        if total + cost <= limit:
            total += cost
            chosen.append(test)
    return chosen


def _report(results: Sequence[tuple[str, Result]], chosen: argparse.Namespace) -> int:
    """Print the survivors and a summary, and write the report. Returns the exit code."""
    killed = Counter(area for area, result in results if result.is_killed)
    total = Counter(area for area, _ in results)
    survivors = [(area, result) for area, result in results if not result.is_killed]
    lines = [f"{area:9} {killed[area]:3} of {number:3} killed" for area, number in total.items()]
    share = killed.total() / max(total.total(), 1)
    lines.append(f"{'all':9} {killed.total():3} of {total.total():3} killed ({share:.0%}), seed {chosen.seed}")
    lines += [f"\n{result.verdict} ({result.tests} of {result.covering} tests): {result.mutant}" for _, result in survivors]
    _print("\n" + "\n".join(lines))
    report = ROOT / CACHE / f"report-{chosen.seed}{'-again' if chosen.again else ''}.json"
    data = {
        "seed": chosen.seed,
        "killed": killed.total(),
        "total": total.total(),
        "survivors": [{"area": area, "mutant": asdict(result.mutant)} for area, result in survivors],
        "results": [{"area": area, "verdict": result.verdict, "seconds": round(result.seconds, 1), "by": result.by, "mutant": str(result.mutant)} for area, result in results],
    }  # fmt: skip
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(data, indent=1, ensure_ascii=False), "utf-8")
    _print(f"\nThe report is in {report.relative_to(ROOT)}.")
    return int(share < chosen.min_killed)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
