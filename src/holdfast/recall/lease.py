"""A short lease that lets one of several processes do shared work.

The holder renews the lease while it has work. If the holder dies, another process gets the lease within seconds. The
lease only avoids duplicate work; correctness does not depend on it.
"""

import secrets
import time

from holdfast.protocols import Store
from holdfast.runtime import forks

_LEASE_SECONDS = 10.0
"""Duration of a lease in seconds. If the process with the lease is killed, its work waits for at most this long."""


class ProcessLease:
    """The lease of this process on one kind of work."""

    def __init__(self, store: Store, work: str, *, seconds: float = _LEASE_SECONDS) -> None:
        self._store = store
        self._name = f"turn: {work}"
        self._seconds = seconds
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Give the child process its own identity. The parent keeps its lease."""
        self._holder = secrets.token_hex(8)
        self._held_until = 0.0

    def acquire(self) -> bool:
        """Acquire or renew the lease. Return False if another process holds it."""
        now = time.time()
        if now < self._held_until - self._seconds / 2:
            return True
        if self._is_held_by_another(self._store.setting(self._name), now):
            return False
        with self._store.write(durable=False) as tx:
            if self._is_held_by_another(tx.setting(self._name), now):  # another process was faster
                return False
            tx.set_setting(self._name, f"{self._holder} {now + self._seconds}")
        self._held_until = now + self._seconds
        return True

    def release(self) -> None:
        """Release the lease, so that another process can acquire it immediately."""
        if time.time() < self._held_until:
            self._held_until = 0.0
            with self._store.write(durable=False) as tx:
                tx.set_setting(self._name, f"{self._holder} 0")

    def _is_held_by_another(self, stored: str | None, now: float) -> bool:
        holder, _, until = (stored or "").partition(" ")
        # A lease that ends later than any valid one can was written by a machine with a wrong clock. Ignore it.
        return holder != self._holder and now < float(until or 0) <= now + 2 * self._seconds
