"""Connection pools shared by all stores of a process, so that a hundred tenants do not need a hundred connections."""

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from holdfast.runtime import forks
from holdfast.stores.postgres.connect import PoolLimits
from holdfast.stores.sql.connection import Row

_RETRY_SECONDS = 2.0
"""Seconds between two attempts to reach a server that is down."""
_inherited: list[object] = []
"""Pools that this process inherited through a fork.

They stay referenced, because closing them would disturb the parent process.
"""


class SharedPool:
    """A pool of connections to one database address, shared by tenants.

    While a connection is lent to a tenant, it sees only the rows of that tenant.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: PoolLimits,
        arguments: dict[str, Any],
        setup: "Callable[[psycopg.Connection[Row]], None] | None",
    ) -> None:
        self._url = url
        self._limits = limits
        self._arguments = arguments
        self._setup = setup
        self.users = 0
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._tenants: weakref.WeakKeyDictionary[psycopg.Connection[Row], str] = weakref.WeakKeyDictionary()
        self.writers = threading.BoundedSemaphore(max(1, self._limits.connections // 2))
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            self._url,
            kwargs=self._arguments,
            configure=self._setup,
            open=False,
            num_workers=1,
            min_size=0,
            max_size=max(2, self._limits.connections),
            reconnect_timeout=_RETRY_SECONDS,
            name="holdfast",
        )

    def after_fork(self) -> None:
        """Start with an empty pool in a forked child.

        The child never uses the inherited pool, but keeps a reference to it. Without the reference, Python would destroy the
        inherited pool and close its connections, which the parent process still uses.
        """
        self._pool._closed = True  # noqa: SLF001  (closing it would wait for threads that do not exist in the child)
        _inherited.append((self._pool, self._tenants))
        self._start()

    def lend(self, tenant: str) -> "psycopg.Connection[Row]":
        """Take a free connection from the pool for a tenant. The connection sees only this tenant's rows."""
        if self._pool.closed:
            self._pool.open()
        raw = self._free()
        try:
            self._select_tenant(raw, tenant)
        except psycopg.OperationalError:
            self._pool.putconn(raw)
            if not raw.closed:
                raise
            self._pool.drain()  # it was lost while idle, most likely with the others
        else:
            return raw
        raw = self._free()
        try:
            self._select_tenant(raw, tenant)
        except psycopg.Error:
            self._pool.putconn(raw)
            raise
        return raw

    def _free(self) -> "psycopg.Connection[Row]":
        """Wait for a free connection and return it.

        psycopg's pool retries an unreachable server less and less often, but each call of ``getconn`` makes it retry at once.
        So this method calls ``getconn`` every few seconds, until the connect timeout has passed.
        """
        deadline = time.monotonic() + self._limits.connect_timeout
        while True:
            try:
                return self._pool.getconn(timeout=min(_RETRY_SECONDS, self._limits.connect_timeout))
            except PoolTimeout:
                if time.monotonic() >= deadline:
                    raise

    def _select_tenant(self, raw: "psycopg.Connection[Row]", tenant: str) -> None:
        """Restrict a connection to the rows of a tenant. Do nothing if the connection already has this restriction.

        Also do nothing behind a pooler, because each transaction selects its tenant there.
        """
        if self._setup is not None and self._tenants.get(raw) != tenant:
            self._tenants.pop(raw, None)
            raw.execute("SELECT set_config('holdfast.tenant', $1, false)", (tenant,))
            self._tenants[raw] = tenant

    def take_back(self, raw: "psycopg.Connection[Row]") -> None:
        """Return a connection to the pool."""
        self._pool.putconn(raw)

    def drain(self) -> None:
        """Replace all idle connections with new ones. If one connection was lost, the others were probably lost, too."""
        self._pool.drain()

    def close(self) -> None:
        """Close the pool. Each connection is closed as soon as it is idle."""
        self._pool.close()


_pools: dict[tuple[str, PoolLimits], SharedPool] = {}
_lock = threading.Lock()


class _LockReset:
    """Replaces the module's lock in a forked child, because the inherited lock may be held by a thread of the parent."""

    def after_fork(self) -> None:
        """Create a new module lock in a forked child."""
        global _lock  # noqa: PLW0603  (one lock per process)
        _lock = threading.Lock()


_lock_reset = _LockReset()
forks.register(_lock_reset)


def acquire_pool(
    url: str, *, limits: PoolLimits, arguments: dict[str, Any], setup: "Callable[[psycopg.Connection[Row]], None] | None"
) -> SharedPool:
    """Return this process's pool for a database address and ``limits``. The pool is created if it does not exist.

    ``arguments`` are the arguments for opening a connection. ``setup`` is a function that prepares a new connection; it is
    None behind a pooler. If the pool exists already, ``arguments`` and ``setup`` are ignored. For each call, call
    :func:`release_pool` once when done.
    """
    with _lock:
        pool = _pools.get((url, limits))
        if pool is None:
            pool = _pools[url, limits] = SharedPool(url, limits=limits, arguments=arguments, setup=setup)
        pool.users += 1
        return pool


def release_pool(url: str, limits: PoolLimits, pool: SharedPool) -> None:
    """Release a pool. The pool is closed when all stores that use it have released it."""
    with _lock:
        pool.users -= 1
        last = pool.users == 0
        if last and _pools.get((url, limits)) is pool:
            del _pools[url, limits]
    if last:
        pool.close()
