"""Concurrent additions and removals in PostgreSQL leave no orphaned rows."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast.protocols import MessageFilter, SessionFilter
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.transaction import PostgresTransaction
from holdfast.testing.samples import AT, a_job, a_memory, a_message, remember, say
from holdfast.testing.store_vectors import towards
from holdfast.types import Job, Scope
from tests.stores.postgres.support import OpenPostgres, Run, as_owner, open_store, server, url

__all__ = ["as_owner", "open_store", "server", "url"]

_KITCHEN = Scope(app="kitchen", user="ana")


def _meanwhile(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    return thread


def _erase_app(store: PostgresStore) -> None:
    owner = {"app": "kitchen"}
    with store.write() as tx:
        tx.sessions(SessionFilter(owner=owner))
        tx.remove_messages([message.id for message in tx.messages(MessageFilter(owner=owner))])
        tx.remove_scope(owner)


def test_a_message_added_while_an_app_is_erased_is_either_erased_or_visible(open_store: OpenPostgres, as_owner: Run) -> None:
    store, other = open_store(), open_store()
    (old,) = say(store, a_message("old", scope=_KITCHEN))
    with store.write() as tx:
        tx.remove_messages([old.id])
        tx.remove_sessions([(old.session, old.scope)])
    with other.write() as tx:
        tx.add_message(a_message("new", scope=_KITCHEN))
        erasing = _meanwhile(lambda: _erase_app(store))
    erasing.join()
    assert as_owner("SELECT count(*) FROM messages") == [(len(store.messages(MessageFilter())),)]


def test_a_vector_stored_while_its_model_is_dropped_is_removed_too(open_store: OpenPostgres, as_owner: Run) -> None:
    store, other = open_store(), open_store()
    with store.write() as tx:
        tx.use_model("a")
    (memory,) = remember(store, a_memory("one"))

    def drop() -> None:
        with other.write() as tx:
            tx.drop_model("a")

    with store.write(durable=False) as tx:
        assert tx.put_vectors("a", [(memory.item, 0)], towards(0)) == 1
        dropping = _meanwhile(drop)
    dropping.join()
    assert as_owner("SELECT count(*) FROM vectors") == [(0,)]


@pytest.mark.ledger("X9")
def test_two_workers_never_lease_two_jobs_of_one_scope(open_store: OpenPostgres) -> None:
    store, other = open_store(), open_store()
    with store.write() as tx:
        for number in range(2):
            assert tx.add_job(a_job(f"job_{number}", kind="digest", payload={"user": "ana", "session": f"s{number}"}))
        assert tx.add_job(a_job("job_2", kind="digest", payload={"user": "ben", "session": "s"}))
    leased: list[Job | None] = []

    def lease(tx: PostgresTransaction, worker: str) -> Job | None:
        return tx.lease_job(worker=worker, now=AT, until=AT + timedelta(minutes=5), exclusive=("digest",))

    def lease_too() -> None:
        with other.write() as tx:
            leased.append(lease(tx, "second"))

    with store.write() as tx:
        leased.append(lease(tx, "first"))
        leasing = _meanwhile(lease_too)
    leasing.join()
    assert [job.payload["user"] for job in leased if job] == ["ana", "ben"]
