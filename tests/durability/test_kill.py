"""kill -9 at random and at named points: acknowledged operations are present once and digested once."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from holdfast.services import services

from .support import (
    OPERATIONS_PER_SESSION,
    KillableStore,
    KillPoint,
    KillSwitch,
    Operation,
    SharedClock,
    audit,
    child_log,
    killable_engine,
    log_to_file,
    operation,
    perform,
    posix_only,
    start,
)

pytestmark = [posix_only, pytest.mark.long]

STORES = 10
SAMPLE = 4
"""Number of stores that run without ``--full``. Every second store has worker threads."""
KILLS_PER_STORE = 40
WORKER_KILLS_PER_STORE = 10
_TIMEOUT = 200.0
"""Seconds after which a run counts as stuck. It is long, because the machine may be busy and the fork server starts first."""
_PAUSE = 0.1
"""Seconds between two operations of a writer that is not killed any more, so that the worker can keep up with it."""

WRITER_POINTS = (
    "before statement",
    "before commit",
    "after commit",
    "file:log write",
    "file:log sync",
    "file:database write",
    "file:database sync",
)
WORKER_POINTS = (
    *WRITER_POINTS,
    "digesting",
    "digested",
    "before finishing statement",
    "before finishing commit",
    "after finishing commit",
    "embedding",
)
_RARE = {
    "file:database sync": 2, "file:log sync": 8, "before commit": 8, "after commit": 8, "embedding": 2, "digesting": 2, "digested": 2,
    "before finishing commit": 2, "after finishing commit": 2,
}  # fmt: skip
_OFTEN = {"before statement": 80, "file:log write": 60, "before finishing statement": 25, "file:database write": 30}


@dataclass(frozen=True, slots=True)
class Part:
    """The arguments of a child process."""

    name: str
    folder: Path
    kill_point: KillPoint | None = None
    start: int = 0
    threads: bool = False
    """True if the writer's engine has its own worker thread."""
    too_early: bool = False
    """True to acknowledge operations before the commit, a mistake that the audit must find."""


def run_writer(part: Part, pipe: Connection) -> None:
    """Perform a writer's operations from number ``part.start`` on. Acknowledge each to the test when it has returned."""
    log_to_file(part.folder)
    clock, kill_switch = SharedClock(part.folder / "clock"), KillSwitch(part.kill_point)
    engine = killable_engine(
        part.folder / "memory.db", clock, kill_switch, worker="thread" if part.threads else "none", checkpoint_pages=30
    )
    index = part.start
    while clock.stage == 0 or index % OPERATIONS_PER_SESSION:
        if part.too_early:
            store = services(engine).store
            assert isinstance(store, KillableStore)
            store.before_commit = lambda number=index: pipe.send((number, "?"))  # type: ignore[misc]
        id = perform(engine, operation(part.name, index))
        pipe.send((index, id))
        index += 1
        if part.kill_point is None and clock.stage == 0:
            time.sleep(_PAUSE)
    engine.close()


def run_worker(part: Part, pipe: Connection) -> None:
    """Do background work until the stage of the shared clock is 2 and no work is left."""
    log_to_file(part.folder)
    clock, kill_switch = SharedClock(part.folder / "clock"), KillSwitch(part.kill_point)
    engine = killable_engine(part.folder / "memory.db", clock, kill_switch, checkpoint_pages=30)
    steps = 0
    while True:
        stage = clock.stage
        if services(engine).scheduler.run_once():
            steps += 1
            pipe.send((steps, "step"))
        elif stage == 2:
            break
        else:
            time.sleep(0.01)
    engine.close()


@dataclass
class Child:
    """A process that is restarted each time it is killed."""

    part: Part
    process: Any
    pipe: Connection
    heard: int = 0
    kill_at: float | None = None


@dataclass
class Run:
    """One store, two writers and one worker, all of which are killed and restarted."""

    folder: Path
    seed: int
    too_early: bool = False
    threads: bool = False
    kills: Counter[str] = field(default_factory=Counter)
    worker_kills: int = 0
    acknowledged: dict[Operation, str] = field(default_factory=dict)
    reported: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = SharedClock(self.folder / "clock")
        self.chance = random.Random(self.seed)
        self._points = {"w": self._shuffled(WRITER_POINTS), "k": self._shuffled(WORKER_POINTS)}

    def _shuffled(self, points: tuple[str, ...]) -> Iterator[str]:
        """Yield the named kill points in random order, repeatedly, mixed with "any moment" (a kill at a random time)."""
        while True:
            mixed = [*points, *("any moment" for _ in points[::2])]
            yield from self.chance.sample(mixed, len(mixed))

    @property
    def enough(self) -> bool:
        return self.kills.total() >= KILLS_PER_STORE and self.worker_kills >= WORKER_KILLS_PER_STORE

    def kill_point(self, name: str) -> KillPoint | None:
        writer_kills = self.kills.total() - self.worker_kills
        if self.enough or (name != "worker" and writer_kills >= KILLS_PER_STORE - WORKER_KILLS_PER_STORE):
            return None  # a writer that is not killed any more gives the worker something to do
        point = next(self._points["k" if name == "worker" else "w"])
        return KillPoint(point, self.chance.randint(1, _OFTEN.get(point, _RARE.get(point, 6))))

    def begin(self, name: str, first: int = 0) -> Child:
        point = self.kill_point(name)
        # The threads of both writers would take nearly all jobs, and the worker would rarely reach its kill point.
        threads = self.threads and not (name == "right" and point is None)
        part = Part(name, self.folder, point, first, threads, self.too_early)
        return Child(part, *start(run_worker if name == "worker" else run_writer, part))

    def go(self) -> None:
        children = [self.begin("left"), self.begin("right"), self.begin("worker")]
        deadline = time.monotonic() + _TIMEOUT
        try:
            while children:
                assert time.monotonic() < deadline, f"stuck after {dict(self.kills)}"
                due = [child.kill_at for child in children if child.kill_at is not None]
                pause = max(0.0, min([*due, time.monotonic() + 1.0]) - time.monotonic())
                ready = wait([child.pipe for child in children], timeout=pause)
                children = [after for child in children if (after := self.attend(child, heard=child.pipe in ready)) is not None]
                if self.enough and not self.clock.stage:
                    self.clock.stage = 1
                if self.clock.stage == 1 and {child.part.name for child in children} == {"worker"}:
                    self.clock.stage = 2
        finally:
            for child in children:
                child.process.kill()
                child.process.join()

    def attend(self, child: Child, *, heard: bool) -> Child | None:
        """Serve a child once: kill it if its time has come, read its message if there is one, and restart it if it has ended."""
        if child.kill_at is not None and time.monotonic() >= child.kill_at:
            child.kill_at = None
            with contextlib.suppress(ProcessLookupError):  # it has already finished
                os.kill(child.process.pid, signal.SIGKILL)
        if not heard:
            return child
        try:
            index, id = child.pipe.recv()
        except EOFError:
            return self.restart(child)
        child.heard += 1
        self.hear(child, index, id)
        kill_point = child.part.kill_point
        if kill_point is not None and kill_point.point == "any moment" and child.heard == kill_point.nth:
            child.kill_at = time.monotonic() + self.chance.uniform(0, 0.004)
        return child

    def hear(self, child: Child, index: int, id: str) -> None:
        if child.part.name == "worker":
            return
        planned = operation(child.part.name, index)
        before = self.acknowledged.get(planned, id)
        if not self.too_early and before != id:
            self.reported.append(f"{planned.client_id} was acknowledged as {before} and then as {id}")
        self.acknowledged[planned] = id

    def restart(self, child: Child) -> Child | None:
        child.process.join()
        child.pipe.close()
        if child.process.exitcode == 0:
            return None
        assert child.process.exitcode == -signal.SIGKILL, child_log(self.folder).read_text()
        assert child.part.kill_point is not None
        self.kills[child.part.kill_point.point] += 1
        if child.part.name == "worker":
            self.worker_kills += 1
            self.clock.advance(timedelta(minutes=6))  # let its lease expire
        mine = [planned.index for planned in self.acknowledged if planned.client_id.startswith(f"{child.part.name}:")]
        return self.begin(child.part.name, max(mine, default=-1) + 1)


@pytest.mark.ledger("X6", "U9", "L2", "X20")
@pytest.mark.parametrize(
    "seed", [*range(SAMPLE), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(SAMPLE, STORES))]
)
def test_nothing_acknowledged_is_lost_or_doubled_by_forty_kills(tmp_path: Path, seed: int) -> None:
    run = Run(tmp_path, seed, threads=seed % 2 == 1)
    run.go()
    assert run.enough
    assert len(run.acknowledged) >= 2 * OPERATIONS_PER_SESSION
    assert run.reported == []
    assert audit(tmp_path / "memory.db", run.clock, run.acknowledged) == []


@pytest.mark.ledger("X6", "U9")
@pytest.mark.parametrize(
    ("point", "nth"),
    [
        *((point, 1) for point in WORKER_POINTS),
        ("before statement", 9),
        ("before finishing statement", 7),
        ("before finishing statement", 20),
        ("file:log write", 12),
        ("file:database write", 3),
    ],
)
def test_a_worker_killed_at_a_named_point_leaves_its_work_to_the_next(tmp_path: Path, point: str, nth: int) -> None:
    run = Run(tmp_path, seed=nth)
    acknowledged = run_plan(run, sessions=2)
    assert run_child(run, Part("worker", tmp_path, KillPoint(point, nth))) == -signal.SIGKILL
    assert audit(tmp_path / "memory.db", run.clock, acknowledged) == []


@pytest.mark.ledger("X6", "U9", "L2")
@pytest.mark.parametrize(
    ("point", "nth"),
    [
        *((point, nth) for point in WRITER_POINTS for nth in (1, 2)),
        ("before statement", 61),
        ("before commit", 11),
        ("file:log write", 77),
    ],
)
def test_a_writer_killed_at_a_named_point_continues_where_it_stopped(tmp_path: Path, point: str, nth: int) -> None:
    run = Run(tmp_path, seed=nth)
    assert run_child(run, Part("left", tmp_path, KillPoint(point, nth))) == -signal.SIGKILL
    last = max([planned.index for planned in run.acknowledged], default=-1)
    run.clock.stage = 1
    assert run_child(run, Part("left", tmp_path, None, last + 1)) == 0
    assert run.reported == []
    assert audit(tmp_path / "memory.db", run.clock, run.acknowledged) == []


def test_the_audit_detects_operations_acknowledged_before_the_commit(tmp_path: Path) -> None:
    """The audit must fail if acknowledgements are sent before the commit. Otherwise the audit would prove nothing."""
    run = Run(tmp_path, seed=1, too_early=True)
    assert run_child(run, Part("left", tmp_path, KillPoint("before commit", 9), too_early=True)) == -signal.SIGKILL
    assert run.acknowledged
    assert any("lost" in line or "0 times" in line for line in audit(tmp_path / "memory.db", run.clock, run.acknowledged))


def run_plan(run: Run, *, sessions: int) -> dict[Operation, str]:
    """Perform the operations of the first ``sessions`` sessions without killing the process.

    Return a dictionary that maps each operation to the id it returned.
    """
    engine = killable_engine(run.folder / "memory.db", run.clock, KillSwitch())
    for index in range(sessions * OPERATIONS_PER_SESSION):
        planned = operation("left", index)
        run.acknowledged[planned] = perform(engine, planned)
    engine.close()
    return run.acknowledged


def run_child(run: Run, part: Part) -> int:
    """Run one child until it ends, and return its exit code."""
    if part.name == "worker":
        run.clock.stage = 2
    process, here = start(run_worker if part.name == "worker" else run_writer, part)
    child = Child(part, process, here)
    try:
        while here.poll(_TIMEOUT):
            run.hear(child, *here.recv())
    except EOFError:
        pass
    process.join(_TIMEOUT)
    here.close()
    assert process.exitcode is not None, "stuck"
    return int(process.exitcode)
