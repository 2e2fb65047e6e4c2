"""How fast it is: storing and recalling beside peers with the same vectors and filters, and what it costs to run.

Finding is measured as CPU time of the process, all threads, medians over the questions; adding by the clock too, since
it waits for the disk. Timings of two runs do not compare; ratios of one run do, so every number of a peer stands with how
many times ours it is.
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
    ("add_wall", "add one, durable: by the clock", "ms"),
    ("add", "add one, durable: CPU", "ms"),
    ("find", "recall, vector given: CPU", "ms"),
    ("find_part", "the same, by metadata", "ms"),
    ("find_kind", "the same, by kind", "ms"),
    ("fixed", "20,000 steps of Python, meanwhile", "ms"),
    ("end_to_end", "recall with embedding: CPU", "ms"),
    ("vectors", "of it: vectors alone", "ms"),
    ("words", "of it: words alone", "ms"),
    ("cold", "open and first answer: CPU", "ms"),
    ("resident", "resident memory of a reader", "MB"),
    ("disk", "disk a memory", "bytes"),
    ("import", "import a memory: CPU", "ms"),
    ("import_wall", "import a memory: by the clock", "ms"),
)


@dataclass(slots=True)
class Report:
    """What one run has measured; shown as it comes in."""

    quiet: bool = False
    sides: list[dict[str, Any]] = field(default_factory=list)
    floor: Numbers = field(default_factory=dict)
    process: Numbers = field(default_factory=dict)
    targets: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        """Show a line."""
        if not self.quiet:
            click.echo(text)

    def of(self, side: str, size: int, *, many: bool) -> Mapping[str, float]:
        """Return a side's numbers at a size; nothing where it was not measured."""
        wanted = {"side": side, "size": size, "many": many}
        return next((one["numbers"] for one in self.sides if wanted.items() <= one.items()), {})


def run(sizes: Sequence[int], seed: int, as_json: bool, peers_up_to: int = 100_000) -> None:  # noqa: FBT001  (called by name)
    """Measure, and print tables or JSON."""
    report = Report(quiet=as_json)
    versions = installed()
    names = ", ".join(f"{name} {version}" for name, version in versions.items()) or "none is installed"
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
                _show(report, size, many=many, sides=sides, skipped=[name for name in versions if name not in sides])
    _process(report)
    _targets(report, sizes)
    if as_json:
        kept = {"sides": report.sides, "floor": report.floor, "process": report.process, "targets": report.targets}
        click.echo(json.dumps(kept, ensure_ascii=False, indent=2))


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _show(report: Report, size: int, *, many: bool, sides: Sequence[str], skipped: Sequence[str]) -> None:
    """Print one table: a row a measurement, a column a side, peers with how many times ours they take."""
    whose = f"{size // PER_USER or 1:,} users, each asking for their own {PER_USER}" if many else "one user"
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
        report.say(
            f"{'floor: reading the codes once':34}{best:>20.3f}{ours['vectors'] / best:>12.1f}x of it is our vectors alone"
        )
        sync = report.floor["sync"]
        report.say(f"{'floor: one sync':34}{sync:>20.3f}{ours['add_wall'] / sync:>12.1f}x of it is our add, by the clock")
    if skipped:
        report.say(f"not measured at this size, it would take too long: {', '.join(skipped)} (see --peers-up-to)")


def _floor(report: Report, folder: Path, seed: int) -> Any:
    """Measure what nothing could beat; returns the embedder, if it is here."""
    report.floor = {"bandwidth": floor.bandwidth(), "sync": floor.one_sync(folder)}
    report.say(
        f"floor: memory is read at {report.floor['bandwidth'] / 1e9:.1f} GB/s by one core; one sync takes {report.floor['sync']:.2f} ms"
    )
    real = floor.real_embedder()
    if real is None:
        report.say("floor: no embedder is installed (holdfast models pull), so nothing is measured with embedding")
        return None
    asked = make_corpus(1000, questions=40, seed=seed + 1, dimensions=8).questions
    report.floor["embedding"] = floor.embedding(real, asked)
    report.say(f"floor: embedding a question takes {report.floor['embedding']:.2f} ms of CPU time")
    return real


def _targets(report: Report, sizes: Sequence[int]) -> None:
    """Say what was aimed at, and whether it was reached in this run."""
    one, many = ({size: report.of(Holdfast.name, size, many=flag) for size in sizes} for flag in (False, True))
    for size, key, most in ((100_000, "find", 5.0), (1_000_000, "find", 30.0), (1_000_000, "vectors", 15.0)):
        if size in sizes:
            _target(report, f"{key} of {size:,} of one user", one[size][key], most, "ms", at_most=True)
    if 100_000 in sizes:
        _target(report, "find, one user of 100,000 memories' users", many[100_000]["find"], 1.0, "ms", at_most=True)
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
        report.say("\nwhat was aimed at, in this run")
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
    if sys.platform == "linux":  # getrusage also counts what the parent had before this program began
        print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""


def _process(report: Report) -> None:
    """Measure what a process costs: resident memory with the embedder loaded, and the start of the command line."""
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
    """Return the median CPU seconds of a command."""
    spent = []
    for _ in range(times):
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return sorted(spent)[times // 2]
