"""How the server bears many clients at once: a real server process, and clients that ask as fast as they are answered."""

import contextlib
import http.client
import json
import multiprocessing
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ALONE_SECONDS = 5.0
_PROCESSES = 2
"""Clients share so many processes, so that they do not stand in the server's way."""
_THINGS = ("bicycle", "garden", "kitchen", "radio", "piano", "boat", "roof", "dog", "violin", "oven", "desk", "lamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What some clients have seen."""

    recalls: Sequence[float]
    adds: Sequence[float]
    errors: int


def run(*, clients: int = 50, seconds: float = 120.0, memories: int = 2000, workers: int = 1, as_json: bool = False) -> None:
    """Measure one client alone, then all of them, and print what they saw."""
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), workers) as (port, process):
        _fill(port, memories)
        alone = _client(port, seconds=_ALONE_SECONDS, seed=1)
        before = _resident(process.pid)
        each = [clients // _PROCESSES + (place < clients % _PROCESSES) for place in range(_PROCESSES)]
        with ProcessPoolExecutor(_PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_clients, [port] * _PROCESSES, each, [seconds] * _PROCESSES))
        waited = _drained(port)
        result = _summary(alone, done, clients=clients, seconds=seconds)
        result |= {"resident_mb": [before, _resident(process.pid)], "drained_after_s": waited, "workers": workers}
    print(json.dumps(result) if as_json else _table(result))  # noqa: T201  (what the command is for)


@contextlib.contextmanager
def _server(folder: Path, workers: int) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--port", "0", "--store", str(folder), "--workers", str(workers)]
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
            yield port, process
        finally:
            process.terminate()
            process.wait(30)


def _wait(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError):
            if _ask(http.client.HTTPConnection("127.0.0.1", port, timeout=10), "GET", "/health")[0] == 200:
                return
        time.sleep(0.1)


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def _fill(port: int, memories: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(memories):
        thing = _THINGS[number % len(_THINGS)]
        _ask(
            connection,
            "POST",
            "/v1/memories",
            {"text": f"note {number}: the {thing} wants part {number}", "user": f"u{number % 20}"},
        )
    _drained(port)


def _client(port: int, *, seconds: float, seed: int) -> Load:
    """Recall, and every tenth time say something, until the time is over."""
    draw = random.Random(seed)  # noqa: S311  (not for secrets)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    recalls: list[float] = []
    adds: list[float] = []
    errors = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        adding = draw.random() < 0.1
        user, thing = f"u{draw.randrange(20)}", draw.choice(_THINGS)
        path = f"/v1/sessions/s{seed}/messages" if adding else "/v1/recall"
        body = (
            {"role": "user", "text": f"I mended the {thing}.", "user": f"c{seed}"}
            if adding
            else {"query": f"what about the {thing}?", "user": user}
        )
        begin = time.perf_counter()
        status, _ = _ask(connection, "POST", path, body)
        (adds if adding else recalls).append(time.perf_counter() - begin)
        errors += status >= 400
    return Load(recalls=recalls, adds=adds, errors=errors)


def _clients(port: int, number: int, seconds: float) -> Load:
    """Run several clients in threads of one process."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (only in the children)

    seeds = [random.randrange(1 << 30) for _ in range(number)]  # noqa: S311  (as above)
    with ThreadPoolExecutor(number) as pool:
        done = list(pool.map(lambda seed: _client(port, seconds=seconds, seed=seed), seeds))
    return Load(
        recalls=[value for each in done for value in each.recalls],
        adds=[value for each in done for value in each.adds],
        errors=sum(each.errors for each in done),
    )


def _drained(port: int) -> float:
    """Wait until nothing is queued; returns the seconds it took."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() - begin < 120:
        queue = _ask(connection, "GET", "/health")[1]["queue"]
        if not queue["queued"] and not queue["running"]:
            break
        time.sleep(0.2)
    return round(time.monotonic() - begin, 1)


def _summary(alone: Load, done: Sequence[Load], *, clients: int, seconds: float) -> dict[str, Any]:
    recalls = sorted(value for each in done for value in each.recalls)
    adds = sorted(value for each in done for value in each.adds)
    single = statistics.median(alone.recalls)
    cores = multiprocessing.cpu_count()
    return {
        "clients": clients, "seconds": seconds, "errors": alone.errors + sum(each.errors for each in done),
        "requests_a_second": round((len(recalls) + len(adds)) / seconds, 1), "single_p50_ms": round(single * 1000, 2),
        "recall_p50_ms": round(statistics.median(recalls) * 1000, 1), "recall_p95_ms": round(recalls[int(0.95 * len(recalls))] * 1000, 1),
        "add_p95_ms": round(adds[int(0.95 * len(adds))] * 1000, 1) if adds else None,
        "bound_ms": round(3 * single * clients / cores * 1000, 1),
    }  # fmt: skip


def _resident(process: int) -> float | None:
    """Return a process's resident memory in MB, where the system tells."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text("utf-8"))
        return round(int(found[1]) / 1024, 1) if found else None
    return None


def _table(result: dict[str, Any]) -> str:
    return "\n".join(f"{name:20} {value}" for name, value in result.items())
