"""After an erasure: rewriting what PostgreSQL would leave on disk, and looking whether it is gone.

A removed row stays in its table's file until the table is rewritten, and in the write-ahead log until its segments are
written over. Both are done here as far as the user may. Replicas, archived log and backups of the server are not ours to
see: docs/scale.md says how long they may keep something.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from psycopg import errors

from holdfast.stores.postgres.connect import SCHEMA
from holdfast.stores.postgres.errors import NAME
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.scrubbing import held

_REWRITE_UP_TO = 256 * 1024 * 1024
"""Tables up to this size are rewritten whole, which keeps others out of them meanwhile."""
_REBUILD_UP_TO = 32 * 1024 * 1024
"""The same for vectors: rewriting them builds their indexes anew, which takes far longer."""
_LOCK_TIMEOUT_SECONDS = 2.0
_SEGMENTS = 12
"""Segments of the log that are written over at once, of 16 MB each."""


def scrub(session: PostgresSession, needles: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
    """Rewrite tables and log; tells whether all that can be done was, and what still holds a needle or cannot be looked into."""
    if not _nobody_looks_back(session):
        return False, ()
    # Who waits for a table makes everyone else wait behind: a dump that reads one for an hour must not stop them all.
    session.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT_SECONDS:g}s'")
    try:
        unseen = _rewrite_tables(session)
        unseen += _rewrite_statistics(session)
    except (errors.LockNotAvailable, errors.DeadlockDetected):
        return False, ()
    unseen += _rewrite_log(session)
    wanted = [needle for needle in needles if len(needle) >= 8]
    if not wanted:
        return True, ()
    folder = _data_folder(session)
    if folder is None:
        return True, (*unseen, f"{NAME}: the server's files cannot be read from here")
    return True, (*unseen, *_residue(session, folder, wanted))


def _nobody_looks_back(session: PostgresSession) -> bool:
    """Wait until no transaction is left that began before now: it would keep removed rows in place."""
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


def _rewrite_tables(session: PostgresSession) -> list[str]:
    """Rewrite every table that is not too large; returns those that are."""
    large = []
    rows = fetch(
        session,
        "SELECT relname, pg_total_relation_size(pg_class.oid) FROM pg_class "
        f"WHERE relkind = 'r' AND relnamespace = '{SCHEMA}'::regnamespace ORDER BY relname",
    )
    for table, size in rows:
        if size <= (_REBUILD_UP_TO if table == "vectors" else _REWRITE_UP_TO):
            session.execute(f"VACUUM FULL {SCHEMA}.{table}")
        else:
            session.execute(f"VACUUM {SCHEMA}.{table}")
            large.append(f"{table}: too large to rewrite beside other work; VACUUM FULL {SCHEMA}.{table} does")
    return large


def _rewrite_statistics(session: PostgresSession) -> list[str]:
    """Forget what the planner knows of the tables, and let it look anew: it keeps samples, also of rows that are gone."""
    if not fetch_value(session, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
        return [f"{NAME}: this user may not empty pg_statistic, where the server keeps samples of values"]
    tables = f"SELECT oid FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace"
    session.execute(f"DELETE FROM pg_catalog.pg_statistic WHERE starelid IN ({tables})")
    session.execute("VACUUM FULL pg_catalog.pg_statistic")
    for (table,) in fetch(session, f"SELECT relname FROM pg_class WHERE relkind = 'r' AND oid IN ({tables})"):
        session.execute(f"ANALYZE {SCHEMA}.{table}")
    return []


def _rewrite_log(session: PostgresSession) -> list[str]:
    """Let the server be done with the log so far, then write over the segments it keeps for later."""
    try:
        session.execute("CHECKPOINT")
        session.execute("SELECT pg_switch_wal()")
        session.execute("CHECKPOINT")
        # Segments are kept under the names of those to come. A switch fills the rest of one with zeros.
        for _ in range(min(_spare_segments(session), _SEGMENTS) + 1):
            session.execute("SELECT pg_logical_emit_message(false, 'holdfast', '')")
            session.execute("SELECT pg_switch_wal()")
        left = _spare_segments(session) if _spare_segments(session) > _SEGMENTS else 0
    except errors.InsufficientPrivilege:
        return [f"{NAME}: this user may not empty the write-ahead log; the server writes over it in time"]
    return [f"{NAME}: {left} segments of the write-ahead log are not yet written over"] if left else []


def _spare_segments(session: PostgresSession) -> int:
    """Count the segments of the log that hold something old and will be used again."""
    sql = "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_lsn())"
    count: int = fetch_value(session, sql)
    return count


def _data_folder(session: PostgresSession) -> Path | None:
    """Return the server's folder if it is on this machine and may be read: the very server's, by its identifier."""
    try:
        folder = Path(str(fetch_value(session, "SELECT current_setting('data_directory')")))
        identifier = fetch_value(session, "SELECT system_identifier FROM pg_control_system()")
        with (folder / "global" / "pg_control").open("rb") as file:
            here = int.from_bytes(file.read(8), "little", signed=True)
    except (errors.InsufficientPrivilege, OSError):
        return None
    return folder if here == identifier else None


def _residue(session: PostgresSession, folder: Path, needles: Sequence[bytes]) -> list[str]:
    """Return the files that hold a needle which no living row explains: others may have said the same."""
    database = fetch_value(session, "SELECT oid FROM pg_database WHERE datname = current_database()")
    files = [path for part in (f"base/{database}", "pg_wal") for path in sorted((folder / part).rglob("*")) if path.is_file()]
    found = {path: here for path in files if (here := held(_blocks(path), needles))}
    explained = {needle for needle in set().union(*found.values()) if _lives(session, needle)}
    return [str(path) for path, here in found.items() if here - explained]


def _blocks(path: Path, step: int = 1 << 22) -> Iterator[bytes]:
    with contextlib.suppress(OSError), path.open("rb") as file:  # a file may go while we look
        while block := file.read(step):
            yield block


def _lives(session: PostgresSession, needle: bytes) -> bool:
    """Tell whether any row that this user may see holds these bytes."""
    columns = {
        "messages": ("text", "speaker"),
        "memories": ("text", "metadata", "key", "topic", "tags", "reason"),
        "keys": ("label", '"user"', "app", "agent"),
        "units": ("terms",),
        "partitions": ('"user"', "app", "agent"),
    }
    with contextlib.suppress(psycopg.errors.UndefinedObject):  # a user bound by policies sees no tenant's rows here
        for table, names in columns.items():
            joined = f"convert_to(concat_ws(E'\\n', {', '.join(names)}), 'UTF8')"
            if fetch_value(session, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE position(?::bytea IN {joined}) > 0)", (needle,)):
                return True
        return bool(
            fetch_value(session, "SELECT EXISTS (SELECT 1 FROM idempotency WHERE position(?::bytea IN body) > 0)", (needle,))
        )
    return False
