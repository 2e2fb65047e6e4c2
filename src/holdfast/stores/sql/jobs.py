"""Writes of jobs: queueing, leasing and finishing them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from holdfast.stores.sql.connection import Connection, fetch_one, upsert
from holdfast.stores.sql.leases import next_job
from holdfast.stores.sql.rows import JOB_COLUMNS, job_row, marks, stamp
from holdfast.types import Job


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
        """Lease the most urgent job that is due or whose lease has expired. Return None if no job can be leased.

        ``worker`` gets the lease, which ends at ``until``. ``now`` is the current time. With ``kinds``, only jobs of these
        kinds are leased. ``exclusive`` also names kinds: while a job of one of these kinds is leased, all other jobs of these
        kinds in the same scope are skipped.
        """
        found = next_job(
            self._connection, self.tenant, now=now, until=until, kinds=kinds, exclusive=exclusive, lock=self._free_row_lock
        )
        if found is None:
            return None
        leased = replace(found, state="running", attempt=found.attempt + 1, worker=worker, lease_until=until)
        self.set_job(leased)
        return leased

    def set_job(self, job: Job) -> None:
        """Replace the record of a job."""
        self._replace("jobs", JOB_COLUMNS, job_row(job))

    def holds_lease(self, job: Job) -> bool:
        """Return True if the worker that ``job`` names still holds the lease of the job, for the same attempt."""
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
