"""A file of every earlier schema can be opened, keeps its rows and jobs, passes every check, and is backed up first."""

import gzip
import os
import shutil
import signal
from pathlib import Path

import pytest

import holdfast
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.stores.sql.migrations import migrations
from holdfast.stores.sql.rows import (
    JOB_COLUMNS,
    MEMORY_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    job_row,
    marks,
    memory_row,
    message_row,
    session_row,
)
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing.samples import ANA, AT, a_memory, a_message, a_session
from holdfast.types import Job
from tests.durability.support import KillPoint, KillSwitch
from tests.sampling import Sample

NUMBERS = [migration.number for migration in migrations()]
EARLIER = NUMBERS[:-1]
"""Every schema that a version of Holdfast has written, except the present one."""
STORES = Path(__file__).parent / "earlier"
RELEASED = sorted(int(file.name.split("-")[1].split(".")[0]) for file in STORES.glob("*.gz"))
USER_DATA = {
    "memories": "id, revision, kind, text, key, topic, importance, tags, metadata, origin, trust, pinned, status, created_at, valid_from",
    "messages": "id, session, seq, role, text, at",
    "sessions": "id, status, started_at",
    "jobs": "id, kind, payload",
}
"""Tables and columns of the user's data that every schema has."""
TEXTS = {"hello", "I moved to Lyon", "¿Dónde está la llave?"}

pytestmark = pytest.mark.ledger("X6")


def _insert(connection: FileConnection, table: str, columns: str, row: tuple[object, ...]) -> None:
    """Insert a row. Columns that do not exist in this schema version are left out."""
    present = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    kept = [(name, value) for name, value in zip(columns.split(", "), row, strict=True) if name in present]
    names = ", ".join(name for name, _ in kept)
    connection.execute(f"INSERT INTO {table} (tenant, {names}) VALUES ('default', {marks(kept)})", [value for _, value in kept])


def _migrate_to(connection: FileConnection, number: int) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT"
    )
    for migration in migrations():
        if migration.number <= number:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (migration.number, migration.name, migration.sha256))


def a_file_with_schema(path: Path, number: int) -> Path:
    """Write a store file with data in the schema of this number. Return its path."""
    connection = FileConnection(str(path))
    _migrate_to(connection, number)
    for partition, space in ((1, "message"), (2, "memory")):
        connection.execute(
            "INSERT INTO partitions (tenant, partition, app, user, agent, space) VALUES ('default', ?, '', ?, '', ?)",
            (partition, ANA.user, space),
        )
    _insert(connection, "sessions", SESSION_COLUMNS, session_row(a_session()))
    for seq, text in enumerate(sorted(TEXTS), 1):
        _insert(connection, "messages", MESSAGE_COLUMNS, message_row(a_message(text, id=f"msg_{seq}", seq=seq), 1))
    _insert(connection, "memories", MEMORY_COLUMNS, memory_row(a_memory("likes tea", item=9, key="drink"), 2))
    job = Job(id="job_1", kind="digest", payload={"session": "ses_1", "to": 3}, effect="digest:1", created_at=AT, not_before=AT)
    _insert(connection, "jobs", JOB_COLUMNS, job_row(job))
    connection.execute("INSERT OR REPLACE INTO sequences (name, value) VALUES ('item', 9)")
    connection.close()
    path.chmod(0o600)
    return path


def _is_complete(path: Path) -> SQLiteStore:
    """Open a file, check that nothing is missing, and return the open store."""
    store = SQLiteStore(path)
    assert {message.text for message in store.messages(MessageFilter(session="ses_1"))} == TEXTS
    (memory,) = store.memories(MemoryFilter(key="drink", exactly=ANA))
    assert (memory.text, memory.namespace, memory.indexed) == ("likes tea", (), None)
    assert [(job.id, job.state) for job in store.jobs()] == [("job_1", "queued")]
    assert [finding for finding in store.check() if not finding.ok] == []
    return store


@pytest.mark.parametrize("number", EARLIER, ids=lambda number: f"schema {number}")
def test_a_file_of_every_earlier_schema_opens_and_is_backed_up_first(tmp_path: Path, number: int) -> None:
    path = a_file_with_schema(tmp_path / "memory.db", number)
    store = _is_complete(path)
    backup = tmp_path / f"memory.db.schema-{number}"
    assert store.backups() == [str(backup.resolve())]
    store.close()
    old = FileConnection(str(backup))
    assert old.execute("SELECT max(number) FROM migrations").get == number
    assert {text for (text,) in old.execute("SELECT text FROM messages")} == TEXTS
    old.close()
    _is_complete(path).close()
    assert len(list(tmp_path.glob("*.schema-*"))) == 1


def test_a_new_file_and_one_of_this_version_are_not_backed_up(tmp_path: Path) -> None:
    for _ in range(2):
        SQLiteStore(tmp_path / "memory.db").close()
    assert list(tmp_path.glob("*.schema-*")) == []


def a_real_file(folder: Path, number: int) -> Path:
    """Unpack a store that an earlier version of Holdfast wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memory.db"
    path.write_bytes(gzip.decompress((STORES / f"schema-{number}.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


def user_data(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of the user's data, by table. Only the columns that exist in every schema are read."""
    connection = FileConnection(str(path))
    found = {
        table: sorted(map(tuple, connection.execute(f"SELECT {columns} FROM {table}"))) for table, columns in USER_DATA.items()
    }
    connection.close()
    return found


def is_wrong(path: Path, expected: dict[str, list[tuple[object, ...]]]) -> list[str]:
    """Open a store of an earlier version and finish its work. Return what is wrong."""
    with holdfast.open(path, embedder="none", worker="none") as memory:
        wrong = [] if user_data(path) == expected else ["user data differs"]
        wrong += [f"{finding.check}: {finding.detail}" for finding in memory.doctor() if not finding.ok]
        while memory.drain():
            pass
        wrong += [f"job {job.id} is {job.state}" for job in memory.jobs() if job.state != "done"]
        if sum("Clara" in each.text for each in memory.memories(user="ana", kind="fact")) != 1:
            wrong.append("the waiting session was not digested once")
    return wrong


@pytest.mark.parametrize("number", RELEASED, ids=lambda number: f"schema {number}")
def test_a_store_that_an_earlier_version_wrote_keeps_its_data_and_its_waiting_job(tmp_path: Path, number: int) -> None:
    path = a_real_file(tmp_path, number)
    expected = user_data(path)
    assert {table for table, rows in expected.items() if rows} == set(USER_DATA)
    assert is_wrong(path, expected) == []
    assert user_data(tmp_path / f"memory.db.schema-{number}") == expected, "the backup has the data from before"


@pytest.mark.long
def test_there_is_a_store_of_every_earlier_schema() -> None:
    assert [number for number in EARLIER if number != 3] == RELEASED  # schemas 3 and 4 came together


def upgrade_and_die(path: Path, point: KillPoint) -> bool:
    """Open a store in a child process that kills itself at a file operation. Return True if it was killed."""
    child = os.fork()
    if child == 0:
        KillSwitch(point).install()
        SQLiteStore(path).close()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
def test_a_process_that_is_killed_in_a_migration_leaves_a_store_that_the_next_one_upgrades(
    tmp_path: Path, sample: Sample
) -> None:
    """Kill processes at file operations of the backup and of the migrations, spread over all of them."""
    points = [KillPoint("file:log write", nth) for nth in range(1, 100, 2)]
    points += [KillPoint("file:database write", nth) for nth in range(1, 60, 3)]
    points += [KillPoint(f"file:{file} sync", nth) for file in ("log", "database") for nth in range(1, 8)]
    kills, wrong = 0, list[str]()
    for place, point in sample.of(list(enumerate(points))):
        number = RELEASED[place % len(RELEASED)]
        path = a_real_file(tmp_path / str(place), number)
        expected = user_data(path)
        kills += upgrade_and_die(path, point)
        wrong += [f"schema {number}, {point}: {each}" for each in is_wrong(path, expected)]
        shutil.rmtree(path.parent)
    assert wrong == []
    assert kills >= sample.size(50, short=17)
