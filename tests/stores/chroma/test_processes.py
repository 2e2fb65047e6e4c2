"""One Chroma folder with several processes and threads: only one process uses the folder, but all find every memory."""

import logging
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.stores.sqlite.queued_index.feed import Pace
from tests.stores.chroma.support import catch_up, fill, ids_in_chroma, nearest, opened, rows, searched_in_memory

pytest.importorskip("chromadb")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memory.db"


OWNER = """
import sys
import time
from pathlib import Path
from tests.stores.chroma.support import catch_up, fill, nearest, open_store
store = open_store(Path(sys.argv[1]))
fill(store, range(20))
assert nearest(store, 3) == ["number 3"]
print("ready", flush=True)
for line in sys.stdin:
    number = int(line)
    print(nearest(store, number)[0], flush=True)
store.close()
"""


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_one_process_has_the_folder_and_others_search_in_memory(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(file)],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin
    assert owner.stdout
    try:
        assert owner.stdout.readline() == "ready\n"
        with opened(file) as store:
            assert nearest(store, 5) == ["number 5"]
            assert nearest(store, 6) == ["number 6"]
            assert searched_in_memory(store)
            told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
            assert len(told) == 1
            assert "another process" in told[0]
            fill(store, range(20, 30))
            owner.stdin.write("25\n")
            owner.stdin.flush()
            assert owner.stdout.readline() == "number 25\n"
            with store.write() as tx:
                tx.remove_memories(["mem_ana_7"])
            assert store.scrub([]) == (False, ())  # the owner still has the folder open
            owner.stdin.write("26\n")
            owner.stdin.flush()
            assert owner.stdout.readline() == "number 26\n"
            assert store.scrub([]) == (True, ())
            owner.stdin.close()
            assert owner.wait(60) == 0
            store._indexes.clear()
            assert nearest(store, 9) == ["number 9"]
            assert not searched_in_memory(store)
            assert len(ids_in_chroma(store)) == 29
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_searches_in_memory_and_its_parent_keeps_the_index(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        nearest(store, 3)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if nearest(store, 5) == ["number 5"] and searched_in_memory(store) else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        fill(store, range(20, 25))
        assert nearest(store, 22) == ["number 22"]
        assert not searched_in_memory(store)


def test_a_search_inside_a_write_neither_waits_nor_fails(file: Path) -> None:
    with opened(file) as store:
        fill(store, range(20))
        with store.write() as tx:
            tx.touch([], used=None)
            assert nearest(store, 5) == ["number 5"]
        assert nearest(store, 6) == ["number 6"]


@pytest.mark.long
def test_threads_that_search_write_remove_and_erase_at_once_stay_right(file: Path) -> None:
    with opened(file, pace=Pace(max_scanned=8, batch_size=64, retry_seconds=0.0)) as store:
        fill(store, range(100))
        until = time.monotonic() + 3
        wrong: list[int] = []

        def search() -> None:
            while time.monotonic() < until:
                wrong.extend(n for n in (3, 50, 90) if nearest(store, n) != [f"number {n}"])

        def write() -> None:
            number = 1000
            while time.monotonic() < until:
                fill(store, range(number, number + 5))
                with store.write() as tx:
                    tx.remove_memories([f"mem_ana_{number}"])
                number += 5

        def look_after() -> None:
            while time.monotonic() < until:
                catch_up(store)
                store.scrub([])

        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(job) for job in (search, search, write, look_after)]:
                done.result()
        assert wrong == []
        catch_up(store)
        assert ids_in_chroma(store) == [item for (item,) in rows(file, "SELECT item FROM vectors ORDER BY item")]
        assert all(finding.ok for finding in store.check())
