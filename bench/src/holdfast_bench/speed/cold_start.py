"""What a fresh process needs to open a side's files and answer: run by the speed benchmark, one process a side."""

import json
import sys
import time
from pathlib import Path

import click
import numpy as np

from holdfast_bench.speed.corpus import Corpus, GivenVectors
from holdfast_bench.speed.measure import open_side
from holdfast_bench.speed.sides import Asked


def main(name: str, folder: Path, given: Path) -> None:
    """Open, ask, and print as JSON the CPU milliseconds to the first answer and the megabytes at the end."""
    with np.load(given) as read:
        vectors = read["vectors"]
        asked = [
            Asked(text=str(text), vector=vector, user=str(user))
            for text, vector, user in zip(read["texts"], vectors, read["users"], strict=True)
        ]
    corpus = Corpus(texts=[], vectors=vectors[:0], questions=[one.text for one in asked], question_vectors=vectors)
    before, started = resident(), time.process_time()
    side = open_side(name, folder, GivenVectors(corpus))
    side.find(asked[0])
    first = time.process_time() - started
    for one in asked:
        side.find(one)
    click.echo(json.dumps({"cold": first * 1000, "resident": resident(), "resident_more": resident() - before}))
    side.close()


def resident() -> float:
    """Return the megabytes of this process that are in memory now; not a number where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = next(line for line in status.read_text("utf-8").splitlines() if line.startswith("VmRSS"))
    return int(found.split()[1]) / 1024


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
