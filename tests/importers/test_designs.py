"""Import of the stores of four designs: Rumi, Rostro, Lo-Bug and apps."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.apps import design_metadata
from holdfast.designs.lobug import ConversationManager, MemoryDB
from holdfast.designs.rumi import MemoryStore
from holdfast.errors import InvalidInput
from tests.importers.support import said, texts

OpenMemory = Callable[..., Engine]
pytestmark = pytest.mark.ledger("X13", "X35")


def database(path: Path, schema: str, **rows: Sequence[tuple[Any, ...]]) -> Path:
    """Create a SQLite database with a schema. Each further argument is the name of a table, with the rows to insert."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for table, each in rows.items():
            for row in each:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return path


RUMI = """CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'auto',
    created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')), UNIQUE(key, value)
);"""
ROSTRO = "CREATE TABLE memories (id INTEGER PRIMARY KEY, text TEXT NOT NULL, embedding BLOB NOT NULL, topic TEXT, created_at TEXT NOT NULL);"
LOBUG = """
CREATE TABLE conversation_log (id INTEGER PRIMARY KEY AUTOINCREMENT, role TEXT NOT NULL, content TEXT NOT NULL, created_at REAL NOT NULL,
    summarized INTEGER NOT NULL DEFAULT 0);
CREATE TABLE memory_facts_auxiliary (rowid INTEGER PRIMARY KEY, value00, value01, value02, value03);
CREATE TABLE memory_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, source_from_id INTEGER NOT NULL,
    source_to_id INTEGER NOT NULL, created_at REAL NOT NULL, incorporated INTEGER NOT NULL DEFAULT 0);
CREATE TABLE memory_base (id INTEGER PRIMARY KEY CHECK(id = 1), content TEXT NOT NULL DEFAULT '', updated_at REAL NOT NULL);
PRAGMA writable_schema = ON;
INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', 'memory_facts', 'memory_facts', 0,
    'CREATE VIRTUAL TABLE memory_facts USING vec0(id INTEGER PRIMARY KEY, embedding float[768], +content TEXT)');
PRAGMA writable_schema = OFF;
"""
APPS = """CREATE TABLE app_memories (
  id INTEGER PRIMARY KEY AUTOINCREMENT, app_id TEXT NOT NULL, content TEXT NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  updated_at DATETIME DEFAULT CURRENT_TIMESTAMP, source_conversation_id TEXT, metadata TEXT
);"""


def test_rumi_facts_keep_keys_and_dates(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(preset="rumi")
    file = database(
        tmp_path / "old.db",
        RUMI,
        facts=[
            (1, "nombre", "Lucas", "explicit", "2025-11-01 10:00:00", "2025-11-01 10:00:00"),
            (2, "hobby", "juega al ajedrez", "auto", "2025-11-02 10:00:00", "2025-12-02 10:00:00"),
            (3, "hobby", "toca la guitarra", "auto", "2025-11-03 10:00:00", "2025-11-03 10:00:00"),
        ],
    )
    result = memory.import_from(file)
    assert (result.format, result.memories.imported) == ("rumi", 3)
    (name,) = memory.memories(key="nombre")
    assert (name.text, name.created_at.isoformat(), name.metadata["source"]) == ("Lucas", "2025-11-01T10:00:00+00:00", "explicit")
    assert texts(memory, key="hobby") == ["juega al ajedrez", "toca la guitarra"]
    assert memory.import_from(file).memories.known == 3


def test_the_designs_own_store_shows_the_source_of_imported_facts(tmp_path: Path) -> None:
    rows = [
        (n, key, "valor", source, "2025-11-01 10:00:00", "2025-11-01 10:00:00")
        for n, key, source in ((1, "nombre", "explicit"), (2, "hobby", "auto"))
    ]
    store = MemoryStore(tmp_path / "new.db", worker="none", embedder="none")
    store.engine.import_from(database(tmp_path / "old.db", RUMI, facts=rows))
    assert {fact.key: fact.source for fact in store.get_all()} == {"nombre": "explicit", "hobby": "auto"}
    store.close()


def test_the_designs_own_database_continues_an_imported_log(tmp_path: Path) -> None:
    log = [(n, "assistant" if n % 2 else "user", f"line {n}", 1760000000.0 + n, 0) for n in range(24)]
    with MemoryDB(tmp_path / "new.db", embedder="none") as db:
        db.engine.import_from(database(tmp_path / "old.db", LOBUG, conversation_log=log))
        assert [row["content"] for row in db.get_recent_messages(2)] == ["line 22", "line 23"]
        conversation = ConversationManager()
        conversation.reload_from_db(db)
        assert [each["content"] for each in conversation.messages] == [f"line {n}" for n in range(4, 24)]
        db.append_message("user", "hello")
        assert [row["content"] for row in db.get_recent_messages(2)] == ["line 23", "hello"]


def test_rostros_conclusions_pages_and_recent_topics_are_read_once(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(preset="rostro")
    data = tmp_path / "data"
    database(
        data / "memory.db",
        ROSTRO,
        memories=[
            (1, "Allergic to tree nuts", b"\x00" * 8, "cooking", "2026-02-10T14:00:00"),
            (2, "The car is a Golf", b"\x00" * 8, None, "2026-02-11T09:00:00"),
        ],
    )
    (data / "topics").mkdir()
    (data / "topics" / "cooking.md").write_text(
        "# Cooking\n\n- Prefers bomba rice for paella (2026-02-12)\n- Allergic to tree nuts (2026-02-10)\n"
    )
    (data / "topics" / "index.txt").write_text("2026-02-12T14:30:00|cooking|rice recipes and oven timing\n")
    result = memory.import_from(data)
    assert (result.format, result.memories.imported, result.memories.repeated) == ("rostro", 4, 1)
    found = {each.text: each for each in [*memory.memories(), *memory.memories(kind="recent")]}
    assert {text: each.topic for text, each in found.items() if each.kind == "conclusion"} == {
        "Allergic to tree nuts": "cooking", "The car is a Golf": None, "Prefers bomba rice for paella": "cooking",
    }  # fmt: skip
    assert found["Prefers bomba rice for paella"].created_at.date().isoformat() == "2026-02-12"
    assert (found["rice recipes and oven timing"].kind, found["rice recipes and oven timing"].topic) == ("recent", "cooking")
    again = memory.import_from(data / "memory.db")
    assert (again.memories.imported, again.memories.known, again.memories.repeated) == (0, 4, 1)


def test_a_wrong_line_of_rostros_index_is_named(memory: Engine, tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "index.txt").write_text("2026-02-12T14:30:00|cooking|rice\nyesterday|x|y\n")
    with pytest.raises(InvalidInput, match=r"index\.txt, line 2"):
        memory.import_from(tmp_path)


@pytest.mark.parametrize(("preset", "base"), [("lobug", "base"), ("default", "profile")])
def test_lobugs_facts_summaries_base_and_log_are_read(open_memory: OpenMemory, tmp_path: Path, preset: str, base: str) -> None:
    memory = open_memory(preset=preset)
    file = database(
        tmp_path / "lobug_memory.db",
        LOBUG,
        conversation_log=[
            (1, "user", "My name is Alex.", 1_700_000_000.5, 1),
            (2, "assistant", "Hello Alex.", 1_700_000_001.5, 0),
        ],
        memory_facts_auxiliary=[(7, "The user's name is Alex", "conversation", "personal", 1_700_000_002.0)],
        memory_summaries=[(1, "Alex said hello.", 1, 2, 1_700_000_003.0, 0)],
        memory_base=[(1, "User Profile:\n- Name: Alex", 1_700_000_004.0)],
    )
    result = memory.import_from(file, user="alex")
    assert (result.format, result.memories.imported, result.messages.imported, result.learning) == ("lobug", 3, 2, 0)
    found = {each.kind: each for each in memory.memories(user="alex")}
    assert set(found) == {"fact", "summary", base}
    assert (found["fact"].metadata["fact_type"], found["fact"].created_at.year) == ("personal", 2023)
    assert (found[base].text, found[base].pinned) == ("User Profile:\n- Name: Alex", True)
    (talk,) = memory.sessions(user="alex")
    assert said(memory, talk.id) == [("user", "My name is Alex."), ("assistant", "Hello Alex.")]
    memory.drain()
    assert len(memory.memories(user="alex")) == 3, "nothing is learned again"


def test_imported_summaries_of_lobug_reach_the_base_document_once(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(preset="lobug")
    waiting = [(n, f"Alex works in Lisbon and planted {n} pear trees.", n, n, 1_700_000_000.0 + n, 0) for n in range(2, 23)]
    file = database(
        tmp_path / "lobug_memory.db",
        LOBUG,
        conversation_log=[(1, "user", "My name is Alex.", 1_700_000_000.5, 1)],
        memory_summaries=[(1, "Alex owns a kayak.", 1, 1, 1_700_000_001.0, 1), *waiting],
        memory_base=[(1, "User Profile:\n- Name: Alex", 1_700_000_004.0)],
    )
    memory.import_from(file)
    talk = memory.session()
    talk.add("user", "I play the cello in the city orchestra.")
    talk.add("assistant", "How nice.")
    memory.drain()
    (base,) = memory.memories(kinds=["base"])
    assert "Alex" in base.text
    assert "pear trees" in base.text
    assert "kayak" not in base.text, "it was in the old base document, or was left out of it"
    assert base.metadata["imported_to"] < "2023-11-14T22:13:33", "the ten newest stay outside"
    revision = base.revision
    talk.add("user", "I have a parrot called Kiko.")
    talk.add("assistant", "Hello, Kiko.")
    memory.drain()
    assert memory.memories(kinds=["base"])[0].revision == revision, "each summary is merged once"


def test_a_renamed_database_of_lobug_is_imported_once_and_another_one_is_another(memory: Engine, tmp_path: Path) -> None:
    def write(name: str, fact: str) -> Path:
        log = [(1, "user", f"Hello. {fact}.", 1_700_000_000.5, 1), (2, "assistant", "Hello.", 1_700_000_001.5, 0)]
        facts = [(1, fact, "conversation", "personal", 1_700_000_002.0)]
        return database(tmp_path / name, LOBUG, conversation_log=log, memory_facts_auxiliary=facts)

    memory.import_from(write("lobug_memory.db", "Owns a red bicycle"), user="alex")
    again = memory.import_from(write("backup of may.db", "Owns a red bicycle"), user="alex")
    assert (again.memories.known, again.messages.known, again.sessions.known) == (1, 2, 1)
    other = memory.import_from(write("other/lobug_memory.db", "Sings in a choir"), user="alex")
    assert (other.memories.imported, other.messages.imported, other.sessions.imported) == (1, 2, 1)


def test_the_memories_of_an_app_host_keep_their_apps(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(preset="apps")
    row = (1, "calendar", "User prefers meetings after 2pm.", "2025-10-10 14:30:00", "2025-10-10 14:30:00", "conv-1", '{"importance": 8, "tags": ["time"], "mood": "calm", "relatedConversations": ["conv-0"]}')  # fmt: skip
    file = database(
        tmp_path / "host.db", APPS, app_memories=[row, (2, "notes", "Likes lists.", "2025-10-11", "2025-10-11", None, None)]
    )
    result = memory.import_from(file)
    assert (result.format, result.memories.imported) == ("apps", 2)
    (meeting,) = memory.memories(app="calendar")
    assert (meeting.kind, meeting.importance, meeting.tags, meeting.created_at.hour) == ("memory", 8.0, ("time",), 14)
    assert (meeting.metadata["conversation"], meeting.metadata["mood"]) == ("conv-1", "calm")
    assert design_metadata(meeting)["relatedConversations"] == ["conv-0"]
    assert meeting.metadata["related"] == ["conv-0"]
    assert texts(memory, app="notes") == ["Likes lists."]


def test_the_database_is_only_read(memory: Engine, tmp_path: Path) -> None:
    file = database(tmp_path / "old.db", RUMI, facts=[(1, "a", "b", "auto", "2025-11-01 10:00:00", "2025-11-01 10:00:00")])
    before = file.read_bytes()
    memory.import_from(file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("old")] == ["old.db"]


def test_a_database_of_another_kind_is_refused(memory: Engine, tmp_path: Path) -> None:
    file = database(tmp_path / "photos.db", "CREATE TABLE photos (id INTEGER PRIMARY KEY);")
    with pytest.raises(InvalidInput, match="was not recognized"):
        memory.import_from(file)
    with pytest.raises(InvalidInput, match="cannot be read as a database"):
        memory.import_from(file, format="rumi")


def test_an_app_memory_may_have_no_importance_and_keeps_its_last_change(memory: Engine, tmp_path: Path) -> None:
    columns = (
        "id INTEGER, app_id TEXT, content TEXT, created_at TEXT, updated_at TEXT, source_conversation_id TEXT, metadata TEXT"
    )
    with closing(sqlite3.connect(tmp_path / "host.db")) as host:
        host.execute(f"CREATE TABLE app_memories ({columns})")
        row = (1, "radio", "Volume 30", "2026-01-01 00:00:00", "2026-01-05 00:00:00", None, '{"importance": null}')
        host.execute("INSERT INTO app_memories VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        host.commit()
    assert memory.import_from(tmp_path / "host.db", user="ana").memories.imported == 1
    (stored,) = memory.memories(user="ana", app="radio")
    assert (stored.created_at.day, stored.metadata["updated_at"]) == (1, "2026-01-05 00:00:00")
