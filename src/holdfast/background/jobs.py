"""Durable jobs: leased, retried with back-off, and marked dead after too many failures.

A handler is the function that runs a kind of job. It computes outside any transaction and returns the job's effect,
which is a function that writes the result to the store. The effect and the job's completion commit together, and only
if the worker still holds the lease. A handler may therefore run twice, but the result is written once. If a model fails
and rules do the work instead, the job counts as done. Its ``error`` then describes the failure, and the job can be run
again.

A job is dead after five failures. The death of a worker is not a failure of its job: another worker takes the job over.
After three deaths, the job waits longer before each attempt, so that other jobs run. After 20 deaths, it is dead.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from holdfast.background.energy import energy_of
from holdfast.background.processes import is_gone, worker_name
from holdfast.chat import Usage, spend_of
from holdfast.errors import NotFound, StoreError
from holdfast.protocols import Clock, Reads, SessionFilter, Store, Transaction
from holdfast.runtime.ids import new_id
from holdfast.types import REDO, Job, SessionRecord, Spend
from holdfast.types.translatable import translatable

log = logging.getLogger("holdfast")

Effect: TypeAlias = Callable[[Transaction], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Result of a job handler: the effect (a function that writes to the store), the problems to record, and the cost."""

    effect: Effect = lambda tx: None
    flaws: tuple[str, ...] = ()
    model: str | None = None
    usage: Usage = field(default_factory=Usage)


Handler: TypeAlias = Callable[[Job], Work]


class Deferred(Exception):
    """Raised by a handler if its job must wait, for example for a model. This does not count as a failure of the job."""

    def __init__(self, reason: str, *, usage: Usage, model: str | None) -> None:
        super().__init__(reason)
        self.work = Work(usage=usage, model=model)


REDO_PRIORITY = -10
_DEFERRAL = timedelta(minutes=1)

MAX_FAILURES = 5
MAX_DEATHS = 20
"""Maximum number of workers that may die during a job. It is high, because workers are also killed for other reasons."""
SUSPECT_DEATHS = 3
"""If this many workers died during a job, the job itself may be the cause. It then waits before each attempt."""
_FAILURES = "failures"
"""Name of the payload field that counts the failures of a job. The other attempts ended with the death of their worker."""
_MAX_PAUSE = timedelta(minutes=10)
LEASE_DURATION = timedelta(minutes=5)
MODEL_LEASE_DURATION = timedelta(minutes=30)
"""Duration of the lease of a job that uses a chat model.

It is long, because the model reads a long conversation in parts, and each part has its own timeout.
"""
_FIRST_RETRY = timedelta(seconds=5)


def new_job(kind: str, payload: Mapping[str, Any], *, effect: str, now: datetime, priority: int = 0) -> Job:
    """Return a job that is due now.

    ``effect`` is a name for the job's result, such as ``topic:SESSION:12``. Only one job is queued for each name.
    """
    return Job(
        id=new_id("job", now), kind=kind, payload=payload, effect=effect, priority=priority, created_at=now, not_before=now
    )


def session_payload(session: SessionRecord) -> dict[str, Any]:
    """Return the part of a job's payload that identifies a session: its id and its scope.

    The scope is needed because a session id is unique only within a scope.
    """
    scope = session.scope
    return {"session": session.id, "app": scope.app, "user": scope.user, "agent": scope.agent, "scoped": 1}


def session_of(reads: Reads, job: Job) -> SessionRecord | None:
    """Return the session that a job's payload names, or None. Jobs queued by older versions contain only the session's id."""
    id, payload = str(job.payload["session"]), job.payload
    if "scoped" not in payload:
        return reads.session(id)
    found = reads.sessions(SessionFilter(ids=(id,)))
    wanted = tuple(payload.get(part) for part in ("app", "user", "agent"))
    return next((each for each in found if (each.scope.app, each.scope.user, each.scope.agent) == wanted), None)


class JobRunner:
    """Runs queued jobs, one at a time."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Mapping[str, Handler],
        *,
        affordable: Callable[[Collection[str]], Collection[str]] = lambda kinds: kinds,
        lease: timedelta = LEASE_DURATION,
        exclusive: Collection[str] = (),
    ) -> None:
        """Create a runner. ``handlers`` maps each kind of job to the function that runs it.

        ``affordable`` is called with kinds of jobs and returns those that may run now, for example because there is enough
        energy. ``lease`` is the time after which another worker takes over a job that is still running. For the kinds in
        ``exclusive``, only one job per scope runs at a time.
        """
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._affordable = affordable
        self._lease = lease
        self._exclusive = exclusive

    def run_one(self) -> bool:
        """Run one job that is due. Return False if there is none."""
        # Check without the write lock first: an idle worker must not take it every second.
        now = self._clock.now()
        if self._store.next_job(now=now, until=now + self._lease) is None:  # before `_affordable`, which may load a model
            return self.take_over() > 0
        job = self._lease_one(self._affordable(list(self._handlers)), now)
        if job is None:
            return self.take_over() > 0
        try:
            self._finish(job, self._compute(job))
        except Deferred as deferred:
            self._defer(job, deferred)
        except Exception as error:  # handlers call models and hosts: any error is stored with the job
            log.exception("Job %s (%s) failed, attempt %d", job.id, job.kind, job.attempt)
            self._failed(job, error)
        return True

    def _lease_one(self, kinds: Collection[str], now: datetime) -> Job | None:
        until = now + self._lease
        if not kinds or self._store.next_job(now=now, until=until, kinds=kinds, exclusive=self._exclusive) is None:
            return None
        with self._store.write() as tx:
            return tx.lease_job(worker=worker_name(), now=now, until=until, kinds=kinds, exclusive=self._exclusive)

    def lag(self) -> timedelta:
        """Return the age of the oldest queued or running job.

        Redo jobs do not count, because rules have already digested their messages.
        """
        kinds = [kind for kind in self._handlers if kind != REDO]
        waiting = self._store.jobs(states=["queued", "running"], kinds=kinds, limit=1)
        return max(timedelta(0), self._clock.now() - waiting[0].created_at) if waiting else timedelta(0)

    def take_over(self) -> int:
        """Requeue the jobs of this machine's dead workers. Return their number."""
        abandoned = [job for job in self._store.jobs(states=["running"]) if is_gone(job.worker)]
        if not abandoned:
            return 0
        now = self._clock.now()
        with self._store.write() as tx:
            held = [job for job in abandoned if tx.holds_lease(job)]
            for job in held:
                pause = _pause(deaths(job) + 2 - SUSPECT_DEATHS)
                tx.set_job(replace(job, state="queued", lease_until=None, worker=None, not_before=now + pause))
        return len(held)

    def _compute(self, job: Job) -> Work:
        if deaths(job) >= MAX_DEATHS:
            raise _Deadly(f"{MAX_DEATHS} workers died during this job")
        return self._handlers[job.kind](job)

    def _finish(self, job: Job, work: Work) -> None:
        now = self._clock.now()
        note = "; ".join(dict.fromkeys(work.flaws))[:500] or None
        with self._store.write(durable=False) as tx:
            tx.add_spend(_spend(job, work, now))  # in its own transaction: the cost counts even if the effect fails
        with self._store.write() as tx:
            if not tx.holds_lease(job):
                log.warning("Job %s was taken over by another worker. This result is dropped", job.id)
                return
            work.effect(tx)
            cost = job.cost + (work.usage.cost or 0.0)
            tx.set_job(replace(job, state="done", finished_at=now, lease_until=None, error=note, cost=cost))
        if note:
            log.warning("Job %s (%s) is done, with flaws: %s", job.id, job.kind, note)

    def _defer(self, job: Job, deferred: Deferred) -> None:
        """Queue a job again for later. The attempt does not count."""
        now = self._clock.now()
        with self._store.write() as tx:
            tx.add_spend(_spend(job, deferred.work, now))
            if tx.holds_lease(job):
                waiting = replace(job, state="queued", attempt=job.attempt - 1, lease_until=None, worker=None)
                tx.set_job(replace(waiting, not_before=now + _DEFERRAL, error=str(deferred)[:500]))

    def _failed(self, job: Job, error: Exception) -> None:
        now = self._clock.now()
        failures = _failures(job) + 1
        dead = failures >= MAX_FAILURES or isinstance(error, _Deadly)
        failed = replace(
            job,
            state="dead" if dead else "queued",
            payload={**job.payload, _FAILURES: failures},
            not_before=now + _pause(failures),
            lease_until=None,
            finished_at=now if dead else None,
            error=f"{type(error).__name__}: {error}"[:500],
        )
        with self._store.write() as tx:
            if tx.holds_lease(job):
                tx.set_job(failed)

    def rerun(self, id: str) -> Job:
        """Queue a job again and reset its attempts. The job must be dead, queued, or a digest with recorded problems."""
        with self._store.write() as tx:
            found = tx.jobs(ids=(id,))
            if not found or not _can_rerun(found[0]):
                raise NotFound(
                    translatable(
                        "absent.job",
                        "There is no dead or queued job {id}, and no digest with flaws. Nothing was queued; see `holdfast jobs`.",
                        id=id,
                    )
                )
            job = found[0]
            payload = {name: value for name, value in job.payload.items() if name != _FAILURES}
            payload |= {"again": True} if job.state == "done" else {}
            queued = replace(
                job, state="queued", payload=payload, attempt=0, not_before=self._clock.now(), finished_at=None, worker=None
            )
            tx.set_job(queued)
        return queued


class _Deadly(StoreError):
    """Raised instead of running a job again, because too many workers have died during the job."""


def deaths(job: Job) -> int:
    """Return the number of workers that died during a job before this attempt."""
    return max(0, job.attempt - 1 - _failures(job))


def _failures(job: Job) -> int:
    return int(job.payload.get(_FAILURES, 0))


def _pause(number: int) -> timedelta:
    """Return the pause before the next attempt, after ``number`` failures of the job or deaths of its workers.

    The first pause is five seconds. Each further pause is twice as long, up to ten minutes. For 0, there is no pause.
    """
    return min(_FIRST_RETRY * 2 ** (number - 1), _MAX_PAUSE) if number > 0 else timedelta(0)


def _can_rerun(job: Job) -> bool:
    """Return True if :meth:`JobRunner.rerun` accepts a job.

    It accepts a dead job (one that has failed too often), a job that waits in the queue, and a finished digest that
    recorded problems.
    """
    return job.state in ("dead", "queued") or (job.state == "done" and job.error is not None and job.kind == "digest")


def _spend(job: Job, work: Work, now: datetime) -> Spend:
    model = work.model or ("-" if not work.usage.calls else "failed")
    return spend_of(work.usage, day=now, purpose=job.kind, model=model, energy=energy_of(job.kind, work.usage))
