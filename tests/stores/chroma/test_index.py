"""Chroma as an external index: always up to date, but not required for correct results."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from holdfast.protocols import SearchFilter
from holdfast.stores.sqlite.queued_index.feed import Pace
from holdfast.testing.samples import ANA, BOB, a_memory, remember
from holdfast.types import Scope
from tests.stores.chroma.support import (
    LENGTH,
    MODEL,
    build_folders,
    catch_up,
    direction,
    drop_from_chroma,
    fill,
    ids_in_chroma,
    nearest,
    opened,
    rows,
    searched_in_memory,
)

pytestmark = pytest.mark.long

pytest.importorskip("chromadb")

LAZY = Pace(retry_seconds=0.0)
QUEUED = "SELECT count(*) FROM index_queue"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memory.db"


@pytest.mark.ledger("C8")
def test_chroma_answers_and_not_the_index_in_memory(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(200))
        assert [nearest(store, n) for n in range(0, 200, 20)] == [[f"number {n}"] for n in range(0, 200, 20)]
        assert len(nearest(store, 3, limit=50)) == 50
        assert not searched_in_memory(store)
        assert len(ids_in_chroma(store)) == 200
    assert rows(file, QUEUED) == [(0,)]


def test_queued_vectors_are_found_before_they_are_applied_to_the_index(file: Path) -> None:
    with opened(file, pace=LAZY) as store:
        fill(store, range(300))
        catch_up(store)
        fill(store, range(300, 400))
        assert nearest(store, 350) == ["number 350"]
        assert nearest(store, 50) == ["number 50"]
        assert not searched_in_memory(store)
        assert rows(file, QUEUED) == [(100,)]


def test_a_removed_vector_is_not_found_while_its_removal_is_queued(file: Path) -> None:
    with opened(file, pace=LAZY) as store:
        fill(store, range(300))
        catch_up(store)
        with store.write() as tx:
            tx.remove_memories(["mem_ana_7"])
        assert "number 7" not in nearest(store, 7, limit=299)
        assert len(nearest(store, 7, limit=400)) == 299
        assert not searched_in_memory(store)


def test_while_many_changes_are_queued_the_in_memory_index_answers(file: Path) -> None:
    with opened(file, pace=Pace(max_scanned=10, batch_size=10)) as store:
        fill(store, range(100))
        assert nearest(store, 42) == ["number 42"]
        assert searched_in_memory(store)
        assert build_folders(file) == []


def test_a_reader_finds_only_their_own_data(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(50))
        fill(store, range(50, 60), scope=BOB)
        assert nearest(store, 55, limit=100, reader=BOB)[0] == "number 55"
        assert len(nearest(store, 5, limit=100, reader=BOB)) == 10
        assert "number 55" not in nearest(store, 55, limit=100)
        assert not searched_in_memory(store)


def test_a_few_vectors_that_the_index_does_not_reach_are_found_without_a_rebuild(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(50))
        nearest(store, 1)
        drop_from_chroma(store, 3)
        assert len(nearest(store, 5, limit=100)) == 50
        assert not searched_in_memory(store)


def test_an_index_that_does_not_reach_many_vectors_is_rebuilt(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(file) as store:
        fill(store, range(50))
        nearest(store, 1)
        drop_from_chroma(store, 20)
        assert len(nearest(store, 5, limit=100)) == 50
    assert "will be rebuilt" in caplog.text


@pytest.mark.ledger("C8")
def test_two_tenants_have_separate_folders(file: Path) -> None:
    theirs = Scope(tenant="other", user="ana")
    with opened(file) as ours, opened(file, tenant="other") as other:
        fill(ours, range(20))
        fill(other, range(20, 40), scope=theirs)
        assert nearest(ours, 30, limit=100) == nearest(ours, 30, limit=20)
        assert nearest(other, 30, reader=theirs) == ["number 30"]
        assert len(nearest(other, 5, limit=100, reader=theirs)) == 20
        assert not set(ids_in_chroma(ours)) & set(ids_in_chroma(other))
        assert len(build_folders(file)) == 2


def test_dropping_a_model_removes_its_folder(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(5))
        nearest(store, 1)
        assert len(build_folders(file)) == 1
        with store.write() as tx:
            tx.drop_model(MODEL)
        catch_up(store)
        assert build_folders(file) == []
        assert rows(file, "SELECT (SELECT count(*) FROM indexes), (SELECT count(*) FROM index_queue)") == [(0, 0)]


# --- rebuilds ---------------------------------------------------------------------------------------------------


@pytest.mark.ledger("C8")
def test_a_rebuild_starts_a_new_folder_from_the_stores_own_vectors(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(600))
        catch_up(store)
        before = build_folders(file)
        assert store.rebuild_index() == 600
        (after,) = build_folders(file)
        assert [after] != before
        assert len(ids_in_chroma(store)) == 600
        assert nearest(store, 77) == ["number 77"]
        assert not searched_in_memory(store)


def _damage_all(folder: Path) -> None:
    for entry in folder.rglob("*"):
        if entry.is_file():
            entry.write_bytes(os.urandom(max(entry.stat().st_size, 100)))


def _damage_vectors(folder: Path) -> None:
    (data,) = folder.glob("*/data_level0.bin")
    data.write_bytes(os.urandom(data.stat().st_size))


def _lose_database(folder: Path) -> None:
    (folder / "chroma.sqlite3").unlink()


def _damage_database(folder: Path) -> None:
    database = folder / "chroma.sqlite3"
    data = database.read_bytes()
    database.write_bytes(data[:8192] + os.urandom(100_000) + data[108_192:])


@pytest.mark.long
@pytest.mark.ledger("C8")
@pytest.mark.parametrize("accident", [shutil.rmtree, _damage_all, _damage_vectors, _lose_database, _damage_database])
def test_a_missing_or_damaged_index_folder_is_rebuilt(
    file: Path, accident: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    with opened(file) as store:
        fill(store, range(1200))
        catch_up(store)
    (folder,) = build_folders(file)
    accident(folder)
    with opened(file) as store:
        fill(store, range(1200, 1210))
        assert nearest(store, 1205) == ["number 1205"]
        assert nearest(store, 5) == ["number 5"]
        assert "will be rebuilt" in caplog.text
        catch_up(store)
        store._indexes.clear()
        assert nearest(store, 5) == ["number 5"]
        assert not searched_in_memory(store)
        assert len(ids_in_chroma(store)) == 1210
        assert folder not in build_folders(file)


@pytest.mark.ledger("C8")
def test_a_restored_older_store_rebuilds_its_index(file: Path, tmp_path: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        nearest(store, 1)
        store.backup(tmp_path / "copy.db")
        with store.write() as tx:  # the same number as before, after a single batch
            tx.remove_memories(["mem_ana_7"])
        fill(store, range(100, 101))
        nearest(store, 1)
    shutil.copyfile(tmp_path / "copy.db", file)
    with opened(file) as store:
        assert nearest(store, 7) == ["number 7"]
        catch_up(store)
        assert len(ids_in_chroma(store)) == 20
        assert sorted(nearest(store, 7, limit=50)) == sorted(f"number {n}" for n in range(20))


def test_the_check_reports_differing_vectors_and_the_remedy(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        nearest(store, 1)
        assert all(finding.ok for finding in store.check())
        feed = store._external._feed  # type: ignore[union-attr]
        (build,) = [feed.build(model) for model in feed.models()]
        assert build is not None
        index = feed.opened(build)
        index.remove(sorted(index.keys())[:3])
        (bad,) = [finding for finding in store.check() if not finding.ok]
        assert "vectors that differ from the store: 3" in bad.detail
        assert bad.remedy == "holdfast doctor --rebuild-index"
        store.rebuild_index()
        assert all(finding.ok for finding in store.check())


# --- kills -----------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from holdfast.stores.chroma import index as chroma
from tests.stores.chroma.support import catch_up, fill, open_store

def deadly(name, before):
    real = getattr(chroma.ChromaCollection, name)
    def call(self, *args):
        if not before:
            real(self, *args)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(chroma.ChromaCollection, name, call)

store = open_store(Path(sys.argv[1]))
fill(store, range(30))
catch_up(store)
fill(store, range(30, 40))
with store.write() as tx:
    tx.remove_memories(["mem_ana_7"])
deadly(sys.argv[2], sys.argv[3] == "before")
catch_up(store)
"""


@pytest.mark.ledger("C8")
@pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal")
@pytest.mark.parametrize("moment", ["before note", "after note", "after add", "before remove", "after remove"])
def test_a_process_killed_between_commit_and_index_leaves_it_to_the_next(file: Path, moment: str) -> None:
    when, call = moment.split()
    done = subprocess.run([sys.executable, "-c", KILLED, str(file), call, when], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -signal.SIGKILL
    assert rows(file, QUEUED) == [(11,)]
    with opened(file) as store:
        assert nearest(store, 35) == ["number 35"]
        assert "number 7" not in nearest(store, 7, limit=50)
        catch_up(store)
        expected = [item for (item,) in rows(file, "SELECT item FROM vectors ORDER BY item")]
        assert ids_in_chroma(store) == expected
        assert len(expected) == 39
        # A killed Chroma may have lost vectors that it had acknowledged. It is then rebuilt, and the in-memory index answers
        # meanwhile. The results are the same.
        assert nearest(store, 35) == ["number 35"]
    assert rows(file, QUEUED) == [(0,)]


# --- erasure ----------------------------------------------------------------------------------------------------


def _files_with(folder: Path, *needles: bytes) -> list[str]:
    files = [entry for entry in folder.rglob("*") if entry.is_file()]
    return [file.name for file in files if any(needle in file.read_bytes() for needle in needles)]


def _files_with_vector(folder: Path, vector: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> list[str]:
    """Return the files that contain a vector. Small differences are ignored, because Chroma normalizes vectors again."""
    return [entry.name for entry in folder.rglob("*") if entry.is_file() and _holds(entry.read_bytes(), vector)]


def _holds(data: bytes, vector: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> bool:
    for shift in range(4):
        numbers = np.frombuffer(data, dtype="<f4", offset=min(shift, len(data)), count=max(0, (len(data) - shift) // 4))
        places = np.arange(max(0, len(numbers) - LENGTH + 1))
        for step, wanted in enumerate(vector):
            found = numbers[places + step]
            places = places[(found > wanted - 3e-3) & (found < wanted + 3e-3)]
        if len(places):
            return True
    return False


@pytest.mark.ledger("C8")
@pytest.mark.parametrize("count", [40, 1500])
def test_erased_vectors_are_gone_from_chroma_and_from_its_files(file: Path, count: int) -> None:
    with opened(file) as store:
        fill(store, range(count))
        catch_up(store)
        assert _files_with_vector(file.parent, direction(7))
        item = _item(file, 7)
        with store.write() as tx:
            tx.remove_memories(["mem_ana_7"])
        assert store.scrub([b"number 7 and more"]) == (True, ())
        assert _kept_in(file.parent, direction(7)) == []
        assert nearest(store, 8) == ["number 8"]
        catch_up(store)
        assert item not in ids_in_chroma(store)
        assert len(ids_in_chroma(store)) == count - 1
        assert _kept_in(file.parent, direction(7)) == []
        assert _files_with_vector(file.parent, direction(8))


def _kept_in(folder: Path, vector: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> list[str]:
    """Return the files that contain a vector, except Chroma's graph file, into which Chroma also writes unused memory."""
    return [name for name in _files_with_vector(folder, vector) if name != "data_level0.bin"]


def _item(file: Path, number: int) -> int:
    ((item,),) = rows(file, f"SELECT item FROM memories WHERE id = 'mem_ana_{number}'")
    assert isinstance(item, int)
    return item


def test_texts_are_never_given_to_chroma(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(1200))
        catch_up(store)
    assert _files_with(file.parent / "memory.db.chroma", b"number", b"ana") == []


@pytest.mark.ledger("C8")
def test_without_the_chroma_setting_changes_are_queued_and_an_erasure_removes_the_folder(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        nearest(store, 1)
    with opened(file, index=None) as plain:
        fill(plain, range(20, 25))
        assert rows(file, QUEUED) == [(5,)]
        assert any("changes queued for it: 5" in finding.detail for finding in plain.check())
        with plain.write() as tx:
            tx.remove_memories(["mem_ana_7"])
        assert plain.scrub([]) == (True, ())
        assert build_folders(file) == []
    with opened(file) as store:
        assert nearest(store, 22) == ["number 22"]
        assert "number 7" not in nearest(store, 7, limit=50)
        assert len(ids_in_chroma(store)) == 24


def test_rebuilding_without_the_setting_removes_what_is_left_of_chroma(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        nearest(store, 1)
    with opened(file, index=None) as plain:
        assert plain.rebuild_index() == 0
        assert build_folders(file) == []
        fill(plain, range(20, 25))
        assert rows(file, QUEUED) == [(0,)]


@pytest.mark.ledger("C8")
def test_copying_the_directory_is_a_backup_and_removing_it_a_reset(file: Path, tmp_path: Path) -> None:
    with opened(file) as store:
        fill(store, range(50))
        nearest(store, 3)
    shutil.copytree(file.parent, tmp_path / "copy")
    with opened(tmp_path / "copy" / "memory.db") as copy:
        assert nearest(copy, 30) == ["number 30"]
        assert not searched_in_memory(copy)
        fill(copy, range(50, 51))
        assert nearest(copy, 50) == ["number 50"]
    with opened(file) as store:
        assert len(ids_in_chroma(store)) == 50
    shutil.rmtree(file.parent)
    with opened(file) as store:
        assert store.stats()["memories"] == 0
        fill(store, range(3))
        assert nearest(store, 2) == ["number 2"]


@pytest.mark.long
def test_chroma_and_the_in_memory_index_return_the_same_results(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(2000))
        catch_up(store)
        asked = range(5000, 5040)
        by_chroma = [nearest(store, n, limit=10) for n in asked]
        assert not searched_in_memory(store)
    with opened(file, index=None) as plain:
        exact = [nearest(plain, n, limit=10) for n in asked]
    shared = sum(len(set(one) & set(other)) for one, other in zip(by_chroma, exact, strict=True))
    assert shared >= 0.95 * 10 * len(asked)


def test_a_search_among_few_allowed_items_returns_all_of_them(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(300))
        remember(store, *(a_memory(f"number {n}", kind="event", id=f"mem_event_{n}") for n in range(300, 305)))
        fill(store, range(400, 400))
        vector = direction(1)
        found = store.find_vectors(MODEL, vector, SearchFilter(reader=ANA, spaces=["memory"], kinds=["event"]), limit=10)
        assert len(found) == 5


@pytest.mark.long
def test_the_command_rebuilds_the_index(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(10))
        nearest(store, 3)
    (before,) = build_folders(file)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.cli", "doctor", "--rebuild-index", "--trust-clock", "--json", "--store", str(file)],
        env={**os.environ, "HOLDFAST_INDEX": "chroma", "HOLDFAST_EMBEDDER": "none", "HOLDFAST_HOME": str(file.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (after,) = build_folders(file)
    assert after != before
    (finding,) = [each for each in json.loads(done.stdout) if each["check"] == "index"]
    assert finding["ok"]


def test_a_store_that_was_filled_without_chroma_is_taken_over(file: Path) -> None:
    with opened(file, index=None) as plain:
        fill(plain, range(3))
    with opened(file) as store:
        assert nearest(store, 2) == ["number 2"]
        assert not searched_in_memory(store)
        assert len(ids_in_chroma(store)) == 3
