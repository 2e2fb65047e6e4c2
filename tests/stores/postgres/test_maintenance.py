"""Maintenance of a database: opening by address, checks, scrubbing, and users with fewer privileges."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import SettingsError, StoreError
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.stores.postgres import PostgresStore
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.testing.samples import a_memory, remember
from tests.stores.postgres.support import OpenPostgres, Run, Server, as_owner, open_store, psycopg, url

__all__ = ["as_owner", "open_store", "url"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server for this module only. Its whole log is scanned, and other tests' databases would write to it."""
    started = Server()
    yield started
    started.stop()


_SECRET = "the pangolin sleeps under the third lantern"


def test_an_address_opens_a_memory(url: str, clock: FrozenClock) -> None:
    with holdfast.open(url, embedder=HashEmbedder(), worker="none", clock=clock) as memory:
        memory.remember("Ana likes green tea", user="ana")
        assert services(memory).store.location.startswith("postgresql://postgres@/")
    with holdfast.open(url, embedder=HashEmbedder(), worker="none", clock=clock) as memory:
        assert [hit.text for hit in memory.recall("what does Ana drink, tea?", user="ana")] == ["Ana likes green tea"]


@pytest.mark.parametrize("wrong", [{"key": "hush"}, {"settings": {"index": "chroma"}}])
def test_options_that_only_apply_to_files_are_refused(url: str, wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="PostgreSQL"):
        holdfast.open(url, embedder="none", worker="none", **wrong)  # type: ignore[arg-type]


def test_the_check_names_versions_and_settings(open_store: OpenPostgres) -> None:
    findings = {finding.check: finding for finding in open_store().check(deep=False)}
    assert findings["server"].detail.startswith("PostgreSQL ")
    assert findings["pgvector"].detail.startswith("pgvector 0.")
    for name in ("fsync", "full_page_writes", "data checksums"):
        assert (findings[name].ok, findings[name].detail) == (True, "on")
    assert findings["row level security"].ok


@pytest.fixture
def plain_url(server: Server) -> Iterator[str]:
    """The address of a database with pgvector. It names a user without special privileges."""
    made = server.new(empty=True)
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("DROP ROLE IF EXISTS plain")
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("GRANT ALL ON DATABASE " + psycopg.conninfo.conninfo_to_dict(made)["dbname"] + " TO plain")
    yield made.replace("postgres:@", "plain:@")
    server.drop(made)


def test_a_user_without_special_rights_owns_the_tables_and_is_bound_by_the_policies(plain_url: str) -> None:
    store, other = PostgresStore(plain_url), PostgresStore(plain_url, tenant="other")
    try:
        remember(store, a_memory("ours"))
        assert store.guard(lambda: len(store.connection.execute("SELECT * FROM memories").fetchall())) == 1
        assert other.guard(lambda: len(other.connection.execute("SELECT * FROM memories").fetchall())) == 0
        assert all(finding.ok for finding in store.check())
        assert not store.tidy()
    finally:
        store.close()
        other.close()


def test_without_access_to_the_log_the_receipt_says_what_may_remain(plain_url: str) -> None:
    store = PostgresStore(plain_url)
    try:
        (gone,) = remember(store, a_memory(_SECRET))
        with store.write() as tx:
            tx.remove_memories([gone.id])
        complete, residue = store.scrub([_SECRET.encode()])
    finally:
        store.close()
    assert complete
    assert any("write-ahead log" in line for line in residue)
    assert any("cannot be read from here" in line for line in residue)


def test_a_server_without_pgvector_for_this_user_says_what_to_run(server: Server) -> None:
    made = server.new(empty=True)
    try:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS visitor")
            connection.execute("CREATE ROLE visitor LOGIN")
        with pytest.raises(StoreError, match=r"permission denied|administrator"):
            PostgresStore(made.replace("postgres:@", "visitor:@"))
        with psycopg.connect(made) as connection:
            assert connection.execute("SELECT to_regclass('holdfast.memories')").fetchone() == (None,)
    finally:
        server.drop(made)


@pytest.mark.long
@pytest.mark.ledger("X5")
def test_not_a_byte_of_what_was_erased_is_in_the_servers_files(server: Server, open_store: OpenPostgres) -> None:
    store = open_store()
    (gone,) = remember(store, a_memory(_SECRET))
    remember(store, a_memory("something else"))
    assert _files_with(server.folder, _SECRET)
    with store.write() as tx:
        tx.remove_memories([gone.id])
    assert store.scrub([_SECRET.encode()]) == (True, ())
    assert _files_with(server.folder, _SECRET) == []
    assert [memory.text for memory in store.memories(MemoryFilter())] == ["something else"]


def _files_with(folder: Path, text: str) -> list[str]:
    wanted = text.encode()
    places = [folder / "base", folder / "pg_wal"]
    return [str(path) for place in places for path in place.rglob("*") if path.is_file() and wanted in path.read_bytes()]


@pytest.mark.long
def test_bytes_that_another_row_explains_are_no_residue(open_store: OpenPostgres) -> None:
    store = open_store()
    gone, _ = remember(store, a_memory(_SECRET), a_memory(f"Bob says: {_SECRET}"))
    with store.write() as tx:
        tx.remove_memories([gone.id])
    assert store.scrub([_SECRET.encode()]) == (True, ())


@pytest.mark.long
def test_erased_bytes_wait_for_a_reader_that_still_needs_them(open_store: OpenPostgres, url: str) -> None:
    store = open_store()
    (gone,) = remember(store, a_memory(_SECRET))
    with psycopg.connect(url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM pg_class")
        with store.write() as tx:
            tx.remove_memories([gone.id])
        complete, _ = store.scrub([_SECRET.encode()])
        assert not complete
    assert store.scrub([_SECRET.encode()]) == (True, ())


@pytest.mark.long
def test_a_database_dump_during_an_erasure_does_not_block_other_requests(open_store: OpenPostgres, url: str) -> None:
    store = open_store()
    (gone,) = remember(store, a_memory(_SECRET))
    with store.write() as tx:
        tx.remove_memories([gone.id])
    with psycopg.connect(url) as dump:
        dump.execute("LOCK TABLE holdfast.memories IN ACCESS SHARE MODE")
        complete, _ = store.scrub([_SECRET.encode()])
        assert not complete
    assert store.scrub([_SECRET.encode()]) == (True, ())


def test_planner_samples_of_an_erased_text_are_removed(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    kept = remember(store, *(a_memory(f"chamomile number {number} at dawn", id=f"mem_{number}") for number in range(40)))
    as_owner("ANALYZE holdfast.memories")
    with store.write() as tx:
        tx.remove_memories([memory.id for memory in kept])
    assert store.scrub([b"chamomile number 7 at dawn"]) == (True, ())


@pytest.mark.long
def test_many_log_segments_kept_for_reuse_are_all_overwritten(open_store: OpenPostgres, as_owner: Run) -> None:
    store = open_store()
    for _ in range(4):  # the server keeps more segments, the more is written between checkpoints
        as_owner("SELECT pg_logical_emit_message(false, 'test', repeat('x', 15000000)) FROM generate_series(1, 20)")
        as_owner("CHECKPOINT")
    (kept,) = remember(store, a_memory(_SECRET))
    with store.write() as tx:
        tx.remove_memories([kept.id])
    assert store.scrub([_SECRET.encode()]) == (True, ())
