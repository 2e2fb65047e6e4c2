"""Writes of jobs: queueing, leasing and finishing them."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from holdfast.stores.sql.connection import Connection, fetch, fetch_one, upsert
from holdfast.stores.sql.rows import JOB_COLUMNS, job_row, marks, stamp, to_job
from holdfast.types import Job

_MAX_DELAY = timedelta(minutes=15)
"""Longer than the pause before any retry of a job."""
_MAX_LEASE = timedelta(minutes=45)
"""Longer than the usual lease of a job."""
_SCOPE_PARTS = ("app", "user", "agent")


class JobWrites:
    """The methods of a transaction that write jobs."""

    _connection: Connection
    tenant: str
    _row_lock: ClassVar[str] = ""
    """SQL suffix that locks the selected row until the transaction ends. Empty if the database has a single writer."""
    _free_row_lock: ClassVar[str] = ""
    """SQL suffix that selects and locks the first row that nobody else has locked. Empty if the database has a single writer."""

    def add_job(self, job: Job) -> bool:
        """Queue a job. If a job with the same effect exists, store nothing and return False."""
        self._insert("jobs", JOB_COLUMNS, job_row(job), clash="ON CONFLICT (tenant, effect) DO NOTHING")
        return self._connection.changes() == 1

    def lease_job(
        self,
        *,
        worker: str,
        now: datetime,
        until: datetime,
        kinds: Collection[str] | None = None,
        exclusive: Collection[str] = (),
    ) -> Job | None:
        """Lease the most urgent job that is due or whose lease has expired. Return None if there is no such job.

        A creation time in the future means that the clock went back: the job is due. A job is also due if its lease
        ends later than any valid lease and later than ``until``. For kinds in ``exclusive``, only one job per scope is
        leased at a time.
        """
        too_late = max(until, now + _MAX_LEASE)
        apart, scopes = self._not_in_running_scopes(now, too_late, list(exclusive))
        chosen = "" if kinds is None else f"AND kind IN ({marks(list(kinds))})"
        row = fetch_one(
            self._connection,
            f"SELECT {JOB_COLUMNS} FROM jobs WHERE tenant = ? AND state IN ('queued', 'running') "
            "AND (not_before <= ? OR (attempt > 0 AND not_before > ?) OR created_at > ?) "
            f"AND (state = 'queued' OR lease_until <= ? OR lease_until > ?) {chosen} {apart} ORDER BY priority DESC, not_before, id LIMIT 1 {self._free_row_lock}",
            (self.tenant, stamp(now), stamp(now + _MAX_DELAY), stamp(now), stamp(now), stamp(too_late), *(kinds or ()), *scopes),
        )
        if row is None:
            return None
        found = to_job(row)
        leased = replace(found, state="running", attempt=found.attempt + 1, worker=worker, lease_until=until)
        self.set_job(leased)
        return leased

    def _not_in_running_scopes(self, now: datetime, too_late: datetime, kinds: list[str]) -> tuple[str, list[Any]]:
        """Return a condition, with its values, that excludes jobs of scopes in which a job of these kinds is running."""
        if not kinds:
            return "", []
        rows = fetch(
            self._connection,
            f"SELECT payload FROM jobs WHERE tenant = ? AND state = 'running' AND lease_until > ? AND lease_until <= ? AND kind IN ({marks(kinds)})",
            (self.tenant, stamp(now), stamp(too_late), *kinds),
        )
        payloads = [json.loads(row[0]) for row in rows]
        running = {tuple(str(payload.get(part) or "") for part in _SCOPE_PARTS) for payload in payloads}
        same = " AND ".join(f"coalesce({self._connection.dialect.in_payload(part)}, '') = ?" for part in _SCOPE_PARTS)
        conditions = [f"AND NOT (kind IN ({marks(kinds)}) AND {same})" for _ in running]
        return " ".join(conditions), [value for scope in running for value in (*kinds, *scope)]

    def set_job(self, job: Job) -> None:
        """Replace the record of a job."""
        self._replace("jobs", JOB_COLUMNS, job_row(job))

    def holds_lease(self, job: Job) -> bool:
        """Return True if this attempt still holds the lease of the job."""
        state = fetch_one(
            self._connection,
            f"SELECT worker, attempt FROM jobs WHERE tenant = ? AND id = ? AND state = 'running' {self._row_lock}",
            (self.tenant, job.id),
        )
        return state == (job.worker, job.attempt)

    def remove_done_jobs(self, *, before: datetime) -> int:
        """Remove jobs that finished before a given time, and return their number."""
        self._connection.execute(
            "DELETE FROM jobs WHERE tenant = ? AND state = 'done' AND finished_at < ?", (self.tenant, stamp(before))
        )
        return self._connection.changes()

    def _insert(self, table: str, columns: str, row: Sequence[Any], *, clash: str = "") -> None:
        sql = f"INSERT INTO {table} (tenant, {columns}) VALUES (?, {marks(row)}) {clash}"
        self._connection.execute(sql, (self.tenant, *row))

    def _replace(self, table: str, columns: str, row: Sequence[Any]) -> None:
        self._connection.execute(upsert(table, columns), (self.tenant, *row))
