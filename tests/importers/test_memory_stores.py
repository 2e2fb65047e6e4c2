"""Import of memories from other memory programs: mem0, the MCP memory server and Letta."""

import json
import pickle
import shutil
import sqlite3
import sys
import types
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from tests.importers.support import said, texts, write_json, write_lines

pytestmark = pytest.mark.ledger("X13")


def mem0_memory(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "memory": text, "hash": "h", "metadata": None, "created_at": "2025-03-01T10:00:00-07:00", "updated_at": None, "user_id": "ana", **more}  # fmt: skip


class TestMem0:
    """JSON, the local Qdrant folder and the history database of mem0."""

    @pytest.mark.parametrize("wrap", [lambda found: {"results": found}, lambda found: found], ids=["results", "list"])
    def test_json_keeps_ids_dates_users_and_metadata(self, memory: Engine, tmp_path: Path, wrap: Any) -> None:
        found = [
            mem0_memory("m-1", "Prefers tea", metadata={"room": "kitchen"}, categories=["food"], agent_id="chef", run_id="r1"),
            mem0_memory("m-2", "Lives in Lyon", user_id="bob"),
        ]
        result = memory.import_from(write_json(tmp_path / "m.json", wrap(found)))
        assert (result.format, result.memories.imported) == ("mem0", 2)
        (tea,) = memory.memories(user="ana", agent="chef")
        assert (tea.text, tea.tags, tea.origin, tea.trust) == ("Prefers tea", ("food",), "import", 1.0)
        assert tea.created_at.isoformat() == "2025-03-01T17:00:00+00:00"
        assert tea.metadata == {"room": "kitchen", "run_id": "r1", "imported_id": "m-1", "imported_from": "mem0"}
        assert texts(memory, user="bob") == ["Lives in Lyon"]
        assert memory.import_from(tmp_path / "m.json").memories.known == 2

    def test_relations_of_the_graph_are_memories(self, memory: Engine, tmp_path: Path) -> None:
        edges = [
            {"source": "ana", "relationship": "plays_with", "target": "bob"},
            {"source": "bob", "relation": "lives_in", "destination": "Oslo", "user_id": "ana"},
        ]
        value = {"results": [mem0_memory("m-1", "Prefers tea")], "relations": edges}
        assert memory.import_from(write_json(tmp_path / "m.json", value), user="ana").memories.imported == 3
        assert texts(memory, user="ana") == ["Prefers tea", "ana plays with bob", "bob lives in Oslo"]
        assert memory.import_from(tmp_path / "m.json", user="ana").memories.known == 3

    def test_the_import_can_choose_the_user(self, memory: Engine, tmp_path: Path) -> None:
        memory.import_from(write_json(tmp_path / "m.json", [mem0_memory("m-1", "Prefers tea")]), user="zoe")
        assert (texts(memory, user="zoe"), texts(memory, user="ana")) == (["Prefers tea"], [])

    def test_a_qdrant_folder_is_read_without_qdrant(
        self, memory: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = _qdrant(tmp_path / "qdrant", monkeypatch, {"data": "Prefers tea", "user_id": "ana", "created_at": "2025-03-01T10:00:00Z", "room": "hall"})  # fmt: skip
        result = memory.import_from(folder)
        assert (result.format, result.memories.imported) == ("mem0", 1)
        (tea,) = memory.memories(user="ana")
        assert (tea.text, tea.metadata["imported_id"], tea.metadata["room"], tea.created_at.year) == (
            "Prefers tea",
            "p-1",
            "hall",
            2025,
        )

    def test_a_pickle_cannot_run_code(self, memory: Engine, tmp_path: Path) -> None:
        class Evil:
            def __reduce__(self) -> Any:
                return (print, ("run",))

        folder = tmp_path / "collection" / "mem0"
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / "storage.sqlite")) as database:
            database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
            database.execute("INSERT INTO points VALUES ('x', ?)", (pickle.dumps(Evil()),))
            database.commit()
        with pytest.raises(InvalidInput, match=r"mem0, point 1 cannot be read: it contains builtins\.print, which is not data"):
            memory.import_from(tmp_path)

    def test_the_current_memories_are_read_from_the_history(self, memory: Engine, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "history.db")) as database:
            database.execute(
                "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
                "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
            )
            steps = [("m1", None, "Likes tea", "ADD"), ("m2", None, "Likes rain", "ADD"), ("m1", "Likes tea", "Likes green tea", "UPDATE"), ("m2", "Likes rain", None, "DELETE")]  # fmt: skip
            for number, (id, old, new, event) in enumerate(steps):
                row = (str(number), id, old, new, event, "2025-03-01T10:00:00+00:00", None, 0, None, None)
                database.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            database.commit()
        memory.import_from(tmp_path / "history.db", user="ana")
        (tea,) = memory.memories(user="ana")
        assert (tea.text, tea.metadata["imported_id"], tea.created_at.year) == ("Likes green tea", "m1", 2025)

    def test_collections_that_mem0_keeps_for_itself_are_not_read(
        self, memory: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = _qdrant(tmp_path / "qdrant", monkeypatch, {"data": "Prefers tea", "user_id": "ana"})
        for name in ("mem0_entities", "mem0migrations"):
            shutil.copytree(folder / "collection" / "mem0", folder / "collection" / name)
        assert memory.import_from(folder).memories.imported == 1
        shutil.copytree(folder / "collection" / "mem0", folder / "collection" / "work")
        with pytest.raises(InvalidInput, match=r"has no collection 'memories'\. Its collections are: mem0, work"):
            memory.import_from(folder)

    def test_the_data_folder_gives_memories_and_the_latest_messages(
        self, memory: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _qdrant(tmp_path / "qdrant", monkeypatch, {"data": "Prefers tea", "user_id": "ana"})
        with closing(sqlite3.connect(tmp_path / "history.db")) as database:
            database.execute(
                "CREATE TABLE history (memory_id TEXT, new_memory TEXT, event TEXT, created_at TEXT, updated_at TEXT)"
            )
            database.execute(
                "CREATE TABLE messages (id TEXT, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at TEXT)"
            )
            database.execute("INSERT INTO history VALUES ('p-1', 'Prefers tea', 'ADD', NULL, NULL)")
            rows = [("1", "run_id=r%261&user_id=ana", "user", "I live in Lyon.", None), ("2", "agent_id=bot&user_id=bob", "user", "Hi", "Bob")]  # fmt: skip
            for row in rows:
                database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, '2025-03-01T10:00:00+00:00')", row)
            database.commit()
        result = memory.import_from(tmp_path)
        assert (result.memories.imported, result.messages.imported, result.learning) == (1, 2, 0)
        (own,) = memory.sessions(user="ana")
        assert (own.metadata["run_id"], own.started_at.year) == ("r&1", 2025)
        (other,) = memory.sessions(user="bob")
        assert other.scope.agent == "bot"
        assert memory.import_from(tmp_path).messages.known == 2


def _qdrant(folder: Path, monkeypatch: pytest.MonkeyPatch, payload: dict[str, Any]) -> Path:
    """Write a folder as a local Qdrant client does, with one pickled object per point.

    The class of the objects exists only while they are written, so the import has to work without Qdrant's package.
    """
    module = types.ModuleType("qdrant_client.http.models.models")

    class PointStruct:
        def __getstate__(self) -> dict[str, Any]:  # as pydantic does
            return {
                "__dict__": dict(vars(self)),
                "__pydantic_extra__": None,
                "__pydantic_fields_set__": set(vars(self)),
                "__pydantic_private__": None,
            }

    PointStruct.__module__, PointStruct.__qualname__ = module.__name__, "PointStruct"
    vars(module)["PointStruct"] = PointStruct
    point = PointStruct()
    vars(point).update(id="p-1", vector=[0.1, 0.2], payload=payload)
    storage = folder / "collection" / "mem0"
    storage.mkdir(parents=True)
    with monkeypatch.context() as patch, closing(sqlite3.connect(storage / "storage.sqlite")) as database:
        for depth in range(1, 5):
            patch.setitem(sys.modules, ".".join(module.__name__.split(".")[:depth]), module)
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        database.execute("INSERT INTO points VALUES ('x', ?)", (pickle.dumps(point),))
        database.commit()
    return folder


class TestMcpMemory:
    """The graph of the official MCP memory server."""

    def test_observations_and_relations_become_memories(self, memory: Engine, tmp_path: Path) -> None:
        lines = [
            {
                "type": "entity",
                "name": "Ana_Ruiz",
                "entityType": "person",
                "observations": ["Ana Ruiz speaks Spanish", "likes tea"],
            },
            {"type": "entity", "name": "Lyon", "entityType": "city", "observations": []},
            {"type": "relation", "from": "Ana_Ruiz", "to": "Lyon", "relationType": "lives_in"},
        ]
        result = memory.import_from(write_lines(tmp_path / "memory.jsonl", lines), user="ana")
        assert (result.format, result.memories.imported) == ("mcp-memory", 4)
        assert texts(memory, user="ana") == [
            "Ana Ruiz lives in Lyon",
            "Ana Ruiz speaks Spanish",
            "Ana Ruiz: likes tea",
            "Lyon is a city",
        ]
        (tea,) = [each for each in memory.memories(user="ana") if "tea" in each.text]
        assert (tea.metadata["entity"], tea.tags) == ("Ana_Ruiz", ("person",))
        assert memory.import_from(tmp_path / "memory.jsonl", user="ana").memories.known == 4

    def test_a_wrong_line_is_named(self, memory: Engine, tmp_path: Path) -> None:
        file = write_lines(tmp_path / "memory.jsonl", [{"type": "entity", "name": "a", "observations": ["b"]}, {"type": "dog"}])
        with pytest.raises(InvalidInput, match="line 2: there is no type 'dog'"):
            memory.import_from(file)
        assert memory.memories() == []


class TestLetta:
    """Letta's agent files, in both versions of the format."""

    def test_blocks_and_messages_of_the_newer_version_are_read(self, memory: Engine, tmp_path: Path) -> None:
        agent = {
            "id": "agent-0",
            "name": "helper",
            "block_ids": ["block-0"],
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are helpful."}], "created_at": "2025-04-01T10:00:00Z"},
                {"id": "message-1", "role": "user", "content": [{"type": "text", "text": "I live in Lyon."}], "created_at": "2025-04-01T10:00:00Z"},
                {"id": "message-2", "role": "assistant", "content": [{"type": "text", "text": "a thought"}], "created_at": "2025-04-01T10:00:05Z",
                 "tool_calls": [{"id": "c", "function": {"name": "send_message", "arguments": json.dumps({"message": "Nice!"})}}]},
                {"id": "message-3", "role": "tool", "content": [{"type": "text", "text": '{"status": "OK"}'}], "created_at": "2025-04-01T10:00:06Z"},
            ],
        }  # fmt: skip
        blocks = [
            {"id": "block-0", "label": "human", "value": "Ana is a surgeon."},
            {"id": "block-1", "label": "other", "value": "not hers"},
        ]
        file = write_json(tmp_path / "helper.af", {"agents": [agent], "blocks": blocks, "tools": []})
        result = memory.import_from(file, user="ana")
        assert (result.format, result.memories.imported, result.messages.imported) == ("letta", 1, 3)
        assert said(memory, memory.sessions(user="ana")[0].id) == [
            ("user", "I live in Lyon."),
            ("assistant", "Nice!"),
            ("tool", ""),
        ]
        (block,) = memory.memories(user="ana", key="human")
        assert block.text == "Ana is a surgeon."

    def test_a_saved_response_of_the_api_is_read(self, memory: Engine, tmp_path: Path) -> None:
        agent = {"id": "agent-0", "name": "helper", "block_ids": ["b"], "messages": []}
        content = json.dumps(
            {"agents": [agent], "blocks": [{"id": "b", "label": "human", "value": "Ana is a surgeon."}]}, indent=2
        )
        result = memory.import_from(write_json(tmp_path / "helper.af", content), user="ana")
        assert (result.format, texts(memory, user="ana")) == ("letta", ["Ana is a surgeon."])

    def test_blocks_of_other_agents_are_not_imported(self, memory: Engine, tmp_path: Path) -> None:
        agents = [{"id": "agent-0", "name": "helper", "block_ids": [], "messages": []}]
        file = write_json(tmp_path / "h.af", {"agents": agents, "blocks": [{"id": "b", "label": "human", "value": "not hers"}]})
        assert memory.import_from(file, user="ana").memories.found == 0

    def test_what_the_program_says_in_the_name_of_the_user_is_left_out(self, memory: Engine, tmp_path: Path) -> None:
        reminder = "<system-reminder>\nThe user lives in Oslo.\n</system-reminder>\n"
        spoken = [{"type": "text", "text": reminder}, {"type": "text", "text": "I live in Lyon."}]
        talk = [{"id": "m-1", "role": "user", "content": spoken}, {"id": "m-2", "role": "user", "content": reminder}]
        agents = [
            {"id": "agent-0", "name": "helper", "agent_type": "letta_v1_agent", "block_ids": [], "messages": talk},
            {"id": "agent-1", "name": "night", "agent_type": "sleeptime_agent", "block_ids": [], "messages": talk},
        ]
        memory.import_from(write_json(tmp_path / "h.af", {"agents": agents, "blocks": []}), user="ana")
        (session,) = memory.sessions(user="ana")
        assert said(memory, session.id) == [("user", "I live in Lyon.")]

    @pytest.mark.parametrize("newer", [True, False])
    def test_a_renamed_file_is_imported_once_and_a_changed_block_again(
        self, memory: Engine, tmp_path: Path, *, newer: bool
    ) -> None:
        def write(name: str, plan: str) -> Path:
            blocks = [{"id": "block-0", "label": "persona", "value": "Calm."}, {"id": "block-1", "label": "plan", "value": plan}]
            talk = [
                {"id": "message-0", "role": "user", "text": "I sail at noon.", "created_at": "2025-04-01T10:00:00+00:00"},
                {"id": "message-1", "role": "assistant", "text": "Good.", "created_at": "2025-04-01T10:00:09+00:00"},
            ]
            agent = {"id": "agent-0", "name": "skipper", "block_ids": ["block-0", "block-1"], "messages": talk}
            old = {"agent_type": "memgpt_agent", "core_memory": blocks, "messages": talk}
            return write_json(tmp_path / name, {"agents": [agent], "blocks": blocks} if newer else old)

        memory.import_from(write("skipper.af", "Sail to Porto."), user="ana")
        again = memory.import_from(write("copy of skipper.af", "Sail to Porto."), user="ana")
        assert (again.memories.known, again.messages.known, again.sessions.known) == (2, 2, 1)
        changed = memory.import_from(write("skipper.af", "Sail to Brest."), user="ana")
        assert (changed.memories.imported, changed.memories.known) == (1, 1)

    def test_a_file_of_the_older_version_is_read(self, memory: Engine, tmp_path: Path) -> None:
        wrapped = json.dumps({"type": "user_message", "message": "Hello there", "time": "2025-04-01"})
        messages = [
            {
                "role": "user",
                "text": json.dumps({"type": "heartbeat", "reason": "tick"}),
                "created_at": "2025-04-01T10:00:00+00:00",
            },
            {"role": "user", "text": wrapped, "created_at": "2025-04-01T10:00:00+00:00"},
        ]
        value = {
            "agent_type": "memgpt_agent",
            "name": "old",
            "core_memory": [{"label": "persona", "value": "I am kind."}],
            "messages": messages,
        }
        memory.import_from(write_json(tmp_path / "old.af", value), user="ana")
        assert said(memory, memory.sessions(user="ana")[0].id) == [("user", "Hello there")]
        assert texts(memory, user="ana") == ["old: I am kind."]
