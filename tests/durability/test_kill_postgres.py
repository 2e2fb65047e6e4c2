"""kill -9 on PostgreSQL, of clients, workers and the server: acknowledged operations are present exactly once."""

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

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")

psutil = pytest.importorskip("psutil", reason="comes with the wheel that has PostgreSQL")

from holdfast.engine import Engine  # noqa: E402
from holdfast.errors import StoreError  # noqa: E402
from holdfast.services import services  # noqa: E402
from holdfast.stores.postgres import PoolLimits, PostgresStore  # noqa: E402
from holdfast.testing.engines import build_engine  # noqa: E402
from tests.stores.postgres.support import Server  # noqa: E402

from .support import (  # noqa: E402
    _INVARIANTS,
    OPERATIONS_PER_SESSION,
    Acknowledged,
    Operation,
    SharedClock,
    child_log,
    finish,
    log_to_file,
    lost,
    operation,
    perform,
    posix_only,
    start,
    tagging_preset,
    tiny_source,
    unfinished,
    unsound,
)

pytestmark = [posix_only, pytest.mark.ledger("X9"), pytest.mark.long]

KILLS = 16
CRASHES = 2
_TIMEOUT = 100.0
_WRITERS = ("left", "right")
_WORKERS = ("worker-1", "worker-2")


@dataclass(frozen=True, slots=True)
class Part:
    """The arguments of a child process."""

    name: str
    folder: Path
    url: str
    start: int = 0


def _engine(part: Part, clock: SharedClock) -> Engine:
    """Open an engine, retrying while the server is down."""
    while True:
        with contextlib.suppress(StoreError):
            store = PostgresStore(part.url, limits=PoolLimits(connections=4))
            return build_engine(store, preset=tagging_preset(), embedder=tiny_source(), clock=clock, worker="none")
        time.sleep(0.05)


def run_writer(part: Part, pipe: Connection) -> None:
    """Perform a writer's operations from number ``part.start`` on.

    A failed operation is retried. A completed operation is acknowledged to the test.
    """
    log_to_file(part.folder)
    clock = SharedClock(part.folder / "clock")
    engine = _engine(part, clock)
    index = part.start
    while clock.stage == 0 or index % OPERATIONS_PER_SESSION:
        try:
            id = perform(engine, operation(part.name, index))
        except StoreError:
            time.sleep(0.05)
            continue
        pipe.send((index, id))
        index += 1
    engine.close()


def run_worker(part: Part, pipe: Connection) -> None:
    """Do background work until the stage of the shared clock is 2."""
    log_to_file(part.folder)
    clock = SharedClock(part.folder / "clock")
    engine = _engine(part, clock)
    steps = 0
    while clock.stage < 2:
        with contextlib.suppress(StoreError):
            if services(engine).scheduler.run_once():
                steps += 1
                pipe.send((steps, "step"))
                continue
        time.sleep(0.005)
    engine.close()


@dataclass
class Child:
    """A process that is restarted each time it is killed."""

    part: Part
    process: Any
    pipe: Connection
    dies_after: int
    heard: int = 0


@dataclass
class Run:
    """One database, two writers and two workers. They and the server are killed and restarted."""

    folder: Path
    server: Server
    url: str
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[Operation, str] = field(default_factory=dict)
    reported: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = SharedClock(self.folder / "clock")

    @property
    def enough(self) -> bool:
        return self.kills["process"] >= KILLS and self.kills["server"] >= CRASHES

    def begin(self, name: str) -> Child:
        mine = [planned.index for planned in self.acknowledged if planned.client_id.startswith(f"{name}:")]
        part = Part(name, self.folder, self.url, max(mine, default=-1) + 1)
        return Child(part, *start(run_writer if name in _WRITERS else run_worker, part), self.chance.randint(1, 25))

    def go(self) -> None:
        children = [self.begin(name) for name in (*_WRITERS, *_WORKERS)]
        deadline = time.monotonic() + _TIMEOUT
        try:
            while children:
                assert time.monotonic() < deadline, f"stuck after {dict(self.kills)}: {child_log(self.folder).read_text()}"
                ready = wait([child.pipe for child in children], timeout=0.1)
                children = [after for child in children if (after := self.attend(child, heard=child.pipe in ready)) is not None]
                self.crash_when_due()
                if self.enough and not self.clock.stage:
                    self.clock.stage = 1
                if self.clock.stage == 1 and not {child.part.name for child in children} & set(_WRITERS):
                    self.clock.stage = 2
        finally:
            for child in children:
                child.process.kill()
                child.process.join()

    def attend(self, child: Child, *, heard: bool) -> Child | None:
        """Read a child's message if there is one. Kill the child after a given number of messages. Restart a killed child."""
        if not heard:
            return child
        try:
            index, id = child.pipe.recv()
        except EOFError:
            return self.restart(child)
        child.heard += 1
        if child.part.name in _WRITERS:
            planned = operation(child.part.name, index)
            if self.acknowledged.setdefault(planned, id) != id:
                self.reported.append(f"{planned.client_id} was acknowledged twice, as {id} at last")
        if child.heard == child.dies_after and not self.enough:
            time.sleep(self.chance.uniform(0, 0.004))
            os.kill(child.process.pid, signal.SIGKILL)
        return child

    def restart(self, child: Child) -> Child | None:
        child.process.join()
        child.pipe.close()
        if child.process.exitcode == 0:
            return None
        assert child.process.exitcode == -signal.SIGKILL, child_log(self.folder).read_text()
        self.kills["process"] += 1
        if child.part.name in _WORKERS:
            self.clock.advance(timedelta(minutes=6))  # let its lease expire
        return self.begin(child.part.name)

    def crash_when_due(self) -> None:
        """Kill the server without warning during the work, and restart it."""
        if self.kills["process"] < (self.kills["server"] + 1) * KILLS // (CRASHES + 1) or self.kills["server"] == CRASHES:
            return
        self.kills["server"] += 1
        crash(self.server)


def crash(server: Server) -> None:
    """Kill the server's main process, wait until its children have ended, and restart it."""
    first = psutil.Process(int((server.folder / "postmaster.pid").read_text().split()[0]))
    orphans = first.children(recursive=True)
    first.kill()
    _, alive = psutil.wait_procs(orphans, timeout=5)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    # Zombie processes make PostgreSQL believe that these lock files are in use.
    for file in (server.folder / "postmaster.pid", *server.folder.glob(".s.PGSQL.*.lock")):
        file.unlink(missing_ok=True)
    server.emptied()  # starts it again


def half_applied(url: str) -> list[str]:
    """Return the rows whose related rows are missing. The queries are the same as for SQLite."""
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = holdfast, public")
        queries = {what: sql for what, sql in _INVARIANTS.items() if "fulltext" not in sql and "json_" not in sql}
        assert len(queries) >= 10
        answers = {what: connection.execute(f"SELECT * FROM ({sql}) AS wrong").fetchall() for what, sql in queries.items()}
    return [f"{what}: {rows[:5]}" for what, rows in answers.items() if rows]


def audit(url: str, clock: SharedClock, acknowledged: Acknowledged) -> list[str]:
    """Open the store in the way a new process would, do the remaining work, and return all problems found."""
    with build_engine(PostgresStore(url), preset=tagging_preset(), embedder=tiny_source(), clock=clock, worker="none") as engine:
        wrong = lost(engine, acknowledged) + half_applied(url)
        finish(engine, clock)
        return wrong + lost(engine, acknowledged) + half_applied(url) + unsound(engine) + unfinished(engine, acknowledged)


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that no other test uses."""
    server = Server()
    yield server
    with contextlib.suppress(psycopg.Error):
        server.stop()


def test_nothing_acknowledged_is_lost_or_doubled_by_killed_processes_and_a_killed_server(
    tmp_path: Path, own_server: Server
) -> None:
    run = Run(tmp_path, own_server, own_server.new(), random.Random(7))
    run.go()
    assert run.enough
    assert len(run.acknowledged) >= 2 * OPERATIONS_PER_SESSION
    assert run.reported == []
    assert audit(run.url, run.clock, run.acknowledged) == []
