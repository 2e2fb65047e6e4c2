"""The memory of a server while it works: all its processes together, looked at every half second."""

import contextlib
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_STEADY_PERCENT = 10.0
"""What memory may grow by in the second half of a run and still be called steady."""
_SHOWN = 12

Processes = Mapping[int, tuple[int, int]]
"""The parent and the resident kilobytes of every process, by its number."""


def family_mb(process: int) -> float | None:
    """Return the resident memory of a process and all that it started; None where the system does not tell.

    Pages that several of them share count once for each: it is an upper bound.
    """
    found = _from_proc() if Path("/proc/self/status").exists() else _from_ps()
    return family_sum(found, process) if process in found else None


def family_sum(found: Processes, process: int) -> float:
    """Return the megabytes of a process and its descendants."""
    children: dict[int, list[int]] = {}
    for number, (parent, _) in found.items():
        children.setdefault(parent, []).append(number)
    kilobytes, ahead = 0, [process]
    while ahead:
        number = ahead.pop()
        kilobytes += found[number][1]
        ahead += children.get(number, [])
    return round(kilobytes / 1024, 1)


def _from_proc() -> Processes:
    """Read what Linux says of every process."""
    found: dict[int, tuple[int, int]] = {}
    for file in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, KeyError):  # it has ended meanwhile, or is a thread of the kernel
            said = dict(line.split(":", 1) for line in file.read_text("utf-8", "replace").splitlines())
            found[int(file.parent.name)] = (int(said["PPid"]), int(said["VmRSS"].split()[0]))
    return found


def _from_ps() -> Processes:
    """Ask ``ps``, which other systems of the kind have."""
    if sys.platform == "win32":
        return {}
    try:
        said = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True, timeout=10)  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = (line.split() for line in said.stdout.splitlines())
    return {int(row[0]): (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


@contextlib.contextmanager
def watched(process: int, *, every: float = 0.5) -> Iterator[list[float]]:
    """Note a family's memory again and again while this lasts."""
    samples: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            now = family_mb(process)
            if now is None:
                return
            samples.append(now)
            over.wait(every)

    thread = threading.Thread(target=look, name="memory watch", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def told(samples: Sequence[float]) -> dict[str, Any]:
    """Say how memory went: at the start, after a third, half and end, and by how much it grew in the second half."""
    if len(samples) < 4:
        return {"memory_mb": None, "memory_grew_percent": None, "memory_steady": None}
    half, end = _around(samples, 0.5), _around(samples, 1.0)
    grew = round(100 * (end - half) / half, 1)
    return {
        "memory_mb": {"start": samples[0], "third": _around(samples, 1 / 3), "half": half, "end": end, "most": max(samples)},
        "memory_course_mb": [_around(samples, (place + 1) / _SHOWN) for place in range(_SHOWN)],
        "memory_grew_percent": grew,
        "memory_steady": grew <= _STEADY_PERCENT,
    }


def _around(samples: Sequence[float], share: float) -> float:
    """Return the middle of the samples about a moment of the run, so that one odd sample says nothing."""
    at, width = round(share * (len(samples) - 1)), max(1, len(samples) // 20)
    return round(statistics.median(samples[max(0, at - width) : at + width + 1]), 1)
