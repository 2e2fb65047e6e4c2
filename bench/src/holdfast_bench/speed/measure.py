"""Measuring one side at one size: storing, finding, and what stays on disk and in memory."""

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
from holdfast_bench.speed.sides import Asked, Holdfast, Row, Side

PER_USER = 100
SINGLE_ADDS = 40
_BATCH = 2000
_EMBEDDED = 16
"""Questions for what it takes from end to end."""
_WARM = 3
_OFTEN = 6
_ROUNDS = 20
_SECONDS = 8.0
"""Seconds after which nothing is asked again."""

Numbers: TypeAlias = dict[str, float]
Call: TypeAlias = Callable[[Asked], object]
Measured: TypeAlias = tuple[Call, Sequence[Asked]]
"""A call, and what it is made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What every side is given: memories, the users they belong to, and questions."""

    corpus: Corpus
    users: list[str]
    size: int
    real: Embedder | None = None

    def rows(self, start: int, end: int) -> list[Row]:
        """Return some memories."""
        corpus, users = self.corpus, self.users
        return [Row(number=n, text=corpus.texts[n], vector=corpus.vectors[n], user=users[n]) for n in range(start, end)]

    def asked(self) -> list[Asked]:
        """Return the questions, each with the user who asks it."""
        pairs = zip(self.corpus.questions, self.corpus.question_vectors, strict=True)
        return [Asked(text=t, vector=v, user=self.users[(n * 7919) % self.size]) for n, (t, v) in enumerate(pairs)]


def make_task(corpus: Corpus, *, many: bool, real: Embedder | None) -> Task:
    """Give the memories to one user, or to as many as have a hundred each; the last few are for adding one by one."""
    size = len(corpus.texts) - SINGLE_ADDS
    users = [f"user{n // PER_USER}" if many else "ana" for n in range(len(corpus.texts))]
    return Task(corpus=corpus, users=users, size=size, real=real)


def open_side(name: str, folder: Path, embedder: Embedder) -> Side:
    """Open ours or a peer's files."""
    return Holdfast(folder, embedder) if name == Holdfast.name else open_peer(name, folder, embedder)


def measure(name: str, task: Task, folder: Path) -> Numbers:
    """Fill a side, ask it, and return what that took."""
    embedder = GivenVectors(task.corpus)
    side = open_side(name, folder, embedder)
    try:
        numbers = _storing(side, task)
        asked = task.asked()
        numbers |= _finding(side, asked[:-_EMBEDDED])
        numbers |= _end_to_end(side, embedder, task, asked[-_EMBEDDED:])
    finally:
        side.close()
    numbers["disk"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / (task.size + SINGLE_ADDS)
    return numbers | _cold(name, task, folder)


def _storing(side: Side, task: Task) -> Numbers:
    """Import in batches, then add some one by one."""
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, task.size, _BATCH):
        side.put(task.rows(start, min(start + _BATCH, task.size)))
    taken = {"import": time.process_time() - cpu, "import_wall": time.perf_counter() - wall}
    numbers = {what: spent / task.size * 1000 for what, spent in taken.items()}
    gc.collect()
    spent_cpu, spent_wall = [], []
    for row in task.rows(task.size, task.size + SINGLE_ADDS):
        cpu, wall = time.process_time(), time.perf_counter()
        side.put([row])
        spent_cpu.append(time.process_time() - cpu)
        spent_wall.append(time.perf_counter() - wall)
    return numbers | {"add": _median(spent_cpu), "add_wall": _median(spent_wall)}


def _finding(side: Side, asked: Sequence[Asked]) -> Numbers:
    """Ask without filters, by an entry of the metadata, and by kind; vectors are given."""
    # What a user's first question reads from disk is measured by the cold start; ours reads more once it was asked often.
    for _ in range(_OFTEN if isinstance(side, Holdfast) else 1):
        for one in asked:
            side.find(one)
    if isinstance(side, Holdfast):
        side.rest()
    measured: dict[str, Measured] = {
        "find": (side.find, asked),
        "find_part": (side.find, [replace(one, part="part3") for one in asked]),
        "find_kind": (side.find, [replace(one, kind="event") for one in asked]),
        "fixed": (lambda _: fixed_work(), asked[:_WARM]),
    }
    if isinstance(side, Holdfast):
        measured |= {"vectors": (side.by_vectors, asked), "words": (side.by_words, asked)}
    return medians_cpu(measured)


def _end_to_end(side: Side, embedder: GivenVectors, task: Task, asked: Sequence[Asked]) -> Numbers:
    """Ask with a question that is embedded first; sides that embed by themselves are left to do it."""
    real = task.real
    if real is None:
        return {}
    for one in asked:
        side.find(one)
    if side.name in ("Holdfast", "mem0"):
        embedder.real = real
        return medians_cpu({"end_to_end": (side.find, asked)})

    def embed_and_find(one: Asked) -> None:
        embed_afresh(real, [one.text])
        side.find(one)

    return medians_cpu({"end_to_end": (embed_and_find, asked)})


def _cold(name: str, task: Task, folder: Path) -> Numbers:
    """Start a process that opens the files and asks; returns its CPU time to the first answer, and its memory."""
    asked = task.asked()[:20]
    given = folder / "asked.npz"
    np.savez(given, texts=[one.text for one in asked], users=[one.user for one in asked], vectors=[one.vector for one in asked])
    command = [sys.executable, "-m", "holdfast_bench.speed.cold_start", name, str(folder), str(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    given.unlink()
    if done.returncode:
        raise RuntimeError(f"{name} could not be opened again: {done.stderr.strip().splitlines()[-1]}")
    told: Numbers = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def medians_cpu(measured: Mapping[str, Measured]) -> Numbers:
    """Return the median CPU time of each call in milliseconds, all threads counted.

    They are made in turns, for some seconds: a moment in which the machine is slow shall not fall on one of them alone.
    """
    spent: dict[str, list[float]] = {name: [] for name in measured}
    for call, asked in measured.values():
        for one in asked[:_WARM]:
            call(one)
    end = time.perf_counter() + _SECONDS
    for _ in range(_ROUNDS):
        for name, (call, asked) in measured.items():
            for one in asked:
                started = time.process_time()
                call(one)
                spent[name].append(time.process_time() - started)
        if time.perf_counter() > end:
            break
    return {name: _median(seconds) for name, seconds in spent.items()}


def _median(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] * 1000
