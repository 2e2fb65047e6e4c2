"""Measures the server's latency and memory under load. Also checks that requests stay fast if the chat model hangs."""

import json
import multiprocessing
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast_bench.server.load import ClientPool, Load, client, drained, fill, milliseconds, server, together
from holdfast_bench.server.memory import summarize, watched
from holdfast_bench.server.models import compare

_ALONE_SECONDS = 5.0
"""Duration of the measurement with one client, in seconds."""


def run(
    *,
    clients: int = 50,
    seconds: float = 120.0,
    memories: int = 2000,
    workers: int | None = None,
    dead_model: bool = False,
    as_json: bool = False,
) -> None:
    """Print the latency of one client and of all clients.

    With ``dead_model``, instead compare servers whose chat model refuses connections or hangs with a server without a
    chat model.
    """
    workers = workers or multiprocessing.cpu_count()  # one process uses one core, and the bound is per core
    if dead_model:
        result = compare(clients=clients, seconds=seconds, memories=memories, options=["--workers", str(workers)])
    else:
        result = measure(clients=clients, seconds=seconds, memories=memories, workers=workers)
    print(json.dumps(result) if as_json else _table(result))  # noqa: T201  (output of the command)


def measure(*, clients: int, seconds: float, memories: int, workers: int, options: Sequence[str] = ()) -> dict[str, Any]:
    """Measure one client alone, then all clients at once, then one client alone again.

    The two measurements of one client are combined, because the machine's speed can change during the run. ``options`` are
    passed to the server.
    """
    chosen = ["--workers", str(workers), *options]
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), *chosen) as (port, process):
        fill(port, memories)
        before = client(port, seconds=min(_ALONE_SECONDS, seconds), seed=1)
        with ClientPool(clients) as pool, watched(process) as samples:
            done = pool.ask(port, seconds=seconds)
        waited = drained(port)
        after = client(port, seconds=min(_ALONE_SECONDS, seconds), seed=2)
    alone = together([before, after])  # a machine's speed varies, so measure before and after
    result = _summary(alone, done, clients=clients, seconds=seconds)
    return result | summarize(samples) | {"drained_after_s": waited, "workers": workers}


def _summary(alone: Load, done: Load, *, clients: int, seconds: float) -> dict[str, Any]:
    single = statistics.median(alone.recalls)
    bound = round(3 * single * clients / multiprocessing.cpu_count() * 1000, 1)
    slowest = milliseconds(done.recalls, 0.95)
    return {
        "clients": clients,
        "seconds": seconds,
        "errors": alone.errors + done.errors,
        "requests_a_second": round((len(done.recalls) + len(done.adds)) / seconds, 1),
        "single_p50_ms": milliseconds(alone.recalls),
        "recall_p50_ms": milliseconds(done.recalls),
        "recall_p95_ms": slowest,
        "add_p95_ms": milliseconds(done.adds, 0.95),
        "bound_ms": bound,
        "within_bound": slowest is not None and slowest <= bound,
    }


def _table(result: dict[str, Any]) -> str:
    """Return the results as text, one figure per line. A nested result is a heading with its figures below it."""
    lines: list[str] = []
    for name, value in result.items():
        if isinstance(value, dict):
            lines += [name, *(f"  {part:20} {figure}" for part, figure in value.items())]
        else:
            lines.append(f"{name:22} {value}")
    return "\n".join(lines)
