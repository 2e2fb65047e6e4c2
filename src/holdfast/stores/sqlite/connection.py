"""Connections to one SQLite file: a single writer a process, a reader a thread, fresh ones after a fork.

Committed means on disk (WAL with ``synchronous=FULL``), deleted means overwritten (``secure_delete``), and
a busy file means waiting: another process's lock reaches a caller only after a whole minute.
"""

import contextlib
import random
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import apsw

from holdfast.errors import InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreLocked
from holdfast.runtime import forks
from holdfast.stores.sqlite.dialect import FileConnection

BUSY_SECONDS = 60.0

_inherited: list[object] = []
"""What a child got from a fork in the midst of a transaction: to close it there would disturb the parent."""


class SQLiteConnections:
    """All connections of this process to one file."""

    def __init__(self, path: Path, *, key: str | None = None) -> None:
        self.path = path
        self._key = key
        self._closed = False
        self._start()
        forks.register(self)

    def _start(self) -> None:
        self._write_lock = threading.RLock()
        self._writer: FileConnection | None = None
        self._local = threading.local()
        self._readers: weakref.WeakSet[FileConnection] = weakref.WeakSet()

    def before_fork(self) -> None:
        """Close what is open, so that neither process has the other's idea of who holds which lock."""
        for reader in list(self._readers):
            reader.close()
        self._local = threading.local()
        if self._writer is not None and not self._writer.in_transaction:
            self._writer.close()
            self._writer = None

    def after_fork(self) -> None:
        """Begin anew in the child."""
        _inherited.extend([self._writer, self._local, *self._readers])
        self._start()

    def reader(self) -> FileConnection:
        """Return this thread's own connection for reading."""
        if self._closed:
            raise StoreClosed(f"{self.path} has been closed.")
        connection: FileConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._local.connection = connection
            self._readers.add(connection)
        return connection

    @contextlib.contextmanager
    def fresh(self) -> Iterator[FileConnection]:
        """Open a connection for one use: full-text checks read a connection's cached structure as it was."""
        if self._closed:
            raise StoreClosed(f"{self.path} has been closed.")
        with translated(self.path):
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[FileConnection]:
        """Hold the process's write lock and a write transaction; commits at the end, rolls back on an error.

        ``durable=False`` skips the sync of this commit, for what can be made again (vectors, last use).
        """
        with self._write_lock, translated(self.path):
            if self._closed:
                raise StoreClosed(f"{self.path} has been closed.")
            connection = self._open_writer()
            if connection.in_transaction:
                raise StoreError("A write transaction is already under way on this thread.")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing_at_once(self, *, durable: bool = True) -> Iterator[FileConnection]:
        """Write if no thread of this process does: who searches must neither wait for a writer nor stand in a fork's way."""
        if not self._write_lock.acquire(blocking=False):
            raise StoreBusy(f"Another thread is writing to {self.path}.")
        try:
            with self.writing(durable=durable) as connection:
                yield connection
        finally:
            self._write_lock.release()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[FileConnection]:
        """Hold the process's write lock with no transaction open, for VACUUM and checkpoints."""
        with self._write_lock, translated(self.path):
            if self._closed:
                raise StoreClosed(f"{self.path} has been closed.")
            yield self._open_writer()

    def _open_writer(self) -> FileConnection:
        if self._writer is None:
            self._writer = self._connect()
            # A large batch touches pages all over the indexes: spilling them made one of 2,000 memories five times slower.
            self._writer.execute("PRAGMA cache_size = -64000")
        return self._writer

    def close(self) -> None:
        """Close every connection; the last one out folds the write-ahead log into the file."""
        with self._write_lock, forks.fork_guard:
            self._closed = True
            for connection in [*self._readers, self._writer]:
                if connection is not None:
                    close_when_idle(connection)
            self._writer = None
            self._readers.clear()

    def _connect(self) -> FileConnection:
        with translated(self.path):
            connection = FileConnection(str(self.path))
            set_busy_timeout(connection)
            if self._key is not None:
                unlock(connection, self._key)
            readable(connection, self.path, encrypted=self._key is not None)
            enable_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -8000")
            connection.execute("PRAGMA trusted_schema = OFF")
        return connection


def unlock(connection: apsw.Connection, key: str) -> None:
    """Give a connection the file's key; says so if this SQLite cannot encrypt."""
    if not hasattr(apsw, "mc_version"):
        raise StoreLocked("This Python has plain apsw, which cannot encrypt: pip install --force-reinstall apsw-sqlite3mc")
    connection.pragma("cipher", "chacha20")
    connection.pragma("key", key)


def readable(connection: apsw.Connection, path: Path, *, encrypted: bool) -> None:
    """Make sure the file opens with what we have, before anything is written to it."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018  (runs the query)
    except apsw.NotADBError as error:
        if encrypted:
            raise StoreLocked(f"The key does not open {path}.") from error
        with path.open("rb") as stream:
            begins_like_sqlite = stream.read(15) == b"SQLite format 3"
        if begins_like_sqlite:
            raise StoreCorrupt(f"{path} is damaged: {error}. Restore a backup with `holdfast restore`.") from error
        raise StoreLocked(
            f"{path} is encrypted or is not a Holdfast file. If it is encrypted, give its key: HOLDFAST_KEY or open(key=...)."
        ) from error


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, which say what to do; no fork happens meanwhile."""
    try:
        with forks.fork_guard:
            yield
    except apsw.BusyError as error:
        raise StoreBusy(f"{path} was locked by another process for {BUSY_SECONDS:.0f} s. Stop it, or try again.") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(f"{path} is damaged: {error}. Run `holdfast doctor`, then restore a backup.") from error
    except apsw.FullError as error:
        raise StoreError(
            f"The disk that holds {path} is full. Nothing of this write was kept; free space and repeat it."
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(f"{path} cannot be written: {error}. Check the folder and its permissions.") from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(f"{path} holds text that is no longer valid. Run `holdfast doctor`, then restore a backup.") from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidInput(f"A value cannot be stored or looked for: {error}.") from error
    except apsw.ThreadingViolationError as error:
        raise StoreClosed(f"{path} was closed while in use.") from error
    except apsw.ConnectionClosedError as error:
        raise StoreClosed(f"{path} has been closed.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error


def close_when_idle(connection: apsw.Connection) -> None:
    """Close a connection once the thread that reads with it is done; it meets a closed store with its next question."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.close()
        except apsw.ThreadingViolationError:
            if time.monotonic() > deadline:
                raise StoreBusy("A thread is still reading from the store; it could not be closed.") from None
            time.sleep(0.002)
        else:
            return


def enable_wal(connection: apsw.Connection) -> None:
    """Put a file into WAL mode. SQLite does not wait for its lock here: processes that make a file at once would fail."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311  (no secret)
        else:
            return


def set_busy_timeout(connection: apsw.Connection) -> None:
    """Let a connection wait for locks, retrying soon and at random so that no process starves."""
    started = 0.0

    def wait(attempt: int) -> bool:
        nonlocal started
        if attempt == 0:
            started = time.monotonic()
        time.sleep(random.uniform(0.0005, min(0.02, 0.001 * (attempt + 1))))  # noqa: S311  (no secret)
        return time.monotonic() - started < BUSY_SECONDS

    connection.set_busy_handler(wait)
