"""Conformance tests for stores.

In a test module, define a subclass of :class:`StoreSuite` whose name begins with ``Test``. Add a fixture ``open_store``.
It returns a function, and each call of the function opens another handle (an open store object) on the same store::

    class TestMine(StoreSuite):
        @pytest.fixture
        def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
            handles: list[Store] = []

            def open_one(*, tenant: str = "default", path: Path | None = None) -> Store:
                handles.append(MyStore(path or tmp_path / "place", tenant=tenant))
                return handles[-1]

            yield open_one
            for handle in handles:
                handle.close()

``path`` opens another store, such as a backup. Two optional fixtures bypass the store: ``row_counts`` counts the rows of
every table, and ``alter_text`` changes a stored text.
"""

import pytest

from holdfast.protocols import Store
from holdfast.testing.samples import Alter, OpenStore, RowCounts
from holdfast.testing.store_access import AccessPromises
from holdfast.testing.store_apps import AppPromises
from holdfast.testing.store_maintenance import (
    MaintenancePromises,
    OverviewPromises,
    RemovalPromises,
    SnapshotPromises,
    TenantPromises,
)
from holdfast.testing.store_memories import MemoryPromises
from holdfast.testing.store_metadata import MetadataPromises
from holdfast.testing.store_records import MessagePromises, SessionPromises, SettingPromises
from holdfast.testing.store_search import TextPromises
from holdfast.testing.store_traces import TracePromises
from holdfast.testing.store_vectors import VectorPromises
from holdfast.testing.store_writes import JobPromises, TransactionPromises

__all__ = ["StoreSuite"]


class StoreSuite(
    SessionPromises,
    MessagePromises,
    MemoryPromises,
    SettingPromises,
    AppPromises,
    AccessPromises,
    TracePromises,
    TextPromises,
    VectorPromises,
    MetadataPromises,
    TransactionPromises,
    JobPromises,
    RemovalPromises,
    MaintenancePromises,
    OverviewPromises,
    SnapshotPromises,
    TenantPromises,
):
    """Tests that every implementation of the :class:`holdfast.protocols.Store` protocol must pass."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """Return a handle (an open store object) on an empty store."""
        return open_store()

    @pytest.fixture
    def row_counts(self) -> RowCounts | None:
        """Return a function that counts the rows of every table. A subclass can override this fixture to provide it.

        By default, the result is None, and the tests that need the function are skipped.
        """
        return None

    @pytest.fixture
    def alter_text(self) -> Alter | None:
        """Return a function that changes a stored text without using the store. A subclass can override this fixture to provide it.

        By default, the result is None, and the tests that need the function are skipped.
        """
        return None
