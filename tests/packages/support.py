"""Building the distributions, and finding tools, for the tests of this folder."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "packages" / "models"


def build_all(folder: Path) -> list[Path]:
    """Build all distributions of the repository. Return their paths."""
    command = [sys.executable, str(ROOT / "tools" / "build_dist.py"), str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return sorted(folder.iterdir())


def tool(name: str) -> str | None:
    """Return the path of a program in this environment or on the PATH, or None if it is not installed."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment variables without a Python path and without settings of Holdfast."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HOLDFAST_"))}
    return {**kept, **more}
