"""How fast it is: our recall without the embedder, beside peers with the same vectors and filter, and what it costs to run.

Times are CPU time of this process, medians over the questions. Timings of two runs do not compare; ratios of
one run do.
"""

import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from holdfast.bench.data import Corpus, GivenVectors, make_corpus
from holdfast.bench.peers import open_peers
from holdfast.config import open_engine
from holdfast.engine import Engine
from holdfast.protocols import Candidates, MemoryFilter
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer

_QUESTIONS = 60
_PER_USER = 100


@dataclass(slots=True)
class Report:
    """Rows of one run."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    quiet: bool = False

    def add(self, what: str, size: int | str, value: float, unit: str, note: str = "") -> None:
        """Note a number, and show it at once."""
        self.rows.append({"what": what, "size": size, "value": round(value, 3), "unit": unit, "note": note})
        if not self.quiet:
            click.echo(f"{what:44} {size!s:>9} {value:10.3f} {unit:6} {note}")


def run(sizes: Sequence[int], seed: int, as_json: bool) -> None:  # noqa: FBT001  (called by name)
    """Measure, and print a table or JSON."""
    report = Report(quiet=as_json)
    if not as_json:
        click.echo(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; CPU time, medians\n")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _one_scope(report, make_corpus(size, questions=_QUESTIONS, seed=seed), Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        _many_scopes(report, make_corpus(max(sizes), questions=_QUESTIONS, seed=seed), Path(folder))
    _process(report)
    if as_json:
        click.echo(json.dumps(report.rows, ensure_ascii=False, indent=2))


def _one_scope(report: Report, corpus: Corpus, folder: Path) -> None:
    """All memories are one user's."""
    size = len(corpus.texts)
    with open_engine(folder / "memory.db", embedder=GivenVectors(corpus), worker="none") as memory:
        _load(report, memory, corpus, ["ana"] * size)
        scope = Scope(user="ana")
        where = Candidates(reader=scope, spaces=["memory"])
        vectors = dict(zip(corpus.questions, corpus.question_vectors, strict=True))
        memory.recall(corpus.questions[0], user="ana")
        parts = {
            "vectors": lambda q: memory.store.find_vectors("given", vectors[q], where, limit=32),
            "text": lambda q: memory.store.find_text(q, where, languages=["en", "es"], limit=32),
        }
        total = 0.0
        for name, part in parts.items():
            spent = _median_cpu(part, corpus.questions)
            total += spent
            report.add(f"one scope: {name}", size, spent, "ms")
        found = {q: [match.item for match in parts["vectors"](q)][:10] for q in corpus.questions}
        spent = _median_cpu(lambda q: memory.store.memories(MemoryFilter(items=found[q])), corpus.questions)
        report.add("one scope: hydrate 10", size, spent, "ms")
        report.add("one scope: index + text + hydrate", size, total + spent, "ms")
        report.add(
            "one scope: recall(limit=10), all of it",
            size,
            _median_cpu(lambda q: memory.recall(q, user="ana"), corpus.questions),
            "ms",
        )
        report.add("disk a memory", size, sum(f.stat().st_size for f in folder.iterdir()) / size, "bytes")


def _many_scopes(report: Report, corpus: Corpus, folder: Path) -> None:
    """The same memories are many users', and each question is one user's; peers get the same filter."""
    size = len(corpus.texts)
    users = [f"user{n // _PER_USER}" for n in range(size)]
    asker = {q: users[(n * 7919) % size] for n, q in enumerate(corpus.questions)}
    vectors = dict(zip(corpus.questions, corpus.question_vectors, strict=True))
    with open_engine(folder / "memory.db", embedder=GivenVectors(corpus), worker="none") as memory:
        _load(report, memory, corpus, users)
        ours = _median_cpu(lambda q: memory.recall(q, user=asker[q]), corpus.questions)
        report.add("one user of many: Holdfast, recall (hybrid)", size, ours, "ms", f"{size // _PER_USER} users")
        alone = _median_cpu(
            lambda q: memory.store.find_vectors(
                "given", vectors[q], Candidates(reader=Scope(user=asker[q]), spaces=["memory"]), limit=10
            ),
            corpus.questions,
        )
        report.add("one user of many: Holdfast, vectors alone", size, alone, "ms")
    for name, search in open_peers(corpus, users, folder).items():
        spent = _median_cpu(lambda q, search=search: search(vectors[q], asker[q]), corpus.questions)  # type: ignore[misc]
        report.add(
            f"one user of many: {name}, vectors with filter",
            size,
            spent,
            "ms",
            f"{spent / ours:.1f}x ours, {spent / alone:.0f}x our vectors",
        )


def _load(report: Report, memory: Engine, corpus: Corpus, users: Sequence[str], batch: int = 2000) -> None:
    started = time.process_time()
    now = datetime.now(UTC)
    for start in range(0, len(users), batch):
        pairs = zip(corpus.texts[start : start + batch], users[start : start + batch], strict=True)
        with memory.store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="bench"), now=now)
            writer.apply([Put(scope=Scope(user=user), kind="fact", text=text) for text, user in pairs])
    memory.drain()
    report.add("write a memory, in batches, vector given", len(users), (time.process_time() - started) / len(users) * 1000, "ms")
    gc.collect()


def _median_cpu(call: Callable[[str], object], questions: Sequence[str]) -> float:
    call(questions[0])
    spent = []
    for question in questions:
        started = time.process_time()
        call(question)
        spent.append(time.process_time() - started)
    return sorted(spent)[len(spent) // 2] * 1000


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
    """What a process costs: resident memory with the embedder loaded, and the start of the command line."""
    if sys.platform != "win32":
        done = subprocess.run([sys.executable, "-c", _RESIDENT], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            report.add("peak resident memory, embedder loaded", 50, float(done.stdout), "MB", "under a 2 GB limit")
        else:
            report.add("peak resident memory, embedder loaded", 50, float("nan"), "MB", done.stderr.strip().splitlines()[-1])
    bare = _start_cpu([sys.executable, "-c", "pass"])
    ours = _start_cpu([sys.executable, "-m", "holdfast.cli", "--version"])
    report.add(
        "holdfast --version, over bare python", "", (ours - bare) * 1000, "ms", f"{ours * 1000:.0f} against {bare * 1000:.0f}"
    )


def _start_cpu(command: Sequence[str], times: int = 15) -> float:
    """Return the median CPU seconds of a command."""
    spent = []
    for _ in range(times):
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return sorted(spent)[times // 2]
