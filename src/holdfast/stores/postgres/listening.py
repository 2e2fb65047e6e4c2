"""Hearing of new jobs: PostgreSQL tells whoever listens, so that workers need not ask every second."""

import contextlib
import threading
from collections.abc import Collection

import psycopg

from holdfast.errors import StoreError
from holdfast.runtime import forks
from holdfast.stores.postgres.errors import ConnectionLost
from holdfast.stores.postgres.pool import PostgresConnections
from holdfast.stores.sql.connection import Row

_CHANNEL = "holdfast_jobs"
_inherited: list[object] = []
"""What a child got from a fork: to close it there would disturb the parent."""


class Listener:
    """Announces this tenant's new jobs and hears of them, on a connection of its own that is opened when first wanted."""

    def __init__(self, connections: PostgresConnections, tenant: str) -> None:
        self._connections = connections
        self._tenant = tenant
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._raw: psycopg.Connection[Row] | None = None

    def after_fork(self) -> None:
        """Begin anew in the child: two processes that read from one connection would take each other's answers."""
        _inherited.append(self._raw)
        self._start()

    def announce(self) -> None:
        """Tell of a new job, after its commit and by itself.

        Commits that notify wait for each other throughout a database: one that also waited for the disk would hold up
        everyone. Should the word get lost, workers still look from time to time.
        """
        with contextlib.suppress(StoreError), self._connections.write(durable=False) as session:
            session.execute("SELECT pg_notify(?, ?)", (_CHANNEL, self._tenant[:2000]))

    def wait(self, seconds: float) -> bool:
        """Wait for a new job of this tenant; True also when the connection was lost, since something may have been missed."""
        heard = self.tenants(seconds)
        return heard is None or self._tenant[:2000] in heard

    def tenants(self, seconds: float) -> Collection[str] | None:
        """Wait for a new job of any tenant, and tell whose there are; None when the connection was lost."""
        self._connections.check_open()
        with self._lock:
            try:
                raw = self._listening()
                return {note.payload for note in raw.notifies(timeout=seconds, stop_after=1)}
            except (psycopg.OperationalError, psycopg.InterfaceError, ConnectionLost):
                self._let_go()
                return None

    def _listening(self) -> "psycopg.Connection[Row]":
        if self._raw is None:
            # Nothing is held while it is open: forks need not wait for it, and whichever thread may close it.
            self._raw = self._connections.connect()
            self._raw.execute(f"LISTEN {_CHANNEL}")
        return self._raw

    def _let_go(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with contextlib.suppress(psycopg.Error):
                raw.close()

    def close(self) -> None:
        """Stop listening."""
        if self._lock.acquire(timeout=0.1):
            try:
                self._let_go()
            finally:
                self._lock.release()
