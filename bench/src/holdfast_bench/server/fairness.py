"""Measure how far one tenant's attacks slow down its neighbors (the other tenants of the same server).

Neighbors send recalls and messages to a server, each with the access key of its own tenant. Periods with and without an
attack alternate in the same run, so that other load on the machine affects both. Rounds in which the host of a virtual machine
took much of its CPU time do not count. An attack may at most double the 99th percentile of the neighbors' response times,
compared with quiet periods.
"""

import contextlib
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

import holdfast
from holdfast.access.keys import Gate
from holdfast.messages import make_message
from holdfast.services import services
from holdfast.types import Scope, SessionRecord
from holdfast_bench.server.attacks import ATTACKS, WORDS, Client, attacking
from holdfast_bench.server.load import server
from holdfast_bench.server.machine import STAT, stolen_time
from holdfast_bench.server.models import hanging, refusing

MAX_RATIO = 2.0
"""Maximum slowdown: the 99th percentile of the neighbors' response times during an attack, divided by that in quiet periods."""
_LOUD = "loud"
_ROUNDS = 3
"""Number of rounds that count. A round is a quiet period and an attacked one."""
_MAX_ROUNDS = 12
"""Maximum number of rounds. Rounds are repeated while the host of this machine gives its CPU time to others."""
_MAX_STOLEN = 0.05
"""Share of the CPU time that the host may take in a round that counts."""
_PACE_SECONDS = 0.025
"""Minimum seconds between two requests of a neighbor. This pace stays below the default rate limit."""
_WARM_UP_SECONDS = 20.0
"""Seconds after a server's start during which response times are not counted.

The first jobs of a server load packages, patterns and models.
"""
_SETTLING_SECONDS = 1.0
"""Seconds after a stopped server is resumed during which response times are not counted."""
_SESSIONS_PER_WRITE = 250


@dataclass(slots=True)
class Times:
    """Response times of the neighbors in seconds, by kind of request, and the count of their responses per HTTP status."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"add": [], "recall": []})
    statuses: Counter[int] = field(default_factory=Counter)

    def percentile(self, kind: str, share: float = 0.99) -> float | None:
        """Return a percentile of the response times for one kind of request, in milliseconds, or None if there are no times."""
        times = sorted(self.seconds[kind])
        return round(1000 * times[min(len(times) - 1, int(share * len(times)))], 1) if times else None

    @classmethod
    def joined(cls, parts: Iterable["Times"]) -> "Times":
        """Return the times of several periods as one."""
        whole = cls()
        for part in parts:
            whole.statuses.update(part.statuses)
            for kind, seconds in part.seconds.items():
                whole.seconds[kind] += seconds
        return whole


def run(
    *,
    seconds: float,
    neighbors: int,
    attackers: int,
    queue: int,
    memories: int,
    workers: int,
    attacks: Sequence[str] = (),
    as_json: bool,
) -> None:
    """Measure how far each attack, and a long job queue without a working chat model, slow down the neighbors. Print a table.

    Each row is printed as soon as it is measured. ``attacks`` names the attacks to measure; if it is empty, all are measured.
    """
    if unknown := set(attacks) - set(ATTACKS):
        raise click.ClickException(
            f"There is no attack {', '.join(sorted(unknown))}. The attacks are {', '.join(ATTACKS)}. --queue sets the job queue."
        )

    def show(line: str) -> None:
        if not as_json:
            print(line, flush=True)  # noqa: T201  (output of the command)

    show(_HEADING)
    sizes: dict[str, Any] = {"neighbors": neighbors, "attackers": attackers, "memories": memories, "workers": workers}
    result = measure(
        seconds=seconds, queue=queue, attacks=attacks or tuple(ATTACKS), report=lambda *row: show(_line(*row)), **sizes
    )
    verdict = "fair" if result["fair"] else "not fair"
    show(f"worst ratio {result['worst_ratio']} (limit {MAX_RATIO:g}): {verdict}")
    if (stolen := max((row["stolen"] for row in result["rows"].values()), default=0.0)) > _MAX_STOLEN:
        show(f"The host of this machine gave up to {stolen:.0%} of its CPU time to others. Repeat the measurement later.")
    if as_json:
        print(json.dumps(result))  # noqa: T201  (as above)


def measure(
    *,
    seconds: float = 12.0,
    neighbors: int = 6,
    attackers: int = 6,
    queue: int = 20_000,
    memories: int = 200,
    workers: int = 1,
    attacks: Sequence[str] = tuple(ATTACKS),
    embedder: str | None = None,
    report: Callable[[str, dict[str, Any]], None] = lambda _name, _row: None,
) -> dict[str, Any]:
    """Measure the neighbors' response times during each attack. Return the percentiles and the worst slowdown.

    For each attack, the quiet periods last ``seconds`` in total, and so do the attacked periods. ``report`` is called with the
    name and the result of each attack.
    """
    options = ["--workers", str(workers), *(["--embedder", embedder] if embedder else [])]
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        keys = prepare(Path(folder), neighbors, memories=memories, queue=0)
        with server(folder, *options) if attacks else contextlib.nullcontext((0, 0)) as (port, _):
            if attacks:
                _attend(port, keys, _WARM_UP_SECONDS)
            for name in attacks:
                rows[name] = _alternate(port, keys, name, seconds=seconds, attackers=attackers)
                report(name, rows[name])
    if queue:
        for name, model in (("queue, model refuses", refusing), ("queue, model hangs", hanging)):
            rows[name] = _with_queue(model, options, queue=queue, seconds=seconds, neighbors=neighbors, memories=memories)
            report(name, rows[name])
    worst = max((row["ratio"] for row in rows.values()), default=0.0)
    return {
        "neighbors": neighbors,
        "attackers": attackers,
        "seconds_each": seconds,
        "queue": queue,
        "rows": rows,
        "worst_ratio": worst,
        "errors": sum(row["errors"] for row in rows.values()),
        "fair": worst <= MAX_RATIO,
    }


def _with_queue(
    model: Callable[[], contextlib.AbstractContextManager[int]],
    options: Sequence[str],
    *,
    queue: int,
    seconds: float,
    neighbors: int,
    memories: int,
) -> dict[str, Any]:
    """Compare the response times of two servers: one with a long job queue, and one without.

    The chat model of both servers does not work. The neighbors send requests to the two servers by turns. While one server is
    used, the other one is stopped, so that its work does not slow down the first.
    """
    with contextlib.ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        settings = folder / "settings.yaml"
        settings.write_text(json.dumps({"chat_url": f"http://127.0.0.1:{held.enter_context(model())}/v1"}), "utf-8")
        chosen = [*options, "--chat", "ollama:silent", "--settings", str(settings)]
        sides = []
        for waiting in (0, queue):
            place = folder / str(waiting)
            keys = prepare(place, neighbors, memories=memories, queue=waiting)
            port, process = held.enter_context(server(place, *chosen))
            held.callback(os.kill, process, signal.SIGCONT)
            Client(port, keys[0]).post("/v1/recall", {"query": "wake up", "user": "u"})  # opens the tenant, whose worker starts
            _attend(port, keys[1:], _WARM_UP_SECONDS)
            os.kill(process, signal.SIGSTOP)
            sides.append((port, process, keys))

        def play(*sides_times: Times) -> None:
            for (port, process, keys), times in zip(sides, sides_times, strict=True):
                os.kill(process, signal.SIGCONT)
                _attend(port, keys[1:], _SETTLING_SECONDS)  # timers that expired while the server was stopped run now
                _attend(port, keys[1:], seconds / _ROUNDS, times)
                os.kill(process, signal.SIGSTOP)

        return _row(*least_disturbed(play), Counter())


def least_disturbed(play: Callable[[Times, Times], None], stat: Path = STAT) -> tuple[Times, Times, float]:
    """Play rounds until enough of them were undisturbed. Return the times of the least disturbed rounds, and the worst share.

    ``play`` adds response times to the quiet and to the attacked times. The share is the CPU time that the host of this
    machine gave to others. Rounds are chosen by it alone, never by their response times.
    """
    played: list[tuple[float, Times, Times]] = []
    while len(played) < _MAX_ROUNDS and sum(share <= _MAX_STOLEN for share, *_ in played) < _ROUNDS:
        quiet, attacked = Times(), Times()
        with stolen_time(stat) as stolen:
            play(quiet, attacked)
        played.append((stolen.share, quiet, attacked))
    counted = sorted(played, key=lambda one: one[0])[:_ROUNDS]
    return Times.joined(one[1] for one in counted), Times.joined(one[2] for one in counted), counted[-1][0]


def prepare(folder: Path, neighbors: int, *, memories: int, queue: int) -> list[str]:
    """Create a store with a noisy tenant (the attacker) and its neighbors. Return their access keys, the noisy tenant's first."""
    path = folder / "memory.db"
    names = [_LOUD, *(f"calm{number}" for number in range(neighbors))]
    with holdfast.open(path, embedder="none", worker="none") as operator:
        gate = Gate(services(operator).store, services(operator).clock)
        gate.create_key(level="admin")
        keys = [gate.create_key(level="admin" if name == _LOUD else "write", tenant=name)[1] for name in names]
    for name in names:
        with holdfast.open(path, embedder="none", worker="none", tenant=name) as memory:
            memory.remember_all(({"text": f"the {WORDS[n % len(WORDS)]} is in box {n}"} for n in range(memories)), user="u")
            if name == _LOUD:
                _queue(memory, queue)
    return keys


def _queue(memory: holdfast.Engine, conversations: int) -> None:
    """Add ended conversations to the noisy tenant. Each of them queues a job that digests it."""
    parts, scope = services(memory), Scope(tenant=_LOUD, user="u")
    for first in range(0, conversations, _SESSIONS_PER_WRITE):
        with parts.store.write() as tx:
            for number in range(first, min(first + _SESSIONS_PER_WRITE, conversations)):
                now = datetime.now(UTC)
                session = SessionRecord(id=f"queued-{number}", scope=scope, started_at=now, last_at=now)
                tx.add_session(session)
                text = f"My {WORDS[number % len(WORDS)]} number {number} is kept at home."
                tx.add_message(make_message(session.id, scope, now, role="user", text=text))
                parts.digester.close_session(tx, session, "ended")


def _alternate(port: int, keys: Sequence[str], name: str, *, seconds: float, attackers: int) -> dict[str, Any]:
    """Measure the response times of the neighbors (the other tenants) in alternating periods with and without an attack."""
    hostile = Counter[int]()

    def play(quiet: Times, attacked: Times) -> None:
        _attend(port, keys[1:], seconds / _ROUNDS, quiet)
        with attacking(port, keys[0], name, attackers, hostile):
            _attend(port, keys[1:], seconds / _ROUNDS, attacked)

    return _row(*least_disturbed(play), hostile)


def _attend(port: int, keys: Sequence[str], seconds: float, times: Times | None = None) -> None:
    """Let every neighbor send requests for ``seconds``. If ``times`` is given, add the response times to it."""
    collected, guard = times or Times(), threading.Lock()

    def neighbor(key: str, seed: int) -> None:
        rng, client, until = random.Random(seed), Client(port, key), time.monotonic() + seconds  # noqa: S311  (no secret)
        while time.monotonic() < until:
            kind, begin = ("add" if rng.random() < 0.4 else "recall"), time.perf_counter()
            status = _ask(client, kind, rng)
            taken = time.perf_counter() - begin
            with guard:
                collected.seconds[kind].append(taken)
                collected.statuses[status] += 1
            time.sleep(max(0.0, _PACE_SECONDS - taken))

    threads = [threading.Thread(target=neighbor, args=(key, number)) for number, key in enumerate(keys)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ask(client: Client, kind: str, rng: random.Random) -> int:
    if kind == "add":
        text = f"I mended the {rng.choice(WORDS)}."
        return client.post(f"/v1/sessions/s{rng.randrange(5)}/messages", {"role": "user", "text": text, "user": "u"})
    return client.post("/v1/recall", {"query": f"where is the {rng.choice(WORDS)}?", "user": "u"})


def _row(quiet: Times, attacked: Times, stolen: float, hostile: Counter[int]) -> dict[str, Any]:
    """Return the neighbors' 99th percentiles in quiet and in attacked periods, and the ratio of attacked to quiet.

    There is one ratio for adding and one for recalling. The larger one is returned.
    """
    row: dict[str, Any] = {}
    ratios = []
    for kind in ("add", "recall"):
        before, during = quiet.percentile(kind), attacked.percentile(kind)
        row |= {f"{kind}_quiet_p99_ms": before, f"{kind}_p99_ms": during}
        if before and during:
            ratios.append(during / before)
    errors = sum(count for times in (quiet, attacked) for status, count in times.statuses.items() if not 200 <= status < 300)
    medians = {f"{kind}_median_ms": round(1000 * statistics.median(attacked.seconds[kind]), 1) for kind in attacked.seconds}
    answers = {str(status): count for status, count in sorted(hostile.items())}
    return {**row, **medians, "ratio": round(max(ratios), 2), "errors": errors, "stolen": stolen, "attacker": answers}


_HEADING = (
    f"{'attack':22} {'add p99 ms':>18} {'recall p99 ms':>18} {'ratio':>6} {'errors':>6} {'stolen':>7}  responses to the attacker"
)


def _line(name: str, row: dict[str, Any]) -> str:
    adds = f"{row['add_quiet_p99_ms']} -> {row['add_p99_ms']}"
    recalls = f"{row['recall_quiet_p99_ms']} -> {row['recall_p99_ms']}"
    return (
        f"{name:22} {adds:>18} {recalls:>18} {row['ratio']:>6} {row['errors']:>6} {row['stolen']:>7.1%}  {row['attacker'] or '-'}"
    )
