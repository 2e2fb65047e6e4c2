"""An import over HTTP whose server is killed: it continues when it is sent again, and its files are removed."""

import io
import json
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.support import Holdfast
from tests.importers.support import chatgpt_message, chatgpt_talk
from tests.places import Place
from tests.server.http_support import Process, eventually, process

TALKS, TURNS = 6, 200
"""Number of conversations in the export, and of messages in each. Their import takes seven batches."""
NOTES = 600
"""Number of notes in the vault. Their import takes three batches."""


@pytest.fixture
def home(tmp_path: Path) -> Holdfast:
    return Holdfast(home=tmp_path / "home", models=tmp_path / "models")


def _export() -> bytes:
    talks = [
        chatgpt_talk(f"talk-{each}", *(chatgpt_message("user", f"I like color {each}-{turn}.") for turn in range(TURNS)))
        for each in range(TALKS)
    ]
    return json.dumps(talks).encode()


def _vault() -> bytes:
    """Return a zip archive of a folder of notes. It is unpacked for the import."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for each in range(NOTES):
            archive.writestr(f"vault/{each}.md", f"I like color {each}.")
    return packed.getvalue()


def _steps(server: Process, content: bytes, name: str = "conversations.json") -> Iterator[str]:
    """Start an import, and yield the names of its events as they come."""
    query = {"name": name, "user": "ana", "stream": "true"}
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


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """The folder for temporary files of the servers."""
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def _uploads(temporary: Path) -> list[str]:
    """Return the names of the uploaded and unpacked files in the folder for temporary files."""
    found = [name for _, _, names in os.walk(temporary) for name in names]
    return sorted(name for name in found if name.endswith((".zip", ".md")))


UPLOADED = sorted(["vault.zip", *(f"{each}.md" for each in range(NOTES))])


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="processes are killed with signals")
@pytest.mark.everywhere("sqlite", "postgres")
def test_the_upload_of_a_killed_server_is_removed_when_a_server_starts(home: Holdfast, place: Place, temporary: Path) -> None:
    environment = {"HOLDFAST_WORKER": "none", "TMPDIR": str(temporary)}
    with process(home.home, *place.arguments, **environment) as server:
        steps = _steps(server, _vault(), "vault.zip")
        assert next(steps) == "progress"
        server.stop(signal.SIGKILL)
        with pytest.raises(httpx.TransportError):
            list(steps)
    assert _uploads(temporary) == UPLOADED
    with process(home.home, *place.arguments, **environment):
        eventually(lambda: not list(temporary.iterdir()), 20)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="processes are paused with signals")
def test_the_upload_of_a_running_server_stays_when_another_server_starts(home: Holdfast, tmp_path: Path, temporary: Path) -> None:
    """Pause a server during an import. Meanwhile, another server with the same folder for temporary files starts and imports."""
    environment = {"HOLDFAST_WORKER": "none", "TMPDIR": str(temporary)}
    with process(home.home, **environment) as server:
        steps = _steps(server, _vault(), "vault.zip")
        assert next(steps) == "progress"
        server.popen.send_signal(signal.SIGSTOP)
        with process(tmp_path / "other", **environment) as other:
            query = {"name": "notes.txt", "user": "ana"}
            done = httpx.post(f"{other.url}/v1/import", params=query, content=b"- Plays the oboe.", timeout=60).json()
            assert done["memories"]["imported"] == 1
        assert _uploads(temporary) == UPLOADED
        server.popen.send_signal(signal.SIGCONT)
        assert list(steps)[-1] == "answer"
        assert httpx.get(f"{server.url}/v1/memories?user=ana&limit=1", timeout=60).json()["total"] == NOTES
    assert list(temporary.iterdir()) == []
