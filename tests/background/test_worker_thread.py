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

from holdfast.background.worker_thread import WorkerThread
from holdfast.errors import ModelError
from holdfast.presets.default import DEFAULT
from holdfast.protocols.sentence_reader import Comparison, Reading
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


def test_a_hanging_call_does_not_prevent_the_program_from_exiting() -> None:
    hanging = Hanging()
    worker = WorkerThread(hanging.work, stop_timeout=0.1)
    worker.wake()
    assert hanging.started_event.wait(10)
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
    """A sentence reader that can be delayed. It then fails, so that rules take over."""

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
        assert reader.entered.wait(20)
        draining = threading.Thread(target=memory.drain)
        draining.start()
        draining.join(0.3)
        assert draining.is_alive()
        reader.released.set()
        draining.join(30)
        assert [each.text for each in memory.memories(user="ana")] == ["I live in Lyon."]
