"""Decide when a database is scrubbed. One scrub serves the erasures of all tenants.

A transaction that erases rows records its transaction number (see ``PostgresTransaction.set_setting``). A scrub records
the server's snapshot when it begins. The scrub covers all erasures that were committed before this snapshot.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence

from holdfast.protocols import Unreachable
from holdfast.stores.postgres.connect import SCHEMA
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import fetch, fetch_value

REQUESTED = "scrub requested"
"""Name of the setting that contains the number of the last transaction in which rows of a tenant were erased."""
_LOCK = 0x686F6C6453637262
"""Key of the advisory lock that prevents two scrubs of one database at the same time."""
_RETRY_SECONDS = 60.0
"""Minimum time between a scrub that could not be completed and the next one."""
_KEPT = 100
"""Number of scrubs whose records are kept."""


def covering(session: PostgresSession, requested: str) -> tuple[Unreachable, ...] | None:
    """Find the last finished scrub that covers an erasure. Return the places that this scrub could not reach.

    ``requested`` is the number of the transaction that erased the rows. A scrub covers the erasure if it began after this
    transaction was committed. Return None if there is no such scrub.

    A number that this server has not assigned yet comes from another server, from which the store was copied. In this case,
    every scrub on this server covers the erasure.
    """
    row = fetch(
        session,
        f"SELECT unreachable FROM {SCHEMA}.scrubs WHERE finished_at IS NOT NULL AND (pg_visible_in_snapshot(?::xid8, snapshot) "
        "OR ?::xid8 >= pg_snapshot_xmax(pg_current_snapshot())) ORDER BY number DESC LIMIT 1",
        (requested, requested),
    )
    return tuple(map(Unreachable, json.loads(row[0][0]))) if row else None


def is_due(session: PostgresSession, interval_seconds: float) -> bool:
    """Return True if there was no scrub yet, or if the last one began at least ``interval_seconds`` ago.

    If the last scrub did not finish, the next one is due after ``_RETRY_SECONDS`` or ``interval_seconds``, whichever is less.
    """
    return bool(
        fetch_value(
            session,
            "SELECT coalesce((SELECT clock_timestamp() - started_at >= make_interval(secs => CASE WHEN finished_at IS NULL "
            f"THEN least(?::float8, ?::float8) ELSE ?::float8 END) FROM {SCHEMA}.scrubs ORDER BY number DESC LIMIT 1), true)",
            (_RETRY_SECONDS, interval_seconds, interval_seconds),
        )
    )


@contextlib.contextmanager
def alone(session: PostgresSession) -> Iterator[bool]:
    """Context manager: hold the lock for scrubs of this database.

    Yield True if this process got the lock, False if another process holds it.
    """
    held = bool(fetch_value(session, "SELECT pg_try_advisory_lock(?)", (_LOCK,)))
    try:
        yield held
    finally:
        if held and not session.raw.closed:
            session.execute("SELECT pg_advisory_unlock(?)", (_LOCK,))


def begin(session: PostgresSession) -> int:
    """Record that a scrub begins, and return the number of that record. Old records are removed."""
    number: int = fetch_value(session, f"INSERT INTO {SCHEMA}.scrubs DEFAULT VALUES RETURNING number")
    session.execute(f"DELETE FROM {SCHEMA}.scrubs WHERE number <= ?", (number - _KEPT,))
    return number


def finish(session: PostgresSession, number: int, unreachable: Sequence[Unreachable]) -> None:
    """Record that a scrub is complete, and which places it could not reach.

    ``number`` is the number of the scrub, as returned by :func:`begin`.
    """
    session.execute(
        f"UPDATE {SCHEMA}.scrubs SET finished_at = clock_timestamp(), unreachable = ? WHERE number = ?",
        (json.dumps(unreachable), number),
    )
