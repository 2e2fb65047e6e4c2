"""A server under mixed load for two minutes, killed once: nothing acknowledged is lost, and memory does not grow."""

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.support import Holdfast
from tests.server.http_support import Process, process

psutil = pytest.importorskip("psutil", reason="comes with the wheel that has PostgreSQL")

pytestmark = [pytest.mark.long, pytest.mark.ledger("X6")]

SECONDS = 120
CLIENTS = 4
_WARM_UP_SECONDS = 20
_MAX_GROWTH = 1.5
"""Maximum ratio of the resident memory at the end to the resident memory after the warm-up.

It is above 1 because caches fill up. A leak would keep growing.
"""


@dataclass
class Client:
    """One user who remembers, recalls, forgets and erases, and records what the server acknowledged."""

    user: str
    kept: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def step(self, http: httpx.Client, number: int, chance: random.Random) -> None:
        """Send one request. A transport error means that nothing was acknowledged."""
        choice = chance.random()
        if choice < 0.35:
            text = f"{self.user} keeps number {number} in box {chance.randrange(1000)}"
            made = self._ask(http, "POST", "/v1/memories", {"text": text, "user": self.user})
            if made is not None:
                self.kept[str(made["id"])] = text
        elif choice < 0.55:
            session = f"{self.user}-{number // 20}"
            self._ask(
                http, "POST", f"/v1/sessions/{session}/messages", {"role": "user", "text": "I like tea.", "user": self.user}
            )
        elif choice < 0.85:
            found = self._ask(http, "POST", "/v1/recall", {"query": "which box?", "user": self.user})
            texts = [hit["text"] for hit in (found or {}).get("hits", ())]
            self.wrong += [text for text in texts if text.startswith("user-") and not text.startswith(self.user)]
        elif choice < 0.95 and self.kept:
            gone = chance.choice(list(self.kept))
            del self.kept[gone]  # before the response, because a kill can come in between
            self._ask(http, "POST", "/v1/forget", {"id": gone, "user": self.user})
        else:
            self._ask(http, "POST", "/v1/context", {"query": "tea", "user": self.user})

    def _ask(self, http: httpx.Client, method: str, path: str, body: dict[str, object]) -> Any:
        answer = http.request(method, path, json=body)
        self.statuses[answer.status_code] += 1
        return answer.json() if answer.is_success else None


def _run(client: Client, server: list[Process], until: float) -> None:
    chance = random.Random(client.user)
    number = 0
    while time.monotonic() < until:
        with httpx.Client(base_url=server[-1].url, timeout=30) as http:
            try:
                while time.monotonic() < until:
                    number += 1
                    client.step(http, number, chance)
            except httpx.TransportError:
                time.sleep(0.2)  # killed; its successor is starting


def _soak(home: Holdfast, clients: list[Client]) -> tuple[int, int]:
    """Put a server under load, kill it halfway, and put a second server under load.

    Return the second server's resident memory in bytes, after the warm-up and at the end.
    """
    server: list[Process] = []
    half = SECONDS / 2
    until = time.monotonic() + SECONDS
    with process(home.home) as first:
        server.append(first)
        threads = [threading.Thread(target=_run, args=(client, server, until)) for client in clients]
        for thread in threads:
            thread.start()
        time.sleep(half)
        first.popen.kill()
    with process(home.home) as second:
        server.append(second)
        time.sleep(_WARM_UP_SECONDS)
        before = psutil.Process(second.popen.pid).memory_info().rss
        for thread in threads:
            thread.join()
        return before, psutil.Process(second.popen.pid).memory_info().rss


@pytest.mark.timeout(SECONDS * 3)
def test_two_minutes_of_mixed_load_with_a_kill_lose_nothing_and_leak_no_memory(tmp_path: Path) -> None:
    home = Holdfast(home=tmp_path / "home", models=tmp_path / "models")
    clients = [Client(f"user-{number}") for number in range(CLIENTS)]
    before, after = _soak(home, clients)
    assert sum((client.statuses for client in clients), Counter()).keys() <= {200, 201}, [each.statuses for each in clients]
    assert all(len(client.kept) > 10 for client in clients)
    with home.memory() as memory:
        for client in clients:
            stored = {each.id: each.text for each in memory.memories(user=client.user, kinds=["fact"], limit=100_000)}
            assert {id: stored.get(id) for id in client.kept} == client.kept
            assert client.wrong == []
        assert [finding for finding in memory.doctor() if not finding.ok and finding.check != "embedder"] == []
    assert after < before * _MAX_GROWTH, f"resident memory grew from {before / 1e6:.0f} to {after / 1e6:.0f} MB"
