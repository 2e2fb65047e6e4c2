"""The wheel contains the product, and no benchmarks, training code or tests."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
NOT_SHIPPED = ("bench", "labelled", "questions", "train", "mem0", "peer")


def _shipped() -> list[str]:
    """Return the paths in the wheel: all files of the packages that hatchling is configured with."""
    files = [file for package in BUILD["packages"] for file in (ROOT / package).rglob("*") if file.is_file()]
    return [file.relative_to(ROOT / "src").as_posix() for file in files if "__pycache__" not in file.parts]


def test_the_wheel_holds_one_package() -> None:
    assert BUILD == {"packages": ["src/holdfast"]}
    assert {path.partition("/")[0] for path in _shipped()} == {"holdfast"}


def test_the_wheel_contains_no_benchmarks_and_no_labelled_data() -> None:
    shipped = _shipped()
    assert "holdfast/engine.py" in shipped
    found = {path for path in shipped if any(word in part for part in path.split("/") for word in NOT_SHIPPED)}
    bench = "holdfast/cli/commands/bench.py"  # prints how to install them
    assert {path for path in found if not path.startswith(("holdfast/adapters/mem0/", "holdfast/importers/"))} == {bench}
    assert not [path for path in shipped if path.endswith(".jsonl")]


def test_hatchling_builds_a_wheel_with_exactly_these_files() -> None:
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    included = {file.distribution_path.replace("\\", "/") for file in builder.recurse_included_files()}
    assert included == set(_shipped())
