"""The scheduler of an engine's background work.

The setting ``worker`` decides where the work runs: in a separate thread, in the calling thread after each write, or
only in ``drain()`` and in the command ``holdfast worker``.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from holdfast.background.housekeeping import Housekeeping
from holdfast.background.job_threads import JobThreads
from holdfast.background.jobs import JobRunner
from holdfast.background.worker_thread import WorkerThread
from holdfast.errors import StoreClosed
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.plain_kinds import adopt_recorded_kinds
from holdfast.protocols import Store
from holdfast.recall.embedding import Embedding
from holdfast.recall.reader import Reader
from holdfast.runtime import forks
from holdfast.runtime.priority import give_way
from holdfast.topic_files import FolderMirrors

Worker: TypeAlias = Literal["thread", "inline", "none"]
"""Where background work runs: in a thread, in each write before it returns, or only in ``drain()`` and ``holdfast worker``."""

log = logging.getLogger("holdfast")
_STOP_SECONDS = 20.0
"""Maximum time to wait for running jobs when the scheduler stops, in seconds."""
_SYNC_SECONDS = 2.0
"""Time between two scans of the topic files while idle, in seconds."""
_FLUSH_SECONDS = 2.0
"""Time between two writes that record which memories were used, in seconds.

Each write makes all readers open a new snapshot, so it should not happen often.
"""


class Scheduler:
    """Runs jobs, embedding, clean-up and the sync of topic files."""

    def __init__(
        self,
        store: Store,
        *,
        embedding: Embedding,
        reader: Reader,
        jobs: JobRunner,
        topic_files: FolderMirrors,
        housekeeping: Housekeeping,
        chat: BudgetedChat,
        worker: Worker,
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._reader = reader
        self._jobs = jobs
        self._topic_files = topic_files
        self._housekeeping = housekeeping
        self._chat = chat
        self._inline = worker == "inline"
        # With a chat model, jobs run in threads of their own: a silent model must not hold up embedding and housekeeping.
        self._threads = JobThreads(jobs.run_one, chat.parallel_jobs) if chat.name is not None and not self._inline else None
        self._thread = WorkerThread(self.run_once) if worker == "thread" else None
        self._next_sync = 0.0
        self._next_flush = 0.0
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process."""
        self._one_job = threading.RLock()

    def start(self) -> None:
        """Purge expired data, take over jobs of dead processes, and wake the worker thread if the engine has one."""
        self._housekeeping.clean_up()
        self._jobs.take_over()
        if self._thread is not None:
            self._thread.wake()  # an earlier process may have left work

    def stop(self) -> None:
        """Stop the worker threads, and record which memories were used. Queued jobs stay in the queue."""
        if self._thread is not None:
            self._thread.stop()
        if self._threads is not None and not self._threads.stop(_STOP_SECONDS):
            log.warning("A background job is still running after %d s. It is abandoned and redone later.", _STOP_SECONDS)
        with contextlib.suppress(StoreClosed):  # the store was closed before, while a recall was running
            self.flush()
            self._embedding.release_lease()

    def wake(self) -> None:
        """Notify the thread of new work. If the setting ``worker`` is ``inline``, there is no thread, and the work is run now."""
        if self._thread is not None:
            self._thread.wake()
        elif self._inline:
            while self._run_due():
                pass

    def drain(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Run all queued work. Return the amount of work done, as one number.

        The number is the sum of jobs run, texts embedded, topic files synced, sessions closed, and memories and messages
        cleaned up. ``progress`` is called while texts are embedded, with the number of embedded texts and the total number to
        embed.
        """
        self.flush()
        self._embedding.model.end_pauses()
        self._chat.presence.end_pauses()
        steps = self._housekeeping.tick()
        while self._run_jobs():
            steps += 1
        total = self._store.stats()["waiting_for_vectors"] if progress else 0
        embedded = 0
        while batch := self._embedding.catch_up(limit=32):
            embedded += batch
            if progress:
                progress(embedded, total)
        self._embedding.retire_other_models()
        steps += self._sync_files()
        while self._run_jobs():  # an edited file may have made a page too long
            steps += 1
        while self._store.tidy():
            pass
        steps += self._housekeeping.empty_log()  # a job may have erased what was said off the record
        return steps + embedded

    def run_once(self) -> bool:
        """Run one step: at most one job, a few embeddings, and clean-up that is due. Return False if there is nothing to do."""
        give_way()
        return self._run_due() or self._store.tidy()

    def flush(self) -> None:
        """Record in the store which memories were used since the last flush, and write the traces."""
        self._reader.uses.flush(self._housekeeping.renew)
        self._reader.traces.flush()

    def _run_due(self) -> bool:
        if self._inline or time.monotonic() >= self._next_flush:
            self._next_flush = time.monotonic() + _FLUSH_SECONDS
            self.flush()
            self._embedding.queries.drop_erased()
            adopt_recorded_kinds(self._store, self._reader.preset)
        busy = bool(self._housekeeping.tick())
        busy |= self._run_jobs()
        busy |= self._embedding.catch_up_under_lease(limit=8)
        if not busy:
            self._embedding.retire_other_models()
            if time.monotonic() >= self._next_sync:
                busy = bool(self._sync_files())
        return busy

    def _run_jobs(self) -> bool:
        """Run one queued job. If there are job threads, let them work for a moment instead. Return False if there was no job."""
        if self._threads is not None:
            return self._threads.step()
        with self._one_job:  # so that drain() waits for the job of the thread
            return self._jobs.run_one()

    def _sync_files(self) -> int:
        self._next_sync = time.monotonic() + _SYNC_SECONDS
        done = self._topic_files.sync()
        return done.read_in + done.written
