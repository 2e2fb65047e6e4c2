"""A commit that fails is rolled back."""

from pathlib import Path

import pytest

from holdfast.errors import StoreError
from holdfast.stores.sqlite.connection import SQLiteConnections


def test_after_a_failed_commit_nothing_is_stored_and_the_next_write_works(tmp_path: Path) -> None:
    connections = SQLiteConnections(tmp_path / "memory.db")
    with connections.writing() as writer:
        writer.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        writer.execute("CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    writer.execute("PRAGMA foreign_keys = ON")  # a deferred constraint is checked by COMMIT, which then fails
    with pytest.raises(StoreError), connections.writing() as writer:
        writer.execute("INSERT INTO child VALUES (7)")
    with connections.writing() as writer:
        assert list(writer.execute("SELECT count(*) FROM child")) == [(0,)]
        writer.execute("INSERT INTO parent VALUES (7)")
        writer.execute("INSERT INTO child VALUES (7)")
    connections.close()
