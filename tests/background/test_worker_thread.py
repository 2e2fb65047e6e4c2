"""Stopping the background thread, and taking over the jobs of dead workers."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.background.job_threads import JobThreads
from holdfast.background.worker_thread import WorkerThread
from holdfast.errors import ModelError, ModelUnavailable
from holdfast.models.callables import CallableChat
from holdfast.models.chat_budget import BudgetedChat, ChatSource
from holdfast.presets.default import DEFAULT
from holdfast.protocols.sentence_reader import Comparison, Reading
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.priority import give_way, urgent
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from holdfast.types import Job


class Hanging:
    """A job that does not end until it is released."""

    def __init__(self) -> None:
        self.started_event = threading.Event()
        self.released = threading.Event()

    def work(self) -> bool:
        """Wait until the job is released."""
        self.started_event.set()
        self.released.wait(30)
        return False


class Counting:
    """A queue of short jobs. It counts how many run at the same time."""

    def __init__(self, jobs: int) -> None:
        self.left = jobs
        self.running = self.most = 0
        self.pauses: list[float] = []
        self._guard = threading.Lock()

    def work(self) -> bool:
        """Run one job. Return False if there is none."""
        with self._guard:
            if not self.left:
                return False
            self.left -= 1
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.02)
        begin = time.monotonic()
        give_way()
        with self._guard:
            self.pauses.append(time.monotonic() - begin)
            self.running -= 1
        return True


def test_background_work_has_low_priority() -> None:
    by_worker, by_job_thread = Counting(1), Counting(1)
    worker, threads = WorkerThread(by_worker.work), JobThreads(by_job_thread.work, lambda: 1)
    urgent.enter()
    try:
        worker.wake()
        while threads.step():
            pass
        while not by_worker.pauses:
            time.sleep(0.01)
    finally:
        urgent.leave()
        worker.stop()
    assert min(by_worker.pauses + by_job_thread.pauses) > 0.04


def test_fewer_jobs_run_at_once_as_soon_as_the_limit_is_lower() -> None:
    jobs, limit = Counting(40), [4]
    threads = JobThreads(jobs.work, lambda: limit[0])
    while jobs.most < 4:
        threads.step()
    limit[0] = 2
    while jobs.running > 2:
        threads.step()
    jobs.most = 0
    while threads.step():
        pass
    assert (jobs.left, jobs.most) == (0, 2)


def test_while_the_model_fails_two_jobs_run_at_once(tmp_path: Path) -> None:
    source = ChatSource(name="m", load=lambda: CallableChat(lambda _: "", name="m"), max_calls=5)
    chat = BudgetedChat(SQLiteStore(tmp_path / "m.db"), source, SystemClock())
    assert chat.parallel_jobs() == 5
    with pytest.raises(ModelUnavailable), chat.presence.watch():
        raise ModelUnavailable("refused")
    assert chat.parallel_jobs() == 2
    with chat.presence.watch():
        pass
    assert chat.parallel_jobs() == 5


def test_while_a_silent_model_is_not_called_one_job_runs_at_a_time(tmp_path: Path) -> None:
    source = ChatSource(name="m", load=lambda: CallableChat(lambda _: "", name="m"), max_calls=5)
    chat = BudgetedChat(SQLiteStore(tmp_path / "m.db"), source, SystemClock())
    chat.presence.silence.fail("no answer within 60 s")
    assert chat.parallel_jobs() == 1
    chat.presence.silence.end_pause()
    assert chat.parallel_jobs() == 5, "another job may run while one asks whether the model answers again"


def test_a_hanging_call_does_not_prevent_the_program_from_exiting() -> None:
    hanging = Hanging()
    worker = WorkerThread(hanging.work, stop_timeout=0.1)
    worker.wake()
    assert hanging.started_event.wait(60)
    started = time.monotonic()
    worker.stop()
    hanging.released.set()
    assert time.monotonic() - started < 10


@pytest.mark.ledger("X6")
def test_a_job_that_another_process_has_taken_over_meanwhile_is_left_to_it(tmp_path: Path, clock: FrozenClock) -> None:
    class Racing(SQLiteStore):
        """A store in which another process takes a job after the jobs were listed."""

        raced: Callable[[], object] = staticmethod(lambda: None)

        def jobs(self, **wanted: Any) -> list[Job]:
            found = super().jobs(**wanted)
            self.raced()
            return found

    ours = Racing(tmp_path / "memory.db")
    with (
        build_engine(ours, preset=DEFAULT, worker="none", clock=clock) as memory,
        build_engine(SQLiteStore(tmp_path / "memory.db"), preset=DEFAULT, worker="none", clock=clock) as other,
    ):
        with memory.session(user="ana") as talk:
            talk.add("user", "I live in Lyon.")
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        with ours.write() as tx:
            gone = f"{socket.gethostname()}:{child.pid}:life:1"
            tx.lease_job(worker=gone, now=clock.now(), until=clock.now() + timedelta(minutes=5))
        ours.raced = other.drain
        assert services(memory).jobs.take_over() == 0
        assert [job.state for job in other.jobs()] == ["done"]


class SlowReader:
    """A sentence reader that can be made to wait. Every call ends with an error, so that rules do the work."""

    name = "slow"

    def __init__(self) -> None:
        self.entered, self.released = threading.Event(), threading.Event()
        self.released.set()

    def read(self, sentence: str, *, before: str = "") -> Reading:
        del sentence, before
        if not self.released.is_set():
            self.entered.set()
        self.released.wait(30)
        raise ModelError("The reader is away.")

    def compare(self, old: str, new: str) -> Comparison:
        raise ModelError("The reader is away.")


def test_drain_waits_for_the_job_running_in_the_worker_thread(tmp_path: Path) -> None:
    reader = SlowReader()
    store = SQLiteStore(tmp_path / "memory.db")
    with build_engine(store, preset=DEFAULT, sentence_reader=reader, worker="thread") as memory:
        talk = memory.session(user="ana")
        talk.add("user", "I live in Lyon.")
        reader.released.clear()
        talk.end()
        assert reader.entered.wait(60)
        draining = threading.Thread(target=memory.drain)
        draining.start()
        draining.join(0.3)
        assert draining.is_alive()
        reader.released.set()
        draining.join(30)
        assert [each.text for each in memory.memories(user="ana")] == ["I live in Lyon."]
