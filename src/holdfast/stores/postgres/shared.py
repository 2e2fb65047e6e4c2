"""The connections that all memories of a process share, whatever their tenant: a hundred tenants need no hundred connections."""

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
_inherited: list[object] = []
"""What a child got from a fork: to close it there would disturb the parent."""


class SharedPool:
    """Connections to one address. Each sees one tenant at a time: the one it was lent out for last."""

    def __init__(
        self, url: str, *, limits: PoolLimits, arguments: dict[str, Any], confine: "Callable[[psycopg.Connection[Row]], None]"
    ) -> None:
        self._url = url
        self._limits = limits
        self._arguments = arguments
        self._confine = confine
        self.users = 0
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._tenants: weakref.WeakKeyDictionary[psycopg.Connection[Row], str] = weakref.WeakKeyDictionary()
        self.writers = threading.BoundedSemaphore(max(1, self._limits.connections // 2))
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            self._url, kwargs=self._arguments, configure=self._confine, open=False, num_workers=1, min_size=0,
            max_size=max(2, self._limits.connections), reconnect_timeout=_RETRY_SECONDS, name="holdfast",
        )  # fmt: skip

    def after_fork(self) -> None:
        """Begin anew in the child; psycopg does not close there what another process opened."""
        self._pool._closed = True  # noqa: SLF001  (or it would wait for threads that are not here)
        _inherited.append((self._pool, self._tenants))
        self._start()

    def lend(self, tenant: str) -> "psycopg.Connection[Row]":
        """Return a connection that sees this tenant's rows and no others."""
        if self._pool.closed:
            self._pool.open()
        raw = self._free()
        try:
            self._show(raw, tenant)
        except psycopg.OperationalError:
            self._pool.putconn(raw)
            if not raw.closed:
                raise
            self._pool.drain()  # it was lost while it lay idle, most likely with the others
        else:
            return raw
        raw = self._free()
        try:
            self._show(raw, tenant)
        except psycopg.Error:
            self._pool.putconn(raw)
            raise
        return raw

    def _free(self) -> "psycopg.Connection[Row]":
        """Wait for a connection. The pool tries ever more rarely to reach a server that is away; who waits makes it try anew."""
        deadline = time.monotonic() + self._limits.connect_timeout
        while True:
            try:
                return self._pool.getconn(timeout=min(_RETRY_SECONDS, self._limits.connect_timeout))
            except PoolTimeout:
                if time.monotonic() >= deadline:
                    raise

    def _show(self, raw: "psycopg.Connection[Row]", tenant: str) -> None:
        """Let a connection see a tenant's rows."""
        if self._tenants.get(raw) != tenant:
            self._tenants.pop(raw, None)
            raw.execute("SELECT set_config('holdfast.tenant', $1, false)", (tenant,))
            self._tenants[raw] = tenant

    def take_back(self, raw: "psycopg.Connection[Row]") -> None:
        """Put a connection back for whoever comes next."""
        self._pool.putconn(raw)

    def drain(self) -> None:
        """Replace every connection that lies idle: most likely it was lost with the others."""
        self._pool.drain()

    def close(self) -> None:
        """Close every connection once it is idle."""
        self._pool.close()


_pools: dict[tuple[str, PoolLimits], SharedPool] = {}
_lock = threading.Lock()


class _Renewal:
    """Gives a child a lock of its own: the parent's may be held by a thread that is not there."""

    def after_fork(self) -> None:
        """Make a new one."""
        global _lock  # noqa: PLW0603  (one for the process)
        _lock = threading.Lock()


_renewal = _Renewal()
forks.register(_renewal)


def join(
    url: str, *, limits: PoolLimits, arguments: dict[str, Any], confine: "Callable[[psycopg.Connection[Row]], None]"
) -> SharedPool:
    """Return the connections of this process to an address; whoever joins leaves once."""
    with _lock:
        pool = _pools.get((url, limits))
        if pool is None:
            pool = _pools[url, limits] = SharedPool(url, limits=limits, arguments=arguments, confine=confine)
        pool.users += 1
        return pool


def leave(url: str, limits: PoolLimits, pool: SharedPool) -> None:
    """Let go of the connections; the last one closes them."""
    with _lock:
        pool.users -= 1
        last = pool.users == 0
        if last and _pools.get((url, limits)) is pool:
            del _pools[url, limits]
    if last:
        pool.close()
