"""After setup nothing leaves the machine, and nothing is written outside the data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.folders import models_directory
from holdfast.errors import ModelError
from holdfast.models.local import registry, weights

SCRIPT = """
import socket, sys
def refuse(*args, **kwargs):
    raise SystemExit("tried to reach the network")
def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        refuse()
sys.addaudithook(audit)
import holdfast
with holdfast.open() as memory:
    memory.remember("Her sister is a surgeon in Lyon", user="ana")
    hit = memory.recall("Is there a doctor in the family?", user="ana")[0]
    assert [reason.arm for reason in hit.why] == ["meaning"], hit.why
    assert "surgeon" in memory.context("Is there a doctor in the family?", user="ana").text
print("done")
"""


@pytest.fixture
def weights_folder() -> Path:
    try:
        weights.locate(registry.find(registry.DEFAULT_MODEL), models_directory())
    except ModelError:
        pytest.skip("the weights are not on this machine: holdfast models pull")
    return models_directory()


@pytest.mark.ledger("X1")
def test_remembering_and_recalling_by_meaning_touches_neither_network_nor_home(weights_folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "HOLDFAST_HOME": str(tmp_path / "data"),
        "HOLDFAST_MODELS": str(weights_folder),
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "done", done.stderr
    assert list(home.rglob("*")) == []
