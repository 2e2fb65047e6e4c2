"""The ``bench`` command with and without the package holdfast-bench."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.commands import bench
from tests.parsing import ROOT

WITHOUT = "import sys; sys.modules['holdfast_bench'] = None; sys.argv = ['holdfast', 'bench', *{given}]; from holdfast.cli import main; main()"


@pytest.mark.parametrize("given", [["speed"], ["--help"], []], ids=["a benchmark", "help", "nothing"])
def test_without_the_package_the_command_says_how_to_install_it(given: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(given=given)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "The benchmarks are not installed" in done.stderr
    assert shlex.join([sys.executable, "-m", "pip", "install", str(ROOT / "bench")]) in " ".join(done.stderr.split())


def test_outside_a_clone_the_message_names_the_repository(tmp_path: Path) -> None:
    assert bench._how_to_install(tmp_path / "bench") == "Install them in a clone of the repository: pip install ./bench"


def test_the_named_folder_is_the_distribution_of_the_benchmarks() -> None:
    assert 'name = "holdfast-bench"' in (ROOT / "bench" / "pyproject.toml").read_text("utf-8")


def test_with_the_package_the_command_lists_the_benchmarks() -> None:
    done = subprocess.run([sys.executable, "-m", "holdfast.cli", "bench", "--help"], capture_output=True, text=True, check=True)
    assert {"speed", "learn", "recall", "serve"} <= set(done.stdout.split())
