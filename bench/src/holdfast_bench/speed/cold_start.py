"""Measures a cold start: open the files of one library in a new process and run queries.

The speed benchmark runs this module once per library.
"""

import json
import sys
import time
from pathlib import Path

import click
import numpy as np

from holdfast_bench.speed.corpus import Corpus, GivenVectors
from holdfast_bench.speed.measure import open_side
from holdfast_bench.speed.sides import Query


def main(name: str, folder: Path, file: Path) -> None:
    """Open the files and run queries. Print the CPU milliseconds until the first result, and the resident megabytes, as JSON."""
    with np.load(file) as arrays:
        vectors = arrays["vectors"]
        queries = [
            Query(text=str(text), vector=vector, user=str(user))
            for text, vector, user in zip(arrays["texts"], vectors, arrays["users"], strict=True)
        ]
    corpus = Corpus(texts=[], vectors=vectors[:0], questions=[query.text for query in queries], question_vectors=vectors)
    before, started = resident(), time.process_time()
    side = open_side(name, folder, GivenVectors(corpus))
    side.find(queries[0])
    first = time.process_time() - started
    for query in queries:
        side.find(query)
    click.echo(json.dumps({"cold": first * 1000, "resident": resident(), "resident_more": resident() - before}))
    side.close()


def resident() -> float:
    """Return the resident megabytes of this process, or NaN if the system does not report them."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = next(line for line in status.read_text("utf-8").splitlines() if line.startswith("VmRSS"))
    return int(found.split()[1]) / 1024


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
