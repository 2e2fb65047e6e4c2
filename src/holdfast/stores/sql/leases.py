"""Find the job that a worker should lease next.

The queue can be long: sorting 20,000 jobs would hold the write lock for a tenth of a second. So no query sorts the jobs.
There is an index on state, priority and due time. Each query reads the jobs in the order of this index, and stops at the
first job that fits.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from holdfast.stores.sql.connection import Connection, Row, fetch, fetch_one, fetch_value
from holdfast.stores.sql.rows import JOB_COLUMNS, marks, stamp, to_job
from holdfast.types import Job

_MAX_DELAY = timedelta(minutes=15)
"""Maximum pause before a job is retried. A retry time beyond this limit comes from a wrong clock, so the job is due now."""
_MAX_LEASE = timedelta(minutes=45)
"""Maximum remaining time of a lease. A lease that ends later comes from a wrong clock, so it counts as expired."""
_SCOPE_PARTS = ("app", "user", "agent")
_DUE = "(not_before <= ? OR (attempt > 0 AND not_before > ?) OR created_at > ?)"


def next_job(
    connection: Connection,
    tenant: str,
    *,
    now: datetime,
    until: datetime,
    kinds: Collection[str] | None = None,
    exclusive: Collection[str] = (),
    lock: str = "",
) -> Job | None:
    """Return the most urgent job that is due or whose lease has expired. Return None if no job can be leased.

    ``now`` is the current time, and ``until`` the end of the new lease. With ``kinds``, only jobs of these kinds are
    considered. ``exclusive`` also names kinds: while a job of one of these kinds is running, all other jobs of these kinds in
    the same scope are skipped. ``lock`` is an SQL clause that locks the selected row.

    If the clock was wrong, stored times can lie far in the future. They must not delay a job. So a job that was created in
    the future is due, and so is a job whose retry time is more than ``_MAX_DELAY`` ahead. A lease that ends more than
    ``_MAX_LEASE`` ahead and after ``until`` counts as expired.
    """
    too_late = max(until, now + _MAX_LEASE)
    apart, scopes = _not_in_running_scopes(connection, tenant, now, too_late, list(exclusive))
    chosen = "" if kinds is None else f"AND kind IN ({marks(list(kinds))})"
    wanted = f"tenant = ? AND state = ? AND priority = ? AND {_DUE} {chosen} {apart}"
    values = (stamp(now), stamp(now + _MAX_DELAY), stamp(now), *(kinds or ()), *scopes)
    expired = ("AND (lease_until <= ? OR lease_until > ?)", (stamp(now), stamp(too_late)))
    found: list[Job] = []
    for state, (extra, more) in (("queued", ("", ())), ("running", expired)):
        for priority in _priorities(connection, tenant, state):
            row = _first(connection, f"{wanted} {extra}", (tenant, state, priority, *values, *more), lock)
            if row is not None:
                found.append(to_job(row))
                break
    return min(found, key=lambda job: (-job.priority, job.not_before, job.id), default=None)


def _first(connection: Connection, wanted: str, values: Sequence[Any], lock: str) -> Row | None:
    return fetch_one(connection, f"SELECT {JOB_COLUMNS} FROM jobs WHERE {wanted} ORDER BY not_before, id LIMIT 1 {lock}", values)


def _priorities(connection: Connection, tenant: str, state: str) -> Iterator[int]:
    """Yield the priorities of the jobs in a state, highest first.

    There are only a few priorities. Each is found with one lookup in an index.
    """
    highest = fetch_value(connection, "SELECT max(priority) FROM jobs WHERE tenant = ? AND state = ?", (tenant, state))
    while highest is not None:
        yield highest
        highest = fetch_value(
            connection, "SELECT max(priority) FROM jobs WHERE tenant = ? AND state = ? AND priority < ?", (tenant, state, highest)
        )


def _not_in_running_scopes(
    connection: Connection, tenant: str, now: datetime, too_late: datetime, kinds: list[str]
) -> tuple[str, list[Any]]:
    """Return an SQL condition that excludes jobs of the given ``kinds`` in each scope where a job of these kinds is running.

    The second result has the bound values of the condition. A job counts as running until its lease expires. A lease that
    ends after ``too_late`` counts as expired.
    """
    if not kinds:
        return "", []
    rows = fetch(
        connection,
        f"SELECT payload FROM jobs WHERE tenant = ? AND state = 'running' AND lease_until > ? AND lease_until <= ? AND kind IN ({marks(kinds)})",
        (tenant, stamp(now), stamp(too_late), *kinds),
    )
    payloads = [json.loads(row[0]) for row in rows]
    running = {tuple(str(payload.get(part) or "") for part in _SCOPE_PARTS) for payload in payloads}
    same = " AND ".join(f"coalesce({connection.dialect.in_payload(part)}, '') = ?" for part in _SCOPE_PARTS)
    conditions = [f"AND NOT (kind IN ({marks(kinds)}) AND {same})" for _ in running]
    return " ".join(conditions), [value for scope in running for value in (*kinds, *scope)]
