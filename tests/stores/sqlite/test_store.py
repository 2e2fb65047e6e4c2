"""The default store: the tests that all stores share, and tests that are specific to a SQLite file."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np
import pytest

from holdfast.errors import StoreClosed, StoreCorrupt, StoreError, StoreTooNew
from holdfast.protocols import MemoryFilter, Store
from holdfast.runtime.private_files import create_file
from holdfast.stores.sql.filters import memory_clauses
from holdfast.stores.sqlite import maintenance
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import StoreSuite
from holdfast.testing.samples import Alter, OpenStore, RowCounts, a_memory, remember
from tests.places import empty_store
from tests.runtime.forking import write_in_a_forked_child


def open_with(tmp_path: Path, key: str | None = None, *, new: bool = False) -> Iterator[OpenStore]:
    """Yield a function that opens stores, which are closed at the end.

    With ``new``, a file that does not exist yet is created as a copy of an empty store, which saves time.
    """
    handles: list[Store] = []

    def open_one(*, tenant: str = "default", path: Path | None = None) -> Store:
        file = path or tmp_path / "memory.db"
        if new and not file.exists():
            create_file(file)
            file.write_bytes(empty_store(key))
        handles.append(SQLiteStore(file, tenant=tenant, key=key))
        return handles[-1]

    yield open_one
    for handle in handles:
        handle.close()


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    yield from open_with(tmp_path)


class TestSQLite(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        yield from open_with(tmp_path, new=True)

    @pytest.fixture
    def row_counts(self, tmp_path: Path) -> RowCounts | None:
        def count() -> Mapping[str, int]:
            connection = apsw.Connection(str(tmp_path / "memory.db"))
            # The log of vector changes, the sequences and the full-text index's internal tables stay by design.
            tables = [
                name
                for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                if name
                not in ("vector_log", "sequences", "vocabulary", "fulltext", "fulltext_data", "fulltext_idx", "sqlite_stat1")
            ]
            counts = {table: connection.execute(f"SELECT count(*) FROM {table}").get for table in tables}
            connection.close()
            return counts

        return count

    @pytest.fixture
    def alter_text(self, tmp_path: Path) -> Alter | None:
        def alter(old: str, new: str) -> None:
            connection = apsw.Connection(str(tmp_path / "memory.db"))
            for table in ("memories", "messages"):
                connection.execute(f"UPDATE {table} SET text = ? WHERE text = ?", (new, old))
            connection.close()

        return alter


def test_each_migration_is_recorded_once(open_store: OpenStore, tmp_path: Path) -> None:
    for _ in range(3):
        open_store()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    numbers = [number for (number,) in connection.execute("SELECT number FROM migrations")]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


def test_a_file_of_a_newer_version_is_refused_and_left_untouched(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store().close()
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO migrations (number, name, sha256) VALUES (9999, 'from the future', '00')")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="upgrade holdfast"):
        open_store()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.stat().st_size] == ["memory.db"]


def test_a_migration_applied_with_another_text_is_refused(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store().close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE migrations SET sha256 = 'altered' WHERE number = 1")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another text"):
        open_store()
    assert path.read_bytes() == before


@pytest.mark.ledger("X8")
def test_the_tenant_comes_first_in_every_key(open_store: OpenStore, tmp_path: Path) -> None:
    open_store()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    tables = [
        name
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        if not sql.startswith("CREATE VIRTUAL")
        and not name.startswith(("fulltext_", "sqlite_"))
        and name not in ("sequences", "migrations")
    ]
    assert len(tables) > 10
    for table in tables:
        indexes = [row[1] for row in connection.execute(f"PRAGMA index_list({table})")]
        assert indexes, table
        for index in indexes:
            first = connection.execute(f"PRAGMA index_info({index})").fetchone()
            assert first is not None
            assert first[2] == "tenant", index


def test_a_file_that_is_not_a_database_is_refused_and_left_untouched(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_text("Dear diary, today I did not write a database.\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a Holdfast file"):
        open_store()
    assert path.read_bytes() == before


def test_a_damaged_header_is_reported(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store().close()
    data = bytearray(path.read_bytes())
    data[16:100] = bytes(84)
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="damaged"):
        open_store()


def test_a_path_through_a_file_gives_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="file"):
        SQLiteStore(tmp_path / "file" / "memory.db")


def test_a_folder_in_place_of_the_file_gives_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StoreError, match=r"memory\.db"):
        SQLiteStore(tmp_path / "memory.db")


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no write permission there")
@pytest.mark.parametrize("inside", ["memory.db", "new/memory.db"])
def test_a_read_only_folder_gives_a_clear_error(inside: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        told = _as_nobody(lambda: str(SQLiteStore(folder / inside)))
    assert told.startswith("StoreError: "), told
    assert str((folder / inside).parent) in told


def _as_nobody(call: Callable[[], str]) -> str:
    """Run a function in a child without privileges, because permissions do not apply to root. Return its output."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            told = call()
        except Exception as error:  # noqa: BLE001  (whatever it is, the parent must hear of it)
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return stream.read().decode()


def test_a_store_deleted_while_closed_starts_empty(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    remember(store, a_memory("gone with the file"))
    store.close()
    (tmp_path / "memory.db").unlink()
    assert open_store().memories(MemoryFilter()) == []


def test_every_call_on_a_closed_store_raises_store_closed(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    store.close()
    for call in (store.stats, store.backups, store.check, lambda: store.backup(tmp_path / "b.db"), lambda: store.scrub([])):
        with pytest.raises(StoreClosed):
            call()


def test_a_nested_write_on_one_thread_is_refused(open_store: OpenStore) -> None:
    store = open_store()
    with store.write(), pytest.raises(StoreError, match="already has an open write"), store.write():
        pass


def test_reads_in_a_snapshot_see_one_state(open_store: OpenStore) -> None:
    store, other = open_store(), open_store()
    remember(store, a_memory(text="first"))
    with store.snapshot():
        before = len(store.memories(MemoryFilter()))
        remember(other, a_memory(text="second"))
        assert (before, len(store.memories(MemoryFilter()))) == (1, 1)
    with store.snapshot():
        assert len(store.memories(MemoryFilter())) == 2


def test_a_forked_child_and_its_parent_both_write(open_store: OpenStore) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    store = open_store()
    write_in_a_forked_child(store)
    assert all(finding.ok for finding in store.check())


def segments(file: Path) -> set[int]:
    """Return the ids of the segments of the full-text index."""
    with contextlib.closing(apsw.Connection(str(file))) as connection:
        return {row[0] for row in connection.execute("SELECT DISTINCT segid FROM fulltext_idx")}


def test_one_batch_becomes_one_segment_of_the_full_text_index(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    with store.write() as tx:
        tx.use_model("m")
    with store.write() as tx:
        made = [tx.add_revision(a_memory(f"word{n} of many")) for n in range(40)]
        tx.put_vectors("m", [(memory.item, 0) for memory in made], np.eye(40, 64, dtype=np.float32))
    assert len(segments(tmp_path / "memory.db")) == 1


def test_tidying_leaves_one_segment_of_the_full_text_index(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    for batch in range(23):
        remember(store, *(a_memory(f"word{n} of batch{batch}") for n in range(30)))
    assert len(segments(tmp_path / "memory.db")) > 3
    while store.tidy():
        pass
    assert len(segments(tmp_path / "memory.db")) == 1


@pytest.mark.long
def test_tidying_merges_small_segments_and_leaves_the_large_one_unchanged(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    for batch in range(5):
        remember(store, *(a_memory(f"word{n} of batch{batch}, {n * 7 + batch} in number") for n in range(1000)))
    while store.tidy():
        pass
    large = segments(tmp_path / "memory.db")
    assert len(large) == 1
    for n in range(8):
        remember(store, a_memory(f"thing{n} by itself"))
    assert len(segments(tmp_path / "memory.db")) == 9
    while store.tidy():
        pass
    assert len(segments(tmp_path / "memory.db")) < 5
    assert large < segments(tmp_path / "memory.db")


def test_cleanup_reads_only_retired_memories(open_store: OpenStore) -> None:
    store = open_store()
    assert isinstance(store, SQLiteStore)
    wanted = MemoryFilter(statuses=["forgotten", "expired"], retired_before=datetime(2026, 1, 1, tzinfo=UTC))
    clauses = memory_clauses(store.connection, "default", wanted)
    plan = store.connection.execute(f"EXPLAIN QUERY PLAN SELECT id FROM memories WHERE {clauses.sql}", clauses.values).fetchall()
    assert ["memories_retired" in str(row[3]) for row in plan] == [True]


@pytest.mark.ledger("X6")
def test_a_row_that_exists_only_in_an_index_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SQLiteStore(path)
    remember(store, *(a_memory(f"note {n}") for n in range(300)))
    store.close()
    connection = apsw.Connection(str(path))
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories'").get
    size = connection.pragma("page_size")
    connection.close()
    data = bytearray(path.read_bytes())
    data[(root - 1) * size + 3 : (root - 1) * size + 5] = b"\x00\x00"  # the table seems to have no cells
    path.write_bytes(data)
    with SQLiteStore(path)._connections.fresh() as fresh:
        bad = [finding.check for finding in maintenance.check(fresh, "default", path, deep=True) if not finding.ok]
    assert "structure" in bad


@pytest.mark.ledger("X6")
def test_the_doctor_notices_that_the_write_ahead_log_is_gone(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy" / "memory.db"
    copy.parent.mkdir()
    store = SQLiteStore(path)
    remember(store, a_memory("kept in the file"))
    store.close()
    store = SQLiteStore(path)
    remember(store, a_memory("kept in the log"))
    for name in ("memory.db", "memory.db.acked"):  # the log is left behind
        copy.with_name(name).write_bytes(path.with_name(name).read_bytes())
    copy.chmod(0o600)
    store.close()
    damaged = SQLiteStore(copy)
    (bad,) = [finding for finding in damaged.check() if not finding.ok]
    damaged.close()
    assert (bad.check, "row 2" in bad.detail) == ("acknowledged rows", True)
    whole = SQLiteStore(path)
    assert [finding for finding in whole.check() if not finding.ok] == []
    whole.close()
