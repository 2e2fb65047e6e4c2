"""The ``bench`` command with and without the package holdfast-bench."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules['holdfast_bench'] = None; sys.argv = ['holdfast', 'bench', *{given}]; from holdfast.cli import main; main()"


@pytest.mark.parametrize("given", [["speed"], ["--help"], []], ids=["a benchmark", "help", "nothing"])
def test_without_the_package_the_command_says_how_to_install_it(given: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(given=given)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "The benchmarks are not installed. Install them with: pip install holdfast-bench" in done.stderr


def test_with_the_package_the_command_lists_the_benchmarks() -> None:
    done = subprocess.run([sys.executable, "-m", "holdfast.cli", "bench", "--help"], capture_output=True, text=True, check=True)
    assert {"speed", "learn", "recall", "serve"} <= set(done.stdout.split())
