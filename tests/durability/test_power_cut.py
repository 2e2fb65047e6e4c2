"""Power cuts at every acknowledged operation and in between: acknowledged data is on disk and complete."""

import pickle
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from holdfast.engine import Engine
from holdfast.protocols import MessageFilter
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.engines import build_engine
from tests.sampling import Sample

from .power import Event, RecordingVFS, Remains, write_disk
from .support import (
    KillSwitch,
    Operation,
    SharedClock,
    finish,
    half_applied,
    killable_engine,
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

pytestmark = [posix_only, pytest.mark.long]

OPERATIONS = 64
_ERASED = "zoe"
_SECRET = "the code of the safe is forty-two"


def run_recorded_plan(folder: Path, pipe: Connection) -> None:
    """Perform numbered operations while every disk write is recorded, with background work, an erasure and a restart."""
    disk = RecordingVFS()
    path, clock = folder / "memory.db", SharedClock(folder / "clock")
    engine = killable_engine(path, clock, KillSwitch(), checkpoint_pages=40)
    engine.remember(_SECRET, user=_ERASED)
    for index in range(OPERATIONS):
        planned = operation("left", index)
        id = perform(engine, planned)
        disk.events.append(Event("acknowledged", offset=index, id=id))
        if planned.kind == "end" and index % 3:
            engine.drain()
            disk.events.append(Event("drained", offset=index))
        elif index == 28:
            engine.erase(user=_ERASED)
        elif index == 44:
            engine.close()
            engine = killable_engine(path, clock, KillSwitch(), checkpoint_pages=40)
        elif index % 5 == 0:
            services(engine).scheduler.run_once()
    engine.close()
    (folder / "events").write_bytes(pickle.dumps(disk.events))
    pipe.send("done")


@dataclass(frozen=True)
class Recording:
    """The recorded disk events, in order."""

    folder: Path
    events: Sequence[Event]

    @property
    def acknowledgements(self) -> list[int]:
        """For each acknowledgement, the number of events up to and including it."""
        return [place + 1 for place, event in enumerate(self.events) if event.kind == "acknowledged"]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("recorded")
    child, pipe = start(run_recorded_plan, folder)
    assert pipe.recv() == "done"
    child.join()
    events: list[Event] = pickle.loads((folder / "events").read_bytes())
    return Recording(folder, events)


def after_cut(recording: Recording, place: int, remains: Remains, folder: Path, *, honest: bool = True) -> list[str]:
    """Cut the power after the first ``place`` events, open the remaining files, and return all problems found."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(recording.folder / "clock", folder / "clock")
    seen = recording.events[:place]
    write_disk(seen, folder, remains=remains, chance=random.Random(place), honest=honest)
    acknowledged: dict[Operation, str] = {
        operation("left", event.offset): event.id for event in seen if event.kind == "acknowledged"
    }
    digested = {operation("left", event.offset).session for event in seen if event.kind == "drained"}
    path, clock = folder / "memory.db", SharedClock(folder / "clock")
    with build_engine(SQLiteStore(path), preset=tagging_preset(), embedder=tiny_source(), clock=clock, worker="none") as engine:
        wrong = lost(engine, acknowledged) + half_applied(path) + unsound(engine)
        wrong += [
            f"session {record.id} is no longer digested"
            for record in engine.sessions(limit=1000)
            if record.id in digested and record.digested_to != last_message(engine, record.id)
        ]
        if place % 4 == 0:
            finish(engine, clock)
            clock.advance(timedelta(minutes=1))
            wrong += unfinished(engine, acknowledged) + half_applied(path)
    return [f"cut at {place}, {remains} left of what was not synced: {line}" for line in wrong]


def last_message(engine: Engine, session: str) -> int:
    return services(engine).store.messages(MessageFilter(session=session, newest=1))[0].seq


def cuts(recording: Recording) -> Iterator[tuple[int, Remains]]:
    """Yield the positions of power cuts: at each acknowledgement, and at random."""
    chance = random.Random(4)
    others: tuple[Remains, ...] = ("some sectors", "a beginning", "everything")
    for place in recording.acknowledgements:
        yield place, "nothing"
        yield place, chance.choice(others)
    for place in chance.sample(range(len(recording.events)), 200):
        yield place, chance.choice(("nothing", *others))


@pytest.mark.ledger("X6", "L2", "U9")
def test_a_power_cut_loses_nothing_acknowledged_and_leaves_nothing_half_done(
    recording: Recording, tmp_path: Path, sample: Sample
) -> None:
    assert len(recording.acknowledgements) == OPERATIONS
    assert {event.file for event in recording.events} >= {"memory.db", "memory.db-wal"}
    chosen = sample.of(list(cuts(recording)))
    wrong = [line for place, remains in chosen for line in after_cut(recording, place, remains, tmp_path / "disk")]
    assert wrong == []


@pytest.mark.ledger("X6")
@pytest.mark.parametrize("remains", ["nothing", "a beginning", "some sectors"])
def test_a_power_cut_while_the_store_is_made_leaves_one_that_opens(
    recording: Recording, tmp_path: Path, remains: Remains
) -> None:
    first = recording.acknowledgements[0]
    wrong = [line for place in range(0, first, 5) for line in after_cut(recording, place, remains, tmp_path / "disk")]
    assert wrong == []


def run_erasure(folder: Path, pipe: Connection) -> None:
    """Store data in a new store and erase it, on a recorded disk."""
    disk = RecordingVFS()
    engine = killable_engine(folder / "memory.db", SharedClock(folder / "clock"), KillSwitch())
    engine.remember(_SECRET, user=_ERASED)
    engine.remember("something else", user="ana")
    receipt = engine.erase(user=_ERASED)
    pipe.send((receipt.verified, list(disk.events)))


@pytest.mark.ledger("X5")
@pytest.mark.parametrize("remains", ["nothing", "everything"])
def test_erased_data_does_not_come_back_after_a_power_cut(tmp_path: Path, remains: Remains) -> None:
    child, pipe = start(run_erasure, tmp_path)
    verified, events = pipe.recv()
    child.join()
    assert verified
    disk = tmp_path / "disk"
    disk.mkdir()
    write_disk(events, disk, remains=remains, chance=random.Random(1))
    assert [file.name for file in disk.iterdir() if _SECRET.encode() in file.read_bytes()] == []


def test_a_disk_that_only_pretends_to_sync_is_detected(recording: Recording, tmp_path: Path) -> None:
    """Without synced commits, these cuts lose acknowledged data. This shows that the test above can fail."""
    losses = [
        place
        for place in recording.acknowledgements[::4]
        if after_cut(recording, place, "nothing", tmp_path / "disk", honest=False)
    ]
    assert len(losses) >= 4
