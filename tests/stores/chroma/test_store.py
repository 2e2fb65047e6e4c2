"""The default store with Chroma as its index: the tests that all stores share, and checks that index and store agree."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw
import pytest

from holdfast.protocols import Store
from holdfast.stores.chroma.index import chroma_place
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import StoreSuite
from holdfast.testing.samples import Alter, OpenStore, RowCounts
from tests.stores.chroma.support import EAGER

pytest.importorskip("chromadb")

STAYS = ("vector_log", "sequences", "vocabulary", "fulltext", "fulltext_data", "fulltext_idx", "sqlite_stat1")
"""Tables that still have rows after everything was erased, by design, as in the default store."""


def open_with(folder: Path, index: str = "chroma") -> Iterator[OpenStore]:
    handles: list[Store] = []

    def open_one(*, tenant: str = "default", path: Path | None = None) -> Store:
        file = path or folder / "memory.db"
        handles.append(SQLiteStore(file, tenant=tenant, index=chroma_place(index, file), pace=EAGER))
        return handles[-1]

    yield open_one
    for handle in handles:
        handle.close()


@pytest.mark.ledger("C8")
class TestSQLiteWithChroma(StoreSuite):
    @pytest.fixture(autouse=True)
    def chroma_is_never_away(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        yield
        assert [record.getMessage() for record in caplog.records if "The index at" in record.getMessage()] == []

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        yield from open_with(tmp_path)

    @pytest.fixture
    def row_counts(self, tmp_path: Path) -> RowCounts | None:
        def count() -> Mapping[str, int]:
            connection = apsw.Connection(str(tmp_path / "memory.db"))
            tables = [
                name
                for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                if name not in (*STAYS, "indexes", "index_queue")
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
