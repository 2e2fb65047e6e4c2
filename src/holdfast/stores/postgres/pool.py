"""The connections of one tenant. Their number is limited, and they are reopened after a fork or when they are lost.

A read whose connection is lost is repeated once. If the connection is lost before COMMIT was sent, the server rolls the
write back. If it is lost during COMMIT, the store opens a new connection and asks the server whether the transaction
was committed.

The answer can be misleading: after a crash, PostgreSQL can give the id of a lost transaction to a new transaction. Every
crash also restarts the server's statistics. So the store counts a transaction as committed only if the start time of
the statistics is unchanged.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from holdfast.errors import StoreBusy, StoreClosed, StoreError
from holdfast.runtime import forks
from holdfast.stores.postgres.connect import PoolLimits, connect
from holdfast.stores.postgres.errors import NAME, ConnectionLost, is_lost, translated
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.postgres.shared import acquire_pool, release_pool
from holdfast.stores.sql.connection import R, Row

NO_DIRECT = f"{NAME} is behind a pooler. Set store_direct to the address of the server itself."
_IDENTITY = "pg_current_xact_id()::text, pg_stat_get_bgwriter_stat_reset_time()::text"


@dataclass(frozen=True, slots=True)
class Transaction:
    """The id of a transaction, and the start time of the server's statistics.

    After a crash, the server can use an id again. Every crash also changes the start time, so the two values together
    are unique.
    """

    number: str
    server_run: str | None


class _HeldConnection:
    """The connection that a thread uses for all reads of a snapshot. The first read takes it from the pool."""

    def __init__(self) -> None:
        self.lease = contextlib.ExitStack()
        self.session: PostgresSession | None = None

    def release(self) -> None:
        """Return the connection to the pool. The next read takes another connection."""
        self.session = None
        self.lease.close()


class PostgresConnections:
    """One tenant's access to the shared pool of connections.

    At most half of the connections may be used for writes, so that a thread that writes can always get a second connection for
    reads.
    """

    def __init__(
        self,
        url: str,
        *,
        tenant: str,
        limits: PoolLimits,
        arguments: dict[str, Any],
        setup: "Callable[[psycopg.Connection[Row]], None] | None",
        session: type[PostgresSession] = PostgresSession,
        direct: str | None = None,
        transaction_setup: str = "",
    ) -> None:
        """Connect a tenant to the shared pool of the address ``url``.

        ``arguments`` are the arguments for opening a connection, and ``setup`` is a function that prepares a new connection.
        Behind a pooler, ``setup`` is None, and ``transaction_setup`` contains the statements that begin each transaction.
        ``direct`` is the address of the server itself, for maintenance and notifications. It is None if only the pooler can
        be reached.
        """
        self.limits = limits
        self._url = url
        self._direct = direct
        self._transaction_setup = transaction_setup
        self._tenant = tenant
        self._arguments = arguments
        self._setup = setup
        self._make = session
        self._closed = False
        self._local = threading.local()
        self._pool = acquire_pool(url, limits=limits, arguments=arguments, setup=setup)
        forks.register(self)

    def after_fork(self) -> None:
        """Drop the connections of the parent's threads in a forked child. The shared pool resets itself."""
        self._local = threading.local()

    def check_open(self) -> None:
        """Raise ``StoreClosed`` if the store was closed."""
        if self._closed:
            raise StoreClosed(f"{NAME} has been closed.")

    @property
    def session(self) -> PostgresSession:
        """The connection that this thread uses while :meth:`read` is running."""
        session: PostgresSession = self._local.session
        return session

    def read(self, query: Callable[[], R]) -> R:
        """Get a connection for this thread, call ``query``, and return its result. ``query`` uses the connection in `session`.

        If the connection is lost, ``query`` is called once more with another connection. A nested call of this method uses the
        connection of the outer call, and does not repeat ``query``.
        """
        if getattr(self._local, "session", None) is not None:
            return query()
        try:
            return self._read_once(query)
        except ConnectionLost:
            self._pool.drain()  # the other idle connections are most likely lost, too
            held: _HeldConnection | None = getattr(self._local, "held", None)
            if held is not None:
                held.release()
            return self._read_once(query)

    def _read_once(self, query: Callable[[], R]) -> R:
        with translated(), self._reading() as session, self._set_up(session.raw):
            self._local.session = session
            try:
                return query()
            finally:
                self._local.session = None

    @contextlib.contextmanager
    def _set_up(self, raw: "psycopg.Connection[Row]") -> Iterator[None]:
        """Context manager: make sure that the connection has the tenant's settings.

        Without a pooler, the connection already has these settings, and nothing is done. Behind a pooler, the ``with`` block runs
        in a transaction that begins by making these settings.
        """
        if not self._transaction_setup:
            yield
            return
        raw.execute(f"BEGIN ISOLATION LEVEL READ COMMITTED; {self._transaction_setup}")
        try:
            yield
        except BaseException:
            _roll_back(raw)
            raise
        raw.execute("COMMIT")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[PostgresSession]:
        """Context manager: yield a connection for one read. Inside :meth:`holding`, a thread gets the same connection each time."""
        held: _HeldConnection | None = getattr(self._local, "held", None)
        if held is None:
            with self._lent() as raw:
                yield self._make(raw)
            return
        if held.session is None:
            held.session = self._make(held.lease.enter_context(self._lent()))
            held.session.known = {}
        yield held.session

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Context manager: run all reads of this thread on one connection.

        The process cannot fork inside it, because the child would share the connection.
        """
        if getattr(self._local, "held", None) is not None or getattr(self._local, "session", None) is not None:
            yield
            return
        with forks.fork_guard:
            held = self._local.held = _HeldConnection()
            try:
                yield
            finally:
                self._local.held = None
                held.release()

    @contextlib.contextmanager
    def _lent(self) -> "Iterator[psycopg.Connection[Row]]":
        self.check_open()
        raw = self._pool.lend(self._tenant)
        try:
            yield raw
        finally:
            self._pool.take_back(raw)

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[PostgresSession]:
        """Context manager for a transaction. It commits when the ``with`` block ends, and rolls back on an error.

        With ``durable=False``, the commit does not wait for the disk.
        """
        if getattr(self._local, "writing", False):
            raise StoreError(
                "A write transaction is already under way on this thread. Nothing was stored; finish that one first."
            )
        self.check_open()
        writers = self._pool.writers  # kept for the release: a fork inside the block replaces the pool's semaphore
        if not writers.acquire(timeout=self.limits.lock_timeout):
            limit = self.limits.connections // 2
            raise StoreBusy(f"{NAME} is busy: {limit} writes are already under way. Nothing was stored; try again.")
        self._local.writing = True
        try:
            with translated(), self._begun(durable=durable) as (raw, transaction):
                try:
                    yield self._make(raw)
                except BaseException:
                    _roll_back(raw)
                    raise
                self._commit(raw, transaction)
        finally:
            self._local.writing = False
            writers.release()

    @contextlib.contextmanager
    def _begun(self, *, durable: bool) -> "Iterator[tuple[psycopg.Connection[Row], Transaction]]":
        """Begin a transaction. Yield its connection, and the ``Transaction`` that identifies it.

        If a connection from the pool turns out to be lost, another connection is used.
        """
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
        if not durable:
            begin += "SET LOCAL synchronous_commit = off; "
        begin += f"{self._transaction_setup}SELECT {_IDENTITY}"
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(self._lent())
            try:
                transaction = _identity(raw.execute(begin))
            except psycopg.Error as error:
                if not is_lost(error, raw):
                    raise
                self._pool.drain()
                stack.close()
                raw = stack.enter_context(self._lent())
                transaction = _identity(raw.execute(begin))
            yield raw, transaction

    def _commit(self, raw: "psycopg.Connection[Row]", transaction: Transaction) -> None:
        try:
            ended = raw.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if not is_lost(error, raw):
                raise
            self._resolve_commit(transaction, error)
            return
        if ended == "ROLLBACK":  # a statement failed and the caller went on; the server reports no error then
            raise StoreError(f"{NAME} rolled back this write, because one of its statements failed. Nothing was stored.")

    def _resolve_commit(self, transaction: Transaction, lost: psycopg.Error) -> None:
        """Find out whether a transaction was committed, after its connection was lost during the commit.

        Return if the server has committed the transaction. Raise an error if the server has rolled it back, or if the outcome is
        unknown. ``lost`` is the error that reported the lost connection.
        """
        deadline = time.monotonic() + self.limits.connect_timeout
        while True:
            status = self._status(transaction)
            if status == "committed":
                return
            if status == "aborted":
                raise ConnectionLost(
                    f"{NAME}: the connection was lost and the server rolled back the write. Nothing was stored; try again."
                ) from lost
            if status == "reused" or time.monotonic() > deadline:
                cause = "the server crashed" if status == "reused" else "the server cannot be reached"
                raise StoreError(
                    f"{NAME}: the connection was lost during COMMIT and {cause}. "
                    "The write may have been stored. Look for it before you repeat it."
                ) from lost
            time.sleep(0.1)

    def _status(self, transaction: Transaction) -> str:
        """Return the state of a transaction: committed, aborted, in progress, reused or unknown.

        "Reused" means that the transaction with this id was committed, but the server has crashed in between. After a crash, the
        server can give the same id to another transaction, so the committed transaction may be that one.
        """
        query = "SELECT pg_xact_status($1::xid8), pg_stat_get_bgwriter_stat_reset_time()::text"
        try:
            with connect(self._url, limits=self.limits) as raw:
                row = raw.execute(query, (transaction.number,)).fetchone()
        except psycopg.errors.InvalidParameterValue:  # the id is in the future: the server crashed before it stored the write
            return "aborted"
        except psycopg.OperationalError:
            return "unknown"
        if row is None or not row[0]:
            return "unknown"
        return "reused" if row[0] == "committed" and row[1] != transaction.server_run else str(row[0])

    @property
    def is_direct(self) -> bool:
        """True if the server can be reached without a pooler."""
        return self._direct is not None

    def connect(self) -> "psycopg.Connection[Row]":
        """Open a connection with all privileges of the user named in the address. The caller must close it.

        The connection keeps session state, so it does not go through a pooler.
        """
        self.check_open()
        if self._direct is None:
            raise StoreError(NO_DIRECT)
        with translated():
            return connect(self._direct, limits=self.limits)

    @contextlib.contextmanager
    def owner(self) -> Iterator[PostgresSession]:
        """Context manager: open a connection for maintenance, with all privileges of the user named in the address.

        The connection is closed when the ``with`` block ends.
        """
        with translated(), contextlib.closing(self.connect()) as raw:
            yield PostgresSession(raw)

    def close(self) -> None:
        """Release the shared pool. The pool is closed when all stores that use it have released it."""
        if not self._closed:
            self._closed = True
            release_pool(self._url, self.limits, self._pool)


def _identity(cursor: "psycopg.Cursor[Row]") -> Transaction:
    row = cursor.set_result(-1).fetchone()
    assert row is not None
    return Transaction(str(row[0]), row[1])


def _roll_back(raw: "psycopg.Connection[Row]") -> None:
    with contextlib.suppress(psycopg.OperationalError, psycopg.InterfaceError):  # the server rolls back a lost connection
        if not raw.closed:
            raw.execute("ROLLBACK")
