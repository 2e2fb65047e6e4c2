"""Puts a server under mixed load for a while. A third of the clients is hostile; the others behave.

Memory, open files and threads of the server must not grow, and no request of a well-behaved client may fail.
"""

import contextlib
import http.client
import json
import os
import random
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast_bench.server.attacks import ATTACKS, Client
from holdfast_bench.server.fairness import prepare
from holdfast_bench.server.load import server
from holdfast_bench.server.memory import family_mb

MAX_GROWTH = 0.10
"""Maximum growth of memory, files and threads from the middle third of the run to its last third."""
_HOSTILE_SHARE = 3
"""One client out of this many is hostile."""
_SAMPLE_SECONDS = 1.0
_WORDS = "garden kitchen boiler violin harbor lantern orchard bicycle ladder window basket mirror copper pepper".split()


@dataclass(slots=True)
class Samples:
    """Samples of the server's memory in MB, open files, threads and write-ahead log in MB, taken once per second."""

    memory: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    log: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    """Response times of ``/health``, in seconds."""


@dataclass(slots=True)
class Outcome:
    """Counts of the responses that clients received. Hostile clients are counted separately."""

    statuses: Counter[int] = field(default_factory=Counter)
    hostile: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)


def run(*, seconds: float, clients: int, workers: int, as_json: bool) -> bool:
    """Run the soak test and print its result. Return True if nothing grew and no well-behaved client got an error."""
    result = soak(seconds=seconds, clients=clients, workers=workers)
    print(json.dumps(result) if as_json else "\n".join(f"{name:26} {value}" for name, value in result.items()))  # noqa: T201
    return bool(result["passed"])


def soak(*, seconds: float = 1800.0, clients: int = 50, workers: int = 1, embedder: str | None = None) -> dict[str, Any]:
    """Put a server under load, and return the measurements."""
    hostile = clients // _HOSTILE_SHARE
    options = ["--workers", str(workers), *(["--embedder", embedder] if embedder else [])]
    outcome, samples = Outcome(), Samples()
    with tempfile.TemporaryDirectory() as folder:
        keys = prepare(Path(folder), clients - hostile, memories=50, queue=0)
        with server(folder, *options) as (port, process):
            until = time.monotonic() + seconds
            targets = [(_friendly, key) for key in keys[1:]] + [(_hostile, keys[0])] * hostile
            threads = [
                threading.Thread(target=act, args=(port, key, seed, until, outcome), daemon=True)
                for seed, (act, key) in enumerate(targets)
            ]
            for thread in threads:
                thread.start()
            _sample(port, process, Path(folder), until, samples)
            for thread in threads:
                thread.join(120)
    return _summary(outcome, samples, seconds=seconds, clients=clients, hostile=hostile)


def _friendly(port: int, key: str, seed: int, until: float, outcome: Outcome) -> None:
    """Act as a well-behaved client of one tenant: add memories and messages, recall, forget and erase at a moderate pace."""
    rng, client = random.Random(seed), Client(port, key)  # noqa: S311  (no secret)
    number = 0
    while time.monotonic() < until:
        number += 1
        status, wrong = _step(client, rng, f"u{seed}", number)
        with outcome.guard:
            outcome.statuses[status] += 1
            outcome.wrong += wrong
        time.sleep(rng.uniform(0.2, 1.0))


def _step(client: Client, rng: random.Random, user: str, number: int) -> tuple[int, list[str]]:
    choice, word = rng.random(), rng.choice(_WORDS)
    if choice < 0.3:
        return client.post("/v1/memories", {"text": f"{user} keeps the {word} in box {number}", "user": user}), []
    if choice < 0.55:
        path = f"/v1/sessions/{user}-{number // 20}/messages"
        return client.post(path, {"role": "user", "text": f"I mended the {word}.", "user": user}), []
    if choice < 0.6:
        return client.post(
            f"/v1/sessions/{user}-{max(0, number // 20 - 1)}/messages", {"role": "user", "text": "Bye.", "user": user}
        ), []
    if choice < 0.95:
        status, body = client.ask("/v1/recall", {"query": f"where is the {word}?", "user": user})
        hits = [hit["text"] for hit in (body or {}).get("hits", ())] if status == 200 else []
        return status, [text for text in hits if " keeps the " in text and not text.startswith(f"{user} ")]
    return client.post("/v1/context", {"query": word, "user": user}), []


def _hostile(port: int, key: str, seed: int, until: float, outcome: Outcome) -> None:
    """Act as a hostile client: make all attacks of ``bench fairness``, and break off requests."""
    rng, client = random.Random(seed), Client(port, key)  # noqa: S311  (no secret)
    ways = [*ATTACKS.values()]
    while time.monotonic() < until:
        if rng.random() < 0.2:
            _break_off(port, rng)
            status = 0
        else:
            status = rng.choice(ways)(client, rng)
        with outcome.guard:
            outcome.hostile[status] += 1
        time.sleep(rng.uniform(0.05, 0.3))


def _break_off(port: int, rng: random.Random) -> None:
    """Send only the beginning of a request, or nothing, wait up to two seconds, and close the connection."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        head = b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
        for byte in head[: rng.randrange(len(head))][:40]:
            connection.send(bytes([byte]))
        time.sleep(rng.uniform(0, 2))


def _sample(port: int, process: int, folder: Path, until: float, samples: Samples) -> None:
    while time.monotonic() < until:
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            connection.getresponse().read()
        connection.close()
        samples.health.append(time.monotonic() - begin)
        memory = family_mb(process)
        if memory is not None:
            samples.memory.append(memory)
        with contextlib.suppress(OSError):
            family = list(_family(process))
            samples.files.append(sum(len(os.listdir(f"/proc/{each}/fd")) for each in family))  # noqa: PTH208  (only counted)
            samples.threads.append(sum(len(os.listdir(f"/proc/{each}/task")) for each in family))  # noqa: PTH208
        with contextlib.suppress(OSError):
            samples.log.append((folder / "memory.db-wal").stat().st_size / 1e6)
        time.sleep(max(0.0, _SAMPLE_SECONDS - (time.monotonic() - begin)))


def _family(process: int) -> Iterator[int]:
    """Yield the ids of a process and its descendants. On systems other than Linux, yield only the process itself."""
    yield process
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def growth(samples: Sequence[float]) -> float | None:
    """Return the growth from the middle third of a run to its last third, as a fraction (0.1 means 10%).

    The medians of the two thirds are compared. Return None if there are fewer than nine samples.
    """
    third = len(samples) // 3
    if third < 3:
        return None
    middle, last = sorted(samples[third : 2 * third]), sorted(samples[-third:])
    before, after = middle[len(middle) // 2], last[len(last) // 2]
    return round(after / before - 1, 3) if before else 0.0


def _summary(outcome: Outcome, samples: Samples, *, seconds: float, clients: int, hostile: int) -> dict[str, Any]:
    grown = {name: growth(getattr(samples, name)) for name in ("memory", "files", "threads")}
    failed = sum(count for status, count in outcome.statuses.items() if not 200 <= status < 300)
    crashed = sum(count for status, count in outcome.hostile.items() if status >= 500)
    flat = all(each is None or each <= MAX_GROWTH for each in grown.values())
    return {
        "seconds": seconds,
        "clients": clients,
        "hostile": hostile,
        "requests": sum(outcome.statuses.values()),
        "failed": failed,
        "statuses": {str(status): count for status, count in sorted(outcome.statuses.items())},
        "foreign_texts": len(outcome.wrong),
        "hostile_statuses": {str(status): count for status, count in sorted(outcome.hostile.items())},
        "hostile_5xx": crashed,
        "memory_mb": [round(samples.memory[0]), round(samples.memory[-1])] if samples.memory else None,
        "files": [samples.files[0], samples.files[-1]] if samples.files else None,
        "threads": [samples.threads[0], samples.threads[-1]] if samples.threads else None,
        "growth": grown,
        "log_max_mb": round(max(samples.log), 1) if samples.log else None,
        "health_max_s": round(max(samples.health), 2) if samples.health else None,
        "passed": flat and not failed and not crashed and not outcome.wrong,
    }
