"""Scrubs of a PostgreSQL database: one scrub for all tenants, readers are not blocked, and receipts are completed later."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import pytest

import holdfast
from holdfast import Engine
from holdfast.protocols import SCRUB, MemoryFilter, Unreachable
from holdfast.stores.postgres import PostgresStore, scrub_schedule
from holdfast.stores.postgres.connect import PoolLimits, connect
from holdfast.stores.postgres.rewriting import TableCopy
from holdfast.stores.postgres.session import PostgresSession
from holdfast.testing import FrozenClock
from holdfast.testing.samples import a_memory, a_message, remember, say
from holdfast.types import Scope
from tests.cli.support import Holdfast
from tests.stores.postgres.support import OpenPostgres, Run, Server, as_owner, open_store, psycopg, server, url

pytestmark = pytest.mark.long

__all__ = ["as_owner", "open_store", "server", "url"]

_SECRET = "the pangolin sleeps under the third lantern"


def _files_with(folder: Path, text: str) -> list[str]:
    wanted = text.encode()
    places = [folder / "base", folder / "pg_wal"]
    return [str(path) for place in places for path in place.rglob("*") if path.is_file() and wanted in path.read_bytes()]


OpenTenant = Callable[..., Engine]


@pytest.fixture
def open_tenant(url: str, clock: FrozenClock, tmp_path: Path) -> Iterator[OpenTenant]:
    """Yield a function that opens a tenant's engine. The database is scrubbed at most once per hour."""
    opened: list[Engine] = []

    def open_one(tenant: str) -> Engine:
        opened.append(holdfast.open(url, tenant=tenant, embedder="none", worker="none", clock=clock))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


# --- one scrub for all tenants ----------------------------------------------------------------------------


@pytest.mark.ledger("X5")
def test_one_scrub_completes_the_receipts_of_all_tenants(open_tenant: OpenTenant, server: Server, as_owner: Run) -> None:
    first, second = open_tenant("first"), open_tenant("second")
    for memory, animal in ((first, "quokka"), (second, "axolotl")):
        memory.remember(f"The {animal} of Ana sleeps in the lighthouse", user="ana")
        memory.remember(f"The {animal} of Ben sleeps in the windmill", user="ben")
    receipts = [memory.erase(user="ana") for memory in (first, second)]
    assert [(receipt.status, receipt.verified) for receipt in receipts] == [("pending", False)] * 2
    assert _files_with(server.folder, "quokka of Ana sleeps")
    assert as_owner("SELECT count(*) FROM scrubs") == [(0,)]

    first.drain()
    found = first.receipt(receipts[0].id)
    assert (found.status, found.verified, found.residue) == ("erased", True, ())
    assert second.receipt(receipts[1].id).status == "pending"
    second.drain()
    found = second.receipt(receipts[1].id)
    assert (found.status, found.verified, found.residue) == ("erased", True, ())
    assert as_owner("SELECT count(*) FROM scrubs") == [(1,)]
    for animal in ("quokka", "axolotl"):
        assert _files_with(server.folder, f"{animal} of Ana sleeps") == []
        assert _files_with(server.folder, f"{animal} of Ben sleeps")


@pytest.mark.long
def test_a_second_scrub_waits_for_the_interval_unless_it_is_requested(
    open_tenant: OpenTenant, as_owner: Run, clock: FrozenClock
) -> None:
    memory = open_tenant("first")
    receipts = []
    for user in ("ana", "ben", "eva"):
        memory.remember(f"{user} keeps a narwhal in the cellar", user=user)
    for user in ("ana", "ben"):
        receipts.append(memory.erase(user=user))
        clock.advance(timedelta(minutes=1))
        memory.drain()
    assert [memory.receipt(receipt.id).status for receipt in receipts] == ["erased", "pending"]
    as_owner("UPDATE scrubs SET started_at = started_at - interval '1 hour'")
    clock.advance(timedelta(minutes=1))
    memory.drain()
    assert memory.receipt(receipts[1].id).verified
    last = memory.erase(user="eva")
    assert [(receipt.id, receipt.verified) for receipt in memory.scrub()] == [(last.id, True)]
    assert as_owner("SELECT count(*) FROM scrubs") == [(3,)]


def test_a_scrub_does_not_cover_an_erasure_that_came_after_its_begin(open_store: OpenPostgres, url: str) -> None:
    store = open_store(scrub_interval=3600)
    with connect(url, limits=PoolLimits()) as raw:
        session = PostgresSession(raw)
        number = scrub_schedule.begin(session)
        with store.write() as tx:
            tx.set_setting(SCRUB, "pending")
        scrub_schedule.finish(session, number, ())
    assert store.scrub([], when="due") == (False, ())


def test_a_process_that_did_not_erase_completes_the_receipt_without_calling_it_verified(
    open_tenant: OpenTenant, server: Server
) -> None:
    memory = open_tenant("first")
    memory.remember(_SECRET, user="ana")
    receipt = memory.erase(user="ana")
    memory.close()
    worker = open_tenant("first")
    worker.drain()
    found = worker.receipt(receipt.id)
    assert (found.status, found.verified, found.residue) == ("erased", False, ())
    assert _files_with(server.folder, _SECRET) == []


def test_the_command_line_scrubs_now(url: str, tmp_path: Path) -> None:
    holdfast_cli = Holdfast(tmp_path, tmp_path / "models", embedder="none")

    def run(*arguments: str) -> str:
        return holdfast_cli(*arguments, "--store", url).output

    for user in ("ana", "ben"):
        run("remember", f"{user} keeps a narwhal in the cellar", "--user", user)
    assert "PENDING" in run("erase", "--user", "ana", "--yes")
    assert "pending" in run("receipts")
    assert "erased" in run("scrub")
    assert "Verified" in run("erase", "--user", "ben", "--yes", "--scrub")
    assert "No receipt was pending." in run("scrub")


# --- rewriting while the table is in use ------------------------------------------------------------------


def _shape(as_owner: Run) -> dict[str, Any]:
    """Return all properties of the tables that a rewrite must keep."""
    queries = {
        "columns": "SELECT attrelid::regclass::text, attnum, attname, attnotnull, attstattarget, atttypid::regtype::text FROM pg_attribute "
        "JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r' AND attnum > 0 ORDER BY 1, 2",
        "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'holdfast' ORDER BY 1",
        "comments": "SELECT objoid::regclass::text, description FROM pg_description WHERE description LIKE '%pangolins%' ORDER BY 1",
        "constraints": "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'holdfast'::regnamespace ORDER BY 1, 2",
        "policies": "SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2",
        "rights": "SELECT relname, relacl::text, relowner, relrowsecurity, relforcerowsecurity, reloptions::text FROM pg_class "
        "WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r' ORDER BY 1",
        "functions": "SELECT proname FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace",
        "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    }
    return {name: as_owner(sql) for name, sql in queries.items()}


class _Load:
    """A writing thread and a reading thread that run until stopped. It records the longest time that a read took."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self._numbers = itertools.count()
        self.written: list[str] = []
        self.slowest = 0.0
        self.errors: list[Exception] = []
        self._threads = [threading.Thread(target=self._repeat, args=(step,)) for step in (self._write, self._read)]

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                step()
            except Exception as error:  # noqa: BLE001  (asserted to be none)
                self.errors.append(error)

    def _write(self) -> None:
        number = next(self._numbers)
        (memory,) = remember(self._store, a_memory(f"written meanwhile {number}"))
        if number % 3 == 2:
            with self._store.write() as tx:
                tx.remove_memories([memory.id])
            return
        self.written.append(memory.id)

    def _read(self) -> None:
        started = time.perf_counter()
        assert self._store.memories(MemoryFilter(limit=5))
        self.slowest = max(self.slowest, time.perf_counter() - started)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.ledger("X5")
@pytest.mark.long
def test_large_tables_are_rewritten_while_others_read_and_write_them(
    open_store: OpenPostgres, server: Server, as_owner: Run
) -> None:
    store, other = open_store(max_locked_bytes=0), open_store(tenant="other")
    gone, *kept = remember(store, a_memory(_SECRET), *(a_memory(f"chamomile {number}") for number in range(300)))
    (theirs,) = remember(other, a_memory("of another tenant", scope=Scope(tenant="other", user="ana")))
    as_owner(
        "CREATE INDEX vectors_1_1_hnsw ON holdfast.vectors USING hnsw ((embedding::halfvec(3)) halfvec_ip_ops) WHERE model = 1"
    )
    as_owner("COMMENT ON INDEX holdfast.vectors_1_1_hnsw IS '1 1 3 pangolins'' store'")
    as_owner("ALTER TABLE holdfast.messages SET (autovacuum_enabled = off)")
    before = _shape(as_owner)
    with store.write() as tx:
        tx.remove_memories([gone.id])
    began = time.perf_counter()
    with _Load(store) as load:
        assert store.scrub([_SECRET.encode()]) == (True, ())
        took = time.perf_counter() - began
    assert load.errors == []
    assert load.slowest < max(2.0, took / 2)  # a busy machine pauses a read, too
    assert len(load.written) > 5
    assert _files_with(server.folder, _SECRET) == []
    found = {memory.id for memory in store.memories(MemoryFilter())}
    assert found == {memory.id for memory in kept} | set(load.written)
    assert [memory.id for memory in other.memories(MemoryFilter())] == [theirs.id]
    assert _shape(as_owner) == before
    assert all(finding.ok for finding in store.check())


def test_a_rewrite_keeps_the_rows_of_a_user_whom_row_level_security_filters(server: Server) -> None:
    made = server.new(empty=True)
    try:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("DROP ROLE IF EXISTS plain_owner")
            connection.execute("CREATE ROLE plain_owner LOGIN")
            connection.execute("GRANT ALL ON DATABASE " + psycopg.conninfo.conninfo_to_dict(made)["dbname"] + " TO plain_owner")
        address = made.replace("postgres:@", "plain_owner:@")
        store, other = PostgresStore(address, max_locked_bytes=0), PostgresStore(address, tenant="other")
        try:
            gone, kept = remember(store, a_memory(_SECRET), a_memory("stays"))
            say(store, a_message("a message stays"))
            with store.write() as tx:
                tx.remove_memories([gone.id])
            complete, left = store.scrub([_SECRET.encode()])
            assert complete
            assert all(isinstance(line, Unreachable) for line in left)
            assert [memory.id for memory in store.memories(MemoryFilter())] == [kept.id]
            assert other.memories(MemoryFilter()) == []
            assert all(finding.ok for finding in store.check())
        finally:
            store.close()
            other.close()
    finally:
        server.drop(made)


def test_the_remains_of_a_killed_rewrite_are_removed(open_store: OpenPostgres, url: str, as_owner: Run) -> None:
    store = open_store(max_locked_bytes=0)
    remember(store, a_memory("before"))
    before = _shape(as_owner)
    with connect(url, limits=PoolLimits()) as raw:
        TableCopy(PostgresSession(raw), "memories")._prepare()
    remember(store, a_memory("after"))
    assert _shape(as_owner) != before
    assert store.scrub([]) == (True, ())
    assert _shape(as_owner) == before
    assert {memory.text for memory in store.memories(MemoryFilter())} == {"before", "after"}


def test_a_table_that_an_administrator_publishes_is_not_replaced(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store(max_locked_bytes=0)
    as_owner("CREATE PUBLICATION mine FOR TABLE holdfast.memories")
    try:
        complete, left = store.scrub([])
    finally:
        as_owner("DROP PUBLICATION mine")
    assert complete
    assert left == (
        "memories: not rewritten, because it has a publication; run VACUUM FULL holdfast.memories in a maintenance window",
    )


def test_a_table_is_not_replaced_while_another_program_has_a_snapshot(open_store: OpenPostgres, url: str) -> None:
    store = open_store(max_locked_bytes=0)
    remember(store, a_memory("kept"))
    with psycopg.connect(url) as dump, connect(url, limits=PoolLimits()) as raw:
        copy = TableCopy(PostgresSession(raw), "memories")
        copy._prepare()
        copy._build()
        dump.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        dump.execute("SELECT 1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            copy._swap(seconds=0.5)
        assert dump.execute("SELECT count(*) FROM holdfast.memories").fetchone() == (1,)
        dump.rollback()
        copy._swap()
    assert [memory.text for memory in store.memories(MemoryFilter())] == ["kept"]
