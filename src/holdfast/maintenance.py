"""The calls of an engine that are about the store as a whole: users, background work, statistics, checks and backups."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from holdfast.runtime.clock import as_utc
from holdfast.services import Services
from holdfast.types import Finding, Job, JobState, Spend, Stats, UserRecord


class Maintenance:
    """Base class of the engine, with the calls that are about the store as a whole."""

    _services: Services

    def users(self, *, limit: int = 100, offset: int = 0) -> list[UserRecord]:
        """List users by name. Each entry has the user's number of memories, number of sessions, and last activity."""
        names = self._services.store.user_names(limit=limit, offset=offset)
        return self._services.store.user_records(names, unexpired_at=self._services.clock.now())

    def jobs(self, *, states: Sequence[JobState] | None = None, limit: int = 100) -> list[Job]:
        """List background jobs, oldest first. ``states=["dead"]`` lists the jobs that failed too often."""
        return self._services.store.jobs(states=states, limit=limit)

    def rerun(self, job: str) -> Job:
        """Queue a job again. The job must be dead, or a digest that fell back to rules because the model failed."""
        again = self._services.jobs.rerun(job)
        self._services.scheduler.wake()
        return again

    def drain(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Run all queued work now: close idle sessions, digest, embed, and clean up. Returns the number of steps."""
        return self._services.scheduler.drain(progress)

    def purge_expired(self) -> int:
        """Purge expired memories, and forgotten memories past the undo window; returns how many were purged.

        This also runs at every start and once an hour. After a jump of the clock, purging waits; see :meth:`trust_clock`.
        """
        return self._services.housekeeping.clean_up()

    def trust_clock(self) -> datetime:
        """Confirm that the clock is right, so that purging goes on after a jump of the clock; returns the time.

        ``doctor`` reports a jump. Without a confirmation, the clock is trusted after three days.
        """
        return self._services.housekeeping.clock_guard.confirm()

    def spend(self, *, since: datetime | str | None = None) -> list[Spend]:
        """List the calls, tokens, US dollars and energy that background work has cost, by day, purpose and model."""
        day = "" if since is None else as_utc(since, what="since").date().isoformat()
        return self._services.store.spend(since=day)

    def stats(self) -> Stats:
        """Return counts of everything stored."""
        return Stats.of(self._services.store.stats())

    def doctor(self, *, deep: bool = True) -> list[Finding]:
        """Check the store, its rows, the embedder and the job queue; returns the findings."""
        services = self._services
        timeout = services.reader.recall_timeout if deep else None
        return [*services.store.check(deep=deep), *services.housekeeping.check(services.embedding, recall_timeout=timeout)]

    def backup(self, target: str | Path) -> Path:
        """Write a consistent copy of the store to a new file."""
        path = Path(target).expanduser()
        self._services.store.backup(path)
        return path
