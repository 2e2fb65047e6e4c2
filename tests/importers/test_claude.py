"""Import of Claude exports and of Claude Code transcripts."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from tests.importers.support import messages, said, texts, write_json, write_lines

pytestmark = pytest.mark.ledger("X13")


def claude_message(id: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {"uuid": id, "sender": sender, "text": text, "content": [{"type": "text", "text": text}] if text else [],
            "created_at": "2025-02-03T10:00:00.123456Z", "updated_at": "2025-02-03T10:00:01Z", "attachments": [], "files": [], **more}  # fmt: skip


def claude_talk(*said: dict[str, Any], id: str = "talk-1") -> dict[str, Any]:
    return {"uuid": id, "name": "Travel", "created_at": "2025-02-03T09:59:00Z", "updated_at": "2025-02-03T11:00:00Z",
            "account": {"uuid": "acc"}, "chat_messages": list(said)}  # fmt: skip


class TestClaude:
    """The export of the Claude assistant."""

    def test_messages_keep_dates_authors_and_ids(self, memory: Engine, tmp_path: Path) -> None:
        talk = claude_talk(
            claude_message("m1", "human", "I fly to Oslo."), claude_message("m2", "assistant", "Have a good trip.")
        )
        result = memory.import_from(write_json(tmp_path / "conversations.json", [talk]), user="ana")
        assert (result.format, result.messages.imported) == ("claude", 2)
        first, second = messages(memory, "talk-1")
        assert (first.role, first.client_id, first.at.isoformat()) == ("user", "m1", "2025-02-03T10:00:00.123456+00:00")
        assert (second.role, second.text, second.origin) == ("assistant", "Have a good trip.", "assistant")
        assert memory.sessions(user="ana")[0].metadata["title"] == "Travel"

    def test_tools_files_and_thoughts_are_no_text(self, memory: Engine, tmp_path: Path) -> None:
        blocks = [{"type": "thinking", "thinking": "secret thought"}, {"type": "tool_use", "name": "search", "input": {"q": "x"}},
                  {"type": "tool_result", "content": [{"type": "text", "text": "found"}]}, {"type": "text", "text": "Here."}]  # fmt: skip
        attached = [{"file_name": "a.txt", "file_type": "txt", "extracted_content": "I live in Rome."}]
        talk = claude_talk(
            claude_message("m1", "human", "", attachments=attached, files=[{"file_name": "cat.png"}]),
            claude_message("m2", "assistant", "Here.", content=blocks),
            claude_message("m3", "human", ""),
        )
        memory.import_from(write_json(tmp_path / "c.json", [talk]), user="ana")
        assert said(memory, "talk-1") == [("user", ""), ("tool", ""), ("assistant", "Here.")]
        first, _result, second = messages(memory, "talk-1")
        assert (first.payload["attachments"][0]["text"], first.payload["files"]) == ("I live in Rome.", ["cat.png"])
        assert [block["type"] for block in second.payload["blocks"]] == ["tool_use", "tool_result"]
        assert "secret thought" not in str(second.payload)

    def test_of_several_branches_the_last_one_is_read(self, memory: Engine, tmp_path: Path) -> None:
        talk = claude_talk(
            claude_message("m1", "human", "first", parent_message_uuid="root"),
            claude_message("m2", "assistant", "dropped", parent_message_uuid="m1"),
            claude_message("m3", "assistant", "kept", parent_message_uuid="m1"),
        )
        memory.import_from(write_json(tmp_path / "c.json", [talk]))
        assert said(memory, "talk-1") == [("user", "first"), ("assistant", "kept")]

    def test_memories_and_projects_of_the_export_are_read(self, memory: Engine, tmp_path: Path) -> None:
        folder = tmp_path / "export"
        write_json(folder / "conversations.json", [claude_talk(claude_message("m1", "human", "hello"))])
        write_json(folder / "memories.json", [{"conversations_memory": "**Work**\n\nAna is a surgeon.\n\n**Home**\n\nAna sings alto.", "project_memories": {"p1": "The bridge is red."}}])  # fmt: skip
        document = {
            "uuid": "d1",
            "filename": "plan.md",
            "content": "# Plan\n\nWe start in May.",
            "created_at": "2025-01-01T00:00:00Z",
        }
        write_json(
            folder / "projects.json",
            [{"uuid": "p1", "name": "Bridge", "description": "", "prompt_template": "Answer in Dutch.", "docs": [document]}],
        )
        result = memory.import_from(folder, user="ana")
        assert result.memories.imported == 5
        assert texts(memory, user="ana") == [
            "Ana is a surgeon.",
            "Ana sings alto.",
            "Answer in Dutch.",
            "The bridge is red.",
            "We start in May.",
        ]
        found = memory.memories(user="ana", namespace=("projects", "Bridge"))
        assert sorted(each.text for each in found) == ["Answer in Dutch.", "The bridge is red."]
        (work,) = memory.memories(user="ana", where={"heading": "Work"})
        assert work.text == "Ana is a surgeon."
        (plan,) = memory.memories(user="ana", namespace=("projects", "Bridge", "plan.md"))
        assert (plan.metadata["heading"], plan.trust, plan.created_at.year) == ("Plan", 1.0, 2025)
        assert memory.import_from(folder, user="ana").memories.known == 5


@pytest.mark.parametrize("packed", [False, True])
def test_projects_and_memories_in_folders_are_read(memory: Engine, tmp_path: Path, *, packed: bool) -> None:
    folder = tmp_path / "export"
    write_json(folder / "conversations.json", [claude_talk(claude_message("m-1", "human", "Hello"))])
    write_json(folder / "projects" / "p-1.json", {"uuid": "p-1", "name": "Orchard", "prompt_template": "Name the month."})
    kept = {"conversations_memory": "Grows pears.", "project_memories": {"p-1": "Has nine trees."}}
    write_json(folder / "memories" / "account.json", kept)
    if packed:
        shutil.make_archive(str(folder), "zip", folder)
    result = memory.import_from(folder.with_suffix(".zip") if packed else folder, user="ana")
    assert (result.format, result.sessions.imported) == ("claude", 1)
    found = {each.text: each.namespace for each in memory.memories(user="ana")}
    orchard = ("projects", "Orchard")
    assert found == {"Name the month.": orchard, "Has nine trees.": orchard, "Grows pears.": ()}


def test_an_archive_that_contains_only_memories_is_recognized(memory: Engine, tmp_path: Path) -> None:
    write_json(tmp_path / "part" / "memories" / "account.json", {"conversations_memory": "Grows pears.", "project_memories": {}})
    shutil.make_archive(str(tmp_path / "memories-000"), "zip", tmp_path / "part")
    assert memory.import_from(tmp_path / "memories-000.zip", user="ana").format == "claude"
    assert texts(memory, user="ana") == ["Grows pears."]


def _memories(**more: Any) -> dict[str, Any]:
    files = [
        {"path": "/areas/orchard.md", "content": "# Trees\n\nNine pears.\n\n# Tools\n\nOne saw.", "updated_at": "2026-05-01T08:00:00Z"},
        {"path": "/profile.md", "content": ""},
    ]  # fmt: skip
    return {"conversations_memory": "", "project_memories": {}, "memory_files": files, **more}


@pytest.mark.parametrize("name", ["memories/account.json", "memories.json"])
def test_the_files_in_claudes_memory_are_read_by_section(memory: Engine, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "export"
    write_json(folder / "conversations.json", [claude_talk(claude_message("m-1", "human", "Hello"))])
    write_json(folder / name, [_memories()] if name == "memories.json" else _memories())
    result = memory.import_from(folder, user="ana")
    assert (result.format, result.sessions.imported) == ("claude", 1)
    assert texts(memory, user="ana") == ["Nine pears.", "One saw."]
    (trees,) = memory.memories(user="ana", where={"heading": "Trees"})
    assert (trees.metadata["file"], trees.created_at.month) == ("/areas/orchard.md", 5)
    assert memory.import_from(folder, user="ana").memories.known == 2


@pytest.mark.parametrize("is_list", [True, False])
def test_a_file_of_memories_alone_is_recognized_under_any_name(memory: Engine, tmp_path: Path, *, is_list: bool) -> None:
    file = write_json(tmp_path / "from claude (1).json", [_memories()] if is_list else _memories())
    assert memory.import_from(file, user="ana").format == "claude"
    assert texts(memory, user="ana") == ["Nine pears.", "One saw."]


def test_a_renamed_list_of_projects_is_recognized_if_the_format_is_named(memory: Engine, tmp_path: Path) -> None:
    project = {"uuid": "p-1", "name": "Orchard", "description": "", "prompt_template": "Name the month.", "docs": []}
    memory.import_from(write_json(tmp_path / "p.json", [project]), user="ana", format="claude")
    assert texts(memory, user="ana") == ["Name the month."]


def test_a_voice_note_is_the_text_of_its_message(memory: Engine, tmp_path: Path) -> None:
    note = claude_message("m-1", "human", "", content=[{"type": "voice_note", "title": None, "text": "I feed it rye."}])
    memory.import_from(write_json(tmp_path / "c.json", [claude_talk(note)]))
    assert said(memory, "talk-1") == [("user", "I feed it rye.")]


def test_artifacts_and_thoughts_inside_a_text_are_not_part_of_it(memory: Engine, tmp_path: Path) -> None:
    text = 'Here. <antThinking>short</antThinking><antArtifact identifier="p" title="Poem">\nRoses\n</antArtifact> Enjoy.'
    asked = claude_message("m-1", "human", "What is <antArtifact>?")
    memory.import_from(write_json(tmp_path / "c.json", [claude_talk(asked, claude_message("m-2", "assistant", text))]))
    first, second = messages(memory, "talk-1")
    assert (first.text, second.text) == ("What is <antArtifact>?", "Here. Enjoy.")
    assert second.payload == {"blocks": [{"type": "artifact", "identifier": "p", "title": "Poem", "content": "\nRoses\n"}]}


def line(kind: str, id: str, content: Any, **more: Any) -> dict[str, Any]:
    role = "assistant" if kind == "assistant" else "user"
    return {"type": kind, "uuid": id, "parentUuid": None, "sessionId": "s-1", "timestamp": "2025-06-01T08:00:00.000Z", "cwd": "/home/ana/shop",
            "gitBranch": "main", "version": "2.0.1", "isSidechain": False, "userType": "external", "message": {"role": role, "content": content}, **more}  # fmt: skip


class TestClaudeCode:
    """Transcripts of the Claude Code agent."""

    def test_a_folder_of_transcripts_is_read(self, memory: Engine, tmp_path: Path) -> None:
        folder = tmp_path / "projects"
        write_lines(
            folder / "-home-ana-shop" / "s-1.jsonl",
            [
                {"type": "summary", "summary": "Fix the cart", "leafUuid": "x"},
                {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
                line("user", "u1", "Please use tabs in this project."),
                line("assistant", "a1", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]),
                line("assistant", "a2", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
                line(
                    "user",
                    "u2",
                    [{"type": "tool_result", "tool_use_id": "t1", "content": "cart.py"}],
                    toolUseResult={"stdout": "cart.py"},
                ),
                line("user", "u3", "<command-name>/clear</command-name>"),
                line("user", "u4", "caveat", isMeta=True),
                line("assistant", "a3", [{"type": "text", "text": "from a subagent"}], isSidechain=True),
            ],
        )
        write_lines(folder / "-home-ana-blog" / "s-2.jsonl", [{**line("user", "u9", "Hello"), "sessionId": "s-2"}])
        write_lines(folder / "-home-ana-blog" / "empty.jsonl", [])
        result = memory.import_from(folder, user="ana")
        assert (result.format, result.sessions.imported) == ("claude-code", 2)
        assert said(memory, "s-1") == [
            ("user", "Please use tabs in this project."),
            ("assistant", "Done."),
            ("assistant", ""),
            ("tool", ""),
        ]
        assert messages(memory, "s-1")[3].payload["blocks"][0]["content"] == "cart.py"
        (shop,) = [session for session in memory.sessions(user="ana") if session.id == "s-1"]
        assert (shop.metadata["cwd"], shop.metadata["title"], shop.started_at.month) == ("/home/ana/shop", "Fix the cart", 6)
        again = memory.import_from(folder, user="ana")
        assert (again.messages.imported, again.messages.known, again.learning) == (0, 5, 0)

    def test_a_damaged_line_is_named_and_nothing_is_stored(self, memory: Engine, tmp_path: Path) -> None:
        file = write_lines(tmp_path / "s-1.jsonl", [line("user", "u1", "Hello")])
        file.write_bytes(file.read_bytes() + b'{"type": "user", "uui\n')
        with pytest.raises(InvalidInput, match=r"s-1\.jsonl, line 2: the line is not valid JSON"):
            memory.import_from(file)
        assert memory.stats().messages == 0

    def test_a_line_that_is_still_being_written_is_imported_the_next_time(self, memory: Engine, tmp_path: Path) -> None:
        file = write_lines(tmp_path / "s-1.jsonl", [line("user", "u1", "Hello"), line("assistant", "a1", "Grüezi!")])
        complete = file.read_bytes()
        file.write_bytes(complete[: complete.index("ü".encode()) + 1])  # the cut is inside of a character
        assert memory.import_from(file).messages.imported == 1
        file.write_bytes(complete)
        assert memory.import_from(file).messages.imported == 1
        assert said(memory, "s-1") == [("user", "Hello"), ("assistant", "Grüezi!")]

    def test_a_huge_result_of_a_tool_is_cut(self, memory: Engine, tmp_path: Path) -> None:
        blocks = [{"type": "tool_result", "content": "word " * 100_000}]
        memory.import_from(write_lines(tmp_path / "s.jsonl", [line("user", "u1", blocks)]))
        (found,) = messages(memory, "s-1")
        assert found.payload["blocks"][0]["content"].endswith("[cut]")

    @pytest.mark.long
    def test_a_message_that_is_too_long_is_cut(self, memory: Engine, tmp_path: Path) -> None:
        memory.import_from(write_lines(tmp_path / "s.jsonl", [line("user", "u1", "x" * 5_000_000)]))
        (found,) = messages(memory, "s-1")
        assert (len(found.text) <= 4 * 1024 * 1024, found.text.endswith("[cut]")) == (True, True)
