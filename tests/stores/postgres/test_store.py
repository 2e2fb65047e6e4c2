"""The tests that all stores share, run on PostgreSQL."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.errors import InvalidInput
from holdfast.protocols import Store
from holdfast.testing import StoreSuite
from holdfast.testing.samples import Alter, OpenStore, RowCounts
from tests.stores.postgres.support import Run, as_owner, open_store, server, url

__all__ = ["as_owner", "open_store", "server", "url"]


class TestPostgres(StoreSuite):
    @pytest.fixture
    def row_counts(self, as_owner: Run) -> RowCounts | None:
        def count() -> Mapping[str, int]:
            tables = as_owner("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'holdfast'::regnamespace")
            return {str(table): int(str(as_owner(f"SELECT count(*) FROM {table}")[0][0])) for (table,) in tables}

        return count

    @pytest.fixture
    def alter_text(self, as_owner: Run) -> Alter | None:
        def alter(old: str, new: str) -> None:
            for table in ("memories", "messages"):
                as_owner(f"UPDATE {table} SET text = '{new}' WHERE text = '{old}'")

        return alter

    def test_a_backup_opens_as_a_complete_store(self, store: Store, open_store: OpenStore, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="pg_dump"):
            store.backup(tmp_path / "copy.db")
        assert (store.backups(), list(tmp_path.iterdir())) == ([], [])
