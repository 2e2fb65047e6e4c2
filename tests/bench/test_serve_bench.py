"""Tests of the server benchmark: memory sampling, and chat models that do not respond."""

import os
import socket
import subprocess
import sys

import pytest

from holdfast_bench.server.benchmark import measure
from holdfast_bench.server.memory import family_mb, family_sum, summarize
from holdfast_bench.server.models import compare, hanging, refusing

pytest.importorskip("uvicorn", reason="the server's packages are not installed")
NO_EMBEDDER = ("--embedder", "none")


def test_the_memory_of_a_process_includes_all_processes_that_it_started() -> None:
    processes = {1: (0, 1024), 5: (1, 2048), 6: (5, 4096), 7: (6, 1024), 9: (1, 512_000)}
    assert family_sum(processes, 5) == 7.0


@pytest.mark.skipif(sys.platform == "win32", reason="where the system does not tell, nothing is said")
def test_the_memory_of_child_processes_is_included() -> None:
    alone = family_mb(os.getpid())
    waiting = "held = bytearray(64 << 20); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with_child = family_mb(os.getpid())
        child.communicate(b"\n")
    assert alone is not None
    assert with_child is not None
    assert with_child - alone > 50


def test_memory_that_grows_at_the_start_alone_is_steady() -> None:
    seen = summarize([*range(100, 200), *[200.0] * 300])
    assert (seen["memory_grew_percent"], seen["memory_steady"]) == (0.0, True)


def test_memory_that_grows_to_the_end_is_not_steady() -> None:
    seen = summarize([float(value) for value in range(100, 500)])
    assert seen["memory_grew_percent"] > 50
    assert seen["memory_steady"] is False


def test_too_few_samples_give_no_decision() -> None:
    assert summarize([1.0])["memory_steady"] is None


def test_a_model_that_is_down_refuses_connections() -> None:
    with refusing() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_hanging_model_accepts_connections_and_sends_nothing() -> None:
    with hanging() as port, socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"POST / HTTP/1.1\r\n\r\n")
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="ends the server as POSIX does")
def test_a_short_run_reports_its_speed_and_its_memory_use() -> None:
    seen = measure(clients=3, seconds=2.5, memories=20, workers=2, options=NO_EMBEDDER)
    assert seen["errors"] == 0
    assert seen["requests_a_second"] > 0
    assert seen["drained_after_s"] is not None
    assert sys.platform != "linux" or seen["memory_mb"]["end"] > 100, "two workers and the one that minds them"


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="ends the server as POSIX does")
def test_servers_with_unresponsive_models_are_compared_with_a_server_without_a_model() -> None:
    seen = compare(clients=3, seconds=6, memories=20, options=NO_EMBEDDER, max_wait=0.5)
    assert [seen[name]["errors"] for name in ("none", "refused", "hangs")] == [0, 0, 0]
    assert seen["none"]["recall_ratio"] == seen["none"]["add_ratio"] == 1.0
    assert seen["hangs"]["queued"] > 0, "what cannot be asked of the model waits, and is seen to wait"
