"""The resident process: one per configuration, private, and without users' text in its log. It ends when it is idle."""

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.resident.endpoint import Endpoint, connect, listen, prepare_folder, prove_to_client
from holdfast.resident.wire import Wire

from .support import Agents, transcript_line, wait_until

pytestmark = pytest.mark.ledger("X36")
unix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions and sockets are Unix's")


def _running(agents: Agents) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    ids = [int(line.split()[0]) for line in listed if "-m holdfast.resident" in line]
    own = str(agents.home).encode()
    return [id for id in ids if own in _environment(id)]


def _environment(id: int) -> bytes:
    try:
        return Path(f"/proc/{id}/environ").read_bytes()
    except OSError:
        return b""


@unix_only
@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_if_several_processes_start_it_at_once_only_one_runs(agents: Agents) -> None:
    payload = json.dumps({"session_id": "s1", "cwd": str(agents.repository)})
    starters = [
        subprocess.Popen(
            agents.command("hook", "session-start", "--user", "ana", "--wait", "20"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=agents.environment,
        )
        for _ in range(4)
    ]
    for starter in starters:
        starter.communicate(payload.encode(), timeout=60)
    wait_until(lambda: len(_running(agents)) == 1)
    assert "running, process" in agents.run("resident").stdout


@unix_only
@pytest.mark.long
def test_nobody_else_can_reach_the_process_and_its_log_has_no_text(agents: Agents, tmp_path: Path) -> None:
    agents.warm()
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(transcript_line("u1", "user", "My secret hobby is falconry."), "utf-8")
    agents.hook("session-end", {"session_id": "s1", "transcript_path": str(transcript)})
    agents.hook("prompt", {"session_id": "s2", "prompt": "What about falconry?"})
    folder = agents.home / "run"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.sock")} <= {0o600}  # a long path has a port instead
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("*.json")} == {0o600}
    logged = "".join(path.read_text("utf-8") for path in folder.glob("*.log*"))
    assert "started" in logged
    assert "falconry" not in logged


@pytest.mark.long
def test_the_process_ends_after_idle_time_and_removes_its_address(agents: Agents) -> None:
    quick = replace(agents, variables={"HOLDFAST_RESIDENT_IDLE_MINUTES": "0.03"})
    quick.hook("session-start", {"session_id": "s1"}, "--wait", "30")
    wait_until(lambda: list((agents.home / "run").glob("*.json")) == [])


@pytest.mark.long
def test_a_killed_process_is_replaced(agents: Agents) -> None:
    agents.warm()
    (address,) = (agents.home / "run").glob("*.json")
    pid = json.loads(address.read_text("utf-8"))["pid"]
    os.kill(pid, 9)
    agents.warm()
    assert json.loads(address.read_text("utf-8"))["pid"] != pid


@unix_only
def test_a_folder_that_others_can_enter_is_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    prepare_folder(Endpoint(folder=str(folder), name="x"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_port_is_used_where_a_socket_path_is_too_long_and_both_sides_prove_the_secret(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    endpoint = Endpoint(folder=str(folder), name="x")
    prepare_folder(endpoint)
    server, secret = listen(endpoint)
    assert secret is not None
    with server:
        import threading  # noqa: PLC0415  (only here)

        accepted: list[bool] = []

        def accept() -> None:
            connection, _ = server.accept()
            with connection:
                wire = Wire(connection)
                accepted.append(prove_to_client(wire, secret))
                if accepted[-1]:
                    wire.send(wire.receive() or {})

        thread = threading.Thread(target=accept)
        thread.start()
        wire = connect(endpoint, timeout=5)
        assert wire is not None
        wire.send({"hello": 1})
        assert wire.receive() == {"hello": 1}
        thread.join()
        wire.close()
        address = json.loads(Path(endpoint.address_file).read_text("utf-8"))
        Path(endpoint.address_file).write_text(json.dumps({**address, "secret": "wrong"}), "utf-8")
        thread = threading.Thread(target=accept)
        thread.start()
        started = time.monotonic()
        assert connect(endpoint, timeout=5) is None
        thread.join()
    assert accepted == [True, False]
    assert time.monotonic() - started < 5
