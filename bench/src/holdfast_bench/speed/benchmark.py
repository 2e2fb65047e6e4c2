"""Measures storing, recalling and resource usage. Other libraries ("peers") are measured with the same vectors and filters.

A recall time is the CPU time of all threads of the process. The median over the queries is reported. Adding is also
measured as elapsed time, because it waits for the disk. Timings of different runs are not comparable, but ratios within
a run are. Therefore each peer's timing is shown with its ratio to Holdfast's timing.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from holdfast_bench.speed import floor
from holdfast_bench.speed.corpus import make_corpus
from holdfast_bench.speed.measure import PER_USER, SINGLE_ADDS, Numbers, make_task, measure
from holdfast_bench.speed.peers import installed, reaches
from holdfast_bench.speed.sides import Holdfast

_QUESTIONS = 60
_DIMENSIONS = 384
_ROWS = (
    ("add_wall", "add one, durable: elapsed", "ms"),
    ("add", "add one, durable: CPU", "ms"),
    ("find", "recall, vector given: CPU", "ms"),
    ("find_part", "  filtered by metadata", "ms"),
    ("find_kind", "  filtered by kind", "ms"),
    ("fixed", "20,000 steps of Python: CPU", "ms"),
    ("end_to_end", "recall with embedding: CPU", "ms"),
    ("vectors", "  vector search only", "ms"),
    ("words", "  text search only", "ms"),
    ("cold", "open and first result: CPU", "ms"),
    ("resident", "resident memory of a reader", "MB"),
    ("disk", "disk per memory", "bytes"),
    ("import", "import, per memory: CPU", "ms"),
    ("import_wall", "import, per memory: elapsed", "ms"),
)


@dataclass(slots=True)
class Report:
    """The measurements of one run. Each is printed as soon as it is available."""

    quiet: bool = False
    sides: list[dict[str, Any]] = field(default_factory=list)
    floor: Numbers = field(default_factory=dict)
    process: Numbers = field(default_factory=dict)
    targets: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        """Print a line, unless the report is quiet."""
        if not self.quiet:
            click.echo(text)

    def of(self, side: str, size: int, *, many: bool) -> Mapping[str, float]:
        """Return the measurements of a library with ``size`` memories, or an empty mapping if it was not measured."""
        key = {"side": side, "size": size, "many": many}
        return next((one["numbers"] for one in self.sides if key.items() <= one.items()), {})


def run(sizes: Sequence[int], seed: int, as_json: bool, peers_up_to: int = 100_000) -> None:  # noqa: FBT001  (called by name)
    """Run the benchmark and print the results as tables or JSON."""
    report = Report(quiet=as_json)
    versions = installed()
    names = ", ".join(f"{name} {version}" for name, version in versions.items()) or "none installed"
    report.say(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, load {_load()}; peers: {names}"
    )
    with tempfile.TemporaryDirectory() as folder:
        real = _floor(report, Path(folder), seed)
        for size in sizes:
            corpus = make_corpus(size + SINGLE_ADDS, questions=_QUESTIONS, seed=seed, dimensions=_DIMENSIONS)
            for many in (False, True):
                task = make_task(corpus, many=many, real=real)
                sides = [Holdfast.name, *(name for name in versions if size <= peers_up_to and reaches(name, size))]
                for number, name in enumerate(sides):
                    numbers = measure(name, task, Path(folder) / f"{size}{many}{number}")
                    report.sides.append({"side": name, "size": size, "many": many, "numbers": numbers})
                show_table(report, size, many=many, sides=sides, skipped=[name for name in versions if name not in sides])
    _process(report)
    _targets(report, sizes)
    if as_json:
        kept = {"sides": report.sides, "floor": report.floor, "process": report.process, "targets": report.targets}
        click.echo(json.dumps(kept, ensure_ascii=False, indent=2))


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def show_table(report: Report, size: int, *, many: bool, sides: Sequence[str], skipped: Sequence[str]) -> None:
    """Print one table with a row per measurement and a column per library. Peers also get their ratio to Holdfast."""
    whose = f"{size // PER_USER or 1:,} users with {PER_USER} memories each" if many else "one user"
    report.say(f"\n{size:,} memories, {whose}; load {_load()}")
    report.say(f"{'':34}" + "".join(f"{name:>20}" for name in sides))
    ours = report.of(Holdfast.name, size, many=many)
    for key, label, unit in _ROWS:
        cells = []
        for name in sides:
            value = report.of(name, size, many=many).get(key)
            times = "" if value is None or name == Holdfast.name or not ours.get(key) else f" {value / ours[key]:>6.1f}x"
            cells.append(f"{'-' if value is None else f'{value:,.3f}' if unit == 'ms' else f'{value:,.0f}'}{times}")
        if any(cell != "-" for cell in cells):
            report.say(f"{label:34}" + "".join(f"{cell:>20}" for cell in cells) + f"  {unit}")
    if ours:
        scanned = size if not many else PER_USER
        best = scanned * _DIMENSIONS / report.floor["bandwidth"] * 1000
        report.say(f"{'floor: reading the codes once':34}{best:>20.3f}{ours['vectors'] / best:>12.1f}x for our vector search")
        sync = report.floor["sync"]
        report.say(f"{'floor: one sync':34}{sync:>20.3f}{ours['add_wall'] / sync:>12.1f}x for our add, elapsed")
    if skipped:
        report.say(f"not measured at this size, because it would take too long: {', '.join(skipped)} (see --peers-up-to)")


def _floor(report: Report, folder: Path, seed: int) -> Any:
    """Measure how fast this machine itself is, with ``floor.py``. Return the default embedder, or None if it cannot be loaded."""
    report.floor = {"bandwidth": floor.bandwidth(), "sync": floor.one_sync(folder)}
    report.say(
        f"floor: one core reads {report.floor['bandwidth'] / 1e9:.1f} GB/s from memory; one sync takes {report.floor['sync']:.2f} ms"
    )
    real = floor.real_embedder()
    if real is None:
        report.say("floor: the embedder cannot be loaded, so embedding is not measured (holdfast doctor says why)")
        return None
    asked = make_corpus(1000, questions=40, seed=seed + 1, dimensions=8).questions
    report.floor["embedding"] = floor.embedding(real, asked)
    report.say(f"floor: embedding a question takes {report.floor['embedding']:.2f} ms of CPU time")
    return real


def _targets(report: Report, sizes: Sequence[int]) -> None:
    """Print each performance target, and whether this run met it."""
    one, many = ({size: report.of(Holdfast.name, size, many=flag) for size in sizes} for flag in (False, True))
    for size, key, most in ((100_000, "find", 5.0), (1_000_000, "find", 30.0), (1_000_000, "vectors", 15.0)):
        if size in sizes:
            _target(report, f"{key} of {size:,} of one user", one[size][key], most, "ms", at_most=True)
    if 100_000 in sizes:
        _target(report, "find, one of many users, 100,000 memories", many[100_000]["find"], 1.0, "ms", at_most=True)
    for name, key, least in (("Chroma", "find", 10.0), ("mem0", "find", 5.0), ("Chroma", "add_wall", 4.0)):
        size = max((n for n in sizes if report.of(name, n, many=True)), default=0)
        if size:
            times = report.of(name, size, many=True)[key] / many[size][key]
            _target(report, f"{key} against {name}, {size:,}, many users", times, least, "x", at_most=False)
    if "resident" in report.process:
        _target(report, "resident memory with the embedder", report.process["resident"], 220.0, "MB", at_most=True)
    small, large = min(sizes), max(sizes)
    if large > small:
        growth = one[large]["find"] / one[small]["find"]
        _target(report, f"growth of find, one user, {small:,} to {large:,}", growth, large / small, "x", at_most=True)
        growth = many[large]["find"] / many[small]["find"]
        _target(report, f"growth of find, one of many users, {small:,} to {large:,}", growth, 1.5, "x", at_most=True)


def _target(report: Report, what: str, value: float, bound: float, unit: str, *, at_most: bool) -> None:
    if not report.targets:
        report.say("\ntargets, in this run")
    met = value <= bound if at_most else value >= bound
    report.targets.append({"what": what, "value": round(value, 3), "bound": bound, "unit": unit, "met": met})
    report.say(
        f"{what:58}{value:>10.2f} {unit:3}{'at most' if at_most else 'at least':>9} {bound:g}: {'met' if met else 'not met'}"
    )


_RESIDENT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import holdfast, tempfile
with tempfile.TemporaryDirectory() as folder, holdfast.open(folder, worker="none") as memory:
    for n in range(50):
        memory.remember(f"note {n} about the garden and the weather on day {n}", user="ana")
    assert any(reason.arm == "meaning" for reason in memory.recall("flowers outside", user="ana")[0].why), "no weights"
    if sys.platform == "linux":  # getrusage also counts the memory of the parent before exec
        print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""


def _process(report: Report) -> None:
    """Measure resident memory with the embedder loaded, and the start-up time of the command line."""
    report.say()
    if sys.platform != "win32":
        done = subprocess.run([sys.executable, "-c", _RESIDENT], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            report.process["resident"] = float(done.stdout)
            report.say(f"peak resident memory with the embedder, under a 2 GB limit: {float(done.stdout):.0f} MB")
        else:
            report.say(f"resident memory with the embedder was not measured: {done.stderr.strip().splitlines()[-1]}")
    bare = _start_cpu([sys.executable, "-c", "pass"])
    ours = _start_cpu([sys.executable, "-m", "holdfast.cli", "--version"])
    report.process["start"] = (ours - bare) * 1000
    report.say(f"holdfast --version: {ours * 1000:.0f} ms of CPU time, {bare * 1000:.0f} of them Python's own")


def _start_cpu(command: Sequence[str], times: int = 9) -> float:
    """Return the median CPU seconds that a command takes."""
    spent = []
    for _ in range(times):
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return sorted(spent)[times // 2]
