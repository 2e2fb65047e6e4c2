"""A server, three MCP servers over stdio and the command line write to one file while another program locks it.

They write 10,000 rows with ``--full``, and 2,500 rows without.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast_bench.server.load import ask, drained, server
from tests.sampling import Sample

from .support import posix_only

pytestmark = [posix_only, pytest.mark.long, pytest.mark.ledger("X6")]

CLIENTS = 3
COMMANDS = 5


@dataclass(frozen=True, slots=True)
class Load:
    """How much is written."""

    sessions: int
    messages: int
    """Number of messages per session from which nothing is learned. One more message states where the user lives."""
    calls: int
    """Number of calls of each MCP client."""
    lines: int
    """Number of imported lines."""

    @property
    def writes(self) -> int:
        return self.sessions * (self.messages + 1) + CLIENTS * self.calls + self.lines + COMMANDS


FULL = Load(sessions=34, messages=249, calls=300, lines=595)
SHORT = Load(sessions=17, messages=124, calls=75, lines=145)
LOCKED_SECONDS = 10.0
_PIPELINE = 50
"""Number of requests that an MCP client sends before it reads the responses."""


class Stdio:
    """An MCP server over stdio that opens the store itself."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "holdfast.cli", "mcp", "--in-process", "--user", "mcp", "--store", str(store)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self._send("initialize", client)
        self._answer()
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def store(self, texts: list[str]) -> list[dict[str, Any]]:
        """Store memories, and return the server's responses."""
        for text in texts:
            self._send("tools/call", {"name": "store_memory", "arguments": {"content": text}})
        return [self._answer() for _ in texts]

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _send(self, method: str, params: dict[str, Any]) -> None:
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def _write(self, value: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if "id" in answer:
                return answer


def write_over_http(port: int, load: Load) -> list[str]:
    """Add and end sessions over HTTP. Return the failed requests."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    wrong = []
    for number in range(load.sessions):
        path = f"/v1/sessions/s{number}"
        filler = [{"role": "tool", "text": f"row {number}.{each}", "id": f"{number}.{each}"} for each in range(load.messages)]
        messages = [{"role": "user", "text": f"I live in Town{number}x.", "id": f"{number}.town"}, *filler]
        for step, body in (
            ("messages/batch", {"messages": messages, "user": f"user{number}"}),
            ("end", {"user": f"user{number}"}),
        ):
            status, answer = ask(connection, "POST", f"{path}/{step}", body)
            if not 200 <= status < 300:
                wrong.append(f"{path}/{step}: {status} {answer}")
    return wrong


def write_over_stdio(store: Path, name: str, calls: int) -> list[str]:
    client = Stdio(store)
    texts = [f"{name} holds piece {number}" for number in range(calls)]
    answers = [answer for at in range(0, calls, _PIPELINE) for answer in client.store(texts[at : at + _PIPELINE])]
    client.end()
    return [str(answer) for answer in answers if "error" in answer or answer["result"].get("isError")]


def write_by_commands(store: Path, folder: Path, lines: int) -> list[str]:
    notes = folder / "notes.txt"
    notes.write_text("".join(f"- The shelf holds box {number}.\n" for number in range(lines)), "utf-8")
    calls = [["import", "pasted", str(notes), "--yes"], *(["remember", f"command {number} ran"] for number in range(COMMANDS))]
    results = [
        subprocess.run(
            [sys.executable, "-m", "holdfast.cli", *call, "--store", str(store), "--user", "cli"],
            capture_output=True,
            text=True,
            check=False,
        )
        for call in calls
    ]
    return [f"{result.args}: {result.stderr}" for result in results if result.returncode]


@contextmanager
def locked(store: Path, seconds: float) -> Iterator[None]:
    """Context manager: another program holds the write lock of the file for some seconds."""

    def hold() -> None:
        connection = apsw.Connection(str(store))
        connection.set_busy_timeout(60_000)
        connection.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        connection.execute("COMMIT")
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.timeout(400)
def test_thousands_of_writes_of_five_programs_are_all_stored_and_digested_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: Sample
) -> None:
    load = FULL if sample.full else SHORT
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    store = tmp_path / "memory.db"
    wrong: list[str] = []

    def run(work: Callable[[], list[str]]) -> threading.Thread:
        thread = threading.Thread(target=lambda: wrong.extend(work()))
        thread.start()
        return thread

    with server(store, "--embedder", "none") as (port, _):
        threads = [run(partial(write_over_http, port, load)), run(partial(write_by_commands, store, tmp_path, load.lines))]
        threads += [run(partial(write_over_stdio, store, f"client{number}", load.calls)) for number in range(CLIENTS)]
        with locked(store, LOCKED_SECONDS):
            for thread in threads:
                thread.join()
        assert drained(port) is not None
    assert wrong == []
    with holdfast.open(store, embedder="none", worker="none") as memory:
        kept = Counter(text for user in ("mcp", "cli") for text in (each.text for each in memory.memories(user=user, limit=5000)))
        messages = {
            each.client_id
            for n in range(load.sessions)
            for each in memory.session(user=f"user{n}", id=f"s{n}").messages(limit=None)
        }
        towns = Counter(each.text for n in range(load.sessions) for each in memory.memories(user=f"user{n}", kind="fact"))
        assert len(messages) + len(kept) == load.writes == sample.size(10_000, short=2_500)
        assert set(kept.values()) == set(towns.values()) == {1}
        assert len(towns) == load.sessions
        assert Counter(job.state for job in memory.jobs(limit=1000) if job.kind == "digest") == {"done": load.sessions}
        assert all(finding.ok for finding in memory.doctor())
