"""One process, of several with the same store, that does what any of them could: it has the turn, for a few seconds.

Who has it goes on until there is nothing left to do, and takes it again before it lapses. Should that process be gone, the
next one has it soon. Nothing depends on it but that work is not done twice.
"""

import secrets
import time

from holdfast.protocols import Store
from holdfast.runtime import forks

_LEASE_SECONDS = 10.0
"""How long a turn lasts: so long may work wait when the process that had it was killed."""


class ProcessLease:
    """A process's claim to something that one is enough for."""

    def __init__(self, store: Store, work: str, *, seconds: float = _LEASE_SECONDS) -> None:
        self._store = store
        self._name = f"turn: {work}"
        self._seconds = seconds
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Be somebody else: the parent keeps its turn."""
        self._holder = secrets.token_hex(8)
        self._held_until = 0.0

    def acquire(self) -> bool:
        """Tell whether it is this process's turn, which it is if it is nobody else's."""
        now = time.time()
        if now < self._held_until - self._seconds / 2:
            return True
        if self._is_held_by_another(self._store.setting(self._name), now):
            return False
        with self._store.write(durable=False) as tx:
            if self._is_held_by_another(tx.setting(self._name), now):  # it was faster
                return False
            tx.set_setting(self._name, f"{self._holder} {now + self._seconds}")
        self._held_until = now + self._seconds
        return True

    def release(self) -> None:
        """Let another process have it at once."""
        if time.time() < self._held_until:
            self._held_until = 0.0
            with self._store.write(durable=False) as tx:
                tx.set_setting(self._name, f"{self._holder} 0")

    def _is_held_by_another(self, noted: str | None, now: float) -> bool:
        who, _, until = (noted or "").partition(" ")
        # Clocks of several machines differ; no turn lasts longer than one.
        return who != self._holder and now < float(until or 0) <= now + 2 * self._seconds
