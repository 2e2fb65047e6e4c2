"""What every store must do, as tests to inherit.

Subclass :class:`StoreSuite` in a test module, under a name that begins with ``Test``, and give it a fixture
``open_store`` that opens one more handle on the same place each time it is called::

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

``path`` names another place, such as a backup. Two more fixtures may be given, for tests that look behind the
store's back: ``row_counts`` counts the rows of every table, ``alter_text`` changes a stored text.
"""

import pytest

from holdfast.protocols import Store
from holdfast.testing.samples import Alter, OpenStore, RowCounts
from holdfast.testing.store_access import AccessPromises
from holdfast.testing.store_apps import AppPromises
from holdfast.testing.store_care import CarePromises, RemovalPromises, SnapshotPromises, TenantPromises
from holdfast.testing.store_records import MemoryPromises, MessagePromises, SessionPromises, SmallPromises
from holdfast.testing.store_search import TextPromises
from holdfast.testing.store_vectors import MetadataPromises, VectorPromises
from holdfast.testing.store_writes import JobPromises, TransactionPromises

__all__ = ["StoreSuite"]


class StoreSuite(
    SessionPromises,
    MessagePromises,
    MemoryPromises,
    SmallPromises,
    AppPromises,
    AccessPromises,
    TextPromises,
    VectorPromises,
    MetadataPromises,
    TransactionPromises,
    JobPromises,
    RemovalPromises,
    CarePromises,
    SnapshotPromises,
    TenantPromises,
):
    """The promises of :class:`holdfast.protocols.Store`."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """Return the first handle on an empty place."""
        return open_store()

    @pytest.fixture
    def row_counts(self) -> RowCounts | None:
        """Return how to count every table's rows; a subclass may know."""
        return None

    @pytest.fixture
    def alter_text(self) -> Alter | None:
        """Return how to change a stored text behind the store's back; a subclass may know."""
        return None
