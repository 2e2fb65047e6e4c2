"""Several servers and workers on one PostgreSQL, beside one process alone: nothing lost, doubled or leaked, and how fast.

Every tenant's texts carry a word of its own. Clients note what was acknowledged; in the end the database is asked.
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
from holdfast_bench.postgres.shared_load import Seen, clients, strangers
from holdfast_bench.server.load import milliseconds, server

_CLIENT_PROCESSES = 2
_ALONE_SECONDS = 30.0
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
    """Measure one process, then all of them, and print both beside each other."""
    with database(store) as url:
        alone = measure(url, servers=1, workers=0, tenants=tenants, number=clients, seconds=min(seconds, _ALONE_SECONDS))
        many = measure(url, servers=servers, workers=workers, tenants=tenants, number=clients, seconds=seconds)
    result = {"one process": alone, f"{servers} servers, {workers} workers": many}
    print(json.dumps(result) if as_json else _table(result))  # noqa: T201  (what the command is for)


def measure(url: str, *, servers: int, workers: int, tenants: int, number: int, seconds: float) -> dict[str, Any]:
    """Load a new database for a while, and tell how it went; without workers, the servers do their work themselves."""
    with another_database(url) as place, tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings.toml"
        told = {"worker": "none" if workers else "thread", "embedder": "none", "store_connections": 8, "rate_limit": 10_000_000}
        settings.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in told.items()), "utf-8")
        keys = _make_keys(place, settings, tenants)
        with contextlib.ExitStack() as running:
            ports = [running.enter_context(server(place, "--settings", str(settings)))[0] for _ in range(servers)]
            for _ in range(workers):
                running.enter_context(_worker(place, settings))
            seen = _load(ports, keys, number, seconds)
            waited = _drained(place, settings, keys)
        found = _audit(place, settings, seen, keys)
    return _told(seen, seconds) | found | {"drained_after_s": waited, "load_average": round(os.getloadavg()[0], 1)}


def _make_keys(place: str, settings: Path, tenants: int) -> dict[int, str]:
    with open_pool(place, settings=settings, worker="none") as pool:
        return {number: pool.gate.create_key(level="write", tenant=f"t{number}")[1] for number in range(tenants)}


@contextlib.contextmanager
def _worker(place: str, settings: Path) -> Iterator[None]:
    """Run a worker of its own while this lasts."""
    command = [sys.executable, "-m", "holdfast.cli", "worker", "--all-tenants", "--store", place, "--settings", str(settings)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _load(ports: list[int], keys: Mapping[int, str], number: int, seconds: float) -> Seen:
    seen = Seen()
    processes = min(_CLIENT_PROCESSES, number)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        shares = [number // processes + (place < number % processes) for place in range(processes)]
        asking = [pool.submit(clients, f"p{place}", share, seconds, ports, keys) for place, share in enumerate(shares)]
        for each in asking:
            seen.take(each.result())
    return seen


def _drained(place: str, settings: Path, keys: Mapping[int, str], *, most: float = 180.0) -> float | None:
    """Wait until nobody's jobs are queued; returns the seconds it took, or None where the patience was over before."""
    begin = time.monotonic()
    left = list(keys)
    while left and time.monotonic() - begin < most:
        time.sleep(0.5)
        left = [tenant for tenant in left if _busy(place, settings, tenant)]
    return None if left else round(time.monotonic() - begin, 1)


def _busy(place: str, settings: Path, tenant: int) -> bool:
    with open_engine(place, settings=settings, tenant=f"t{tenant}", worker="none") as memory:
        return bool(memory.jobs(states=["queued", "running"], limit=1))


def _audit(place: str, settings: Path, seen: Seen, keys: Mapping[int, str]) -> dict[str, Any]:
    """Ask the database: every acknowledged write once, and each tenant's words with that tenant alone."""
    lost, doubled, leaked, rows = 0, 0, len(seen.leaked), 0
    for tenant in keys:
        with open_engine(place, settings=settings, tenant=f"t{tenant}", worker="none") as memory:
            messages = services(memory).store.messages(MessageFilter())
            memories = services(memory).store.memories(MemoryFilter(statuses=None))
        rows += len(messages) + len(memories)
        said = Counter(message.client_id or "" for message in messages)
        kept = {found.id: found for found in memories}
        lost += sum(said[id] == 0 for owner, id in seen.messages if owner == tenant)
        doubled += sum(count - 1 for count in said.values())
        for (owner, id), text in seen.memories.items():
            if owner == tenant and (owner, id) not in seen.doubtful:
                wanted = "forgotten" if (owner, id) in seen.forgotten else "live"
                lost += id not in kept or kept[id].text != text or kept[id].status != wanted
        live = Counter(found.text for found in memories if found.status == "live")
        doubled += sum(count - 1 for count in live.values())
        texts = [*(message.text for message in messages), *(found.text for found in memories)]
        leaked += sum(bool(strangers(tenant, text)) for text in texts)
    return {"rows": rows, "lost": lost, "doubled": doubled, "leaked": leaked}


def _told(seen: Seen, seconds: float) -> dict[str, Any]:
    done = sum(len(times) for times in seen.times.values())
    told: dict[str, Any] = {"seconds": seconds, "requests_a_second": round(done / seconds, 1)}
    for kind in _KINDS:
        times = seen.times.get(kind, [])
        told |= {f"{kind}_p50_ms": milliseconds(times), f"{kind}_p95_ms": milliseconds(times, 0.95)}
    told |= {"acknowledged": len(seen.messages) + len(seen.memories) + len(seen.forgotten), "errors": len(seen.errors)}
    return told | ({"first_error": seen.errors[0]} if seen.errors else {})


def _table(result: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each figure, and a column for each way to run it."""
    names = list(dict.fromkeys(name for column in result.values() for name in column))
    lines = [f"{'':20}" + "".join(f"{title:>24}" for title in result)]
    lines += [f"{name:20}" + "".join(f"{column.get(name, '')!s:>24}" for column in result.values()) for name in names]
    return "\n".join(lines)
