"""Erasures that follow each other quickly share one rewrite of the file. Receipts are pending until then."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast import Engine
from holdfast.config.settings import Settings
from holdfast.config.stores import make_store
from holdfast.forgetting.scrub import mark_erased, note_scrubbed
from holdfast.presets.default import DEFAULT
from holdfast.protocols import SCRUB
from holdfast.recall.caches import erasures
from holdfast.services import services
from holdfast.stores.sqlite import rewrites
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.stores.sqlite.write_turns import turns_of
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine

pytestmark = [pytest.mark.ledger("X5"), pytest.mark.ledger("X26")]
OpenPaced = Callable[..., Engine]
FilesWith = Callable[[str | bytes], list[str]]
A_LONG_TIME = 3600.0


@pytest.fixture
def open_paced(folder: Path, clock: FrozenClock) -> Iterator[OpenPaced]:
    """Return a function that opens an engine whose erasures share rewrites, as in a process with a background worker."""
    opened: list[Engine] = []

    def open_one(tenant: str = "default") -> Engine:
        store = SQLiteStore(folder / "memory.db", tenant=tenant, paced=True)
        opened.append(build_engine(store, preset=DEFAULT, clock=clock, worker="none"))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


def use_up_the_time(memory: Engine) -> None:
    """Record a rewrite that took an hour, so that the next rewrite is postponed."""
    rewrites.pace_of(Path(services(memory).store.location)).spend(A_LONG_TIME)


def fill(memory: Engine, *users: str) -> None:
    """Store a memory for each user."""
    for user in users:
        memory.remember(f"the pangolin of {user} is in the attic", user=user)


def count_rewrites(memory: Engine) -> int:
    """Return how often the file was rewritten."""
    return rewrites.last_begun(services(memory).store.connection)  # type: ignore[attr-defined]


def states(memory: Engine) -> set[tuple[str, bool]]:
    return {(receipt.status, receipt.verified) for receipt in memory.receipts()}


def test_a_single_erasure_is_complete_at_once(open_paced: OpenPaced, files_with: FilesWith) -> None:
    memory = open_paced()
    fill(memory, "victimuser", "otheruser")
    receipt = memory.erase(user="victimuser")
    assert (receipt.status, receipt.verified, receipt.residue) == ("erased", True, ())
    assert files_with("victimuser") == []
    assert files_with("otheruser")


def test_many_erasures_cost_one_rewrite_and_are_verified_after_it(open_paced: OpenPaced, files_with: FilesWith) -> None:
    memory = open_paced()
    users = [f"victimuser{number}" for number in range(20)]
    fill(memory, *users, "otheruser")
    use_up_the_time(memory)
    receipts = [memory.erase(user=user) for user in users]
    assert {(receipt.status, receipt.verified) for receipt in receipts} == {("pending", False)}
    assert all(memory.memories(user=user) == [] and memory.recall("pangolin", user=user) == [] for user in users)
    assert (count_rewrites(memory), states(memory)) == (0, {("pending", False)})
    memory.drain()
    assert (count_rewrites(memory), states(memory)) == (0, {("pending", False)}), "background work waits, too"
    assert {(receipt.status, receipt.verified) for receipt in memory.scrub()} == {("erased", True)}
    assert (count_rewrites(memory), states(memory)) == (1, {("erased", True)})
    assert files_with("victimuser") == []
    assert files_with("otheruser")


def test_background_work_completes_receipts_when_the_time_has_come(
    open_paced: OpenPaced, clock: FrozenClock, files_with: FilesWith
) -> None:
    memory = open_paced()
    fill(memory, "victimuser", "otheruser")
    use_up_the_time(memory)
    assert memory.erase(user="victimuser").status == "pending"
    rewrites.pace_of(Path(services(memory).store.location)).spend(-2 * A_LONG_TIME)
    clock.advance(timedelta(minutes=1))
    memory.drain()
    assert (count_rewrites(memory), states(memory)) == (1, {("erased", True)})
    assert files_with("victimuser") == []


def test_one_rewrite_serves_all_tenants(open_paced: OpenPaced, files_with: FilesWith) -> None:
    first, second = open_paced("first"), open_paced("second")
    for memory in (first, second):
        fill(memory, "victimuser", "otheruser")
        use_up_the_time(memory)
        assert memory.erase(user="victimuser").status == "pending"
    first.scrub()
    assert (states(first), states(second)) == ({("erased", True)}, {("pending", False)})
    second.drain()
    assert (count_rewrites(second), states(second)) == (1, {("erased", True)})
    assert files_with("victimuser") == []


def test_a_rewrite_that_began_before_an_erasure_does_not_cover_it(open_paced: OpenPaced) -> None:
    memory = open_paced()
    fill(memory, "victimuser")
    store = services(memory).store
    assert isinstance(store, SQLiteStore)
    with store.write() as tx:
        number = rewrites.begin(tx.connection)
    use_up_the_time(memory)
    memory.erase(user="victimuser")
    with store.write() as tx:
        rewrites.finish(tx.connection, number)
    assert not rewrites.is_covered(store.connection, store.setting(rewrites.AWAITED))
    memory.drain()
    assert states(memory) == {("pending", False)}
    memory.scrub()
    assert states(memory) == {("erased", True)}


def test_closing_completes_the_receipts_of_this_process(open_paced: OpenPaced, files_with: FilesWith) -> None:
    memory = open_paced()
    fill(memory, "victimuser", "otheruser")
    use_up_the_time(memory)
    assert memory.erase(user="victimuser").status == "pending"
    memory.close()
    assert files_with("victimuser") == []
    assert states(open_paced()) == {("erased", True)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="ends a forked child")
def test_the_next_process_completes_the_receipts_of_a_killed_one(folder: Path, files_with: FilesWith) -> None:
    folder.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        memory = holdfast.open(folder / "memory.db", embedder="none", worker="thread")
        fill(memory, "victimuser", "otheruser")
        use_up_the_time(memory)
        os._exit(0 if memory.erase(user="victimuser").status == "pending" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert files_with("victimuser")
    with holdfast.open(folder / "memory.db", embedder="none", worker="none") as memory:
        assert states(memory) == {("pending", False)}
        memory.drain()
        assert states(memory) == {("erased", False)}, "only the killed process knew what to scan for"
        assert files_with("victimuser") == []
        assert files_with("otheruser")


def test_a_scrub_is_still_needed_if_more_was_erased_meanwhile(memory: Engine) -> None:
    store = services(memory).store
    with store.write() as tx:
        mark_erased(tx)
    count = erasures(store)
    with store.write() as tx:
        mark_erased(tx)
    note_scrubbed(store, complete=True, rewrite=True, count=count)
    assert store.setting(SCRUB) == "pending"
    note_scrubbed(store, complete=True, rewrite=True, count=erasures(store))
    assert store.setting(SCRUB) == "done"


@pytest.mark.parametrize(("worker", "shares"), [("thread", True), ("inline", False), ("none", False)])
def test_only_a_process_with_a_background_worker_lets_erasures_wait(folder: Path, worker: str, *, shares: bool) -> None:
    store = make_store(Settings(store=str(folder / "memory.db"), worker=worker))
    with holdfast.open(folder / "memory.db", embedder="none", worker="none") as memory:
        use_up_the_time(memory)
    with store.write() as tx:
        mark_erased(tx)
    assert store.scrub([], when="later")[0] is not shares
    store.close()


def test_rewriting_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    pace = rewrites.RewritePace(tmp_path / "memory.db")
    assert pace.is_due("default"), "after a quiet period, even a slow rewrite begins at once"
    pace.spend(1.0)
    assert not pace.is_due("default")
    pace.spend(-0.7)
    assert not pace.is_due("default"), "0.05 s are still missing"
    pace.spend(-0.1)
    assert pace.is_due("default")


def enlarge(memory: Engine) -> None:
    """Store so much that a rewrite of the file takes a while."""
    for number in range(20):
        memory.remember(f"box {number} " + "of lace " * 20_000, user="otheruser")


def test_while_a_neighbor_writes_its_writes_do_not_wait_for_a_rewrite(open_paced: OpenPaced, files_with: FilesWith) -> None:
    memory, neighbor = open_paced(), open_paced("neighbor")
    enlarge(memory)
    fill(memory, "victimuser")
    fill(neighbor, "ana", "ben", "cleo", "dara")
    assert memory.erase(user="victimuser").status == "pending"
    assert count_rewrites(memory) == 0
    fill(memory, *(f"user{number}" for number in range(64)))  # the turns of the neighbor are no longer among the latest
    services(memory).housekeeping.scrub("due")
    assert (count_rewrites(memory), states(memory)) == (1, {("erased", True)})
    assert files_with("victimuser") == []


def test_a_small_file_is_rewritten_at_once_while_a_neighbor_writes(open_paced: OpenPaced) -> None:
    memory, neighbor = open_paced(), open_paced("neighbor")
    fill(memory, "victimuser")
    fill(neighbor, "ana", "ben", "cleo", "dara")
    assert memory.erase(user="victimuser").verified


def test_own_writes_do_not_postpone_a_rewrite(open_paced: OpenPaced) -> None:
    memory = open_paced()
    enlarge(memory)
    fill(memory, "victimuser", "ana", "ben", "cleo", "dara")
    assert memory.erase(user="victimuser").verified


def test_a_rewrite_waits_for_a_quiet_moment_only_so_long(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(bytes(rewrites._QUICK_BYTES + 1))
    pace, turns = rewrites.RewritePace(path, max_wait=0.2), turns_of(path)
    for _ in range(rewrites._BUSY_TURNS):
        turns.acquire("neighbor")
        turns.release()
    assert not pace.is_due("default")
    assert pace.is_due("neighbor")
    time.sleep(0.2)
    assert pace.is_due("default")
    pace.spend(0)
    assert not pace.is_due("default"), "the next rewrite waits again"


def test_an_erasure_is_complete_although_another_connection_moves_the_log_into_the_file(open_paced: OpenPaced) -> None:
    """SQLite refuses to empty a log at once, without waiting, while another connection moves it into the file."""
    memory = open_paced()
    path = services(memory).store.location
    done = threading.Event()

    def move_the_log() -> None:
        with closing(apsw.Connection(path)) as connection:
            while not done.is_set():
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(move_the_log)
        try:
            for user in ("ana", "ben", "cleo", "dara", "eva", "finn"):
                fill(memory, user)
                rewrites.pace_of(Path(path)).spend(-A_LONG_TIME)
                assert memory.erase(user=user).verified
        finally:
            done.set()
        moving.result()


def test_bytes_that_a_scan_finds_do_not_cause_a_rewrite_while_rewrites_must_wait(open_paced: OpenPaced) -> None:
    memory = open_paced()
    fill(memory, "otheruser")
    store = services(memory).store
    needle = b"SQLite format 3"  # always in the file, never in a row
    use_up_the_time(memory)
    before = count_rewrites(memory)
    complete, residue = store.scrub([needle], rewrite=False, when="later")
    assert (complete, bool(residue), count_rewrites(memory)) == (False, True, before)
    assert store.scrub([needle], rewrite=False, when="now")[0]
    assert count_rewrites(memory) == before + 1


def test_while_a_reader_needs_the_log_neighbors_write_for_most_of_the_time(open_paced: OpenPaced, folder: Path) -> None:
    memory, neighbor = open_paced("a"), open_paced("b")
    fill(memory, "victimuser")
    with closing(apsw.Connection(str(folder / "memory.db"))) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("BEGIN; SELECT count(*) FROM sequences").fetchall()
        fill(neighbor, "first")  # the reader needs the log from now on
        emptied = pool.submit(services(memory).store.scrub, [], rewrite=False)
        waits: list[float] = []
        while not emptied.done():
            began = time.monotonic()
            neighbor.remember(f"book {len(waits)}", user="bob")
            waits.append(time.monotonic() - began)
        assert emptied.result()[0] is False
    waited = sum(wait for wait in waits if wait > 0.05)
    assert waited < 0.5 * sum(waits), f"{waited:.1f} of {sum(waits):.1f} s"
