"""Broken connections: reads are repeated. If a write fails, the error says whether the data was stored."""

import contextlib
import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import HoldfastError, InvalidInput, StoreBusy, StoreClosed, StoreError
from holdfast.protocols import MemoryFilter
from holdfast.stores.postgres import PoolLimits, PostgresStore
from holdfast.stores.postgres.pool import PostgresConnections, Transaction
from holdfast.stores.postgres.session import PostgresSession
from holdfast.testing.samples import a_memory, a_session, remember
from tests.stores.postgres.support import OpenPostgres, Run, as_owner, open_store, server, url

__all__ = ["as_owner", "open_store", "server", "url"]

_OTHERS = "FROM pg_stat_activity WHERE application_name = 'holdfast' AND datname = current_database()"


def _texts(store: PostgresStore) -> list[str]:
    return [memory.text for memory in store.memories(MemoryFilter())]


def test_a_read_whose_connection_was_lost_is_repeated(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    remember(store, a_memory("one"))
    assert as_owner(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS}")
    assert _texts(store) == ["one"]


def test_a_connection_that_is_lost_within_a_snapshot_is_replaced(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    remember(store, a_memory("one"))
    with store.snapshot():
        assert _texts(store) == ["one"]
        assert as_owner(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS}")
        assert _texts(store) == ["one"]
        before = store.guard(lambda: store.connection)
        assert store.guard(lambda: store.connection) is before
    assert store.guard(lambda: store.connection) is not before


def test_a_write_replaces_an_idle_connection_that_was_lost(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    remember(store, a_memory("one"))
    assert as_owner(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS}")
    remember(store, a_memory("two"))
    assert sorted(_texts(store)) == ["one", "two"]


def test_a_write_that_is_cut_off_says_so_and_stores_nothing(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    with pytest.raises(StoreError, match="Nothing was stored"), store.write() as tx:  # noqa: PT012
        tx.add_revision(a_memory("half"))
        as_owner(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS} AND state <> 'idle'")
        tx.add_session(a_session())
    assert _texts(store) == []
    remember(store, a_memory("whole"))
    assert _texts(store) == ["whole"]


def test_a_write_that_is_cut_off_before_its_commit_is_known_to_be_undone(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    with pytest.raises(StoreError, match="Nothing was stored"), store.write() as tx:  # noqa: PT012
        tx.set_setting("colour", "red")
        as_owner(f"SELECT pg_terminate_backend(pid, 5000) {_OTHERS} AND state <> 'idle'")
    assert store.setting("colour") is None


def test_a_write_that_continues_after_a_failed_statement_does_not_count_as_stored(open_store: OpenPostgres) -> None:
    store = open_store()
    with pytest.raises(StoreError, match="Nothing was stored"), store.write() as tx:  # noqa: PT012
        tx.set_setting("colour", "red")
        tx.add_session(a_session())
        with contextlib.suppress(StoreError):
            tx.guard(lambda: tx.add_session(a_session()))
    assert store.setting("colour") is None


class CutAfterCommit(PostgresConnections):
    """Connections that break during each commit: after the server has committed, but before its response arrives."""

    def _commit(self, raw: "psycopg.Connection[tuple[object, ...]]", transaction: Transaction) -> None:
        raw.execute("COMMIT")
        raw.close()
        super()._commit(raw, transaction)


class CutByCrash(PostgresConnections):
    """Connections that break during each commit, as if the server had crashed: the transaction is rolled back.

    When the store then asks whether its transaction was committed, it gets the outcome of ``seen_after_crash`` instead. A
    real server may not know the transaction's id after a crash, or may have given the id to another transaction.
    """

    seen_after_crash: Transaction

    def _commit(self, raw: "psycopg.Connection[tuple[object, ...]]", transaction: Transaction) -> None:
        raw.execute("ROLLBACK")
        raw.close()
        super()._commit(raw, self.seen_after_crash)


@contextlib.contextmanager
def _cut_off(store: PostgresStore, connections: type[PostgresConnections] = CutAfterCommit) -> Iterator[None]:
    original = store._connections
    store._connections = connections(
        store.url,
        tenant=store.tenant,
        limits=original.limits,
        arguments=original._arguments,
        setup=original._setup,
        session=PostgresSession,
    )
    try:
        yield
    finally:
        store._connections.close()
        store._connections = original


def test_a_write_whose_answer_was_lost_is_known_to_be_stored(open_store: OpenPostgres) -> None:
    store = open_store()
    with _cut_off(store):
        remember(store, a_memory("stored once"))
    assert _texts(store) == ["stored once"]


def test_a_transaction_that_the_server_lost_in_a_crash_is_known_to_be_undone(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    (next_id,) = as_owner("SELECT (pg_current_xact_id()::text::bigint + 1000)::text")[0]
    CutByCrash.seen_after_crash = Transaction(str(next_id), None)
    with _cut_off(store, CutByCrash), pytest.raises(StoreError, match="Nothing was stored"):
        remember(store, a_memory("lost"))
    assert _texts(store) == []


def test_a_transaction_id_reused_after_a_crash_does_not_count_as_stored(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    (reused,) = as_owner("SELECT pg_current_xact_id()::text")[0]
    CutByCrash.seen_after_crash = Transaction(str(reused), "before the crash")
    with _cut_off(store, CutByCrash), pytest.raises(StoreError, match="may have been stored"):
        remember(store, a_memory("lost"))
    assert _texts(store) == []


def test_waiting_too_long_for_a_lock_fails_as_busy(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store(limits=PoolLimits(lock_timeout=0.2))
    remember(store, a_memory("one"))
    with store.write() as tx:
        tx.set_setting("colour", "red")
        failed: list[Exception] = []

        def write() -> None:
            try:
                with store.write() as other:
                    other.set_setting("colour", "blue")
            except StoreBusy as error:
                failed.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert ["try again" in str(error) for error in failed] == [True]
    assert store.setting("colour") == "red"


def test_a_statement_that_takes_too_long_is_canceled(open_store: OpenPostgres) -> None:
    store = open_store(limits=PoolLimits(statement_timeout=0.2))
    with pytest.raises(StoreBusy, match="statement timeout"):
        store.guard(lambda: store.connection.execute("SELECT pg_sleep(5)").fetchall())


def names_in(error: BaseException, *names: str) -> list[str]:
    """Return the parts of a database address that an error's text contains."""
    return [name for name in ("postgresql://", *names) if name in str(error)]


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
def test_a_server_that_is_not_there_gives_an_error_without_its_address(host: str) -> None:
    with pytest.raises(StoreError, match="The PostgreSQL store cannot be reached: ") as caught:
        PostgresStore(f"postgresql://ana:hush-hush@{host}:1/memories", limits=PoolLimits(connect_timeout=2))
    assert names_in(caught.value, "ana", "hush", host, "memories") == []


def test_a_refused_login_gives_an_error_without_user_host_and_database(url: str) -> None:
    host = str(conninfo_to_dict(url)["host"])
    with pytest.raises(StoreError, match="The PostgreSQL store cannot be reached: ") as caught:
        PostgresStore(f"postgresql://zebedee:hush-hush@/nonesuch?host={host}")
    assert names_in(caught.value, "zebedee", "hush", host, "nonesuch") == []


def test_errors_of_an_open_store_name_no_address(open_store: OpenPostgres, url: str) -> None:
    store, host = open_store(), str(conninfo_to_dict(url)["host"])
    failures: list[BaseException] = []
    for ask in (lambda: store.connection.execute("SELECT 1/0"), lambda: store.connection.execute("SELECT * FROM nonesuch")):
        with pytest.raises(HoldfastError) as caught:
            store.guard(ask)
        failures.append(caught.value)
    store.close()
    with pytest.raises(StoreClosed, match="The PostgreSQL store has been closed") as caught:
        store.memories(MemoryFilter())
    for failure in (*failures, caught.value):
        assert names_in(failure, host, "postgres@") == []


@pytest.mark.parametrize(
    "wrong",
    ["postgresql://[", "postgresql://host/db?nonsense=1", "postgresql://u:hush@host:port/db", "postgresql://u:hush@[::1/db"],
)
def test_the_error_for_an_invalid_address_does_not_show_the_password(wrong: str) -> None:
    with pytest.raises((StoreError, InvalidInput)) as caught:
        PostgresStore(wrong, limits=PoolLimits(connect_timeout=1))
    assert "hush" not in str(caught.value)


def test_the_location_has_no_password(open_store: OpenPostgres, url: str) -> None:
    store = PostgresStore(url.replace("postgres:@", "postgres:hush-hush@"))
    store.close()
    assert "hush" not in store.location
    assert store.location.startswith("postgresql://postgres@/")


def test_every_call_on_a_closed_store_raises_store_closed(open_store: OpenPostgres) -> None:
    store = open_store()
    store.close()
    for call in (store.stats, store.backups, store.check, lambda: store.scrub([]), store.tidy, lambda: store.wait_for_jobs(0)):
        with pytest.raises(StoreClosed):
            call()


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_a_value_that_postgresql_cannot_store_is_refused(open_store: OpenPostgres, text: str) -> None:
    store = open_store()
    with pytest.raises(InvalidInput):
        remember(store, a_memory(text))
    assert _texts(store) == []


def test_a_write_that_need_not_be_durable_does_not_wait_for_the_disk(open_store: OpenPostgres) -> None:
    store = open_store()
    for durable, expected in ((True, "on"), (False, "off")):
        with store.write(durable=durable) as tx:
            assert tx.connection.execute("SHOW synchronous_commit").fetchall() == [(expected,)]
