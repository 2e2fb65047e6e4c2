"""The connections of one tenant's memory: bounded, seeing that tenant alone, made anew after a fork or when one was lost.

A read whose connection is lost is asked again once. A write whose connection is lost before its COMMIT was sent is undone by the
server. If it is lost in the COMMIT, the server is asked on a new connection what became of the transaction: nobody guesses.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from holdfast.errors import StoreBusy, StoreClosed, StoreError
from holdfast.runtime import forks
from holdfast.stores.postgres.connect import PoolLimits, connect
from holdfast.stores.postgres.errors import NAME, ConnectionLost, is_lost, translated
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.postgres.shared import join, leave
from holdfast.stores.sql.connection import R, Row


class _Held:
    """The connection that a thread keeps between reads, once the first has run."""

    def __init__(self) -> None:
        self.lease = contextlib.ExitStack()
        self.session: PostgresSession | None = None

    def give_back(self) -> None:
        """Give the connection back to the pool; the next read takes another."""
        self.session = None
        self.lease.close()


class PostgresConnections:
    """One tenant's use of the connections of this process. At most half of them write, so that a writer can always read."""

    def __init__(
        self,
        url: str,
        *,
        tenant: str,
        limits: PoolLimits,
        arguments: dict[str, Any],
        confine: "Callable[[psycopg.Connection[Row]], None]",
        session: type[PostgresSession] = PostgresSession,
    ) -> None:
        self.limits = limits
        self._url = url
        self._tenant = tenant
        self._arguments = arguments
        self._confine = confine
        self._make = session
        self._closed = False
        self._local = threading.local()
        self._pool = join(url, limits=limits, arguments=arguments, confine=confine)
        forks.register(self)

    def after_fork(self) -> None:
        """Begin anew in the child; the shared connections do so by themselves."""
        self._local = threading.local()

    def check_open(self) -> None:
        """Raise if the store was closed."""
        if self._closed:
            raise StoreClosed(f"{NAME} has been closed.")

    @property
    def session(self) -> PostgresSession:
        """The connection this thread reads with, within :meth:`read`."""
        session: PostgresSession = self._local.session
        return session

    def read(self, ask: Callable[[], R]) -> R:
        """Ask with a connection at hand; once more if it was lost."""
        if getattr(self._local, "session", None) is not None:
            return ask()
        try:
            return self._read_once(ask)
        except ConnectionLost:
            self._pool.drain()  # the others that waited here are most likely gone, too
            held: _Held | None = getattr(self._local, "held", None)
            if held is not None:
                held.give_back()
            return self._read_once(ask)

    def _read_once(self, ask: Callable[[], R]) -> R:
        with translated(), self._reading() as session:
            self._local.session = session
            try:
                return ask()
            finally:
                self._local.session = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[PostgresSession]:
        """Lend a connection for one read; within :meth:`holding`, the one that is held."""
        held: _Held | None = getattr(self._local, "held", None)
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
        """Have this thread's reads share one connection; no fork happens meanwhile, for the child would share it."""
        if getattr(self._local, "held", None) is not None or getattr(self._local, "session", None) is not None:
            yield
            return
        with forks.fork_guard:
            held = self._local.held = _Held()
            try:
                yield
            finally:
                self._local.held = None
                held.give_back()

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
        """Hold a transaction; commits at the end, rolls back on an error. ``durable=False`` does not wait for the disk."""
        if getattr(self._local, "writing", False):
            raise StoreError("A write transaction is already under way on this thread.")
        self.check_open()
        writers = self._pool.writers  # those of now: a child that was forked meanwhile has its own
        if not writers.acquire(timeout=self.limits.lock_timeout):
            raise StoreBusy(f"{NAME}: {self.limits.connections // 2} writes are under way already; try again.")
        self._local.writing = True
        try:
            with translated(), self._begun(durable=durable) as (raw, number):
                try:
                    yield self._make(raw)
                except BaseException:
                    _roll_back(raw)
                    raise
                self._commit(raw, number)
        finally:
            self._local.writing = False
            writers.release()

    @contextlib.contextmanager
    def _begun(self, *, durable: bool) -> "Iterator[tuple[psycopg.Connection[Row], str]]":
        """Begin on a connection that lives; one that was lost while it lay idle has cost nothing."""
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
        if not durable:
            begin += "SET LOCAL synchronous_commit = off; "
        begin += "SELECT pg_current_xact_id()::text"
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(self._lent())
            try:
                number = _last_value(raw.execute(begin))
            except psycopg.Error as error:
                if not is_lost(error, raw):
                    raise
                self._pool.drain()
                stack.close()
                raw = stack.enter_context(self._lent())
                number = _last_value(raw.execute(begin))
            yield raw, number

    def _commit(self, raw: "psycopg.Connection[Row]", number: str) -> None:
        try:
            ended = raw.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if not is_lost(error, raw):
                raise
            self._find_out(number, error)
            return
        if ended == "ROLLBACK":  # a statement failed and whoever wrote went on: the server answers that without an error
            raise StoreError(f"{NAME}: a part of this write failed, so the server has undone it. Nothing of it was stored.")

    def _find_out(self, number: str, lost: psycopg.Error) -> None:
        """Return if a transaction was committed, raise if it was not, or if nobody can tell."""
        deadline = time.monotonic() + self.limits.connect_timeout
        while True:
            status = self._status(number)
            if status == "committed":
                return
            if status == "aborted":
                raise ConnectionLost(
                    f"{NAME}: the connection was lost, and the server has undone the write. Nothing of it was stored."
                ) from lost
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{NAME}: the connection was lost in a COMMIT and the server cannot be asked what became of it. "
                    f"Whether this write was stored can be seen with: SELECT pg_xact_status('{number}'::xid8)."
                ) from lost
            time.sleep(0.1)

    def _status(self, number: str) -> str:
        """Return what became of a transaction: committed, aborted, in progress, or unknown."""
        try:
            with connect(self._url, limits=self.limits) as raw:
                row = raw.execute("SELECT pg_xact_status($1::xid8)", (number,)).fetchone()
        except psycopg.OperationalError:
            return "unknown"
        return str(row[0]) if row is not None and row[0] else "unknown"

    def connect(self) -> "psycopg.Connection[Row]":
        """Open a connection with all the rights of the address's user; whoever asked for it closes it."""
        self.check_open()
        with translated():
            return connect(self._url, limits=self.limits)

    @contextlib.contextmanager
    def owner(self) -> Iterator[PostgresSession]:
        """Open such a connection for one use: for looking after tables."""
        with translated(), contextlib.closing(self.connect()) as raw:
            yield PostgresSession(raw)

    def close(self) -> None:
        """Let go of the connections; the last memory of this process closes them."""
        if not self._closed:
            self._closed = True
            leave(self._url, self.limits, self._pool)


def _last_value(cursor: "psycopg.Cursor[Row]") -> str:
    row = cursor.set_result(-1).fetchone()
    assert row is not None
    return str(row[0])


def _roll_back(raw: "psycopg.Connection[Row]") -> None:
    with contextlib.suppress(psycopg.OperationalError, psycopg.InterfaceError):  # what is lost is rolled back by the server
        if not raw.closed:
            raw.execute("ROLLBACK")
