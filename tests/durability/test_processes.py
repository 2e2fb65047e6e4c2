"""Several processes and threads on one store: nothing is lost or done twice, nothing blocks, and all see the same data."""

import contextlib
import faulthandler
import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import pytest

from holdfast.engine import Engine
from holdfast.learning.capture_by_rules import extract_statements
from holdfast.protocols import MemoryFilter
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.engines import build_engine
from holdfast.types import Message, Put

from .support import (
    OPERATIONS_PER_SESSION,
    USER,
    KillSwitch,
    Operation,
    SharedClock,
    TinyEmbedder,
    audit,
    half_applied,
    import_paths,
    killable_engine,
    operation,
    perform,
    posix_only,
    start,
    tagging_preset,
    tiny_source,
)

pytestmark = [posix_only, pytest.mark.long]

PROCESSES = 4
THREADS = 2
SESSIONS = 3
_NEW_STORES = 30
_TIMEOUT = 120.0
_QUESTIONS = ("Where do I dwell?", "which feline", "beverage", "stamps from landt0-0x6", "office")


def open_tiny(folder: Path, *, worker: Literal["thread", "inline", "none"] = "none") -> Engine:
    return build_engine(
        SQLiteStore(folder / "memory.db"),
        preset=tagging_preset(),
        embedder=tiny_source(),
        clock=SharedClock(folder / "clock"),
        worker=worker,
    )


def answer(pipe: Connection) -> Any:
    """Return the next message of a child. Fail if none arrives in time."""
    assert pipe.poll(_TIMEOUT), "no message from the child"
    return pipe.recv()


def recalled(engine: Engine, now: datetime) -> list[list[str]]:
    """Return the ids that each question recalls."""
    return [[hit.id for hit in engine.recall(question, user=USER, limit=20, now=now)] for question in _QUESTIONS]


def settle(engine: Engine) -> None:
    """Work until no job is left. Also wait for the jobs that workers of other processes are running."""
    deadline = time.monotonic() + _TIMEOUT
    while engine.drain() or engine.jobs(states=["queued", "running"]) or engine.stats().waiting_for_vectors:
        assert time.monotonic() < deadline, "work is left over"
        time.sleep(0.01)


# Four processes, eight threads.


def run_plans(folder: Path, number: int, pipe: Connection) -> None:
    """Perform operations in several threads, with recalls in between, and send the results.

    Then receive a time, and send the ids that each question recalls at that time.
    """
    engine = open_tiny(folder, worker="thread")
    done: dict[Operation, str] = {}
    failed: list[str] = []

    def work(name: str) -> None:
        chance = random.Random(name)
        try:
            for index in range(SESSIONS * OPERATIONS_PER_SESSION):
                planned = operation(name, index)
                done[planned] = perform(engine, planned)
                if index % 3 == 0:
                    engine.recall(chance.choice(_QUESTIONS), user=USER)
                if index % 7 == 0:
                    engine.session(user=USER, id=planned.session).context("Where do I live?")
        except Exception as error:  # noqa: BLE001  (whatever it is, the test must see it)
            failed.append(f"{name}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(f"t{number}-{each}",)) for each in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pipe.send((done, failed))
    pipe.send(recalled(engine, pipe.recv()))
    pipe.recv()
    engine.close()


@pytest.mark.long
@pytest.mark.ledger("X6", "X20")
def test_four_processes_and_eight_threads_lose_nothing_and_end_in_the_same_state(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    children = [start(run_plans, tmp_path, number) for number in range(PROCESSES)]
    acknowledged: dict[Operation, str] = {}
    for _, pipe in children:
        done, failed = answer(pipe)
        assert failed == []
        acknowledged.update(done)
    assert len(acknowledged) == PROCESSES * THREADS * SESSIONS * OPERATIONS_PER_SESSION
    with open_tiny(tmp_path) as engine:
        settle(engine)
        asking = clock.now()
        expected = recalled(engine, asking)
    for _, pipe in children:
        pipe.send(asking)
    answers = [answer(pipe) for _, pipe in children]
    for child, pipe in children:
        pipe.send("end")
        child.join()
    assert all(expected[:-1])
    assert answers == [expected] * PROCESSES
    assert audit(tmp_path / "memory.db", clock, acknowledged) == []


def open_first(pipe: Connection) -> None:
    """Open the store in each folder that arrives in the pipe, and add a memory."""
    while (order := pipe.recv()) is not None:
        folder, number = order
        try:
            with open_tiny(folder) as engine:
                engine.remember(f"number{number} was here", user=USER)
            pipe.send(None)
        except Exception as error:  # noqa: BLE001  (as above)
            pipe.send("".join(traceback.format_exception(error)))


@pytest.mark.long
def test_processes_that_make_a_store_at_once_all_succeed(tmp_path: Path) -> None:
    children = [start(open_first) for _ in range(PROCESSES)]
    for attempt in range(_NEW_STORES):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        SharedClock(folder / "clock")
        for number, (_, pipe) in enumerate(children):
            pipe.send((folder, number))
        assert [answer(pipe) for _, pipe in children] == [None] * PROCESSES
        with open_tiny(folder) as engine:
            assert len(engine.memories(user=USER)) == PROCESSES
            assert all(finding.ok for finding in engine.doctor())
    for child, pipe in children:
        pipe.send(None)
        child.join()


# Changes are visible to other processes.


def run_calls(folder: Path, pipe: Connection) -> None:
    """Run the requested engine calls in another process, and send back the results."""
    engine = open_tiny(folder)
    while (order := pipe.recv()) is not None:
        name, given = order
        result = getattr(engine, name)(**given)
        pipe.send([(hit.text, [reason.arm for reason in hit.why]) for hit in result] if name == "recall" else str(result))
    engine.close()
    pipe.send("closed")


class Other:
    """Another process with the same file open."""

    def __init__(self, folder: Path) -> None:
        self._child, self._pipe = start(run_calls, folder)

    def ask(self, name: str, **given: object) -> Any:
        self._pipe.send((name, given))
        return answer(self._pipe)

    def end(self) -> None:
        self._pipe.send(None)
        assert answer(self._pipe) == "closed"
        self._child.join()


def test_a_search_by_meaning_follows_what_other_processes_change(tmp_path: Path) -> None:
    other = Other(tmp_path)
    with open_tiny(tmp_path) as engine:
        engine.remember("owns a bike", user=USER)
        assert [hit.text for hit in engine.recall("feline", user=USER, min_score=0.3)] == []
        other.ask("remember", text="cat", key="pet", user=USER)
        (found,) = engine.recall("feline", user=USER, min_score=0.3)
        assert found.text == "cat"
        assert [reason.arm for reason in found.why] == ["meaning"]
        assert other.ask("recall", query="feline", user=USER, min_score=0.3) == [("cat", ["meaning"])]
        engine.forget(key="pet", user=USER)
        assert other.ask("recall", query="feline", user=USER, min_score=0.3) == []
        other.ask("remember", text="dog", key="pet", user=USER)
        assert [hit.text for hit in engine.recall("feline", user=USER, min_score=0.3)] == []
    other.end()


@pytest.mark.long
def test_an_index_far_behind_is_loaded_again(tmp_path: Path) -> None:
    """The log of changes has a limited length. A process that missed more changes than that must still see all of them."""
    other = Other(tmp_path)
    with open_tiny(tmp_path) as engine:
        bike = engine.remember("owns a bike", user=USER)
        assert [hit.id for hit in engine.recall("bike", user=USER)] == [bike.id]
        for number in range(1010):
            other.ask("remember", text=f"likes fruit{number}", user=USER)
        other.ask("forget", id=bike.id)
        other.ask("drain")
        assert engine.recall("likes fruit777", user=USER, limit=1)[0].similarity == pytest.approx(1.0, abs=0.02)
        assert bike.id not in {hit.id for hit in engine.recall("owns a bike", user=USER)}
    other.end()


def test_a_new_process_can_search_after_everything_was_forgotten(tmp_path: Path) -> None:
    with open_tiny(tmp_path) as engine:
        engine.remember("cat", key="pet", user=USER)
        assert engine.recall("feline", user=USER)
        engine.forget(key="pet", user=USER)
    with open_tiny(tmp_path) as again:
        assert again.recall("feline", user=USER) == []


@pytest.mark.ledger("X5")
def test_a_process_keeps_its_file_lock_during_an_erasure(tmp_path: Path) -> None:
    """After an erasure, the process still has its locks on the store's file.

    Erasing reads the file. On POSIX, closing any handle of a file drops all locks that the process has on the file.
    """
    with open_tiny(tmp_path) as engine:
        engine.remember("a secret that goes away", user="zoe")
        assert engine.erase(user="zoe").verified
        first = Other(tmp_path)
        first.ask("remember", text="cat", user=USER)
        first.end()  # closing the last connection checkpoints the log into the file
        engine.remember("dog", user=USER)
        second = Other(tmp_path)
        assert "dog" in second.ask("memories", user=USER)
        second.ask("remember", text="bird", user=USER)
        second.end()
        assert {memory.text for memory in engine.memories(user=USER)} == {"cat", "dog", "bird"}
    with open_tiny(tmp_path) as again:
        assert {memory.text for memory in again.memories(user=USER)} == {"cat", "dog", "bird"}
        assert half_applied(tmp_path / "memory.db") == []


# Two workers and one job.


def run_slow_worker(folder: Path, pipe: Connection) -> None:
    """Start a digestion, wait for a signal, and then try to store the result."""

    def capture(messages: Sequence[Message]) -> list[Put]:
        pipe.send("digesting")
        pipe.recv()
        return extract_statements(messages)

    engine = killable_engine(folder / "memory.db", SharedClock(folder / "clock"), KillSwitch(), capture=capture)
    services(engine).jobs.run_one()
    pipe.send("over")
    pipe.recv()
    engine.close()


@pytest.mark.ledger("X6")
def test_a_job_taken_over_has_its_effect_once_and_the_late_result_is_dropped(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    with open_tiny(tmp_path) as engine:
        talk = engine.session(user=USER, id="one")
        talk.add("user", "I live in Lyon.", id="1")
        talk.end()
        slow, pipe = start(run_slow_worker, tmp_path)
        assert answer(pipe) == "digesting"
        clock.advance(timedelta(minutes=4))
        assert not services(engine).jobs.run_one(), "the lease still holds"
        clock.advance(timedelta(minutes=2))
        assert services(engine).jobs.run_one()
        (memory,) = engine.memories(user=USER)
        pipe.send("go on")
        assert answer(pipe) == "over"
        assert engine.memories(user=USER) == [memory]
        (job,) = engine.jobs()
        assert (job.state, job.attempt) == ("done", 2)
        assert [change.author.job for change in engine.history(memory.id)] == [job.id]
        pipe.send("end")
        slow.join()


@pytest.mark.ledger("X6")
def test_a_late_failure_does_not_undo_the_result_of_the_second_worker(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    failing = threading.Event()

    def capture(messages: Sequence[Message]) -> list[Put]:
        if failing.is_set():
            failing.clear()
            clock.advance(timedelta(minutes=6))
            assert services(second).jobs.run_one()
            raise RuntimeError("too late")
        return extract_statements(messages)

    first = killable_engine(tmp_path / "memory.db", clock, KillSwitch(), capture=capture)
    second = open_tiny(tmp_path)
    with first, second:
        talk = first.session(user=USER, id="one")
        talk.add("user", "I live in Lyon.", id="1")
        talk.end()
        failing.set()
        assert services(first).jobs.run_one()
        (job,) = first.jobs()
        assert (job.state, job.error) == ("done", None)
        assert len(first.memories(user=USER)) == 1


# Forks, in a separate interpreter, so that pytest itself is never forked.


def fork(how: str, work: Callable[[], None]) -> tuple[int, Callable[[], int]]:
    """Fork a child with ``os.fork`` or multiprocessing. Return its process id and a function that waits for its exit code."""
    if how == "multiprocessing":
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        assert child.pid is not None

        def joined() -> int:
            child.join()
            assert child.exitcode is not None
            return child.exitcode

        return child.pid, joined
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


_SESSIONS_EACH = 4
_FORKS = 25


def _plan(engine: Engine, name: str) -> None:
    for index in range(_SESSIONS_EACH * OPERATIONS_PER_SESSION):
        perform(engine, operation(name, index))
        if index % 5 == 0:
            engine.recall("Where do I dwell?", user=USER)


def fork_and_write(folder: Path, how: str) -> None:
    """Write in a parent and its child at the same time, both with a worker thread."""
    engine = open_tiny(folder, worker="thread")
    _plan(engine, "before")

    def work() -> None:
        _plan(engine, "child")
        engine.close()

    _, ended = fork(how, work)
    _plan(engine, "parent")
    assert ended() == 0
    _plan(engine, "after")
    engine.close()


def fork_and_close(folder: Path, how: str) -> None:
    """Close the parent's engine while the child keeps writing."""
    engine = open_tiny(folder)
    perform(engine, operation("before", 0))
    (to_parent, from_child), (to_child, from_parent) = os.pipe()[::-1], os.pipe()[::-1]

    def work() -> None:
        perform(engine, operation("child", 0))
        os.write(to_parent, b".")
        os.read(from_parent, 1)
        for index in range(1, OPERATIONS_PER_SESSION):
            perform(engine, operation("child", index))

    _, ended = fork(how, work)
    os.read(from_child, 1)
    engine.close()
    os.write(to_child, b".")
    assert ended() == 0


def fork_often(folder: Path, how: str) -> None:
    """Fork repeatedly while other threads of the parent read and write."""
    engine = open_tiny(folder, worker="thread")
    engine.remember("cat", user=USER)
    over = threading.Event()

    def write() -> None:
        for number in itertools.count():
            if over.is_set():
                return
            engine.session(user=USER, id="parent").add("user", f"said {number}", id=str(number))

    def read() -> None:
        while not over.is_set():
            engine.recall("feline", user=USER, limit=3)

    threads = [threading.Thread(target=write), threading.Thread(target=read), threading.Thread(target=read)]
    for thread in threads:
        thread.start()

    def work() -> None:
        faulthandler.dump_traceback_later(8, exit=True)  # a hanging child prints its traceback and exits with an error
        engine.session(user=USER, id="children").add("user", f"I am {os.getpid()}", id=str(os.getpid()))
        assert engine.recall("feline", user=USER)

    try:
        for _ in range(_FORKS):
            assert fork(how, work)[1]() == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()
    engine.close()


def fork_while_loading(folder: Path, how: str) -> None:
    """Fork while another thread loads the embedder and holds its lock."""
    loading, forked = threading.Event(), threading.Event()
    parent = os.getpid()

    def load() -> TinyEmbedder:
        if os.getpid() == parent:
            loading.set()
            assert forked.wait(_TIMEOUT)
        return TinyEmbedder()

    store = SQLiteStore(folder / "memory.db")
    source = EmbedderSource(name=TinyEmbedder.name, load=load)
    engine = build_engine(store, preset=tagging_preset(), embedder=source, clock=SharedClock(folder / "clock"), worker="none")
    engine.remember("cat", user=USER)
    thread = threading.Thread(target=engine.recall, args=("feline",), kwargs={"user": USER})
    thread.start()
    assert loading.wait(_TIMEOUT)

    def work() -> None:
        assert [hit.text for hit in engine.recall("feline", user=USER)] == ["cat"]

    pid, ended = fork(how, work)
    code: list[int] = []
    waiter = threading.Thread(target=lambda: code.append(ended()))
    waiter.start()
    waiter.join(60)
    if not code:
        os.kill(pid, signal.SIGKILL)
    waiter.join()
    forked.set()
    thread.join()
    engine.close()
    assert code == [0]


def forked(scenario: Callable[[Path, str], None], folder: Path, how: str) -> None:
    """Run a scenario in a new interpreter, and end all its processes afterwards."""
    code = f"""
        import sys
        from pathlib import Path
        from {__name__} import {scenario.__name__}
        {scenario.__name__}(Path(sys.argv[1]), {how!r})
    """
    child_log = folder / "child_log"
    with child_log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), str(folder)],
            env={**os.environ, "PYTHONPATH": import_paths()},
            stderr=stream,
            start_new_session=True,
        )
    try:
        ended = process.wait(_TIMEOUT)
    except subprocess.TimeoutExpired:
        ended = None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert ended == 0, child_log.read_text()


def missing_messages(names: Sequence[str], folder: Path) -> list[str]:
    """Return the client ids of the messages that these writers should have added but the store does not contain."""
    with open_tiny(folder) as engine:
        kept = {m.client_id for name in names for n in range(_SESSIONS_EACH) for m in engine.session(id=f"{name}-{n}").messages()}
        planned = [operation(name, index) for name in names for index in range(_SESSIONS_EACH * OPERATIONS_PER_SESSION)]
        return [each.client_id for each in planned if each.kind == "add" and each.client_id not in kept]


@pytest.mark.long
@pytest.mark.ledger("X6")
@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_forked_child_and_its_parent_write_at_once(tmp_path: Path, how: str) -> None:
    forked(fork_and_write, tmp_path, how)
    assert missing_messages(["before", "parent", "child", "after"], tmp_path) == []
    with open_tiny(tmp_path) as engine:
        engine.drain()
        assert all(finding.ok for finding in engine.doctor())
        digested = services(engine).store.memories(MemoryFilter(statuses=None))
    assert len([memory for memory in digested if memory.sources]) == 4 * _SESSIONS_EACH * 4
    assert half_applied(tmp_path / "memory.db") == []


@pytest.mark.ledger("X6", "U9")
@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_forked_child_loses_nothing_when_its_parent_closes(tmp_path: Path, how: str) -> None:
    forked(fork_and_close, tmp_path, how)
    with open_tiny(tmp_path) as engine:
        kept = [message.client_id for message in engine.session(id="child-0").messages()]
    assert kept == [f"child:{index}" for index in (0, 1, 3, 4, 6)]


@pytest.mark.long
@pytest.mark.ledger("X6")
def test_forks_during_reads_and_writes_lose_nothing(tmp_path: Path) -> None:
    forked(fork_often, tmp_path, "os.fork")
    with open_tiny(tmp_path) as engine:
        assert len(engine.session(id="children").messages()) == _FORKS
        numbers = [int(message.client_id or -1) for message in engine.session(id="parent").messages()]
        assert numbers == list(range(len(numbers)))
        engine.drain()
        assert all(finding.ok for finding in engine.doctor())
    assert half_applied(tmp_path / "memory.db") == []


@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_child_forked_while_another_thread_is_at_work_does_not_hang(tmp_path: Path, how: str) -> None:
    forked(fork_while_loading, tmp_path, how)
