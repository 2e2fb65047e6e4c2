"""Measure the CPU time to build one app's context block in a store with many apps.

Also check that no context block contains another app's text. Times are CPU time of this process. The context block of
each app is requested once, in random order.
"""

import json
import random
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.services import services
from holdfast.types import AppRecord, Author, Put, Scope
from holdfast.write import Writer

_WORDS = (
    "meeting deadline invoice garden tomato cello lesson review release server backup budget holiday recipe ticket "
    "reunión plazo factura huerto clase servidor copia presupuesto vacaciones receta"
).split()


def run(apps: int, each: int, seed: int, as_json: bool) -> None:  # noqa: FBT001  (called by name)
    """Run the benchmark and print the results as a table or JSON."""
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), apps=apps, each=each, seed=seed)
    if as_json:
        click.echo(json.dumps(measured, indent=2))
        return
    click.echo(f"{apps:,} apps with {each} memories each; CPU time of a context")
    click.echo(f"median {measured['median_ms']:.2f} ms, p95 {measured['p95_ms']:.2f} ms, max {measured['most_ms']:.2f} ms")
    click.echo(f"incomplete contexts, or with another app's text: {measured['leaks']}")


def measure(folder: Path, *, apps: int, each: int, seed: int) -> dict[str, Any]:
    """Measure the CPU milliseconds per context block. Also count blocks that are incomplete or contain another app's text."""
    rng = random.Random(seed)  # noqa: S311  (data for a benchmark)
    names = [f"app{number:04}" for number in range(apps)]
    with open_engine(folder / "memory.db", preset="apps", embedder="none", chat="none", worker="none") as memory:
        with services(memory).store.write() as tx:
            for name in names:
                tx.set_app(AppRecord(app=name, installed_at=datetime.now(UTC)))
        _fill(memory, names, each, rng)
        memory.drain()
        rng.shuffle(names)
        memory.apps.context(names[0])
        spent, leaks = [], 0
        for name in names:
            started = time.process_time()
            block = memory.apps.context(name)
            spent.append((time.process_time() - started) * 1000)
            complete = len(block.hits) == min(each, 10)
            leaks += not complete or any(f"of {name}," not in hit.text for hit in block.hits)
    spent.sort()
    return {
        "apps": apps,
        "memories_each": each,
        "median_ms": round(statistics.median(spent), 3),
        "p95_ms": round(spent[int(0.95 * (len(spent) - 1))], 3),
        "most_ms": round(spent[-1], 3),
        "leaks": leaks,
    }


def _fill(memory: Engine, names: list[str], each: int, rng: random.Random) -> None:
    """Store ``each`` memories per app, of about 150 characters. The text of each memory contains the name of its app."""
    now = datetime.now(UTC)
    for start in range(0, len(names), 100):
        with services(memory).store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="bench"), now=now)
            for name in names[start : start + 100]:
                scope = Scope(tenant=services(memory).store.tenant, app=name)
                texts = [f"The user of {name}, note {number}: {' '.join(rng.choices(_WORDS, k=18))}." for number in range(each)]
                writer.apply([Put(scope=scope, kind="memory", text=text) for text in texts])
