"""An import over HTTP continues after its server was killed."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.support import Holdfast
from tests.importers.support import chatgpt_message, chatgpt_talk
from tests.server.http_support import Process, process

TALKS, TURNS = 6, 300


@pytest.fixture
def home(tmp_path: Path) -> Holdfast:
    return Holdfast(home=tmp_path / "home", models=tmp_path / "models")


def _export() -> bytes:
    talks = [
        chatgpt_talk(f"talk-{each}", *(chatgpt_message("user", f"I like color {each}-{turn}.") for turn in range(TURNS)))
        for each in range(TALKS)
    ]
    return json.dumps(talks).encode()


def _steps(server: Process, content: bytes) -> Iterator[str]:
    """Start an import, and yield the names of its events as they come."""
    query = {"name": "conversations.json", "user": "ana", "stream": "true"}
    with httpx.stream("POST", f"{server.url}/v1/import", params=query, content=content, timeout=60) as response:
        for line in response.iter_lines():
            if line.startswith("event: "):
                yield line.removeprefix("event: ")


@pytest.mark.long
@pytest.mark.ledger("X13", "X1")
def test_an_import_over_http_whose_server_was_killed_is_continued(home: Holdfast) -> None:
    """Kill the server with SIGKILL after one, then two batches. At the end, the store has everything once."""
    content = _export()
    for batches in (1, 2):
        with process(home.home, HOLDFAST_WORKER="none") as server:
            steps = _steps(server, content)
            assert [next(steps) for _ in range(batches)] == ["progress"] * batches
            server.stop(signal.SIGKILL)
            with pytest.raises(httpx.TransportError):
                list(steps)
    with home.memory() as memory:
        before = memory.stats().messages
    assert 0 < before < TALKS * TURNS

    with process(home.home, HOLDFAST_WORKER="none") as server:
        query = {"name": "conversations.json", "user": "ana"}
        rest = httpx.post(f"{server.url}/v1/import", params=query, content=content, timeout=120).json()
        assert rest["messages"]["known"] == before
        assert rest["messages"]["known"] + rest["messages"]["imported"] == TALKS * TURNS
        again = httpx.post(f"{server.url}/v1/import", params=query, content=content, timeout=120).json()
        assert (again["messages"]["imported"], again["sessions"]["imported"], again["learning"]) == (0, 0, 0)
    with home.memory() as memory:
        for each in range(TALKS):
            stored = [message.text for message in memory.session(id=f"talk-{each}").messages()]
            assert stored == [f"I like color {each}-{turn}." for turn in range(TURNS)]
        queued = [job.payload["session"] for job in memory.jobs(states=["queued"]) if job.kind == "digest"]
        assert sorted(queued) == [f"talk-{each}" for each in range(TALKS)]
