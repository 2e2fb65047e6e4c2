"""Samples the memory of a server and its child processes every half second."""

import contextlib
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_STEADY_PERCENT = 10.0
"""Memory counts as steady if it grows by at most this many percent in the second half of a run."""
_SAMPLES_SHOWN = 12

Processes = Mapping[int, tuple[int, int]]
"""Maps each process id to the parent's id and the resident kilobytes."""


def family_mb(process: int) -> float | None:
    """Return the resident megabytes of a process and its descendants, or None if the system does not report them.

    Shared pages count once per process, so this is an upper bound.
    """
    found = _from_proc() if Path("/proc/self/status").exists() else _from_ps()
    return family_sum(found, process) if process in found else None


def family_sum(found: Processes, process: int) -> float:
    """Return the resident megabytes of a process and its descendants. ``found`` contains the parent and size of every process."""
    children: dict[int, list[int]] = {}
    for number, (parent, _) in found.items():
        children.setdefault(parent, []).append(number)
    kilobytes, pending = 0, [process]
    while pending:
        number = pending.pop()
        kilobytes += found[number][1]
        pending += children.get(number, [])
    return round(kilobytes / 1024, 1)


def _from_proc() -> Processes:
    """Return the parent and the resident kilobytes of each process, read from ``/proc`` on Linux."""
    found: dict[int, tuple[int, int]] = {}
    for file in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, KeyError):  # it has exited, or is a kernel thread
            status = dict(line.split(":", 1) for line in file.read_text("utf-8", "replace").splitlines())
            found[int(file.parent.name)] = (int(status["PPid"]), int(status["VmRSS"].split()[0]))
    return found


def _from_ps() -> Processes:
    """Return the parent and the resident kilobytes of each process, read from ``ps`` on Unix systems other than Linux."""
    if sys.platform == "win32":
        return {}
    try:
        done = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True, timeout=10)  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = (line.split() for line in done.stdout.splitlines())
    return {int(row[0]): (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


@contextlib.contextmanager
def watched(process: int, *, every: float = 0.5) -> Iterator[list[float]]:
    """Context manager: sample the memory of a process and its descendants while the ``with`` block runs.

    Yield the list to which the samples are added, in megabytes.
    """
    samples: list[float] = []
    stopped = threading.Event()

    def sample() -> None:
        while not stopped.is_set():
            now = family_mb(process)
            if now is None:
                return
            samples.append(now)
            stopped.wait(every)

    thread = threading.Thread(target=sample, name="memory watch", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stopped.set()
        thread.join()


def summarize(samples: Sequence[float]) -> dict[str, Any]:
    """Return the memory use at several points of the run, and its growth in the second half."""
    if len(samples) < 4:
        return {"memory_mb": None, "memory_grew_percent": None, "memory_steady": None}
    half, end = _around(samples, 0.5), _around(samples, 1.0)
    grew = round(100 * (end - half) / half, 1)
    return {
        "memory_mb": {"start": samples[0], "third": _around(samples, 1 / 3), "half": half, "end": end, "most": max(samples)},
        "memory_course_mb": [_around(samples, (index + 1) / _SAMPLES_SHOWN) for index in range(_SAMPLES_SHOWN)],
        "memory_grew_percent": grew,
        "memory_steady": grew <= _STEADY_PERCENT,
    }


def _around(samples: Sequence[float], share: float) -> float:
    """Return the median of the samples around a point of the run, so that a single outlier has no effect."""
    at, width = round(share * (len(samples) - 1)), max(1, len(samples) // 20)
    return round(statistics.median(samples[max(0, at - width) : at + width + 1]), 1)
