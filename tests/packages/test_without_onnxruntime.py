"""Without onnxruntime and holdfast-models, as on Alpine Linux or 32-bit ARM, word search and extraction by rules still work."""

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from .support import ROOT, plain_environment

MISSING = ("onnxruntime", "holdfast", "_editable_impl_holdfast", "__editable__")


class Bare:
    """An environment with all packages of this environment except onnxruntime and the weights."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        self._python = folder / "venv" / "bin" / "python"
        self._home = folder / "home"
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if not path.name.startswith(MISSING):
                (packages / path.name).symlink_to(path)
        (packages / "holdfast").symlink_to(ROOT / "src" / "holdfast")

    def run(self, *command: str) -> str:
        """Run Python with these arguments. Return its output."""
        environment = plain_environment(HOLDFAST_HOME=str(self._home), HOLDFAST_MODELS=str(self._home / "models"))
        ran = subprocess.run(
            [str(self._python), *command], capture_output=True, text=True, check=False, timeout=120, env=environment
        )
        assert ran.stdout, ran.stderr
        return ran.stdout


SCRIPT = """
import json, holdfast
with holdfast.open() as memory:
    memory.remember("prefiere el té por la mañana", user="ana")
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Lyon.")
    memory.drain()
    found = memory.recall("té", user="ana")
    print(json.dumps({"found": found[0].text, "notice": " ".join(found.notices), "facts": [each.text for each in memory.memories(user="ana")]}))
"""


@pytest.mark.long
@pytest.mark.ledger("X1")
def test_words_and_rules_work_and_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Links need a permission on Windows.")
    bare = Bare(tmp_path)
    answer = json.loads(bare.run("-c", SCRIPT))
    assert answer["found"] == "prefiere el té por la mañana"
    assert "I live in Lyon." in answer["facts"]
    assert "need onnxruntime" in answer["notice"]

    weights = ROOT / "src" / "holdfast_models" / "talk-embed-s"
    assert "model.onnx" in bare.run("-m", "holdfast.cli", "models", "pull", "talk-embed-s", "--from", str(weights))
    findings = {each["check"]: each for each in json.loads(bare.run("-m", "holdfast.cli", "doctor", "--json"))}
    for check in ("embedder", "reader"):
        assert not findings[check]["ok"]
        assert "searches by words and learns by rules" in findings[check]["detail"]
