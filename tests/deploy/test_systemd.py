"""The systemd units are valid, and their commands exist."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.cli.app import app

DEPLOY = Path(__file__).parents[2] / "deploy"
every_unit = pytest.mark.parametrize("name", ["holdfast.service", "holdfast-worker.service"])


@every_unit
def test_a_unit_runs_a_command_of_holdfast(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / name)
    program, command, *options = unit["Service"]["ExecStart"].split()
    assert Path(program).name == "holdfast"
    known = app.get_command(app.make_context("holdfast", [], resilient_parsing=True), command)
    assert known is not None
    assert set(options) <= {each for option in known.params for each in option.opts}


@every_unit
def test_systemd_accepts_a_unit(name: str, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed.")
    program = shutil.which("true") or "/bin/true"
    text = (DEPLOY / name).read_text("utf-8").replace("/opt/holdfast/bin/holdfast", program)
    (tmp_path / name).write_text(text, "utf-8")
    ran = subprocess.run([analyze, "verify", str(tmp_path / name)], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
