"""Runs a real server process, and clients that send requests without pause."""

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
"""Maximum number of client processes, so that clients leave CPU time to the server."""
_THINGS = ("bicycle", "garden", "kitchen", "radio", "piano", "boat", "roof", "dog", "violin", "oven", "desk", "lamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Response times in seconds and the number of errors, as measured by one or several clients."""

    recalls: Sequence[float]
    adds: Sequence[float]
    errors: int


def together(loads: Sequence[Load]) -> Load:
    """Return the combined measurements of several clients."""
    return Load(
        recalls=[value for each in loads for value in each.recalls],
        adds=[value for each in loads for value in each.adds],
        errors=sum(each.errors for each in loads),
    )


def milliseconds(values: Sequence[float], share: float = 0.5) -> float | None:
    """Return a quantile of durations given in seconds, converted to milliseconds. Return None if there are no durations.

    ``share`` is the quantile, from 0 to below 1. The default is the median.
    """
    if not values:
        return None
    if share == 0.5:
        return round(statistics.median(values) * 1000, 2)
    return round(sorted(values)[int(share * len(values))] * 1000, 1)


@contextlib.contextmanager
def server(folder: Path | str, *options: str) -> Iterator[tuple[int, int]]:
    """Context manager: run a server process while the ``with`` block runs. Yield its port and process id."""
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--port", "0", "--store", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                match = re.search(r"http://[^:]+:(\d+)/", line)
                if match:
                    break
            else:
                raise RuntimeError("The server did not start.")
            port = int(match[1])
            _wait(port)
            yield port, process.pid
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """Terminate a server process. If it does not exit within 30 seconds, kill it."""
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
    """Send one request and return its status and parsed response."""
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
    response = connection.getresponse()
    return response.status, json.loads(response.read() or b"null")


def fill(port: int, memories: int) -> None:
    """Store memories for twenty users, and wait until all are indexed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(memories):
        text = f"note {number}: the {_THINGS[number % len(_THINGS)]} wants part {number}"
        ask(connection, "POST", "/v1/memories", {"text": text, "user": f"u{number % 20}"})
    drained(port)


def drained(port: int, *, max_seconds: float = 120.0) -> float | None:
    """Wait until the job queue is empty. Return the seconds that this took, or None after ``max_seconds``."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() - begin < max_seconds:
        queue = ask(connection, "GET", "/health")[1]["queue"]
        if not queue["queued"] and not queue["running"]:
            return round(time.monotonic() - begin, 1)
        time.sleep(0.2)
    return None


def client(port: int, *, seconds: float, seed: int, ends_after: int = 0) -> Load:
    """Send requests for some seconds: nine in ten are recalls, the others add a message.

    If ``ends_after`` is not 0, the session is ended after that many messages and a new one is started.
    """
    rng = random.Random(seed)  # noqa: S311  (not for secrets)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    recalls: list[float] = []
    adds: list[float] = []
    errors = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        adding = rng.random() < 0.1
        user, thing = f"u{rng.randrange(20)}", rng.choice(_THINGS)
        session = f"/v1/sessions/s{seed}-{len(adds) // ends_after if ends_after else 0}"
        body = (
            {"role": "user", "text": f"I mended the {thing}.", "user": f"c{seed}"}
            if adding
            else {"query": f"what about the {thing}?", "user": user}
        )
        begin = time.perf_counter()
        status, _ = ask(connection, "POST", f"{session}/messages" if adding else "/v1/recall", body)
        (adds if adding else recalls).append(time.perf_counter() - begin)
        errors += status >= 400
        if adding and ends_after and len(adds) % ends_after == 0:
            errors += ask(connection, "POST", f"{session}/end", {"user": f"c{seed}"})[0] >= 400
    return Load(recalls=recalls, adds=adds, errors=errors)


def clients(port: int, number: int, seconds: float, ends_after: int = 0) -> Load:
    """Run several clients in threads of one process, and return their combined measurements."""
    seeds = [random.randrange(1 << 30) for _ in range(number)]  # noqa: S311  (as above)
    with ThreadPoolExecutor(number) as pool:
        futures = [pool.submit(client, port, seconds=seconds, seed=seed, ends_after=ends_after) for seed in seeds]
        return together([future.result() for future in futures])


class ClientPool:
    """Clients in separate processes, reused for several rounds."""

    def __init__(self, number: int) -> None:
        processes = min(_PROCESSES, number)
        self._shares = [number // processes + (index < number % processes) for index in range(processes)]
        self._pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._pool.shutdown()

    def ask(self, port: int, *, seconds: float, ends_after: int = 0) -> Load:
        """Let all clients send requests to one server, and return the combined measurements."""
        futures = [self._pool.submit(clients, port, share, seconds, ends_after) for share in self._shares]
        return together([future.result() for future in futures])
