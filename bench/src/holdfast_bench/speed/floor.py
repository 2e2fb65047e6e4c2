"""Measure the machine's own speed, which limits every library.

There are three measurements: how fast one core reads memory, how long a sync to disk takes, and how long it takes to
embed a question.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from holdfast.config.models import make_embedder
from holdfast.errors import ModelError
from holdfast.protocols import Embedder

_MEASURED = 128 << 20
_TIMES = 9
_STEPS = 20_000


def bandwidth() -> float:
    """Return the bytes per second that one core reads from memory: the best of several passes."""
    words = np.ones(_MEASURED // 8, np.uint64)
    spent = []
    for _ in range(_TIMES):
        started = time.process_time()
        np.bitwise_or.reduce(words)
        spent.append(time.process_time() - started)
    return _MEASURED / min(spent)


def fixed_work() -> int:
    """Run a fixed amount of Python work. Its duration shows how fast the machine currently is."""
    seen: dict[int, int] = {}
    for number in range(_STEPS):
        seen[number & 1023] = seen.get(number & 1023, 0) + number
    return len(seen)


def one_sync(folder: Path) -> float:
    """Return the median elapsed milliseconds of appending a page to a file and syncing it to disk."""
    spent = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(3 * _TIMES):
            started = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            spent.append(time.perf_counter() - started)
    (folder / "sync").unlink()
    return sorted(spent)[len(spent) // 2] * 1000


def real_embedder(name: str = "talk-embed-s") -> Embedder | None:
    """Return the default embedder, or None if its weights are not on this machine."""
    source = make_embedder(name)
    try:
        return source.load() if source else None
    except ModelError:
        return None


def embedding(embedder: Embedder, questions: Sequence[str]) -> float:
    """Return the median CPU milliseconds of embedding a question. Pass distinct questions, because embedders may cache them."""
    embedder.embed(["is it warm now"], role="query")
    spent = []
    for question in questions:
        started = time.process_time()
        embedder.embed([question], role="query")
        spent.append(time.process_time() - started)
    return sorted(spent)[len(spent) // 2] * 1000
