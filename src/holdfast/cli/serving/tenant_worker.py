"""Background work for every tenant of a store, for a worker that stands beside servers.

The tenants are the operator's own, those that a key opens, and whoever queues a job while this runs. Where the store
tells of new jobs, they are begun at once; besides, every tenant is looked at from time to time, for conversations that
fell silent and for what has expired.
"""

import math
import random
import threading
import time
from collections.abc import Callable

from holdfast.errors import HoldfastError
from holdfast.protocols import JobNotifier
from holdfast.server.tenants import EnginePool
from holdfast.services import services

_STEPS_PER_TENANT = 32
"""Steps for one tenant before the next has its turn."""
_POLL_SECONDS = 5.0
_LISTEN_SECONDS = 0.5
"""How long to listen before looking whether an end was asked for."""


class TenantWorker:
    """Goes from tenant to tenant. Several processes may do so at once: each begins with another."""

    def __init__(self, pool: EnginePool, stop: threading.Event, say: Callable[[str], None]) -> None:
        self._pool = pool
        self._stop = stop
        self._say = say
        self._heard: set[str] = set()
        self._failed = False
        self._trouble: HoldfastError | None = None
        self._order = random.Random()  # noqa: S311  (not for secrets)

    def tenants(self) -> list[str]:
        """List all there are, in an order of chance."""
        named = {self._pool.tenant, *self._heard, *(record.tenant for record in self._pool.gate.list_keys())}
        return self._order.sample(sorted(named), len(named))

    def everyone(self) -> int:
        """Work until no tenant has anything left, or a stop is asked for; returns the steps it took, raises if one failed."""
        steps = self._work(self.tenants())
        if self._trouble is not None:
            raise self._trouble
        return steps

    def go_on(self) -> int:
        """Work, wait, and work again until a stop is asked for; returns the steps it took."""
        total, next_look = 0, 0.0
        due: list[str] = []
        while not self._stop.is_set():
            try:
                if time.monotonic() >= next_look:
                    due, next_look = self.tenants(), time.monotonic() + _POLL_SECONDS
                total += self._work(due, until=next_look)
                due = self._wait(next_look)
            except HoldfastError as error:
                self._say(f"could not go on, and tries again: {error}")
                self._stop.wait(1.0)
        return total

    def _work(self, tenants: list[str], *, until: float = math.inf) -> int:
        """Work for some tenants in turns; after a while others are looked at, too, however much these have left."""
        steps = 0
        while tenants and not self._stop.is_set() and time.monotonic() < until:
            left = []
            for tenant in tenants:
                done = self._try_turn(tenant)
                steps += done
                if done == _STEPS_PER_TENANT:
                    left.append(tenant)
            tenants = left
        return steps

    def _try_turn(self, tenant: str) -> int:
        """Work for one tenant; what fails for one must not keep the others waiting."""
        try:
            done = self._turn(tenant)
        except HoldfastError as error:
            if self._failed:  # for the one before as well: it is not the tenant
                raise
            self._failed, self._trouble = True, error
            self._say(f"{tenant}: could not go on, and tries again: {error}")
            return 0
        self._failed = False
        return done

    def _turn(self, tenant: str) -> int:
        """Work for one tenant, for a while at most."""
        steps, began = 0, time.monotonic()
        with self._pool.lease(tenant) as memory:
            while steps < _STEPS_PER_TENANT and not self._stop.is_set() and services(memory).scheduler.run_once():
                steps += 1
        if steps:
            self._say(f"{tenant}: {steps} steps in {time.monotonic() - began:.1f} s")
        return steps

    def _wait(self, until: float) -> list[str]:
        """Wait until there is something to do, and tell for whom; nobody, when it is time to look at all."""
        store = services(self._pool.operator).store
        while not self._stop.is_set() and time.monotonic() < until:
            if not isinstance(store, JobNotifier):
                self._stop.wait(1.0)
                return self.tenants()
            heard = store.wait_for_tenants(_LISTEN_SECONDS)
            if heard is None:
                self._stop.wait(_LISTEN_SECONDS)  # the server is gone, and nothing else slows us down
                return self.tenants()
            if heard:
                self._heard |= set(heard)
                return list(heard)
        return []
