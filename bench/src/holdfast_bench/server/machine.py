"""How much of the CPU time that a virtual machine wanted its host gave to others. Such a machine gives no fair response times."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
"""Where Linux reports CPU times."""
_IDLE, _WAITING, _STOLEN, _END = 3, 4, 7, 8
"""Positions of idle, waiting and stolen time in the first line of ``/proc/stat``, and the end of the times without overlap."""


@dataclass(slots=True)
class Stolen:
    """The share of the wanted CPU time that the host gave to others, from 0 to 1. It is 0 where the system does not report it."""

    share: float = 0.0


@contextlib.contextmanager
def stolen_time(stat: Path = STAT) -> Iterator[Stolen]:
    """Context manager: measure the stolen share while the ``with`` block runs. It is known at the end of the block."""
    found, before = Stolen(), _times(stat)
    yield found
    after = _times(stat)
    if before and after:
        passed = [later - earlier for earlier, later in zip(before, after, strict=True)]
        wanted = sum(passed) - passed[_IDLE] - passed[_WAITING]
        found.share = round(passed[_STOLEN] / wanted, 3) if wanted > 0 else 0.0


def _times(stat: Path) -> list[int]:
    """Return the CPU times since the start of the machine, or an empty list where the system does not report them."""
    if not stat.exists():
        return []
    return [int(part) for part in stat.read_text("ascii").split("\n", 1)[0].split()[1 : 1 + _END]]
