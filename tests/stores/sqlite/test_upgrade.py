"""A file that an earlier version wrote opens, keeps its rows, and passes every check."""

from pathlib import Path

import pytest

from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.stores.sql.migrations import migrations
from holdfast.stores.sql.rows import MEMORY_COLUMNS, MESSAGE_COLUMNS, marks, memory_row, message_row, row_hash, session_row
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.samples import ANA, a_memory, a_message, a_session

OLD = 8
"""The last migration before payloads, namespaces and indexed texts."""
NEW_COLUMNS = {"payload", "namespace", "indexed"}


def _insert(connection: FileConnection, table: str, columns: str, row: tuple[object, ...]) -> None:
    kept = [(name, value) for name, value in zip(columns.split(", "), row, strict=True) if name not in NEW_COLUMNS]
    names = ", ".join(name for name, _ in kept)
    connection.execute(f"INSERT INTO {table} (tenant, {names}) VALUES ('default', {marks(kept)})", [value for _, value in kept])


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file with the schema, the rows and the hashes of the earlier version."""
    path = tmp_path / "memory.db"
    connection = FileConnection(str(path))
    connection.execute(
        "CREATE TABLE migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT"
    )
    for migration in migrations():
        if migration.number <= OLD:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (migration.number, migration.name, migration.sha256))
    for number, space in ((1, "message"), (2, "memory")):
        connection.execute(
            "INSERT INTO partitions (tenant, partition, app, user, agent, space) VALUES ('default', ?, '', ?, '', ?)",
            (number, ANA.user, space),
        )
    _insert(
        connection,
        "sessions",
        "id, app, user, agent, status, started_at, last_at, ended_at, digested_to, metadata",
        session_row(a_session()),
    )
    message = list(message_row(a_message("hello", seq=1), 1))
    message[-1] = row_hash(message[:12])  # as the earlier version computed it
    _insert(connection, "messages", MESSAGE_COLUMNS, tuple(message))
    memory = list(memory_row(a_memory("likes tea", item=2, key="drink"), 2))
    in_place = (21, 22, 23, 29)
    memory[-1] = row_hash([value for place, value in enumerate(memory[:30]) if place not in in_place])
    _insert(connection, "memories", MEMORY_COLUMNS, tuple(memory))
    connection.close()
    path.chmod(0o600)
    return path


def test_a_file_of_an_earlier_version_opens_and_is_intact(old_file: Path) -> None:
    store = SQLiteStore(old_file)
    try:
        (message,) = store.messages(MessageFilter(session="ses_1"))
        (memory,) = store.memories(MemoryFilter(key="drink", exactly=ANA))
        assert (message.text, message.payload) == ("hello", None)
        assert (memory.text, memory.namespace, memory.indexed) == ("likes tea", (), None)
        assert [finding for finding in store.check() if not finding.ok] == []
        assert store.namespaces(MemoryFilter()) == []
    finally:
        store.close()
