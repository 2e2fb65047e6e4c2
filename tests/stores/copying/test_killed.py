"""An interrupted copy is resumed. Its target cannot be opened until the copy is finished."""

from pathlib import Path

import pytest

from holdfast.errors import StoreError
from holdfast.services import services
from holdfast.stores.copying import CopyReport, copy_store, open_side
from tests.sampling import Sample
from tests.stores.copying.support import copy, copy_until_killed, fill, open_engine, seen
from tests.stores.postgres.support import Server, server

pytestmark = pytest.mark.long

__all__ = ["server"]

BATCH = 7


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, server: Server) -> dict[str, str]:
    """A SQLite store and a PostgreSQL store, both with data. The tests only read them."""
    found = {"sqlite": str(tmp_path_factory.mktemp("full") / "memory.db"), "postgres": server.new(empty=True)}
    for place in found.values():
        fill(place, memories=20)
    return found


def new(kind: str, folder: Path, server: Server) -> str:
    return server.new(empty=True) if kind == "postgres" else str(folder / "target.db")


def state(report: CopyReport) -> list[tuple[str, int, str]]:
    return [(each.table, each.rows, each.target) for each in report.tables]


@pytest.mark.long
@pytest.mark.ledger("X9")
@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "sqlite")])
def test_a_copy_killed_again_and_again_ends_as_the_same_store(
    request: pytest.FixtureRequest, source: str, target: str, full: dict[str, str], tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue("server")
    sample: Sample = request.getfixturevalue("sample")
    place = new(target, tmp_path, server)
    for steps in sample.of((0, 1, 12, 40, 41, 60), every=2, start=int(source == "postgres")):
        assert not copy_until_killed(full[source], place, steps=steps, batch=BATCH)
        if steps:
            with pytest.raises(StoreError, match=r"A copy into this (file|database) is not finished"):
                open_engine(place)
    report = copy(full[source], place, batch=BATCH)
    assert report.resumed
    assert report.wrong == ()
    assert report.copied < report.rows
    assert state(report) == state(copy(full[source], place))
    assert seen(place) == seen(full[source])


@pytest.mark.parametrize("before_the_end", [1, 4, 30])
def test_a_copy_killed_during_the_comparison_can_be_resumed(before_the_end: int, full: dict[str, str], tmp_path: Path) -> None:
    steps: list[str] = []
    here, there = open_side(full["sqlite"]), open_side(tmp_path / "counted.db", new=True)
    copy_store(here, there, progress=lambda step, *_: steps.append(step), batch=BATCH)
    here.close()
    there.close()
    assert not copy_until_killed(full["sqlite"], tmp_path / "target.db", steps=len(steps) - before_the_end, batch=BATCH)
    report = copy(full["sqlite"], tmp_path / "target.db")
    assert (report.resumed, report.copied, report.wrong) == (True, 0, ())
    assert open_engine(tmp_path / "target.db").stats().memories


@pytest.mark.long
def test_tables_changed_between_two_runs_are_copied_again(tmp_path: Path, server: Server) -> None:
    source, place = str(tmp_path / "source.db"), server.new(empty=True)
    fill(source)
    assert not copy_until_killed(source, place, steps=130, batch=BATCH)
    with open_engine(source) as memory:
        ours = memory.memories(user="ana", limit=3)
        memory.forget(ours[0].id)
        memory.revise(ours[1].id, "said otherwise meanwhile")
        with services(memory).store.write() as tx:
            tx.remove_memories([ours[2].id])
        memory.remember("new since then", user="ana")
        memory.drain()
    assert copy(source, place, batch=BATCH).wrong == ()
    assert seen(place) == seen(source)
