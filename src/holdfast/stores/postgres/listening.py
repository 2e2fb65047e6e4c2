"""Notifications of new jobs through LISTEN and NOTIFY, so that workers need not poll every second."""

import contextlib
import threading
import time
from collections.abc import Collection

import psycopg

from holdfast.errors import StoreError
from holdfast.runtime import forks
from holdfast.stores.postgres.errors import ConnectionLost
from holdfast.stores.postgres.pool import PostgresConnections
from holdfast.stores.sql.connection import Row

_CHANNEL = "holdfast_jobs"
_inherited: list[object] = []
"""Connections inherited through a fork. They are kept referenced, because closing them would disturb the parent process."""


class Listener:
    """Sends and receives notifications of new jobs. A separate connection, opened on first use, receives them."""

    def __init__(self, connections: PostgresConnections, tenant: str) -> None:
        self._connections = connections
        self._tenant = tenant
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._raw: psycopg.Connection[Row] | None = None

    def after_fork(self) -> None:
        """Drop the inherited connection in a forked child. The child opens its own connection when it needs one.

        If parent and child used one connection, each would read responses meant for the other.
        """
        _inherited.append(self._raw)
        self._start()

    def announce(self) -> None:
        """Notify the listeners of a new job. Call this after the transaction that queued the job was committed.

        PostgreSQL commits transactions with a notification one after another. To keep this queue short, the commit does not wait
        for the disk. If a notification is lost, workers still find the job when they poll.
        """
        with contextlib.suppress(StoreError), self._connections.write(durable=False) as session:
            session.execute("SELECT pg_notify(?, ?)", (_CHANNEL, self._tenant[:2000]))

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for a new job of this tenant. Return True if there may be a new job.

        The result is also True if the connection was lost, because a notification may have been missed.
        """
        heard = self.tenants(seconds)
        return heard is None or self._tenant[:2000] in heard

    def tenants(self, seconds: float) -> Collection[str] | None:
        """Wait up to ``seconds`` for a new job of any tenant. Return the tenants with new jobs, or None if the connection was lost.

        Behind a pooler, no notifications arrive. The result is then empty, and workers find new jobs when they poll.
        """
        self._connections.check_open()
        if not self._connections.is_direct:
            time.sleep(seconds)
            return ()
        with self._lock:
            try:
                raw = self._listening()
                return {note.payload for note in raw.notifies(timeout=seconds, stop_after=1)}
            except (psycopg.OperationalError, psycopg.InterfaceError, ConnectionLost):
                self._disconnect()
                return None

    def _listening(self) -> "psycopg.Connection[Row]":
        if self._raw is None:
            # Opening it holds no lock beyond this call: forks do not wait for it, and any thread may close it.
            self._raw = self._connections.connect()
            self._raw.execute(f"LISTEN {_CHANNEL}")
        return self._raw

    def _disconnect(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with contextlib.suppress(psycopg.Error):
                raw.close()

    def close(self) -> None:
        """Stop listening."""
        if self._lock.acquire(timeout=0.1):
            try:
                self._disconnect()
            finally:
                self._lock.release()
