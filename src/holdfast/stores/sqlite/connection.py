"""Connections to one SQLite file: one writer per process, and one reader per thread. A forked child opens its own connections.

A commit is on disk when it returns (WAL with ``synchronous=FULL``). Deleted data is overwritten
(``secure_delete``). If another process holds the file's lock, a call waits up to 60 seconds before it fails.
"""

import contextlib
import random
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import apsw

from holdfast.errors import InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreForeign, StoreFull, StoreLocked
from holdfast.runtime import forks
from holdfast.runtime.priority import at_full_speed
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.disk_space import file_size_limit
from holdfast.stores.sqlite.write_turns import turns_of

_APPLICATION_ID = 0x486F6C64
"""Number in the SQLite header that identifies Holdfast files."""
BUSY_SECONDS = 60.0
"""Maximum time to wait for a lock before a call fails, in seconds."""
_SPARE_PAGES = 32
"""Number of pages that stay free, so that data can still be erased when the file reaches the size limit of this process."""

_inherited: list[object] = []
"""Connections that this process inherited through a fork during a transaction.

They stay open, because closing them would disturb the parent process.
"""


class _ThreadReader:
    """Holds the read-only connection of one thread, so that a ``WeakSet`` can refer to this object instead of the connection.

    A ``WeakSet`` of connections would not be safe. apsw 3.54 runs the callbacks of weak references too early, while the garbage
    collector can still find the connection. Another thread could then free the connection a second time.
    """

    def __init__(self, connection: FileConnection) -> None:
        self.connection = connection


class SQLiteConnections:
    """All connections of this process to one file."""

    def __init__(self, path: Path, *, tenant: str = "default", key: str | None = None) -> None:
        self.path = path
        self._tenant = tenant
        self._key = key
        self._turns = turns_of(path)
        self._closed = False
        self._checkpoint_pages = 1000
        self._start()
        forks.register(self)

    def set_checkpoint_pages(self, pages: int) -> None:
        """Set the maximum number of pages in the write-ahead log. When the log reaches it, SQLite moves the log into the file."""
        self._checkpoint_pages = pages

    def _start(self) -> None:
        self._writer: FileConnection | None = None
        self._local = threading.local()
        self._readers: weakref.WeakSet[_ThreadReader] = weakref.WeakSet()

    def before_fork(self) -> None:
        """Close idle connections, so that a child does not inherit the parent's file locks."""
        for reader in list(self._readers):
            reader.connection.close()
        self._local = threading.local()
        if self._writer is not None and not self._writer.in_transaction:
            self._writer.close()
            self._writer = None

    def after_fork(self) -> None:
        """Start without connections in a forked child.

        Inherited connections are never used, but they stay open, because closing them would disturb the parent process.
        """
        _inherited.extend([self._writer, self._local, *self._readers])
        self._start()

    def reader(self) -> FileConnection:
        """Return the read-only connection of this thread, opened on first use."""
        if self._closed:
            raise StoreClosed(f"{self.path} is closed. Open the store again.")
        reader: _ThreadReader | None = getattr(self._local, "reader", None)
        if reader is None:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._local.reader = reader = _ThreadReader(connection)
            self._readers.add(reader)
        return reader.connection

    @contextlib.contextmanager
    def fresh(self) -> Iterator[FileConnection]:
        """Context manager: open a new connection, and close it at the end of the ``with`` block.

        The integrity check of the full-text index needs a new connection, because other connections have cached parts of the
        index.
        """
        if self._closed:
            raise StoreClosed(f"{self.path} is closed. Open the store again.")
        with translate_errors(self.path):
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[FileConnection]:
        """Context manager for a write transaction. It holds the write lock of this process, and rolls back on an error.

        With ``durable=False``, the commit does not wait for the disk. Use this for data that can be derived again, such as
        vectors.
        """
        with self._turn(), translate_errors(self.path):
            if self._closed:
                raise StoreClosed(f"{self.path} is closed. Open the store again.")
            connection = self._open_writer()
            if connection.in_transaction:
                raise StoreError(
                    "This thread already has an open write transaction. Nothing was written; finish that transaction first."
                )
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.wal_autocheckpoint(self._checkpoint_pages)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite ends the transaction itself after some errors
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def try_writing(self, *, durable: bool = True) -> Iterator[FileConnection]:
        """Like ``writing``, but raise ``StoreBusy`` instead of waiting if another thread of this process is writing.

        This is for writes during a search, which must neither wait for a writer nor delay a fork.
        """
        if not self._turns.acquire(self._tenant, blocking=False):
            raise StoreBusy(f"Another thread is writing to {self.path}. Nothing was written; try again.")
        try:
            with self.writing(durable=durable) as connection:
                yield connection
        finally:
            self._turns.release()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Context manager: wait for the write lock of this process, and hold the lock. Tenants get the lock in turns."""
        self._turns.acquire(self._tenant)
        try:
            with at_full_speed():
                yield
        finally:
            self._turns.release()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[FileConnection]:
        """Context manager: hold the write lock of this process, without a transaction. VACUUM and checkpoints need this."""
        with self._turn(), translate_errors(self.path):
            if self._closed:
                raise StoreClosed(f"{self.path} is closed. Open the store again.")
            yield self._open_writer()

    def _open_writer(self) -> FileConnection:
        if self._writer is None:
            self._writer = self._connect()
            # A large batch changes pages across all indexes. With a small cache they spill: 2,000 memories took 5 times as long.
            self._writer.execute("PRAGMA cache_size = -64000")
            limit_pages(self._writer)
        return self._writer

    def close(self) -> None:
        """Close every connection. When the last one closes, SQLite moves the write-ahead log into the file."""
        with self._turn(), forks.fork_guard:
            self._closed = True
            for reader in list(self._readers):
                close_when_idle(reader.connection)
            if self._writer is not None:
                close_when_idle(self._writer)
            self._writer = None
            self._readers.clear()

    def _connect(self) -> FileConnection:
        with translate_errors(self.path):
            connection = FileConnection(str(self.path))
            set_busy_timeout(connection)
            if self._key is not None:
                unlock(connection, self._key)
            check_readable(connection, self.path, encrypted=self._key is not None)
            refuse_foreign(connection, self.path)
            enable_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -8000")
            connection.execute("PRAGMA trusted_schema = OFF")
        return connection


def unlock(connection: apsw.Connection, key: str) -> None:
    """Set the encryption key of a connection. Raises ``StoreLocked`` if the installed SQLite cannot encrypt."""
    if not hasattr(apsw, "mc_version"):
        raise StoreLocked(
            "The installed apsw cannot encrypt, so the store was not opened. Run: pip install --force-reinstall apsw-sqlite3mc"
        )
    connection.pragma("cipher", "chacha20")
    connection.pragma("key", key)


def check_readable(connection: apsw.Connection, path: Path, *, encrypted: bool) -> None:
    """Raise an error if the file cannot be read through this connection. Write nothing.

    ``encrypted`` is True if the connection has an encryption key. Then the error says that the key does not open the file.
    """
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018  (runs the query)
    except apsw.NotADBError as error:
        if encrypted:
            raise StoreLocked(
                f"The key does not open {path}. Nothing was changed; check HOLDFAST_KEY or open(key=...)."
            ) from error
        with path.open("rb") as stream:
            begins_like_sqlite = stream.read(15) == b"SQLite format 3"
        if begins_like_sqlite:
            raise StoreCorrupt(f"{path} is damaged: {error}. Restore a backup with `holdfast restore`.") from error
        raise StoreLocked(
            f"{path} is encrypted or is not a Holdfast file. If it is encrypted, set its key with HOLDFAST_KEY or open(key=...)."
        ) from error


def refuse_foreign(connection: apsw.Connection, path: Path) -> None:
    """Raise an error if another program created the file. Write nothing."""
    # Count tables before reading the id: a process that creates the file now commits both in one transaction.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and connection.pragma("application_id") != _APPLICATION_ID:
        raise StoreForeign(
            f"{path} was not created by Holdfast. Nothing was changed. If another assistant created it, "
            f"`holdfast import {path} --store {path}` converts it; otherwise, choose another file."
        )


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Context manager: raise SQLite's errors as Holdfast errors, with advice. The process cannot fork inside it."""
    try:
        with forks.fork_guard:
            yield
    except apsw.BusyError as error:
        raise StoreBusy(
            f"{path} was locked by another process for {BUSY_SECONDS:.0f} s. Nothing was written; stop that process or try again."
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(f"{path} is damaged: {error}. Run `holdfast doctor`, then restore a backup.") from error
    except (apsw.FullError, apsw.IOError) as error:
        raise _disk_error(path, error) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(f"{path} cannot be written: {error}. Check the folder and its permissions.") from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(
            f"{path} contains invalid text, so it is damaged. Run `holdfast doctor`, then restore a backup."
        ) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidInput(f"A value cannot be stored or searched for: {error}.") from error
    except apsw.ThreadingViolationError as error:
        raise StoreClosed(f"{path} was closed while this thread was using it.") from error
    except apsw.ConnectionClosedError as error:
        raise StoreClosed(f"{path} is closed. Open the store again.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error


def limit_pages(connection: apsw.Connection, *, spare: int = _SPARE_PAGES) -> None:
    """Limit the number of pages in the file, so that it stays below the size limit of this process (``ulimit -f``).

    The limit leaves ``spare`` pages free for erasing. Without the limit, the write-ahead log could contain pages that do not
    fit into the file. Such a log could never be emptied. If the process has no size limit, nothing is limited.
    """
    limit = file_size_limit()
    if limit is not None:
        pages = max(limit // connection.pragma("page_size") - spare, connection.pragma("page_count"), 1)
        connection.execute(f"PRAGMA max_page_count = {pages}")


def _disk_error(path: Path, error: apsw.Error) -> StoreError:
    if isinstance(error, apsw.FullError):
        return StoreFull(f"The disk that holds {path} is full. Nothing was written. Free some space and retry.")
    if is_over_size_limit(error):
        return StoreFull(
            f"{path} or its log reached the file size limit of this process. Nothing was written. Raise the limit and retry."
        )
    return StoreError(f"{path}: {error}. Nothing was written. Check the disk, then run `holdfast doctor`.")


def is_over_size_limit(error: apsw.Error) -> bool:
    """Return True if a write failed because a file reached the size limit of this process (``ulimit -f``)."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE and file_size_limit() is not None


def close_when_idle(connection: apsw.Connection) -> None:
    """Close a connection as soon as no thread is reading with it. Later reads on it raise ``StoreClosed``."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.close()
        except apsw.ThreadingViolationError:
            if time.monotonic() > deadline:
                raise StoreBusy(
                    "A thread is still reading from the store, so the store was not closed. Stop that thread and close it again."
                ) from None
            time.sleep(0.002)
        else:
            return


def enable_wal(connection: apsw.Connection) -> None:
    """Switch a file to WAL mode. Retry while the file is locked, because SQLite's busy handler does not cover this statement."""
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
    """Make a connection wait for locks of other connections. It retries at short random intervals, so that no process starves."""
    started = 0.0

    def wait(attempt: int) -> bool:
        nonlocal started
        if attempt == 0:
            started = time.monotonic()
        time.sleep(random.uniform(0.0005, min(0.01, 0.001 * (attempt + 1))))  # noqa: S311  (no secret)
        return time.monotonic() - started < BUSY_SECONDS

    connection.set_busy_handler(wait)
