"""Remove erased data from the server's files, and verify that it is gone.

A deleted row stays in the file of its table until the table is rewritten. It also stays in the write-ahead log until
its log segment (a file of the log) is overwritten. This module rewrites both, as far as the privileges of the database
user allow. It cannot reach the server's replicas, archived logs and backups. docs/scale.md says how long these can keep
erased data.

A scrub rewrites the tables of all tenants. ``scrub_schedule.py`` decides when a scrub runs.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from psycopg import errors

from holdfast.protocols import Unreachable
from holdfast.stores.postgres.connect import SCHEMA
from holdfast.stores.postgres.errors import NAME
from holdfast.stores.postgres.rewriting import TableCopy, full_vacuum, obstacle, remove_unfinished
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.scrubbing import held

MAX_LOCKED_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of a table that is rewritten under a lock. This takes less than half a second.

A larger table is copied while it is in use. That takes longer, but the table is locked only for milliseconds.
"""
_LOCK_TIMEOUT_SECONDS = 2.0
"""Maximum time in seconds to wait for the lock of a table. Also the maximum time to wait for older transactions to end."""
_MAX_SEGMENTS = 64
"""Maximum number of segments (files) of the write-ahead log to overwrite per scrub.

With segments of 16 MB, this is 1 GB, the default of ``max_wal_size``. Usually a server keeps only a few segments for reuse.
"""


def rewrite(session: PostgresSession, *, max_locked_bytes: int = MAX_LOCKED_BYTES) -> tuple[bool, tuple[Unreachable, ...]]:
    """Rewrite the tables, the planner's statistics and the log, so that they contain no deleted rows.

    Return (complete, unreachable). ``complete`` is False if another transaction prevented the rewrite; scrub again later.
    ``unreachable`` lists the places that this database user cannot rewrite. A table is locked while it is rewritten. Tables
    larger than ``max_locked_bytes`` are copied instead, and stay in use meanwhile.
    """
    remove_unfinished(session)
    if not _wait_for_old_transactions(session):
        return False, ()
    # A queued exclusive lock blocks all later readers, so wait only briefly: a dump may read a table for an hour.
    session.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT_SECONDS:g}s'")
    session.execute("SET statement_timeout = 0")
    try:
        unreachable = _rewrite_tables(session, max_locked_bytes)
        unreachable += _rewrite_statistics(session)
    except (errors.LockNotAvailable, errors.DeadlockDetected):
        return False, ()
    return True, tuple(map(Unreachable, [*unreachable, *_rewrite_log(session)]))


def scan(session: PostgresSession, needles: Sequence[bytes]) -> tuple[str, ...]:
    """Search the server's files for the needles (byte strings from the erased data). Return the files that contain one.

    Needles shorter than 8 bytes are skipped, because short words also occur in the server's own catalogs.
    """
    searched = [needle for needle in needles if len(needle) >= 8]
    if not searched:
        return ()
    folder = _data_folder(session)
    if folder is None:
        return (Unreachable(f"{NAME}: the server's files cannot be read from here"),)
    return tuple(_residue(session, folder, searched))


def _wait_for_old_transactions(session: PostgresSession) -> bool:
    """Wait for older transactions to end, because they keep deleted rows in place. Return False after a timeout."""
    number = fetch_value(session, "SELECT pg_current_xact_id()::xid")
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while fetch_value(
        session,
        "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() "
        "AND backend_type = 'client backend' AND backend_xmin IS NOT NULL AND age(backend_xmin) >= age(?::xid)) "
        "OR EXISTS (SELECT 1 FROM pg_prepared_xacts WHERE database = current_database())",
        (str(number),),
    ):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _rewrite_tables(session: PostgresSession, max_locked_bytes: int) -> list[str]:
    """Rewrite every table. Return a message for each table that cannot be rewritten.

    Tables up to ``max_locked_bytes`` are locked and rewritten by PostgreSQL. Larger tables are replaced by a copy. A large table
    cannot be replaced if an administrator attached an object to it, such as a trigger.
    """
    left = []
    rows = fetch(
        session,
        "SELECT relname, pg_total_relation_size(pg_class.oid) FROM pg_class "
        f"WHERE relkind = 'r' AND relnamespace = '{SCHEMA}'::regnamespace AND relname NOT IN ('migrations', 'scrubs') ORDER BY relname",
    )
    for table, size in rows:
        if size <= max_locked_bytes:
            full_vacuum(session, table)
        elif attached := obstacle(session, table):
            left.append(
                f"{table}: not rewritten, because it has {attached}; run VACUUM FULL {SCHEMA}.{table} in a maintenance window"
            )
        else:
            TableCopy(session, table).replace()
    return left


def _rewrite_statistics(session: PostgresSession) -> list[str]:
    """Recompute the planner's statistics, because they can contain sample values of deleted rows.

    If the database user has no right to do this, return a message about it. Otherwise return an empty list.
    """
    if not fetch_value(session, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
        return [f"{NAME}: this user may not clear pg_statistic, where the server keeps sample values"]
    tables = f"SELECT oid FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace"
    session.execute(f"DELETE FROM pg_catalog.pg_statistic WHERE starelid IN ({tables})")
    session.execute("VACUUM FULL pg_catalog.pg_statistic")
    for (table,) in fetch(session, f"SELECT relname FROM pg_class WHERE relkind = 'r' AND oid IN ({tables})"):
        session.execute(f"ANALYZE {SCHEMA}.{table}")
    return []


def _rewrite_log(session: PostgresSession) -> list[str]:
    """Switch to a new segment of the write-ahead log, then overwrite the old segments that the server keeps for reuse.

    Return a message if the database user has no right to do this, or if there are too many segments. Otherwise return an empty
    list.
    """
    try:
        session.execute("CHECKPOINT")
        session.execute("SELECT pg_switch_wal()")
        session.execute("CHECKPOINT")
        # Segments kept for reuse carry the names of future ones. A switch fills the rest of a segment with zeros.
        spare = _spare_segments(session)
        for _ in range(min(spare, _MAX_SEGMENTS) + 1):
            session.execute("SELECT pg_logical_emit_message(false, 'holdfast', '')")
            session.execute("SELECT pg_switch_wal()")
        left = max(0, spare - _MAX_SEGMENTS)
    except errors.InsufficientPrivilege:
        return [f"{NAME}: this user may not overwrite the write-ahead log; the server does so in time"]
    return [f"{NAME}: {left} segments of the write-ahead log are not yet overwritten"] if left else []


def _spare_segments(session: PostgresSession) -> int:
    """Count the log segments that the server keeps for reuse. They may still contain erased data."""
    sql = "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_lsn())"
    count: int = fetch_value(session, sql)
    return count


def _data_folder(session: PostgresSession) -> Path | None:
    """Return the server's data directory, or None if it cannot be read on this machine.

    The directory counts only if it contains the system identifier of the connected server. If the server runs on
    another machine, the same path here can belong to a different server.
    """
    try:
        folder = Path(str(fetch_value(session, "SELECT current_setting('data_directory')")))
        identifier = fetch_value(session, "SELECT system_identifier FROM pg_control_system()")
        with (folder / "global" / "pg_control").open("rb") as file:
            on_disk = int.from_bytes(file.read(8), "little", signed=True)
    except (errors.InsufficientPrivilege, OSError):
        return None
    return folder if on_disk == identifier else None


def _residue(session: PostgresSession, folder: Path, needles: Sequence[bytes]) -> list[str]:
    """Return the files in the server's data directory (``folder``) that contain a needle (a byte string from the erased data).

    Needles that also occur in a live row are not reported, because another user may have stored the same text.
    """
    database = fetch_value(session, "SELECT oid FROM pg_database WHERE datname = current_database()")
    files = [path for part in (f"base/{database}", "pg_wal") for path in sorted((folder / part).rglob("*")) if path.is_file()]
    found = {path: in_file for path in files if (in_file := held(_blocks(path), needles))}
    explained = {needle for needle in set().union(*found.values()) if _is_in_a_row(session, needle)}
    return [str(path) for path, in_file in found.items() if in_file - explained]


def plain_residue(session: PostgresSession, files: Sequence[Path], needles: Sequence[bytes]) -> list[str]:
    """Return those of ``files`` that still contain a needle (a byte string from the erased data).

    ``files`` are files outside the database, such as topic pages. Needles that also occur in a live row are ignored.
    """
    found = {path: in_file for path in files if (in_file := held(_blocks(path), needles))}
    return [str(path) for path, in_file in found.items() if any(not _is_in_a_row(session, needle) for needle in in_file)]


def _blocks(path: Path, step: int = 1 << 22) -> Iterator[bytes]:
    with contextlib.suppress(OSError), path.open("rb") as file:  # a file may disappear meanwhile
        while block := file.read(step):
            yield block


def _is_in_a_row(session: PostgresSession, needle: bytes) -> bool:
    """Return True if any row that the database user can see contains these bytes."""
    columns = {
        "messages": ("text", "speaker", "asked", "payload"),
        "memories": ("text", "metadata", "key", "topic", "tags", "reason", "namespace", "indexed"),
        "keys": ("label", '"user"', "app", "agent"),
        "sessions": ("id", "metadata"),
        "units": ("terms",),
        "partitions": ('"user"', "app", "agent"),
        "traces": ("question", "session", '"user"', "app", "agent"),
    }
    with contextlib.suppress(psycopg.errors.UndefinedObject):  # row level security: no tenant is selected on this connection
        for table, names in columns.items():
            joined = f"convert_to(concat_ws(E'\\n', {', '.join(names)}), 'UTF8')"
            if fetch_value(session, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE position(?::bytea IN {joined}) > 0)", (needle,)):
                return True
        return bool(
            fetch_value(session, "SELECT EXISTS (SELECT 1 FROM idempotency WHERE position(?::bytea IN body) > 0)", (needle,))
        )
    return False
