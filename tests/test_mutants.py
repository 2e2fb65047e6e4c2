"""``make mutants``: how mutants (small bugs) are made, which tests are chosen for them, and how the tests run in a copy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants.__main__ import nearest_first, within
from tools.mutants.coverage_map import CoverageMap, some_of, without_case
from tools.mutants.operators import compiles, mutants_of
from tools.mutants.runner import uses_of

pytestmark = pytest.mark.long

SOURCE = b'''
"""A docstring with 1 number."""
LIMIT = 3


def kept(names: list[str], \xc3\xa9lan: int = 0) -> list[str]:
    if not names:
        raise ValueError("1")
    if len(names) > LIMIT and \xc3\xa9lan:
        return []
    names.sort(key=len, reverse=True)
    return [name for name in names if name]
'''

DRIVER = """
import json, sys
from pathlib import Path
from tools.mutants.operators import mutants_of
from tools.mutants.runner import Runner, copy_tree
runner = Runner(copy_tree(Path(sys.argv[1]), Path(sys.argv[2])), time_limit_seconds=60, files=["tests/test_tiny.py"])
path = "src/holdfast/tiny.py"
found = {mutant.after: mutant for mutant in mutants_of(path, (runner.copy / path).read_bytes())}
tests = {"(3)": ["::test_it"], "(x + 1)": ["::test_inner"], "x >= 0": ["::test_it", "::test_fails_anyway"], "None": ["::test_gone"], "(-1)": []}
run = {after: [f"tests/test_tiny.py{name}" for name in names] for after, names in tests.items()}
print(json.dumps({after: runner.run(found[after], names, covering=1).verdict for after, names in run.items()}))
"""


def changes(source: bytes) -> set[tuple[str, str]]:
    return {(mutant.operator, mutant.after) for mutant in mutants_of("m.py", source)}


@pytest.mark.parametrize(
    ("code", "operator", "after"),
    [
        ("x = a < b", "swap comparison", "a <= b"),
        ("x = a in b", "swap comparison", "a not in b"),
        ("x = a and b", "swap and/or", "(a or b)"),
        ("x = a and b", "drop operand", "(b)"),
        ("x = not a", "drop not", "(a)"),
        ("x = 3", "off by one", "(4)"),
        ("x = 0.5", "change constant", "1.0"),
        ("x = True", "flip constant", "False"),
        ("x = a - b", "swap arithmetic", "(a + b)"),
        ("x = min(a, b)", "swap built-in", "max"),
        ("f(a, b)", "swap arguments", "f(b, a)"),
        ("f(a, key_name=b)", "drop argument", "f(a)"),
        ("f(a)", "drop call", "pass"),
        ("if a: raise b", "drop guard", "pass"),
        ("if a: raise b", "drop guard", "False"),
        ("if a: b()", "negate condition", "(not (a))"),
        ("for a in b:\n    continue", "drop statement", "pass"),
        ("x = [a for a in b if a]", "drop filter", "True"),
        ("def f():\n    return a", "return nothing", "None"),
        ("def f():\n    return [a]", "return nothing", "[]"),
        ("def f():\n    return True", "return nothing", "False"),
    ],
)
def test_each_mutation_operator_makes_the_expected_change(code: str, operator: str, after: str) -> None:
    assert (operator, after) in changes(code.encode())


def test_text_annotations_messages_and_logging_are_not_mutated() -> None:
    assert changes(b'"""A text: 1."""\ndef f(a: int | None) -> int | None:\n    log.info("%d", 1)\n') == set()


def test_the_arguments_of_min_and_max_are_not_swapped_because_their_order_does_not_matter() -> None:
    assert changes(b"x = max(a, b)") == {("swap built-in", "min")}


def test_every_mutant_differs_from_the_file_in_one_place_and_keeps_its_lines() -> None:
    found = mutants_of("m.py", SOURCE)
    assert len(found) > 12
    for mutant in found:
        changed = mutant.apply(SOURCE)
        assert changed != SOURCE
        assert compiles(changed)
        assert changed.count(b"\n") == SOURCE.count(b"\n")


def test_a_line_is_covered_by_the_tests_that_ran_it_also_after_the_file_has_changed() -> None:
    known = CoverageMap(seconds={"slow": 2.0, "quick": 0.1, "other": 0.2}, sources={"m.py": ["LIMIT = 1", "a()", "b()"]})
    known.lines["m.py"] = {2: {"slow", "quick"}, 3: {"other"}}
    lines = ["LIMIT = 1", "a()", "b()"]
    assert known.tests_of("m.py", range(2, 3), range(2, 4), lines) == ["quick", "slow"]
    assert known.tests_of("m.py", range(3, 4), range(2, 5), ["LIMIT = 1", "new()", "a()", "b()"]) == ["quick", "slow"]
    assert known.tests_of("m.py", range(2, 3), range(2, 5), ["LIMIT = 1", "new()", "a()", "b()"]) == ["quick", "other", "slow"]
    assert known.tests_of("m.py", range(1, 2), None, lines) == ["quick", "other", "slow"], "it only runs at import"
    assert known.tests_of("m.py", range(1, 2), range(1, 2), lines) == [], "no test runs the function"
    known.partial = {"slow"}
    assert known.tests_of("m.py", range(1, 2), range(1, 2), lines) == ["slow"], "one of its other cases may run it"
    assert known.tests_of("unknown.py", range(1, 2), None, []) == []
    assert known.tests_in("") == ["quick", "other", "slow"]
    assert known.tests_in("o") == ["other"]


def test_a_new_recording_replaces_the_old_one_of_its_tests(tmp_path: Path) -> None:
    known = CoverageMap(seconds={"tests/a/t.py::x": 1.0, "tests/b/t.py::y": 1.0}, sources={"m.py": ["a()", "b()"]})
    known.partial = {"tests/a/t.py::x", "tests/b/t.py::y"}
    known.lines["m.py"] = {1: {"tests/a/t.py::x"}, 2: {"tests/b/t.py::y"}}
    new = CoverageMap(seconds={"tests/a/t.py::z": 1.0}, sources={"m.py": ["new()", "a()", "b()"]})
    new.lines["m.py"] = {1: {"tests/a/t.py::z"}}
    known.add(new, ["tests/a"])
    known.save(tmp_path / "map.json")
    saved = CoverageMap.load(tmp_path / "map.json")
    source = ["new()", "a()", "b()"]
    assert set(saved.seconds) == {"tests/a/t.py::z", "tests/b/t.py::y"}
    assert saved.partial == {"tests/b/t.py::y"}
    assert saved.tests_of("m.py", range(1, 2), range(1, 4), source) == ["tests/a/t.py::z"]
    assert saved.tests_of("m.py", range(3, 4), range(1, 4), source) == ["tests/b/t.py::y"]


def test_a_few_cases_of_a_test_are_recorded_among_them_the_first_and_the_last() -> None:
    assert some_of(range(100), 3) == [0, 49, 99]
    assert some_of([1, 2], 3) == [1, 2]
    assert [without_case(each) for each in ("t.py::test_it[a[1]::b]", "t.py::test_it")] == ["t.py::test_it"] * 2


def test_a_constant_is_tested_by_the_tests_of_the_lines_that_use_it() -> None:
    source = "LIMIT = 3\nOTHER = {\n    1: 2,\n}\n\ndef f(x):\n    return x < LIMIT\n\ndef g(x):\n    return OTHER[x] + LIMIT\n"
    assert (uses_of(source, 1), uses_of(source, 3), uses_of(source, 7)) == ([7, 10], [10], [])


def test_the_nearest_tests_always_run_and_others_within_the_time_limit() -> None:
    tests = [str(number) for number in range(20)]
    seconds = dict.fromkeys(tests, 1.0) | {"0": 100.0, "14": 100.0}
    assert within(tests, seconds, 3.5) == [*tests[:12], "12", "13", "15"]


def test_the_tests_nearest_to_the_mutated_file_run_first() -> None:
    tests = [
        "tests/server/test_other.py::a",
        "tests/recall/test_other.py::b",
        "tests/recall/test_traces.py::c",
        "tests/mcp/test_traces.py::d",
    ]
    near = nearest_first(tests, "recall", "src/holdfast/recall/traces/keeper.py")
    assert [test[-1] for test in near] == ["c", "b", "d", "a"]
    tests = ["tests/mcp/test_other.py::a", "tests/engine/test_other.py::b", "tests/engine/test_writer.py::c"]
    assert [test[-1] for test in nearest_first(tests, "writing", "src/holdfast/write.py")] == ["c", "b", "a"]


@pytest.mark.skipif(sys.platform == "win32", reason="mutants run in forked processes")
def test_a_run_separates_killed_from_surviving_mutants_and_does_not_change_the_working_tree(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "src" / "holdfast_models").mkdir(parents=True)
    (root / "src" / "holdfast").mkdir()
    (root / "src" / "holdfast" / "__init__.py").touch()
    module = root / "src" / "holdfast" / "tiny.py"
    module.write_text(
        "def double(x: int) -> int:\n    return x * 2 if x > 0 else 0\n"
        "def make():\n    def inner(x: int) -> int:\n        return x - 1\n    return inner\n"
        "less = make()\n"
    )
    (root / "tests").mkdir()
    (root / "tests" / "__init__.py").touch()
    (root / "tests" / "test_tiny.py").write_text(
        "from holdfast.tiny import double, less\ndef test_it():\n    assert double(3) == 6\ndef test_fails_anyway():\n    assert False\n"
        "def test_inner():\n    assert less(3) == 2\n"
    )
    (root / "pytest.ini").write_text("[pytest]\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    before = module.read_bytes()
    verdicts = subprocess.run(
        [sys.executable, "-c", DRIVER, str(root), str(tmp_path / "copy")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(verdicts) == {
        "(3)": "killed",
        "(x + 1)": "killed",
        "x >= 0": "survived",
        "None": "broken",
        "(-1)": "untested",
    }
    assert module.read_bytes() == before == (tmp_path / "copy" / "src" / "holdfast" / "tiny.py").read_bytes()
