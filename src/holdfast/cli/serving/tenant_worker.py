"""Runs background jobs for every tenant of a store, in a worker process next to the servers.

The tenants are the operator's own tenant, every tenant with an access key, and every tenant that queues a job while the
worker runs. If the store sends job notifications, new jobs start at once. The worker also polls every tenant, to find
idle sessions and expired data. Work is done in steps: a step runs at most one job and some short upkeep.
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
"""Maximum number of steps for one tenant before the worker goes on to the next tenant."""
_POLL_SECONDS = 5.0
_LISTEN_SECONDS = 0.5
"""Time to wait for a job notification before checking for a stop request, in seconds."""


class TenantWorker:
    """Runs the jobs of all tenants. The order of tenants is random, so that several workers start with different tenants."""

    def __init__(self, pool: EnginePool, stop: threading.Event, say: Callable[[str], None]) -> None:
        self._pool = pool
        self._stop = stop
        self._say = say
        self._notified: set[str] = set()
        self._failed = False
        self._error: HoldfastError | None = None
        self._order = random.Random()  # noqa: S311  (not for secrets)

    def tenants(self) -> list[str]:
        """Return all known tenants in random order."""
        named = {self._pool.tenant, *self._notified, *(record.tenant for record in self._pool.gate.list_keys())}
        return self._order.sample(sorted(named), len(named))

    def run_all(self) -> int:
        """Run jobs until no tenant has jobs left, or until a stop is requested. Return the number of steps.

        If the jobs of one tenant fail, the jobs of the other tenants still run. The error is raised afterwards.
        """
        steps = self._work(self.tenants())
        if self._error is not None:
            raise self._error
        return steps

    def run_until_stopped(self) -> int:
        """Run jobs, and wait for more, until a stop is requested. Return the number of steps; a step runs at most one job."""
        total, next_poll = 0, 0.0
        due: list[str] = []
        while not self._stop.is_set():
            try:
                if time.monotonic() >= next_poll:
                    due, next_poll = self.tenants(), time.monotonic() + _POLL_SECONDS
                total += self._work(due, until=next_poll)
                due = self._wait(next_poll)
            except HoldfastError as error:
                self._say(f"failed and will retry: {error}")
                self._stop.wait(1.0)
        return total

    def _work(self, tenants: list[str], *, until: float = math.inf) -> int:
        """Run jobs of the given tenants, a few steps per tenant in turn, at most until the time ``until``.

        Return the number of steps.
        """
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
        """Run some steps for a tenant and return their number. If a step fails, report the error and return 0.

        If the previous tenant's steps also failed, the store is probably the problem, and the error is raised.
        """
        try:
            done = self._turn(tenant)
        except HoldfastError as error:
            if self._failed:  # the previous tenant failed too, so the store is the problem
                raise
            self._failed, self._error = True, error
            self._say(f"{tenant}: failed and will retry: {error}")
            return 0
        self._failed = False
        return done

    def _turn(self, tenant: str) -> int:
        """Run up to ``_STEPS_PER_TENANT`` steps for one tenant. A step runs at most one job. Return the number of steps."""
        steps, began = 0, time.monotonic()
        with self._pool.lease(tenant) as memory:
            while steps < _STEPS_PER_TENANT and not self._stop.is_set() and services(memory).scheduler.run_once():
                steps += 1
        if steps:
            self._say(f"{tenant}: {steps} steps in {time.monotonic() - began:.1f} s")
        return steps

    def _wait(self, until: float) -> list[str]:
        """Wait for new jobs and return the tenants that may have new jobs.

        Return an empty list if there are no new jobs before ``until``, the time of the next poll. If the store does not send
        job notifications, or if the database server cannot be reached, wait for a moment and return all tenants.
        """
        store = services(self._pool.operator).store
        while not self._stop.is_set() and time.monotonic() < until:
            if not isinstance(store, JobNotifier):
                self._stop.wait(1.0)
                return self.tenants()
            tenants = store.wait_for_tenants(_LISTEN_SECONDS)
            if tenants is None:
                self._stop.wait(_LISTEN_SECONDS)  # the database server is gone; avoid a busy loop
                return self.tenants()
            if tenants:
                self._notified |= set(tenants)
                return list(tenants)
        return []
