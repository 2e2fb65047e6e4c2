"""Decide when a file is rewritten after erasures, and which erasures a rewrite covers.

VACUUM rewrites a whole file, and nobody can write to the file meanwhile. So a rewrite covers the erasures of all tenants, and a
process rewrites a file only for a small share of its time. While other tenants write, a rewrite waits for a quiet moment, but not
for longer than ten minutes.

Rewrites are numbered. A transaction that erases rows records the number of the last rewrite that had begun (``AWAITED``). Only
a rewrite with a higher number covers the erasure.
"""

import threading
import time
import weakref
from pathlib import Path

from holdfast.runtime import forks
from holdfast.stores.sql.connection import Connection, fetch_value
from holdfast.stores.sql.partitions import next_number
from holdfast.stores.sqlite.write_turns import turns_of

__all__ = ["AWAITED", "RewritePace", "begin", "finish", "is_covered", "last_begun", "pace_of"]

AWAITED = "rewrite awaited"
"""Name of a tenant's setting. Its value is the number of the last rewrite that had begun before the tenant's last erasure.

Only a rewrite with a higher number covers the erasure.
"""
_BEGUN, _FINISHED = "rewrite begun", "rewrite finished"
"""Names of two sequences: the number of the last rewrite that has begun, and of the last rewrite that has finished."""
_MAX_SHARE = 1 / 200
"""Maximum share of its running time that a process spends on rewriting a file.

All writes wait during a rewrite. If fewer than 1 % of the writes wait, the 99th percentile of their times stays the same.
"""
_CREDIT_SECONDS = 0.25
"""Maximum time, in seconds, that a process can save up for rewrites while it rewrites nothing.

As long as any saved time is left, an erasure may rewrite the file at once, however long that takes.
"""
_MAX_WAIT_SECONDS = 600.0
"""Maximum time that a rewrite waits for a moment in which other tenants do not write."""
_QUICK_BYTES = 2 * 1024 * 1024
"""Maximum size in bytes of a file that is rewritten even while other tenants write, because such a rewrite is quick."""
_BUSY_TURNS, _BUSY_SECONDS = 3, 5.0
"""Other tenants count as writing if they requested the write lock at least three times in the last five seconds."""


def last_begun(connection: Connection) -> int:
    """Return the number of the last rewrite (VACUUM) of the file that has begun."""
    return _number(connection, _BEGUN)


def begin(connection: Connection) -> int:
    """Record that a rewrite (VACUUM) of the file begins, and return the number of this rewrite."""
    return next_number(connection, _BEGUN)


def finish(connection: Connection, number: int) -> None:
    """Record that the rewrite (VACUUM) of the file with this number has finished."""
    connection.execute("INSERT OR IGNORE INTO sequences (name, value) VALUES (?, 0)", (_FINISHED,))
    connection.execute("UPDATE sequences SET value = max(value, ?) WHERE name = ?", (number, _FINISHED))


def is_covered(connection: Connection, awaited: str | None) -> bool:
    """Return True if the file was rewritten completely after a tenant's last erasure.

    ``awaited`` is the number, as text, of the last rewrite that had begun before the erasure. If it is None, return False.
    """
    return awaited is not None and _number(connection, _FINISHED) > int(awaited)


def _number(connection: Connection, name: str) -> int:
    return int(fetch_value(connection, "SELECT value FROM sequences WHERE name = ?", (name,)) or 0)


class RewritePace:
    """Decides when this process may rewrite one file: for a small share of its running time, and while other tenants do not write."""

    def __init__(self, path: Path, *, max_wait: float = _MAX_WAIT_SECONDS) -> None:
        self._path = path
        self._max_wait = max_wait
        self._turns = turns_of(path)
        self._credit = _CREDIT_SECONDS
        self._at = time.monotonic()
        self._waiting_since: float | None = None
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in a forked child."""
        self._guard = threading.Lock()

    def is_due(self, tenant: str) -> bool:
        """Return True if a rewrite for the erasures of a tenant can begin now.

        This process must have time left for rewrites. In addition, one of three conditions must be met: no other tenant is
        writing, or the file is small, or the rewrite has waited long enough.
        """
        with self._guard:
            self._refill()
            if self._credit <= 0:
                return False
            if not self._is_disturbing(tenant):
                return True
            if self._waiting_since is None:
                self._waiting_since = self._at
            return self._at - self._waiting_since >= self._max_wait

    def spend(self, seconds: float) -> None:
        """Record that a rewrite took ``seconds``."""
        with self._guard:
            self._refill()
            self._credit -= seconds
            self._waiting_since = None

    def _is_disturbing(self, tenant: str) -> bool:
        """Return True if other tenants are writing and the file is too large for a quick rewrite."""
        is_busy = self._turns.recent_turns_of_others(tenant, _BUSY_SECONDS) >= _BUSY_TURNS
        return is_busy and self._path.stat().st_size > _QUICK_BYTES

    def _refill(self) -> None:
        now = time.monotonic()
        self._credit = min(_CREDIT_SECONDS, self._credit + _MAX_SHARE * (now - self._at))
        self._at = now


_guard = threading.Lock()
_by_path: "weakref.WeakValueDictionary[str, RewritePace]" = weakref.WeakValueDictionary()


def pace_of(path: Path) -> RewritePace:
    """Return the ``RewritePace`` of a file. All stores in this process that use the same file get the same object."""
    with _guard:
        name = str(path.resolve())
        pace = _by_path.get(name)
        if pace is None:
            pace = _by_path[name] = RewritePace(path)
        return pace
