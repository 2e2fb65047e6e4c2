"""Background jobs are queued in the transaction that causes them, retried, marked dead if they keep failing, and never stuck."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.learning.capture_by_rules import extract_statements
from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.presets.default import DEFAULT
from holdfast.protocols import Role, SentenceReader
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from holdfast.types import Job, Message, Put

from .support import (
    USER,
    KillPoint,
    KillSwitch,
    SharedClock,
    TinyEmbedder,
    audit,
    half_applied,
    killable_engine,
    log_to_file,
    operation,
    perform,
    posix_only,
    start,
)

_TIMEOUT = 60.0
Mode = Literal["thread", "inline", "none"]


@dataclass
class Capture:
    """The default extraction rules, which can be made to fail."""

    failing: bool = False
    calls: int = 0
    texts: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], _reader: SentenceReader | None = None) -> list[Put]:
        self.calls += 1
        self.texts += [message.text for message in messages]
        if self.failing:
            raise RuntimeError("the model is on holiday")
        return extract_statements(messages)


def opened(path: Path, clock: Any, capture: Capture | None = None, *, worker: Mode = "none", source: Any = None) -> Engine:
    # Nothing is superseded here: another town does not retire the previous one.
    loose = ReconcileRules(supersede=False, same_distance=None)
    preset = replace(DEFAULT, extractor=replace(STATEMENTS, rules=capture or Capture()), reconcile_rules=loose)
    return build_engine(SQLiteStore(path / "memory.db"), preset=preset, embedder=source, clock=clock, worker=worker)


def ended(engine: Engine, name: str = "one", text: str = "I live in Lyon.") -> None:
    talk = engine.session(user=USER, id=name)
    talk.add("user", text)
    talk.end()


def only_job(engine: Engine) -> Job:
    (job,) = engine.jobs()
    return job


def eventually(what: Callable[[], bool]) -> bool:
    """Wait until a condition is true, and return True. Return False if it is still false after the timeout."""
    deadline = time.monotonic() + _TIMEOUT
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


# Retries, dead jobs, restarts.


@pytest.mark.ledger("X6")
def test_a_failed_job_is_retried_with_a_delay_that_doubles_each_time(tmp_path: Path) -> None:
    clock, capture = FrozenClock(), Capture(failing=True)
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        for attempt, pause in enumerate((5, 10, 20, 40), 1):
            engine.drain()
            job = only_job(engine)
            assert (job.state, job.attempt) == ("queued", attempt)
            assert job.not_before - clock.now() == timedelta(seconds=pause)
            assert job.error == "RuntimeError: the model is on holiday"
            clock.advance(timedelta(seconds=pause - 1))
            engine.drain()
            assert capture.calls == attempt, "it was tried before its time"
            clock.advance(timedelta(seconds=1))
        capture.failing = False
        engine.drain()
        assert (only_job(engine).state, only_job(engine).error) == ("done", None)
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


@pytest.mark.ledger("X6")
def test_after_five_attempts_a_job_is_set_aside_visibly_and_can_be_run_again(tmp_path: Path) -> None:
    clock, capture = FrozenClock(), Capture(failing=True)
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        for _ in range(8):
            engine.drain()
            clock.advance(timedelta(minutes=2))
        assert capture.calls == 5
    with opened(tmp_path, clock, capture) as again:
        (dead,) = again.jobs(states=["dead"])
        assert dead.error == "RuntimeError: the model is on holiday"
        assert dead.finished_at is not None
        (finding,) = [finding for finding in again.doctor() if finding.check == "jobs"]
        assert not finding.ok
        assert "1 dead" in finding.detail
        assert [message.text for message in again.session(id="one").messages()] == ["I live in Lyon."], "the raw text stays"
        capture.failing = False
        again.drain()
        assert capture.calls == 5, "the dead are left alone until someone asks"
        assert again.rerun(dead.id).state == "queued"
        again.drain()
        assert only_job(again).state == "done"
        assert [memory.text for memory in again.memories(user=USER)] == ["I live in Lyon."]
        with pytest.raises(NotFound):
            again.rerun(dead.id)


def test_one_job_that_fails_does_not_hold_up_the_others(tmp_path: Path) -> None:
    class Picky(Capture):
        def __call__(self, messages: Sequence[Message], _reader: SentenceReader | None = None) -> list[Put]:
            self.failing = "Paris" in messages[0].text
            return super().__call__(messages)

    with opened(tmp_path, FrozenClock(), Picky()) as engine:
        for number, town in enumerate(("Lyon", "Paris", "Rome")):
            ended(engine, f"s{number}", f"I live in {town}.")
        engine.drain()
        assert {memory.text for memory in engine.memories(user=USER)} == {"I live in Lyon.", "I live in Rome."}
        assert sorted(job.state for job in engine.jobs()) == ["done", "done", "queued"]


# Ended sessions and the jobs they queue.


@pytest.mark.ledger("R1")
def test_a_silent_session_closes_after_seven_minutes_and_is_digested(tmp_path: Path) -> None:
    clock = FrozenClock()
    with opened(tmp_path, clock) as engine:
        talk = engine.session(user=USER, id="one")
        talk.add("user", "I live in Lyon.")
        clock.advance(timedelta(minutes=5))
        talk.add("assistant", "A fine town.")
        clock.advance(timedelta(minutes=6, seconds=59))
        engine.drain()
        assert engine.sessions()[0].status == "open"
        clock.advance(timedelta(seconds=1))
        engine.drain()
        (record,) = engine.sessions()
        assert (record.status, record.digested_to) == ("idle", talk.messages()[-1].seq)
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


def test_a_resumed_session_is_digested_from_where_the_last_digest_stopped(tmp_path: Path) -> None:
    clock, capture = FrozenClock(), Capture()
    with opened(tmp_path, clock, capture) as engine:
        talk = engine.session(user=USER, id="one")
        talk.add("user", "I live in Lyon.")
        clock.advance(timedelta(minutes=8))
        engine.drain()
        talk.add("user", "I work at a bakery.")
        assert engine.sessions()[0].status == "open"
        talk.end()
        talk.end()
        engine.drain()
        engine.session(user=USER, id="one").end()
        engine.drain()
        assert capture.texts == ["I live in Lyon.", "I work at a bakery."]
        assert len(engine.jobs()) == 2
        assert len(engine.memories(user=USER)) == 2


def test_a_message_that_comes_while_its_session_is_digested_is_digested_too(tmp_path: Path) -> None:
    clock, late = FrozenClock(), ["I work at a bakery."]

    class Interrupted(Capture):
        def __call__(self, messages: Sequence[Message], _reader: SentenceReader | None = None) -> list[Put]:
            if late:
                engine.session(user=USER, id="one").add("user", late.pop())
            return super().__call__(messages)

    engine = opened(tmp_path, clock, Interrupted())
    with engine:
        ended(engine)
        engine.drain()
        (record,) = engine.sessions()
        assert record.status == "open"
        assert record.digested_to < engine.session(id="one").messages()[-1].seq
        clock.advance(timedelta(minutes=8))
        engine.drain()
        assert {memory.text for memory in engine.memories(user=USER)} == {"I live in Lyon.", "I work at a bakery."}


def run_until_killed(folder: Path, kill_point: KillPoint | None, operations: int, pipe: Connection) -> None:
    """Perform ``operations`` operations. With a kill point, perform one more, during which the process is killed.

    Otherwise, wait to be killed by the test.
    """
    log_to_file(folder)
    engine = killable_engine(folder / "memory.db", SharedClock(folder / "clock"), KillSwitch(), worker="none")
    for index in range(operations):
        pipe.send((operation("left", index), perform(engine, operation("left", index))))
    if kill_point is not None:
        doomed = KillSwitch(kill_point)
        services(engine).store.kill_switch = doomed  # type: ignore[attr-defined]
        planned = operation("left", operations)
        pipe.send((planned, perform(engine, planned)))
    pipe.send(None)
    pipe.recv()


@pytest.mark.long
@posix_only
@pytest.mark.ledger("U9", "X6")
def test_a_session_left_open_by_a_killed_process_is_closed_and_digested(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    child, pipe = start(run_until_killed, tmp_path, None, 4)
    acknowledged = dict(iter(pipe.recv, None))
    child.kill()
    child.join()
    with opened(tmp_path, clock) as engine:
        engine.drain()
        assert [record.status for record in engine.sessions()] == ["open"]
        clock.advance(timedelta(minutes=8))
        engine.drain()
        assert [record.status for record in engine.sessions()] == ["idle"]
        assert sum(1 for memory in engine.memories(user=USER) if memory.origin == "auto") == 3
    assert audit(tmp_path / "memory.db", clock, acknowledged) == []


@pytest.mark.long
@posix_only
@pytest.mark.ledger("X6")
def test_ending_a_session_and_queueing_its_digestion_is_atomic(tmp_path: Path) -> None:
    """``end()`` stores the ended session and its digest job, or neither.

    The process is killed before each statement, before the commit, and after the commit.
    """
    seen: dict[tuple[str, bool], int] = {}
    dooms = [*(KillPoint("before statement", nth) for nth in range(1, 12)), KillPoint("before commit"), KillPoint("after commit")]
    for number, kill_point in enumerate(dooms):
        folder = tmp_path / str(number)
        folder.mkdir()
        child, pipe = start(run_until_killed, folder, kill_point, 7)
        try:
            while pipe.recv() is not None:
                pass
        except EOFError:
            child.join()
            assert child.exitcode == -signal.SIGKILL
        else:
            child.kill()  # it runs fewer statements than nth
            child.join()
            continue
        with opened(folder, SharedClock(folder / "clock")) as engine:
            (record,) = engine.sessions()
            outcome = (record.status, bool(engine.jobs()))
        assert outcome in {("open", False), ("ended", True)}, kill_point
        assert half_applied(folder / "memory.db") == []
        seen[outcome] = seen.get(outcome, 0) + 1
    assert seen["ended", True] == 1
    assert seen["open", False] >= 4


# Leases.


def take_job_and_hang(folder: Path, pipe: Connection) -> None:
    """Take a job, report it, and never finish it."""

    def capture(messages: Sequence[Message]) -> list[Put]:
        pipe.send("digesting")
        pipe.recv()
        return []

    log_to_file(folder)
    services(killable_engine(folder / "memory.db", SharedClock(folder / "clock"), KillSwitch(), capture=capture)).jobs.run_one()


@posix_only
@pytest.mark.ledger("X6", "U9")
def test_the_job_of_a_killed_worker_of_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    clock, capture = SharedClock(tmp_path / "clock"), Capture()
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        child, pipe = start(take_job_and_hang, tmp_path)
        assert pipe.recv() == "digesting"
        engine.drain()
        assert (capture.calls, only_job(engine).state) == (0, "running"), "it is still alive"
        child.kill()
        child.join()
        engine.drain()
        assert (capture.calls, only_job(engine).state, only_job(engine).attempt) == (1, "done", 2)


@posix_only
@pytest.mark.ledger("X6", "U9")
def test_the_job_of_a_lost_worker_elsewhere_is_taken_over_when_its_lease_runs_out(tmp_path: Path) -> None:
    clock, capture = SharedClock(tmp_path / "clock"), Capture()
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        now = clock.now()
        with services(engine).store.write() as tx:
            tx.lease_job(worker="another-machine:1:life:1", now=now, until=now + timedelta(minutes=5))
        assert only_job(engine).state == "running"
        clock.advance(timedelta(minutes=4, seconds=50))
        engine.drain()
        assert (capture.calls, only_job(engine).state) == (0, "running")
        clock.advance(timedelta(seconds=11))
        engine.drain()
        assert (capture.calls, only_job(engine).state, only_job(engine).attempt) == (1, "done", 2)
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


def kill_a_worker_during_the_job(folder: Path) -> None:
    child, pipe = start(take_job_and_hang, folder)
    assert pipe.recv() == "digesting"
    child.kill()
    child.join()


@posix_only
@pytest.mark.ledger("X6", "U9")
def test_a_worker_death_does_not_count_as_a_failure_of_its_job(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    with opened(tmp_path, clock) as engine:
        ended(engine)
        for _ in range(7):
            kill_a_worker_during_the_job(tmp_path)
            services(engine).jobs.take_over()
            clock.advance(timedelta(minutes=6))
        engine.drain()
        assert (only_job(engine).state, only_job(engine).error) == ("done", None)
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


@pytest.mark.ledger("X6")
def test_a_job_that_kills_every_worker_waits_longer_each_time_and_is_set_aside_in_the_end(tmp_path: Path) -> None:
    clock, capture = FrozenClock(), Capture()
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        store, jobs = services(engine).store, services(engine).jobs
        pauses, gone = [], f"{socket.gethostname()}:{dead_process()}:life:1"
        for _ in range(20):
            with store.write() as tx:
                tx.lease_job(worker=gone, now=clock.now(), until=clock.now() + timedelta(minutes=5))
            assert jobs.take_over() == 1
            pauses.append((only_job(engine).not_before - clock.now()).total_seconds())
            clock.advance(timedelta(hours=2))
        assert pauses[:6] == [0, 0, 5, 10, 20, 40]
        assert max(pauses) == 600
        jobs.run_one()
        (dead,) = engine.jobs(states=["dead"])
        assert capture.calls == 0
        assert "20 workers died" in (dead.error or "")
        assert engine.rerun(dead.id).attempt == 0
        engine.drain()
        assert only_job(engine).state == "done"


def dead_process() -> int:
    """Return the id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.ledger("X6")
def test_failures_and_worker_deaths_are_counted_separately(tmp_path: Path) -> None:
    clock, capture = FrozenClock(), Capture(failing=True)
    with opened(tmp_path, clock, capture) as engine:
        ended(engine)
        for _ in range(3):
            with services(engine).store.write() as tx:
                tx.lease_job(worker="another-machine:1:life:1", now=clock.now(), until=clock.now() + timedelta(minutes=5))
            clock.advance(timedelta(minutes=6))
        for failure in range(1, 6):
            engine.drain()
            assert (only_job(engine).state, capture.calls) == ("dead" if failure == 5 else "queued", failure)
            clock.advance(timedelta(minutes=2))


# Workers.


def test_inline_work_is_done_when_the_call_returns(tmp_path: Path) -> None:
    with opened(tmp_path, FrozenClock(), worker="inline") as engine:
        ended(engine)
        assert only_job(engine).state == "done"
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


def test_without_a_worker_a_job_stays_queued_until_the_scheduler_runs(tmp_path: Path) -> None:
    with opened(tmp_path, FrozenClock()) as engine:
        ended(engine)
        assert only_job(engine).state == "queued"
        assert services(engine).scheduler.run_once()
        assert only_job(engine).state == "done"
        assert not services(engine).scheduler.run_once()


def test_a_worker_thread_does_the_work_by_itself(tmp_path: Path) -> None:
    with opened(tmp_path, FrozenClock(), worker="thread") as engine:
        ended(engine)
        assert eventually(lambda: only_job(engine).state == "done")
        assert [memory.text for memory in engine.memories(user=USER)] == ["I live in Lyon."]


def test_closing_waits_for_the_running_step(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Capture):
        def __call__(self, messages: Sequence[Message], _reader: SentenceReader | None = None) -> list[Put]:
            begun.set()
            assert go_on.wait(_TIMEOUT)
            return super().__call__(messages)

    engine = opened(tmp_path, FrozenClock(), Slow(), worker="thread")
    ended(engine)
    assert begun.wait(_TIMEOUT)
    closing = threading.Thread(target=engine.close)
    closing.start()
    go_on.set()
    closing.join(_TIMEOUT)
    assert not closing.is_alive()
    with opened(tmp_path, FrozenClock()) as again:
        assert only_job(again).state == "done"


@pytest.mark.ledger("X6")
def test_a_worker_thread_continues_the_work_of_an_earlier_process(tmp_path: Path) -> None:
    """Opening the engine starts the worker thread. No other call is needed."""
    clock = FrozenClock()
    with opened(tmp_path, clock) as before:
        ended(before)
        before.session(user=USER, id="two").add("user", "I work at a bakery.")
    clock.advance(timedelta(minutes=8))
    with opened(tmp_path, clock, worker="thread") as engine:
        assert eventually(lambda: len(engine.memories(user=USER)) == 2)


class Broken(TinyEmbedder):
    """An embedder that raises an unexpected error."""

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        raise RuntimeError("the accelerator went away")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_broken_embedder_does_not_stop_the_worker_thread(tmp_path: Path) -> None:
    clock = FrozenClock()
    with opened(tmp_path, clock) as before:
        for number in range(3):
            ended(before, f"s{number}", f"I live in town{number}.")
    source = EmbedderSource(name=Broken.name, load=Broken)
    with opened(tmp_path, clock, worker="thread", source=source) as engine:
        services(engine).scheduler.wake()
        assert eventually(lambda: [job.state for job in engine.jobs()] == ["done"] * 3)
