"""Models are checked when a command starts: a missing package, key or weights file is an error, an unreachable server is not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast as package
from tests.models.remote.chat_server import ChatServer, Say

from .support import Holdfast

NOBODY = "http://127.0.0.1:9/v1"
"""An address that refuses connections."""

every_start = pytest.mark.parametrize("command", [("serve", "--port", "0"), ("chat", "--user", "ana"), ("worker", "--once")])


def _without(package: str, holdfast: Holdfast, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process that cannot import a package."""
    script = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['holdfast', *{list(args)!r}]\n"
        "from holdfast.cli import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        input="Hi.\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**holdfast.environment, **environment},
    )


@pytest.mark.long
@every_start
def test_a_missing_package_stops_the_start_and_is_named_with_its_command(holdfast: Holdfast, command: tuple[str, ...]) -> None:
    ran = _without("openai", holdfast, *command, HOLDFAST_CHAT="openai:gpt-4o", OPENAI_API_KEY="k")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "error: openai:gpt-4o needs the package openai: pip install 'holdfast-memory[openai]'\n"


@pytest.mark.long
@every_start
@pytest.mark.parametrize("setting", ["CHAT", "EMBEDDER"])
def test_a_missing_key_stops_the_start_and_is_named_by_its_variable(
    holdfast: Holdfast, command: tuple[str, ...], setting: str
) -> None:
    environment = {f"HOLDFAST_{setting}": "openai:some-model", "OPENAI_API_KEY": ""}
    ran = holdfast.run(*command, exit=1, input=b"Hi.\n", **environment)

    assert ran.stdout == b""
    assert ran.stderr.decode() == "error: openai:some-model needs a key: set OPENAI_API_KEY.\n"


@pytest.mark.long
def test_a_missing_model_file_stops_the_chat(holdfast: Holdfast) -> None:
    ran = holdfast.run("chat", exit=1, input=b"Hi.\n", HOLDFAST_CHAT="gguf:/nowhere/model.gguf")
    assert "xllamacpp" in ran.stderr.decode() or "/nowhere/model.gguf cannot be read" in ran.stderr.decode()


@pytest.mark.long
def test_an_unreachable_server_is_a_warning_and_the_chat_that_fails_exits_with_1(holdfast: Holdfast) -> None:
    environment: dict[str, Any] = {"HOLDFAST_CHAT": "ollama:llama3.2", "HOLDFAST_CHAT_URL": NOBODY, "HOLDFAST_EMBEDDER": "none"}

    quiet = holdfast.run("chat", "--user", "ana", input=b"", **environment)
    assert quiet.stderr.decode().startswith(f"note: ollama:llama3.2 cannot be reached at {NOBODY}")
    assert "`ollama serve`" in quiet.stderr.decode()
    failed = holdfast.run("chat", "--user", "ana", exit=1, input=b"I live in Lyon.\n", **environment)
    assert "error: ollama:llama3.2 cannot be reached" in failed.stderr.decode()
    assert ["Lyon" in each["text"] for each in holdfast.json("list", "--user", "ana")] == [True]
    programs = holdfast.run("chat", "--json", "--user", "ana", exit=1, input=b"Hi.\n", **environment)
    assert json.loads(programs.stdout.splitlines()[0])["error"]["code"] == "model_unavailable"
    assert json.loads(programs.stderr.splitlines()[0])["note"].startswith("ollama:llama3.2 cannot be reached")


@pytest.mark.long
def test_a_chat_that_fails_once_and_then_answers_succeeds(holdfast: Holdfast) -> None:
    def respond(request: object) -> str:
        return "ok"

    with ChatServer(respond=respond) as server:
        server.script(Say("I was about to", break_off=True), "Back again.")
        environment: dict[str, Any] = {"HOLDFAST_CHAT": "openai:m", "HOLDFAST_CHAT_URL": server.url, "HOLDFAST_EMBEDDER": "none"}
        holdfast.run("chat", input=b"Hi.\nStill there?\n", **environment)


@pytest.mark.long
def test_the_doctor_reports_models_that_cannot_be_used(holdfast: Holdfast) -> None:
    environment: dict[str, Any] = {"HOLDFAST_CHAT": "ollama:m", "HOLDFAST_CHAT_URL": NOBODY, "OPENAI_API_KEY": ""}
    environment["HOLDFAST_EMBEDDER"] = "openai:text-embedding-3-small"
    environment["HOLDFAST_RERANKER"] = "ms-marco-minilm-l12"

    found = json.loads(holdfast.run("doctor", "--json", exit=1, **environment).stdout)

    failed = {each["check"]: each["detail"] for each in found if not each["ok"]}
    assert set(failed) == {"embedder", "chat", "reranker"}
    assert len([each for each in found if each["check"] == "embedder"]) == 1
    assert failed["chat"].startswith("ollama:m cannot be reached")
    assert "OPENAI_API_KEY" in failed["embedder"]
    assert "holdfast models pull ms-marco-minilm-l12" in failed["reranker"]


@pytest.mark.long
def test_the_doctor_says_that_a_chat_model_is_ready(holdfast: Holdfast) -> None:
    with ChatServer() as server:
        ran = holdfast.run("doctor", "--json", HOLDFAST_CHAT="openai:m", HOLDFAST_CHAT_URL=server.url, HOLDFAST_EMBEDDER="none")
    assert [each["detail"] for each in json.loads(ran.stdout) if each["check"] == "chat"] == ["openai:m ready"]


@pytest.mark.long
def test_the_doctor_says_that_the_reader_is_ready(holdfast: Holdfast) -> None:
    found = json.loads(holdfast.run("doctor", "--json", HOLDFAST_EMBEDDER="none").stdout)
    assert [each["detail"] for each in found if each["check"] == "reader"] == ["talk-reader-s ready"]
    off = json.loads(holdfast.run("doctor", "--json", HOLDFAST_EMBEDDER="none", HOLDFAST_READER="none").stdout)
    assert not [each for each in off if each["check"] == "reader"]


@pytest.mark.long
def test_an_unknown_reader_is_an_error_that_lists_the_known_ones(holdfast: Holdfast) -> None:
    ran = holdfast.run("remember", "prefers tea", "--shared", exit=1, HOLDFAST_READER="gpt")
    assert ran.stderr.decode() == "error: Unknown reader 'gpt'. Use talk-reader-s or none.\n"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)


@pytest.fixture
def damaged_package(tmp_path: Path) -> Path:
    """Return a folder with a copy of both packages in which the reader's network file is truncated."""
    folder = tmp_path / "damaged"
    for name in ("holdfast", "holdfast_models"):
        shutil.copytree(Path(package.__file__).parents[1] / name, folder / name, copy_function=_link)
    network = folder / "holdfast_models/talk-reader-s/model.onnx"
    network.unlink()
    network.write_bytes(b"cut off")
    return folder


@pytest.mark.long
def test_a_damaged_reader_is_reported_and_rules_learn(holdfast: Holdfast, damaged_package: Path) -> None:
    def run(*args: str, said: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**holdfast.environment, "PYTHONPATH": str(damaged_package), "HOLDFAST_EMBEDDER": "none"}
        command = [sys.executable, "-m", "holdfast.cli", *args]
        return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=60, env=environment)

    doctor = run("doctor", "--json")
    (found,) = [each for each in json.loads(doctor.stdout) if each["check"] == "reader"]
    assert (doctor.returncode, found["ok"]) == (1, False)
    assert "model.onnx is missing or damaged. Reinstall Holdfast" in found["detail"]
    assert (
        json.loads(run("models", "pull", "talk-reader-s", "--json").stderr.splitlines()[-1])["error"]["code"] == "weights_corrupt"
    )
    listed = {each["name"]: each["installed"] for each in json.loads(run("models", "list", "--json").stdout)}
    assert (listed["talk-reader-s"], listed["talk-embed-s"]) == (False, True)
    with holdfast.memory() as memory:
        talk = memory.session(user="ana")
        talk.add("user", "I live in Lyon.")
        talk.end()
    worker = run("worker", "--once")
    assert worker.returncode == 0
    assert "Reinstall Holdfast" in worker.stderr
    assert [each["text"] for each in holdfast.json("list", "--user", "ana")] == ["I live in Lyon."]
    (job,) = holdfast.json("jobs", "--state", "done")
    assert job["error"].startswith("the sentence reader cannot be used, rules took over")
