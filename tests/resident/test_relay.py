"""``holdfast mcp``: the relay to the resident process."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from holdfast.resident.handshake import VERSIONS

from .support import Agents, wait_until

pytestmark = pytest.mark.ledger("X36")


@dataclass(frozen=True)
class Talk:
    """A client that speaks MCP over the standard streams of a process."""

    process: subprocess.Popen[str]

    def ask(self, id: int, method: str, **params: Any) -> Any:
        self.send({"id": id, "method": method, "params": params})
        return self.read()

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def initialize(self, version: str = VERSIONS[-1]) -> Any:
        answer = self.ask(1, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})
        self.send({"method": "notifications/initialized"})
        return answer


@contextmanager
def _mcp(agents: Agents, *more: str, cwd: Path | None = None) -> Iterator[Talk]:
    command = agents.command("mcp", "--user", "ana", *more)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=agents.environment,
        cwd=cwd or agents.repository,
        text=True,
        encoding="utf-8",
    ) as process:
        yield Talk(process)
        rest, errors = process.communicate(timeout=60)
        assert (rest, errors, process.returncode) == ("", "", 0)


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Return the CPU time that a running process has used so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stored(talk: Talk, id: int, text: str) -> Any:
    return talk.ask(id, "tools/call", name="store_memory", arguments={"content": text})


@pytest.mark.long
@pytest.mark.parametrize("version", [*VERSIONS, "1999-01-01"])
def test_the_handshake_is_the_same_before_and_after_the_server_is_loaded(agents: Agents, version: str) -> None:
    with _mcp(agents) as talk:
        early = talk.initialize(version)
        assert "result" in talk.ask(2, "tools/list")
    with _mcp(agents) as talk:
        assert talk.initialize(version) == early


@pytest.mark.long
def test_the_handshake_takes_less_than_half_a_second_of_cpu(agents: Agents) -> None:
    for _ in range(2):  # without a resident process, and with one
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with _mcp(agents) as talk:
            talk.initialize()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
        agents.warm()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of a process from /proc")
@pytest.mark.parametrize("words", [("--tools", "graph"), ("--tools", "all"), ("--in-process",)])
def test_the_handshake_of_a_server_in_this_process_is_quick_and_the_same(agents: Agents, words: tuple[str, ...]) -> None:
    with _mcp(agents, *words) as talk:
        early = talk.initialize()
        spent = _cpu_seconds(talk.process)
        listed = {each["name"] for each in talk.ask(2, "tools/list")["result"]["tools"]}
        assert ("read_graph" in listed, "store_memory" in listed) == ("--tools" in words, "graph" not in words)
        assert talk.initialize() == early, "the server itself gives the same answer"
    assert spent < 0.5


@pytest.mark.long
def test_several_clients_share_one_process(agents: Agents) -> None:
    with _mcp(agents) as one, _mcp(agents) as two:
        one.initialize()
        two.initialize()
        _stored(one, 2, "prefers tea")
        found = two.ask(3, "tools/call", name="search_memories", arguments={"query": "tea"})
        assert "prefers tea" in json.dumps(found)
    assert len(list((agents.home / "run").glob("*.json"))) == 1


@pytest.mark.long
def test_the_server_is_restarted_if_its_process_is_killed(agents: Agents) -> None:
    with _mcp(agents) as talk:
        talk.initialize()
        _stored(talk, 2, "prefers tea")
        (address,) = (agents.home / "run").glob("*.json")
        pid = json.loads(address.read_text("utf-8"))["pid"]
        os.kill(pid, 9)
        wait_until(lambda: json.loads(address.read_text("utf-8"))["pid"] != pid)
        listed = talk.ask(3, "tools/call", name="list_memories", arguments={})
        if "error" in listed:  # sent while the connection broke
            assert "restarted" in listed["error"]["message"]
            listed = talk.ask(4, "tools/call", name="list_memories", arguments={})
        assert "prefers tea" in json.dumps(listed)


@pytest.mark.long
def test_the_server_runs_in_this_process_if_no_resident_process_can_be_used(agents: Agents, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agents.home.mkdir()
    (agents.home / "run").write_text("a file where the folder of the socket should be", "utf-8")
    with _mcp(agents) as talk:
        talk.initialize()
        assert "prefers tea" in json.dumps(_stored(talk, 2, "prefers tea"))


@pytest.mark.long
def test_a_store_that_cannot_be_opened_is_reported(agents: Agents) -> None:
    agents.home.mkdir()
    (agents.home / "memory.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    done = agents.run("mcp", "--user", "ana")
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_settings_file_in_the_working_directory_applies_to_mcp(agents: Agents, tmp_path: Path) -> None:
    (agents.repository / "holdfast.toml").write_text(f'store = "{tmp_path / "own.db"}"\n', "utf-8")
    with _mcp(agents) as talk:
        talk.initialize()
        _stored(talk, 2, "prefers tea")
    assert (tmp_path / "own.db").exists()


@pytest.mark.long
def test_variables_of_a_file_replace_those_of_the_environment(agents: Agents, tmp_path: Path) -> None:
    variables = tmp_path / "agents.env"
    variables.write_text(f"# written by install\nHOLDFAST_HOME={tmp_path / 'moved'}\n", "utf-8")
    with _mcp(agents, "--env-file", str(variables)) as talk:
        talk.initialize()
        _stored(talk, 2, "prefers tea")
    assert (tmp_path / "moved" / "memory.db").exists()
    replace(agents, home=tmp_path / "moved").stop()


@pytest.mark.long
def test_tools_in_a_project_keep_the_user_apart_from_the_project(agents: Agents) -> None:
    with _mcp(agents, "--project") as talk:
        talk.initialize()
        _stored(talk, 2, "I live in Lyon.")
        _stored(talk, 3, "The staging database is called heron.")
    with agents.memory() as memory:
        placed = {each.text: each.scope.app for each in memory.memories(user="ana", app="github.com/acme/shop")}
    assert placed == {"I live in Lyon.": None, "The staging database is called heron.": "github.com/acme/shop"}


def test_nothing_heavy_is_imported_for_a_hook_or_a_handshake() -> None:
    code = (
        "import sys; import holdfast.resident.hook, holdfast.resident.relay, holdfast.resident.handshake; "
        "print(' '.join(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"mcp", "click", "numpy", "holdfast.engine", "subprocess", "platformdirs", "pathlib"}.isdisjoint(loaded)
