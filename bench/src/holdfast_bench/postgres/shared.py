"""Measures several servers and workers on one PostgreSQL, and compares them with a single process.

Each tenant's texts contain a unique word. Clients record which writes were acknowledged. At the end, the database is
checked for rows that are lost, duplicated, or visible to another tenant.
"""

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from holdfast.config.opening import open_engine
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.server.tenants import open_pool
from holdfast.services import services
from holdfast_bench.postgres.scratch_database import another_database, database
from holdfast_bench.postgres.shared_load import ClientLog, clients, foreign_secrets
from holdfast_bench.server.load import milliseconds, server

_CLIENT_PROCESSES = 2
"""Maximum number of client processes."""
_ALONE_SECONDS = 30.0
"""Maximum duration of the run with a single process, in seconds."""
_KINDS = ("recall", "add", "remember", "forget")


def run(
    *,
    store: str | None = None,
    servers: int = 4,
    workers: int = 4,
    tenants: int = 50,
    clients: int = 16,
    seconds: float = 120.0,
    as_json: bool = False,
) -> None:
    """Measure a single process, then all servers and workers, and print both results side by side."""
    with database(store) as url:
        alone = measure(url, servers=1, workers=0, tenants=tenants, number=clients, seconds=min(seconds, _ALONE_SECONDS))
        many = measure(url, servers=servers, workers=workers, tenants=tenants, number=clients, seconds=seconds)
    result = {"one process": alone, f"{servers} servers, {workers} workers": many}
    print(json.dumps(result) if as_json else _table(result))  # noqa: T201  (output of the command)


def measure(url: str, *, servers: int, workers: int, tenants: int, number: int, seconds: float) -> dict[str, Any]:
    """Send requests to servers on a new database for ``seconds``, and return the measurements.

    If ``workers`` is 0, the servers themselves run the background jobs.
    """
    with another_database(url) as scratch_url, tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings.toml"
        values = {"worker": "none" if workers else "thread", "embedder": "none", "store_connections": 8, "rate_limit": 10_000_000}
        settings.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()), "utf-8")
        keys = _make_keys(scratch_url, settings, tenants)
        with contextlib.ExitStack() as running:
            ports = [running.enter_context(server(scratch_url, "--settings", str(settings)))[0] for _ in range(servers)]
            for _ in range(workers):
                running.enter_context(_worker(scratch_url, settings))
            log = _load(ports, keys, number, seconds)
            waited = _drained(scratch_url, settings, keys)
        audit = _audit(scratch_url, settings, log, keys)
    return _figures(log, seconds) | audit | {"drained_after_s": waited, "load_average": round(os.getloadavg()[0], 1)}


def _make_keys(url: str, settings: Path, tenants: int) -> dict[int, str]:
    with open_pool(url, settings=settings, worker="none") as pool:
        return {number: pool.gate.create_key(level="write", tenant=f"t{number}")[1] for number in range(tenants)}


@contextlib.contextmanager
def _worker(url: str, settings: Path) -> Iterator[None]:
    """Context manager: run a worker process while the ``with`` block runs."""
    command = [sys.executable, "-m", "holdfast.cli", "worker", "--all-tenants", "--store", url, "--settings", str(settings)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _load(ports: list[int], keys: Mapping[int, str], number: int, seconds: float) -> ClientLog:
    log = ClientLog()
    processes = min(_CLIENT_PROCESSES, number)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        shares = [number // processes + (index < number % processes) for index in range(processes)]
        futures = [pool.submit(clients, f"p{index}", share, seconds, ports, keys) for index, share in enumerate(shares)]
        for future in futures:
            log.merge(future.result())
    return log


def _drained(url: str, settings: Path, keys: Mapping[int, str], *, max_seconds: float = 180.0) -> float | None:
    """Wait until no tenant has queued jobs. Return the seconds that this took, or None after ``max_seconds``."""
    begin = time.monotonic()
    left = list(keys)
    while left and time.monotonic() - begin < max_seconds:
        time.sleep(0.5)
        left = [tenant for tenant in left if _busy(url, settings, tenant)]
    return None if left else round(time.monotonic() - begin, 1)


def _busy(url: str, settings: Path, tenant: int) -> bool:
    with open_engine(url, settings=settings, tenant=f"t{tenant}", worker="none") as memory:
        return bool(memory.jobs(states=["queued", "running"], limit=1))


def _audit(url: str, settings: Path, log: ClientLog, keys: Mapping[int, str]) -> dict[str, Any]:
    """Check that every acknowledged write is stored once, and that no row contains the unique word of another tenant."""
    lost, doubled, leaked, rows = 0, 0, len(log.leaked), 0
    for tenant in keys:
        with open_engine(url, settings=settings, tenant=f"t{tenant}", worker="none") as engine:
            messages = services(engine).store.messages(MessageFilter())
            memories = services(engine).store.memories(MemoryFilter(statuses=None))
        rows += len(messages) + len(memories)
        client_ids = Counter(message.client_id or "" for message in messages)
        stored = {memory.id: memory for memory in memories}
        lost += sum(client_ids[id] == 0 for owner, id in log.messages if owner == tenant)
        doubled += sum(count - 1 for count in client_ids.values())
        for (owner, id), text in log.memories.items():
            if owner == tenant and (owner, id) not in log.doubtful:
                status = "forgotten" if (owner, id) in log.forgotten else "live"
                lost += id not in stored or stored[id].text != text or stored[id].status != status
        live = Counter(memory.text for memory in memories if memory.status == "live")
        doubled += sum(count - 1 for count in live.values())
        texts = [*(message.text for message in messages), *(memory.text for memory in memories)]
        leaked += sum(bool(foreign_secrets(tenant, text)) for text in texts)
    return {"rows": rows, "lost": lost, "doubled": doubled, "leaked": leaked}


def _figures(log: ClientLog, seconds: float) -> dict[str, Any]:
    done = sum(len(times) for times in log.times.values())
    figures: dict[str, Any] = {"seconds": seconds, "requests_a_second": round(done / seconds, 1)}
    for kind in _KINDS:
        times = log.times.get(kind, [])
        figures |= {f"{kind}_p50_ms": milliseconds(times), f"{kind}_p95_ms": milliseconds(times, 0.95)}
    figures |= {"acknowledged": len(log.messages) + len(log.memories) + len(log.forgotten), "errors": len(log.errors)}
    return figures | ({"first_error": log.errors[0]} if log.errors else {})


def _table(result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with one line per figure and one column per setup, such as "4 servers, 4 workers"."""
    names = list(dict.fromkeys(name for column in result.values() for name in column))
    lines = [f"{'':20}" + "".join(f"{title:>24}" for title in result)]
    lines += [f"{name:20}" + "".join(f"{column.get(name, '')!s:>24}" for column in result.values()) for name in names]
    return "\n".join(lines)
