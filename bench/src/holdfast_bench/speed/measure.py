"""Measures one library with a given number of memories: storing, searching, disk and memory use."""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from holdfast.protocols import Embedder
from holdfast_bench.speed.corpus import Corpus, GivenVectors, embed_afresh
from holdfast_bench.speed.floor import fixed_work
from holdfast_bench.speed.peers import open_peer
from holdfast_bench.speed.sides import Holdfast, Query, Row, Side

PER_USER = 100
"""Number of memories per user, if there are many users."""
SINGLE_ADDS = 40
"""Number of memories that are added one at a time."""
_BATCH = 2000
"""Number of memories per import."""
_EMBEDDED = 16
"""Number of queries used to measure recall with embedding."""
_WARM = 3
"""Number of queries that each measured function runs first as a warm-up. They are not measured."""
_OFTEN = 6
"""Number of times that Holdfast runs all queries before the measurement.

Once is not enough, because Holdfast loads a part of a user's data only after several queries of that user.
"""
_ROUNDS = 20
"""Maximum number of measured rounds."""
_SECONDS = 8.0
"""Time after which no further round is started, in seconds."""

Numbers: TypeAlias = dict[str, float]
Call: TypeAlias = Callable[[Query], object]
Measured: TypeAlias = tuple[Call, Sequence[Query]]
"""A function to measure, and the queries to pass to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The input that every library gets: memories, the users they belong to, and queries."""

    corpus: Corpus
    users: list[str]
    size: int
    real: Embedder | None = None

    def rows(self, start: int, end: int) -> list[Row]:
        """Return the memories numbered from ``start`` up to ``end``."""
        corpus, users = self.corpus, self.users
        return [Row(number=n, text=corpus.texts[n], vector=corpus.vectors[n], user=users[n]) for n in range(start, end)]

    def queries(self) -> list[Query]:
        """Return the queries, each assigned to a user."""
        pairs = zip(self.corpus.questions, self.corpus.question_vectors, strict=True)
        return [Query(text=t, vector=v, user=self.users[(n * 7919) % self.size]) for n, (t, v) in enumerate(pairs)]


def make_task(corpus: Corpus, *, many: bool, real: Embedder | None) -> Task:
    """Return the input of the measurement. The memories belong to one user, or to many users with 100 memories each.

    The last memories are not imported in batches but added one at a time, to measure single adds.
    """
    size = len(corpus.texts) - SINGLE_ADDS
    users = [f"user{n // PER_USER}" if many else "ana" for n in range(len(corpus.texts))]
    return Task(corpus=corpus, users=users, size=size, real=real)


def open_side(name: str, folder: Path, embedder: Embedder) -> Side:
    """Open Holdfast, or one of the libraries it is compared with, on the files in a folder."""
    return Holdfast(folder, embedder) if name == Holdfast.name else open_peer(name, folder, embedder)


def measure(name: str, task: Task, folder: Path) -> Numbers:
    """Fill a library, query it, and return the measurements."""
    embedder = GivenVectors(task.corpus)
    side = open_side(name, folder, embedder)
    try:
        numbers = _storing(side, task)
        queries = task.queries()
        numbers |= _finding(side, queries[:-_EMBEDDED])
        numbers |= _end_to_end(side, embedder, task, queries[-_EMBEDDED:])
    finally:
        side.close()
    numbers["disk"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / (task.size + SINGLE_ADDS)
    return numbers | _cold(name, task, folder)


def _storing(side: Side, task: Task) -> Numbers:
    """Measure storing: import memories in batches, then add some one at a time."""
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, task.size, _BATCH):
        side.put(task.rows(start, min(start + _BATCH, task.size)))
    taken = {"import": time.process_time() - cpu, "import_wall": time.perf_counter() - wall}
    numbers = {name: spent / task.size * 1000 for name, spent in taken.items()}
    gc.collect()
    spent_cpu, spent_wall = [], []
    for row in task.rows(task.size, task.size + SINGLE_ADDS):
        cpu, wall = time.process_time(), time.perf_counter()
        side.put([row])
        spent_cpu.append(time.process_time() - cpu)
        spent_wall.append(time.perf_counter() - wall)
    return numbers | {"add": _median(spent_cpu), "add_wall": _median(spent_wall)}


def _finding(side: Side, queries: Sequence[Query]) -> Numbers:
    """Measure searching without a filter, by metadata, and by kind. The query vectors are precomputed."""
    # The cold start measures what the first query reads from disk, so it is excluded here.
    for _ in range(_OFTEN if isinstance(side, Holdfast) else 1):
        for query in queries:
            side.find(query)
    if isinstance(side, Holdfast):
        side.rest()
    measured: dict[str, Measured] = {
        "find": (side.find, queries),
        "find_part": (side.find, [replace(query, part="part3") for query in queries]),
        "find_kind": (side.find, [replace(query, kind="event") for query in queries]),
        "fixed": (lambda _: fixed_work(), queries[:_WARM]),
    }
    if isinstance(side, Holdfast):
        measured |= {"vectors": (side.by_vectors, queries), "words": (side.by_words, queries)}
    return medians_cpu(measured)


def _end_to_end(side: Side, embedder: GivenVectors, task: Task, queries: Sequence[Query]) -> Numbers:
    """Measure searching together with embedding the question.

    Holdfast and mem0 embed the question themselves. For the other libraries, this function embeds it.
    """
    real = task.real
    if real is None:
        return {}
    for query in queries:
        side.find(query)
    if side.name in ("Holdfast", "mem0"):
        embedder.real = real
        return medians_cpu({"end_to_end": (side.find, queries)})

    def embed_and_find(query: Query) -> None:
        embed_afresh(real, [query.text])
        side.find(query)

    return medians_cpu({"end_to_end": (embed_and_find, queries)})


def _cold(name: str, task: Task, folder: Path) -> Numbers:
    """Start a new process that opens the files and runs queries. Return its CPU time until the first result, and its memory."""
    queries = task.queries()[:20]
    file = folder / "queries.npz"
    np.savez(
        file,
        texts=[query.text for query in queries],
        users=[query.user for query in queries],
        vectors=[query.vector for query in queries],
    )
    command = [sys.executable, "-m", "holdfast_bench.speed.cold_start", name, str(folder), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    file.unlink()
    if done.returncode:
        raise RuntimeError(f"{name} could not be reopened: {done.stderr.strip().splitlines()[-1]}")
    numbers: Numbers = json.loads(done.stdout.strip().splitlines()[-1])
    return numbers


def medians_cpu(measured: Mapping[str, Measured]) -> Numbers:
    """Return the median CPU milliseconds of each measured function, over all threads.

    The functions run alternately for some seconds, so that a slow phase of the machine affects all of them.
    """
    spent: dict[str, list[float]] = {name: [] for name in measured}
    for call, queries in measured.values():
        for query in queries[:_WARM]:
            call(query)
    end = time.perf_counter() + _SECONDS
    for _ in range(_ROUNDS):
        for name, (call, queries) in measured.items():
            for query in queries:
                started = time.process_time()
                call(query)
                spent[name].append(time.process_time() - started)
        if time.perf_counter() > end:
            break
    return {name: _median(seconds) for name, seconds in spent.items()}


def _median(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] * 1000
