"""What an engine does besides remembering and recalling: users, background work, and care of the store."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.clock import zone
from holdfast.embedding import Embedding
from holdfast.errors import StoreClosed
from holdfast.files import Shelves
from holdfast.housekeeping import Housekeeping
from holdfast.jobs import JobRunner
from holdfast.protocols import Clock, Store
from holdfast.reader import Reader
from holdfast.text.clean import clean_name
from holdfast.thinking import Thinking
from holdfast.types import Finding, Job, JobState, Spend, UserProfile, UserRecord
from holdfast.worker import WorkerThread

_LOOK_EVERY = 2.0
"""Seconds between two looks at the topic files while there is nothing else to do."""
_FLUSH_EVERY = 2.0
"""Seconds between two notes of what was used: each is a write, after which every reader has to look at the file anew."""


class Upkeep:
    """The half of an engine that looks after it."""

    store: Store
    clock: Clock
    embedding: Embedding
    thinking: Thinking
    reader: Reader
    jobs_runner: JobRunner
    files: Shelves
    _housekeeping: Housekeeping
    _next_look: float = 0.0
    _next_flush: float = 0.0
    _inline: bool
    _thread: WorkerThread | None

    def set_user(self, user: str, *, timezone: str | None = None, language: str | None = None) -> UserProfile:
        """Tell the engine a user's time zone (where days end) or language."""
        name = clean_name(user, what="user") or ""
        with self.store.write() as tx:
            known = tx.user(name)
            profile = UserProfile(
                user=name,
                timezone=known.timezone if timezone is None else zone(timezone).key,
                language=language or known.language,
            )
            tx.set_user(profile)
        return profile

    def users(self, *, limit: int = 100, offset: int = 0) -> list[UserRecord]:
        """List users by name, each with the number of their memories and sessions and their last activity."""
        names = self.store.user_names(limit=limit, offset=offset)
        return self.store.user_records(names, unexpired_at=self.clock.now())

    def jobs(self, *, states: Sequence[JobState] | None = None, limit: int = 100) -> list[Job]:
        """List background jobs, oldest first; ``states=["dead"]`` are those that gave up."""
        return self.store.jobs(states=states, limit=limit)

    def rerun(self, job: str) -> Job:
        """Queue a job again: a dead one, or one where rules had to take over from a model."""
        again = self.jobs_runner.rerun(job)
        self.wake()
        return again

    def drain(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Run all queued work now: idle sessions, digestion, embedding, clean-up; returns how many steps it took."""
        self.flush_uses()
        steps = self._housekeeping.tick()
        while self.jobs_runner.run_one():
            steps += 1
        total = self.store.stats()["waiting_for_vectors"] if progress else 0
        done = 0
        while batch := self.embedding.catch_up(limit=32):
            done += batch
            if progress:
                progress(done, total)
        self.embedding.retire_other_models()
        steps += self._mirror()
        while self.jobs_runner.run_one():  # what was written by hand may have made a page too long
            steps += 1
        while self.store.tidy():
            pass
        return steps + done

    def clean_up(self) -> int:
        """Purge now what has expired or was forgotten too long ago to be brought back; returns how much went."""
        return self._housekeeping.clean_up()

    def work_once(self) -> bool:
        """Do one piece of background work; False when there is none left."""
        return self._work_due() or self.store.tidy()

    def _work_due(self) -> bool:
        """Do one piece of what is waited for."""
        if self._inline or time.monotonic() >= self._next_flush:
            self._next_flush = time.monotonic() + _FLUSH_EVERY
            self.flush_uses()
            self.embedding.queries.drop_erased()
        busy = bool(self._housekeeping.tick())
        busy |= self.jobs_runner.run_one()
        busy |= bool(self.embedding.catch_up_in_turn(limit=8))
        if not busy:
            self.embedding.retire_other_models()
            if time.monotonic() >= self._next_look:
                busy = bool(self._mirror())
        return busy

    def _mirror(self) -> int:
        """Keep the topic files in step; returns how much was done."""
        self._next_look = time.monotonic() + _LOOK_EVERY
        done = self.files.sync()
        return done.read_in + done.written

    def wake(self) -> None:
        """Tell the worker that there is something to do; inline, do it now."""
        if self._thread is not None:
            self._thread.wake()
        elif self._inline:
            while self._work_due():
                pass

    def flush_uses(self) -> None:
        """Write down which memories were used lately."""
        self.reader.flush_uses(self._housekeeping.renew)

    def spend(self, *, since: str = "") -> list[Spend]:
        """List what background work has cost, by day, purpose and model: calls, tokens, US dollars, energy."""
        return self.store.spend(since=since)

    def stats(self) -> Mapping[str, Any]:
        """Count what is stored."""
        return self.store.stats()

    def doctor(self, *, deep: bool = True) -> list[Finding]:
        """Check the store, its rows, the embedder and the queue."""
        return [*self.store.check(deep=deep), *self._housekeeping.check(self.embedding)]

    def backup(self, target: str | Path) -> Path:
        """Write a consistent copy of the store to a new file."""
        path = Path(target).expanduser()
        self.store.backup(path)
        return path

    def close(self) -> None:
        """Stop the worker and close the store; queued work stays queued."""
        if self._thread is not None:
            self._thread.stop()
        with contextlib.suppress(StoreClosed):  # closed before, and a recall that was under way has ended since
            self.flush_uses()
            self.embedding.give_up_turn()
        self.thinking.close()
        self.store.close()
