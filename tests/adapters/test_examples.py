"""Every program in ``examples`` runs without an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.frameworks import ROOT, Framework, frameworks, skip_without

pytestmark = [pytest.mark.long, pytest.mark.ledger("X14")]


@pytest.mark.parametrize("framework", frameworks().values(), ids=lambda framework: framework.name)
def test_the_examples_run(framework: Framework, tmp_path: Path) -> None:
    skip_without(framework)
    for example in framework.examples:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / example)],
            env={**os.environ, "HOLDFAST_HOME": str(tmp_path / "home"), "PYTHONUTF8": "1"},
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{example}\n{done.stderr}"
        assert done.stdout.strip(), f"{example} prints nothing"
