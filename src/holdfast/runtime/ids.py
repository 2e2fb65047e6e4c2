"""Unique ids that sort by time and cannot be guessed."""

import secrets
import threading
from datetime import UTC, datetime

from holdfast.runtime import forks

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_lock = threading.Lock()
_last = (0, 0)


class _Renewal:
    """Creates a new lock for this module in a forked child process."""

    def after_fork(self) -> None:
        global _lock  # noqa: PLW0603  (one lock per process)
        _lock = threading.Lock()


_renewal = _Renewal()
forks.register(_renewal)


def new_id(prefix: str, at: datetime) -> str:
    """Return a new id such as ``mem_01k4...``: 48 bits of milliseconds and 80 random bits, in base 32.

    Ids sort in the order in which a process created them, even within one millisecond.
    """
    global _last  # noqa: PLW0603  (one order of ids per process)
    moment = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    with _lock:
        random_bits = _last[1] + 1 + secrets.randbits(32) if moment == _last[0] else secrets.randbits(79)
        _last = (moment, random_bits)
    number = moment << 80 | random_bits
    digits = "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
    return f"{prefix}_{digits}"


def time_of(id: str) -> datetime:
    """Return the time at which an id was created, to the millisecond."""
    digits = id.rpartition("_")[2]
    number = 0
    for digit in digits:
        number = number << 5 | _ALPHABET.index(digit)
    return datetime.fromtimestamp((number >> 80) / 1000, UTC)
