"""Remove erased data from a SQLite file and its log, and verify that it is gone.

SQLite overwrites deleted rows (``secure_delete``), but a page that was split can contain an older copy of a row in its unused
part. A rewrite of the file (VACUUM) removes such copies. The write-ahead log contains older pages until it is emptied.

Writers are blocked only during the rewrite and at the end of emptying the log. Most of the log is moved into the file, and the
files are scanned, while others write. ``rewrites.py`` decides when a file is rewritten.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from holdfast.errors import StoreFull
from holdfast.runtime.priority import with_pauses
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.partitions import next_number
from holdfast.stores.sql.scrubbing import held
from holdfast.stores.sqlite import rewrites
from holdfast.stores.sqlite.connection import SQLiteConnections, set_busy_timeout, translate_errors
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.maintenance import try_checkpoint

log = logging.getLogger("holdfast")
_REWRITE_UP_TO = 256 * 1024 * 1024
"""Maximum size in bytes of a file that is vacuumed after erasures.

A larger file is vacuumed only if erased data is still found in it.
"""
_WAIT_SECONDS = 3.0
"""Maximum time to wait until the log can be emptied."""
_FIRST_BLOCK_MS, _MAX_BLOCK_MS = 10, 100
"""Milliseconds for which the first attempt to empty the log waits for readers, and the maximum for later attempts.

Each attempt waits twice as long as the one before it. Nobody can write while an attempt waits. Most readers need only a
few milliseconds.
"""
_PAUSE_RATIO = 3
"""Length of the pause between two attempts to empty the log, as a multiple of the attempt before it. Others write meanwhile.

So a reader that needs the log blocks other writers for at most a quarter of the time. With pauses of 20 ms after attempts
of 100 ms, they were blocked for five sixths of the time.
"""


def scrub(
    connections: SQLiteConnections,
    path: Path,
    needles: Sequence[bytes],
    *,
    rewrite: bool = True,
    awaited: str | None = None,
    may_rewrite: Callable[[], bool] = lambda: True,
) -> tuple[bool, tuple[str, ...]]:
    """Overwrite removed data in the file and its log, and search both for the needles (byte strings from the erased data).

    Return (complete, residue). ``complete`` is True if all steps could be done. ``residue`` names the files that still
    contain a needle.

    1. With ``rewrite``, the file is rewritten. This step is skipped if the file is very large, or if a rewrite with a number
       higher than ``awaited`` has finished (see :func:`rewrites.is_covered`).
    2. The write-ahead log is emptied, and the files are searched. If the log cannot be emptied, ``complete`` is False.
    3. If a needle was found and the log is empty, the file is rewritten even without ``rewrite``, and searched again. If
       ``may_rewrite`` returns False, this step must wait, and ``complete`` is False.

    On a full disk, the file cannot be rewritten, and ``complete`` is False.
    """
    try:
        if rewrite and path.stat().st_size <= _REWRITE_UP_TO:
            _rewrite(connections, awaited)
        complete = _empty_log(connections, path)
        residue = _residue(connections, path, needles)
        if residue and complete and not may_rewrite():
            return False, residue
        if residue and complete:
            with connections.exclusive() as connection:
                connection.execute("INSERT INTO fulltext (fulltext) VALUES ('optimize')")
                _rewrite(connections)
            complete = _empty_log(connections, path)
            residue = _residue(connections, path, needles)
    except StoreFull:
        log.info("%s cannot be rewritten on a full disk. Erased data may be in it until there is room.", path)
        with connections.exclusive() as connection:
            try_checkpoint(connection)
        return False, _residue(connections, path, needles)
    return complete, residue


def _rewrite(connections: SQLiteConnections, awaited: str | None = None) -> None:
    """Rewrite the file with VACUUM. Do nothing if the file was already rewritten after the erasures.

    ``awaited`` is the number of the last rewrite that had begun before the erasures. A finished rewrite with a higher number
    therefore came after them. If ``awaited`` is None, the file is always rewritten.
    """
    with connections.exclusive() as connection:
        if rewrites.is_covered(connection, awaited):
            return
        number = rewrites.begin(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.wal_autocheckpoint(0)  # the new pages are moved into the file later, while others write
        connection.execute("VACUUM")
        rewrites.finish(connection, number)


def _empty_log(connections: SQLiteConnections, path: Path) -> bool:
    """Move the write-ahead log into the file and truncate the log. Return False if a reader needs the log for too long."""
    until, block_ms = time.monotonic() + _WAIT_SECONDS, _FIRST_BLOCK_MS
    while not (is_empty := _try_to_empty_log(connections, path, block_ms)) and time.monotonic() < until:
        time.sleep(_PAUSE_RATIO * block_ms / 1000)
        block_ms = min(2 * block_ms, _MAX_BLOCK_MS)
    return is_empty


def _try_to_empty_log(connections: SQLiteConnections, path: Path, block_ms: int) -> bool:
    """Move the write-ahead log into the file and truncate the log. Wait at most ``block_ms`` for readers.

    Return False if a reader still needs the log. Also return False if another connection is moving the log into the file,
    because SQLite does not wait for that.
    """
    with translate_errors(path):
        fetch(connections.reader(), "PRAGMA wal_checkpoint(PASSIVE)")  # does most of the work and blocks nobody
    with connections.exclusive() as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.set_busy_timeout(block_ms)
        try:
            if fetch_value(connection, "PRAGMA wal_checkpoint(TRUNCATE)"):
                return False
        finally:
            set_busy_timeout(connection)
        # SQLite syncs the truncated log only with the next write, so write now: after a power cut the old log would be back.
        next_number(connection, "scrub")
    return True


def _residue(connections: SQLiteConnections, path: Path, needles: Sequence[bytes]) -> tuple[str, ...]:
    """Return the files of the store that still contain a needle (a byte string from the erased data).

    Needles that also occur in a stored row are ignored.
    """
    with translate_errors(path):
        connection = connections.reader()
        found = _files_holding(connection, path, needles)
        explained = {needle for needle in set().union(*found.values()) if _occurs_in_rows(connection, needle)}
        return tuple(file for file, here in found.items() if here - explained)


def plain_residue(connections: SQLiteConnections, path: Path, files: Sequence[Path], needles: Sequence[bytes]) -> tuple[str, ...]:
    """Return those of ``files`` that still contain a needle (a byte string from the erased data).

    ``files`` are files outside the store, such as topic pages. Needles that also occur in a stored row are ignored.
    """
    found = {str(file): held([file.read_bytes()], needles) for file in files if file.is_file()}
    with translate_errors(path):
        connection = connections.reader()
        return tuple(file for file, here in found.items() if any(not _occurs_in_rows(connection, needle) for needle in here))


def _occurs_in_rows(connection: FileConnection, needle: bytes) -> bool:
    """Return True if a row of any tenant, or the schema itself, contains these bytes."""
    if fetch_value(connection, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE instr(CAST(sql AS BLOB), ?))", (needle,)):
        return True
    for table, columns in _text_columns(connection).items():
        joined = " || x'0a' || ".join(f"coalesce(CAST({column} AS BLOB), x'')" for column in columns)
        if fetch_value(connection, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE instr({joined}, ?))", (needle,)):
            return True
    return False


def _text_columns(connection: FileConnection) -> dict[str, list[str]]:
    """Return the columns that contain text or bytes, keyed by table.

    The full-text index, the vectors, the recorded migrations and the row hashes are left out.
    """
    tables = fetch(
        connection,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%' AND name NOT IN ('vectors', 'migrations')",
    )
    found = {}
    for (table,) in tables:
        columns = fetch(connection, "SELECT name FROM pragma_table_info(?) WHERE type IN ('TEXT', 'BLOB')", (table,))
        found[table] = [f'"{name}"' for (name,) in columns if name != "hash"]
    return found


def _files_holding(connection: FileConnection, path: Path, needles: Sequence[bytes]) -> dict[str, set[bytes]]:
    """Search the file and its log for needles (byte strings). Return the needles found in each file, keyed by file name."""
    if not needles:
        return {}
    files = (path, path.with_name(path.name + "-wal"))
    # Searching a block for one needle stops the other threads for up to a millisecond.
    found = {
        str(file): held(with_pauses(_blocks(connection, which, file)), needles)
        for which, file in enumerate(files)
        if file.exists()
    }
    return {file: here for file, here in found.items() if here}


def _blocks(connection: FileConnection, which: int, file: Path, step: int = 1 << 20) -> Iterator[bytes]:
    """Read a file in blocks of ``step`` bytes through SQLite. ``which`` is 0 for the store file and 1 for its log.

    The file is not opened directly, because closing it would release the locks that this process holds on it.
    """
    size = file.stat().st_size
    for offset in range(0, size, step):
        yield connection.read("main", which, offset, min(step, size - offset))[1]
