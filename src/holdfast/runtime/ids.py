"""Names for new things: sortable by time, impossible to guess, never equal."""

import secrets
import threading
from datetime import datetime

from holdfast.runtime import forks

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_lock = threading.Lock()
_last = (0, 0)


class _Renewal:
    """Makes the lock anew in a forked child."""

    def after_fork(self) -> None:
        global _lock  # noqa: PLW0603  (the lock belongs to the process)
        _lock = threading.Lock()


_renewal = _Renewal()
forks.register(_renewal)


def new_id(prefix: str, at: datetime) -> str:
    """Return a new id such as ``mem_01k4...``: 48 bits of milliseconds and 80 random ones, in base 32.

    Ids made one after another in one process sort in that order, also within a millisecond.
    """
    global _last  # noqa: PLW0603  (the order of ids is a property of the process)
    moment = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    with _lock:
        chance = _last[1] + 1 + secrets.randbits(32) if moment == _last[0] else secrets.randbits(79)
        _last = (moment, chance)
    number = moment << 80 | chance
    digits = "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
    return f"{prefix}_{digits}"
