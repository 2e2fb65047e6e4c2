"""Many processes and threads on one database: migrations, jobs, and writes that must be serialized."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreTooNew
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.stores.postgres import PoolLimits, PostgresStore
from holdfast.testing.samples import ANA, AT, BOB, DAY, a_job, a_memory, a_message, a_session, remember, say
from holdfast.testing.store_vectors import towards
from tests.runtime.forking import write_in_a_forked_child
from tests.stores.postgres.support import OpenPostgres, Run, Server, as_owner, empty_url, open_store, psycopg, server, url

pytestmark = pytest.mark.long

__all__ = ["as_owner", "empty_url", "open_store", "server", "url"]

_processes = multiprocessing.get_context("spawn")


def _open_and_remember(url: str, number: int) -> None:
    store = PostgresStore(url)
    remember(store, a_memory(f"from {number}", id=f"mem_{number}"))
    store.close()


def _take_jobs(url: str, worker: str, queue: Any) -> None:
    store = PostgresStore(url)
    taken = []
    while True:
        with store.write() as tx:
            job = tx.lease_job(worker=worker, now=AT, until=AT + DAY)
        if job is None:
            break
        taken.append(job.id)
    store.close()
    queue.put(taken)


def _run(target: Callable[..., None], *arguments: tuple[Any, ...]) -> None:
    started = [_processes.Process(target=target, args=each) for each in arguments]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0] * len(started)


def _all_at_once(*calls: Callable[[], object]) -> list[Exception]:
    failed: list[Exception] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001  (returned to the test)
            failed.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


@pytest.mark.long
def test_four_processes_make_the_tables_at_once(empty_url: str) -> None:
    _run(_open_and_remember, *((empty_url, number) for number in range(4)))
    store = PostgresStore(empty_url)
    try:
        assert len(store.memories(MemoryFilter())) == 4
        assert all(finding.ok for finding in store.check())
    finally:
        store.close()
    with psycopg.connect(empty_url) as connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM holdfast.migrations ORDER BY number")]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


def test_a_database_of_a_newer_version_is_refused_and_left_untouched(server: Server) -> None:
    made = server.new()
    try:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute("INSERT INTO holdfast.migrations VALUES (9999, 'from the future', '00')")
        with pytest.raises(StoreTooNew, match="upgrade holdfast"):
            PostgresStore(made)
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute("DELETE FROM holdfast.migrations WHERE number = 9999")
            connection.execute("UPDATE holdfast.migrations SET sha256 = 'altered' WHERE number = 1")
        with pytest.raises(StoreCorrupt, match="another text"):
            PostgresStore(made)
    finally:
        server.drop(made)


def test_several_processes_take_each_job_once(url: str, open_store: OpenPostgres) -> None:
    store = open_store()
    with store.write() as tx:
        for number in range(60):
            tx.add_job(a_job(f"x{number}", id=f"job_{number:02}"))
    queue: Any = _processes.Queue()
    _run(_take_jobs, *((url, f"w{number}", queue) for number in range(3)))
    taken = [queue.get(timeout=5) for _ in range(3)]
    assert sorted(id for each in taken for id in each) == [f"job_{number:02}" for number in range(60)]


def test_a_job_that_another_worker_is_leasing_is_skipped(open_store: OpenPostgres) -> None:
    store = open_store()
    with store.write() as tx:
        tx.add_job(a_job("first", id="job_1"))
        tx.add_job(a_job("second", id="job_2"))
    with store.write() as tx:
        mine = tx.lease_job(worker="me", now=AT, until=AT + DAY)
        found: list[str | None] = []

        def take() -> None:
            with store.write() as other:
                job = other.lease_job(worker="you", now=AT, until=AT + DAY)
                found.append(job.id if job else None)

        assert _all_at_once(take) == []
    assert mine is not None
    assert (mine.id, found) == ("job_1", ["job_2"])


def test_a_job_is_not_taken_over_while_its_result_is_written(open_store: OpenPostgres) -> None:
    store = open_store()
    with store.write() as tx:
        tx.add_job(a_job("x", id="job_1"))
        job = tx.lease_job(worker="me", now=AT, until=AT)
    assert job is not None
    with store.write() as tx:
        assert tx.holds_lease(job)
        found: list[object] = []

        def take() -> None:
            with store.write() as other:
                found.append(other.lease_job(worker="you", now=AT + DAY, until=AT + DAY))

        assert _all_at_once(take) == []
        tx.set_job(replace(job, state="done"))
    assert found == [None]


def test_concurrent_check_and_write_transactions_store_one_value(open_store: OpenPostgres) -> None:
    store = open_store()

    def remember_if_new() -> None:
        with store.write() as tx:
            if not tx.memories(MemoryFilter(exactly=ANA, content_hash="aa")):
                time.sleep(0.02)
                tx.add_revision(a_memory("likes tea", content_hash="aa"))

    assert _all_at_once(*[remember_if_new] * 6) == []
    assert len(store.memories(MemoryFilter())) == 1


def test_a_message_sent_twice_at_once_is_kept_once(open_store: OpenPostgres) -> None:
    store = open_store()

    def send() -> None:
        with store.write() as tx:
            if not tx.messages(MessageFilter(session="ses_1", client_id="c1")):
                time.sleep(0.02)
                if tx.session("ses_1") is None:
                    tx.add_session(a_session())
                tx.add_message(a_message("hello", client_id="c1"))

    assert _all_at_once(*[send] * 6) == []
    assert len(store.messages(MessageFilter(session="ses_1"))) == 1


def test_a_counter_stored_as_a_setting_loses_no_increment(open_store: OpenPostgres) -> None:
    store = open_store()

    def count() -> None:
        with store.write() as tx:
            tx.set_setting("count", str(int(tx.setting("count") or 0) + 1))

    assert _all_at_once(*[count] * 8) == []
    assert store.setting("count") == "8"


@pytest.mark.long
def test_users_do_not_wait_for_each_other(open_store: OpenPostgres) -> None:
    store = open_store(limits=PoolLimits(lock_timeout=2.0))
    remember(store, a_memory("ana's"), a_memory("bob's", scope=BOB))
    with store.write() as tx:
        tx.memories(MemoryFilter(exactly=ANA))
        tx.add_revision(a_memory("more of ana's"))
        tx.add_message(a_message("ana says"))
        assert _all_at_once(lambda: remember(store, a_memory("more of bob's", scope=BOB))) == []
        (failed,) = _all_at_once(lambda: remember(store, a_memory("even more of ana's")))
    assert isinstance(failed, StoreBusy)
    assert len(store.memories(MemoryFilter())) == 4


def test_texts_stored_while_a_model_is_registered_wait_for_its_vector(open_store: OpenPostgres) -> None:
    store = open_store()
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> None:
        with store.write() as tx:
            tx.add_revision(a_memory("under way"))
            begun.set()
            go_on.wait(60)

    def choose() -> None:
        begun.wait(60)
        threading.Timer(0.1, go_on.set).start()
        with store.write() as tx:
            tx.use_model("a")

    assert _all_at_once(slowly, choose) == []
    assert [window.text for window in store.missing_vectors("a", limit=5)] == ["under way"]


def test_a_vector_stored_while_its_memory_is_removed_is_removed_too(open_store: OpenPostgres) -> None:
    store = open_store()
    with store.write() as tx:
        tx.use_model("a")
    (memory,) = remember(store, a_memory("one"))

    def remove() -> None:
        with store.write() as tx:
            tx.remove_memories([memory.id])

    with store.write(durable=False) as tx:
        assert tx.put_vectors("a", [(memory.item, 0)], towards(0)) == 1
        thread = threading.Thread(target=remove)
        thread.start()
        time.sleep(0.1)
    thread.join()
    assert (store.stats()["vectors"], store.stats()["waiting_for_vectors"]) == (0, 0)
    assert all(finding.ok for finding in store.check())


def test_sequence_numbers_follow_the_order_of_commits(open_store: OpenPostgres) -> None:
    store = open_store()
    first: list[int] = []

    def later() -> None:
        first.append(say(store, a_message("second"))[0].seq)

    with store.write() as tx:
        stored = tx.add_message(a_message("first"))
        thread = threading.Thread(target=later)
        thread.start()
        time.sleep(0.1)
    thread.join()
    assert stored.seq < first[0]


def test_a_worker_hears_of_a_job_that_another_process_queued(open_store: OpenPostgres) -> None:
    store, other, foreign = open_store(), open_store(), open_store(tenant="other")
    heard: list[bool] = []
    assert not store.wait_for_jobs(0.01)
    thread = threading.Thread(target=lambda: heard.append(store.wait_for_jobs(20)))
    thread.start()
    with other.write() as tx:
        tx.add_job(a_job("x"))
    thread.join()
    assert heard == [True]
    with foreign.write() as tx:
        tx.add_job(a_job("y"))
    assert not store.wait_for_jobs(0.3)


def test_a_store_can_be_closed_by_a_thread_other_than_the_listening_one(open_store: OpenPostgres) -> None:
    store = open_store()
    thread = threading.Thread(target=store.wait_for_jobs, args=(0.01,))
    thread.start()
    thread.join()
    store.close()
    with pytest.raises(StoreClosed):
        store.wait_for_jobs(0.01)


def test_a_fork_does_not_wait_for_a_thread_that_listens(open_store: OpenPostgres) -> None:
    store, started, end = open_store(), threading.Event(), threading.Event()

    def listen() -> None:
        store.wait_for_jobs(0.01)
        started.set()
        end.wait(30)

    thread = threading.Thread(target=listen)
    thread.start()
    assert started.wait(60)
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(store.wait_for_jobs(0.01)))
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert not store.wait_for_jobs(0.01)


def test_a_forked_child_can_write(open_store: OpenPostgres) -> None:
    store = open_store()
    write_in_a_forked_child(store)


def test_a_nested_write_on_one_thread_is_refused(open_store: OpenPostgres) -> None:
    store = open_store()
    with store.write(), pytest.raises(StoreError, match="already under way"), store.write():
        pass


def test_more_threads_than_connections_wait_for_their_turn(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store(limits=PoolLimits(connections=2))

    def talk(who: int) -> None:
        for number in range(5):
            with store.write() as tx:
                tx.add_revision(a_memory(f"{who} {number}", id=f"mem_{who}_{number}"))
                store.memories(MemoryFilter(limit=1))

    assert _all_at_once(*[lambda who=who: talk(who) for who in range(6)]) == []
    assert len(store.memories(MemoryFilter())) == 30
    used = as_owner("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast' AND datname = current_database()")
    assert int(str(used[0][0])) <= 2
