"""A real server process, and clients that ask it as fast as they are answered."""

import contextlib
import http.client
import json
import multiprocessing
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_PROCESSES = 2
"""Clients share so many processes, so that they do not stand in the server's way."""
_THINGS = ("bicycle", "garden", "kitchen", "radio", "piano", "boat", "roof", "dog", "violin", "oven", "desk", "lamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What some clients have seen."""

    recalls: Sequence[float]
    adds: Sequence[float]
    errors: int


def together(loads: Sequence[Load]) -> Load:
    """Return what all of them have seen."""
    return Load(
        recalls=[value for each in loads for value in each.recalls],
        adds=[value for each in loads for value in each.adds],
        errors=sum(each.errors for each in loads),
    )


def milliseconds(values: Sequence[float], share: float = 0.5) -> float | None:
    """Return a quantile in milliseconds; None of nothing."""
    if not values:
        return None
    if share == 0.5:
        return round(statistics.median(values) * 1000, 2)
    return round(sorted(values)[int(share * len(values))] * 1000, 1)


@contextlib.contextmanager
def server(folder: Path | str, *options: str) -> Iterator[tuple[int, int]]:
    """Run a server of its own while this lasts; gives its port and its process's number."""
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--port", "0", "--store", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                found = re.search(r"http://[^:]+:(\d+)/", line)
                if found:
                    break
            else:
                raise RuntimeError("the server did not start")
            port = int(found[1])
            _wait(port)
            yield port, process.pid
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """Ask a server to end; one that does not is killed, which loses nothing."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError):
            if ask(http.client.HTTPConnection("127.0.0.1", port, timeout=10), "GET", "/health")[0] == 200:
                return
        time.sleep(0.1)


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Make one request; returns its status and what was answered."""
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def fill(port: int, memories: int) -> None:
    """Store memories of twenty users, and wait until all can be found."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(memories):
        text = f"note {number}: the {_THINGS[number % len(_THINGS)]} wants part {number}"
        ask(connection, "POST", "/v1/memories", {"text": text, "user": f"u{number % 20}"})
    drained(port)


def drained(port: int, *, most: float = 120.0) -> float | None:
    """Wait until nothing is queued; returns the seconds it took, or None where the patience was over before."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() - begin < most:
        queue = ask(connection, "GET", "/health")[1]["queue"]
        if not queue["queued"] and not queue["running"]:
            return round(time.monotonic() - begin, 1)
        time.sleep(0.2)
    return None


def client(port: int, *, seconds: float, seed: int, ends_after: int = 0) -> Load:
    """Recall, and every tenth time say something, until the time is over; end the talk after so many messages."""
    draw = random.Random(seed)  # noqa: S311  (not for secrets)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    recalls: list[float] = []
    adds: list[float] = []
    errors = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        adding = draw.random() < 0.1
        user, thing = f"u{draw.randrange(20)}", draw.choice(_THINGS)
        talk = f"/v1/sessions/s{seed}-{len(adds) // ends_after if ends_after else 0}"
        body = (
            {"role": "user", "text": f"I mended the {thing}.", "user": f"c{seed}"}
            if adding
            else {"query": f"what about the {thing}?", "user": user}
        )
        begin = time.perf_counter()
        status, _ = ask(connection, "POST", f"{talk}/messages" if adding else "/v1/recall", body)
        (adds if adding else recalls).append(time.perf_counter() - begin)
        errors += status >= 400
        if adding and ends_after and len(adds) % ends_after == 0:
            errors += ask(connection, "POST", f"{talk}/end", {"user": f"c{seed}"})[0] >= 400
    return Load(recalls=recalls, adds=adds, errors=errors)


def clients(port: int, number: int, seconds: float, ends_after: int = 0) -> Load:
    """Run several clients in threads of one process."""
    seeds = [random.randrange(1 << 30) for _ in range(number)]  # noqa: S311  (as above)
    with ThreadPoolExecutor(number) as pool:
        asking = [pool.submit(client, port, seconds=seconds, seed=seed, ends_after=ends_after) for seed in seeds]
        return together([each.result() for each in asking])


class Crowd:
    """Clients in processes of their own, which stay for several rounds."""

    def __init__(self, number: int) -> None:
        processes = min(_PROCESSES, number)
        self._shares = [number // processes + (place < number % processes) for place in range(processes)]
        self._pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._pool.shutdown()

    def ask(self, port: int, *, seconds: float, ends_after: int = 0) -> Load:
        """Let all of them ask one server."""
        asking = [self._pool.submit(clients, port, share, seconds, ends_after) for share in self._shares]
        return together([each.result() for each in asking])
