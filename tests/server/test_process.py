"""The ``holdfast serve`` command: start, refusal to start, logs, shutdown, and several worker processes."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.support import Holdfast, executable
from tests.models.remote.chat_server import ChatServer, Step
from tests.places import Place
from tests.server.http_support import Process, client, eventually, get, post, process

psutil = pytest.importorskip("psutil", reason="comes with the wheel that has PostgreSQL")


@pytest.fixture
def home(tmp_path: Path) -> Holdfast:
    return Holdfast(home=tmp_path / "home", models=tmp_path / "models")


@pytest.mark.long
def test_a_request_under_way_is_finished_and_queued_work_stays_queued(home: Holdfast) -> None:
    asked = threading.Event()

    def slowly(_asked: object) -> Step:
        asked.set()
        time.sleep(1.5)
        return "Here you are."

    with ChatServer(respond=slowly) as model, ThreadPoolExecutor(1) as pool:
        environment = {"HOLDFAST_CHAT_URL": model.url, "OPENAI_API_KEY": "k", "HOLDFAST_WORKER": "none"}
        with process(home.home, "--chat", "openai:m", **environment) as server:
            post(f"{server.url}/v1/sessions/a/messages", json={"role": "user", "text": "I live in Lyon.", "user": "ana"})
            post(f"{server.url}/v1/sessions/a/end")
            answer = pool.submit(post, f"{server.url}/v1/sessions/b/chat", json={"text": "hi", "user": "ana"}, timeout=30)
            assert asked.wait(60)
            assert server.stop() == 0
            assert answer.result().json()["text"] == "Here you are."
    with home.memory() as memory:
        assert [job.kind for job in memory.jobs(states=["queued"])] == ["digest"]


@pytest.mark.long
def test_a_client_that_follows_events_does_not_prevent_shutdown(home: Holdfast) -> None:
    with process(home.home) as server, httpx.stream("GET", f"{server.url}/v1/events") as stream:
        assert next(stream.iter_lines()) == "event: change"
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 30


@pytest.mark.ledger("X26")
@pytest.mark.long
def test_the_log_is_lines_of_json_without_what_was_said_or_asked(home: Holdfast) -> None:
    with process(home.home) as server:
        post(f"{server.url}/v1/sessions/s/messages", json={"role": "user", "text": "my secret pangolin", "user": "ana"})
        post(f"{server.url}/v1/sessions/s/end")
        post(f"{server.url}/v1/recall", json={"query": "which pangolin?", "user": "ana"})
        get(f"{server.url}/v1/memories?user=ana&key=pangolin")
        post(f"{server.url}/v1/memories", json={"text": "pangolin", "kind": "none such"})
        post(f"{server.url}/v1/sessions/s/chat", json={"text": "pangolin?"})
        get(f"{server.url}/v1/topics/pangolin", params={"user": "ana"})
        httpx.put(f"{server.url}/v1/users/pangolin", json={"language": "en"}, verify=False)
        get(f"{server.url}/v1/pangolin/pangolin")
        server.stop()
    text = server.log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line != "Press Ctrl-C to stop."]
    assert "pangolin" not in text
    asked = [(each["method"], each["path"], each["status"]) for each in lines if each["message"] == "request"]
    assert ("GET", "/v1/memories", 200) in asked
    assert ("POST", "/v1/memories", 400) in asked
    assert ("POST", "/v1/sessions/*/end", 200) in asked
    assert {path for method, path, _ in asked if method == "PUT"} == {"/v1/users/*"}


@pytest.mark.long
def test_another_machine_s_address_needs_a_key(home: Holdfast) -> None:
    refused = home.run("serve", "--host", "0.0.0.0", "--port", "0", "--embedder", "none", exit=1)
    assert b"holdfast keys create" in refused.stderr


@pytest.mark.long
def test_a_port_in_use_is_reported(home: Holdfast) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = home.run("serve", "--port", str(taken.getsockname()[1]), "--embedder", "none", exit=1)
    assert b"cannot listen" in refused.stderr


def _meet_both(server: Process) -> None:
    """Wait until both processes have answered a request."""

    def met() -> bool:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: get(f"{server.url}/v1/me", timeout=30), range(16)))
        return len({each["process"] for each in _requests(server.log)}) == 2

    eventually(met, 40)


@pytest.mark.long
@pytest.mark.everywhere("sqlite", "postgres")
def test_two_processes_serve_one_store(home: Holdfast, place: Place) -> None:
    with process(home.home, *place.arguments, "--workers", "2") as server:
        _meet_both(server)

        def remember(number: int) -> str:
            with client(server.url, timeout=60) as caller:
                caller.post(
                    "/v1/sessions/talk/messages",
                    json={"role": "user", "text": f"number {number}", "id": f"c{number}", "user": "ana"},
                )
                made = caller.post("/v1/memories", json={"text": f"fact number {number}", "user": "ana"})
                assert made.status_code == 201, made.text
                found = caller.post("/v1/recall", json={"query": f"fact number {number}", "user": "ana", "limit": 50})
                assert made.json()["id"] in [hit["id"] for hit in found.json()["hits"]]
                return str(made.json()["id"])

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(remember, range(40)))
        assert len(set(made)) == 40
        assert get(f"{server.url}/v1/memories?user=ana&limit=1").json()["total"] == 40
        said = get(f"{server.url}/v1/sessions/talk/messages?limit=100").json()["items"]
        assert len({each["seq"] for each in said}) == 40
        assert server.stop() == 0


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with two processes that have both answered a request."""
    with process(tmp_path_factory.mktemp("pair"), "--workers", "2") as server:
        _meet_both(server)
        yield server
        assert server.stop() == 0


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there, whoever wakes first takes a client")
def test_open_connections_are_shared_evenly_between_two_processes(pair: Process) -> None:
    before = len(_requests(pair.log))
    with contextlib.ExitStack() as open_ones:
        clients = [open_ones.enter_context(client(pair.url, timeout=30)) for _ in range(24)]
        with ThreadPoolExecutor(len(clients)) as pool:
            for _ in range(3):  # several rounds over the same open connections
                list(pool.map(lambda client: client.get("/v1/people"), clients))
    counts = Counter(each["process"] for each in _requests(pair.log)[before:] if each["path"] == "/v1/*")
    assert len(counts) == 2
    assert min(counts.values()) >= 3 * 10


@pytest.mark.long
@pytest.mark.ledger("X20")
def test_a_retry_that_reaches_another_process_does_nothing_twice(pair: Process) -> None:
    body, key = {"role": "user", "text": "once", "user": "ana"}, {"Idempotency-Key": "k1"}
    for _ in range(12):  # a new connection each time, so both processes are reached
        assert post(f"{pair.url}/v1/sessions/t/messages", json=body, headers=key).status_code == 201
    assert len(get(f"{pair.url}/v1/sessions/t/messages").json()["items"]) == 1


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="processes are killed with signals")
def test_a_process_that_dies_is_started_again_and_all_stop_when_the_main_process_is_killed(home: Holdfast) -> None:
    with process(home.home, "--workers", "2") as server:
        _meet_both(server)
        victim = next(each["process"] for each in _requests(server.log))
        os.kill(victim, signal.SIGKILL)

        def others() -> bool:
            try:
                get(f"{server.url}/v1/me", timeout=5)
            except httpx.TransportError:
                return False
            return len({each["process"] for each in _requests(server.log)}) >= 3

        eventually(others, 40)
        children = psutil.Process(server.popen.pid).children(recursive=True)
        assert len(children) >= 2
        server.popen.kill()
        server.popen.wait()
        _, alive = psutil.wait_procs(children, timeout=20)
        assert alive == []


def _requests(log: Path) -> list[dict[str, Any]]:
    lines = [line for line in log.read_text().splitlines() if line.startswith("{")]
    return [each for each in map(json.loads, lines) if each["message"] == "request"]


@pytest.mark.long
@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGINT), ("2", signal.SIGTERM)])
def test_the_address_is_printed_once_the_server_answers_and_a_signal_stops_it(tmp_path: Path, workers: str, number: int) -> None:
    command = [executable(), "serve", "--port", "0", "--embedder", "none", "--workers", workers]
    popen = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "HOLDFAST_HOME": str(tmp_path)}
    )
    try:
        assert popen.stdout is not None
        line = popen.stdout.readline().decode()
        url = line.removeprefix("Dashboard: ").strip()
        # A server that is still starting would not respond within this time.
        assert get(f"{url}health", timeout=3).status_code == 200
        assert get(url).status_code == 200
        popen.send_signal(number)
        assert popen.wait(90) == 0
    finally:
        popen.kill()
        popen.communicate(timeout=90)
