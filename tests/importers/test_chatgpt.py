"""Import of ChatGPT exports."""

import zipfile
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from tests.importers.support import chatgpt_message, chatgpt_talk, messages, said, texts, write_json

pytestmark = pytest.mark.ledger("X13")


def test_messages_keep_dates_authors_and_ids(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk(
        "c-1",
        chatgpt_message("system", "", metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt_message("user", "I live in Lyon.", at=1_700_000_000.25),
        chatgpt_message("assistant", "A fine city.", at=1_700_000_010, metadata={"model_slug": "gpt-4o"}),
        title="Lyon",
    )
    result = memory.import_from(write_json(tmp_path / "conversations.json", [talk]), user="ana")
    assert (result.format, result.messages.imported, result.sessions.imported, result.learning) == ("chatgpt", 2, 1, 1)
    first, second = messages(memory, "c-1")
    assert (first.role, first.text, first.client_id, first.origin) == ("user", "I live in Lyon.", "c-1-1", "user")
    assert first.at.isoformat() == "2023-11-14T22:13:20.250000+00:00"
    assert (second.role, second.payload) == ("assistant", {"model": "gpt-4o"})
    (session,) = memory.sessions(user="ana")
    assert (session.id, session.status, session.metadata["title"]) == ("c-1", "ended", "Lyon")
    assert (session.started_at.year, session.last_at.year, session.ended_at and session.ended_at.year) == (2023, 2023, 2023)


def test_learned_memories_have_the_date_and_trust_of_the_owners_words(memory: Engine, tmp_path: Path) -> None:
    memory.import_from(
        write_json(tmp_path / "c.json", [chatgpt_talk("c", chatgpt_message("user", "I live in Lyon."))]), user="ana"
    )
    memory.drain()
    (learned,) = memory.memories(user="ana")
    assert (learned.text, learned.trust, learned.valid_from.year) == ("I live in Lyon.", 1.0, 2023)


def test_only_the_branch_that_the_user_sees_is_read(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk("c", chatgpt_message("user", "first"), chatgpt_message("assistant", "kept"))
    talk["mapping"]["other"] = {"id": "other", "message": {**chatgpt_message("assistant", "dropped"), "id": "x"}, "parent": "n0", "children": []}  # fmt: skip
    talk["mapping"]["n0"]["children"] = ["other", "n1"]
    memory.import_from(write_json(tmp_path / "c.json", [talk]))
    assert said(memory, "c") == [("user", "first"), ("assistant", "kept")]


def test_without_a_current_node_the_newest_branch_is_read(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk("c", chatgpt_message("user", "first"), chatgpt_message("assistant", "older", at=1_700_000_001))
    newer = {**chatgpt_message("assistant", "newer", at=1_700_000_009), "id": "x"}
    talk["mapping"]["other"] = {"id": "other", "message": newer, "parent": "n0", "children": []}
    del talk["current_node"]
    memory.import_from(write_json(tmp_path / "c.json", [talk]))
    assert said(memory, "c") == [("user", "first"), ("assistant", "newer")]


def test_the_messages_before_a_deleted_last_message_are_imported(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk("c", chatgpt_message("user", "first"), chatgpt_message("assistant", "deleted"))
    del talk["mapping"]["n1"]
    memory.import_from(write_json(tmp_path / "c.json", [talk]))
    assert said(memory, "c") == [("user", "first")]


def test_a_cycle_of_nodes_does_not_hang_the_import(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk("c", chatgpt_message("user", "first"), chatgpt_message("assistant", "second"))
    talk["mapping"]["n0"]["parent"] = "n1"
    memory.import_from(write_json(tmp_path / "c.json", [talk]))
    assert len(said(memory, "c")) == 2


def test_tools_and_images_are_payloads_that_nothing_is_learned_from(memory: Engine, tmp_path: Path) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "size_bytes": 10}
    talk = chatgpt_talk(
        "c",
        chatgpt_message("user", content={"content_type": "multimodal_text", "parts": [image, "What is this?"]}),
        chatgpt_message("user", content={"content_type": "multimodal_text", "parts": [image]}),
        chatgpt_message(
            "assistant",
            content={"content_type": "code", "language": "python", "text": "print('I live in Rome.')"},
            recipient="python",
        ),
        chatgpt_message("tool", content={"content_type": "execution_output", "text": "I live in Rome."}, name="python"),
        chatgpt_message("assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        chatgpt_message("assistant", "A cat."),
        chatgpt_message("user", "", at=None),
    )
    memory.import_from(write_json(tmp_path / "c.json", [talk]), user="ana")
    assert said(memory, "c") == [
        ("user", "What is this?"),
        ("user", ""),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", "A cat."),
    ]
    found = messages(memory, "c")
    assert found[0].payload["parts"][0]["asset_pointer"] == "file-service://file-1"
    assert (found[2].payload["recipient"], found[3].payload["name"]) == ("python", "python")
    memory.drain()
    assert texts(memory, user="ana") == []


@pytest.mark.parametrize("files", [["conversations.json"], ["export/conversations-000.json", "export/conversations-001.json"]])
def test_the_zip_file_is_read_as_it_is(memory: Engine, tmp_path: Path, files: list[str]) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for name in files:
            talk = chatgpt_talk(name, chatgpt_message("user", f"hello from {name}"))
            archive.write(write_json(tmp_path / "part.json", [talk]), name)
        archive.writestr("chat.html", "<html></html>")
    result = memory.import_from(tmp_path / "export.zip")
    assert (result.format, result.sessions.imported) == ("chatgpt", len(files))


def test_a_later_export_adds_only_what_is_new(memory: Engine, tmp_path: Path) -> None:
    first, second = chatgpt_message("user", "first"), chatgpt_message("assistant", "second")
    file = tmp_path / "c.json"
    memory.import_from(write_json(file, [chatgpt_talk("c", first)]))
    memory.drain()
    again = memory.import_from(write_json(file, [chatgpt_talk("c", first, second), chatgpt_talk("d", first)]))
    assert (again.messages.imported, again.messages.known, again.sessions.imported, again.sessions.known) == (2, 1, 1, 1)
    assert said(memory, "c") == [("user", "first"), ("assistant", "second")]
    assert again.learning == 2


def test_empty_conversations_and_empty_exports_are_counted(memory: Engine, tmp_path: Path) -> None:
    result = memory.import_from(
        write_json(tmp_path / "c.json", [chatgpt_talk("c"), chatgpt_talk("d", chatgpt_message("user", " "))])
    )
    assert (result.sessions.found, result.sessions.empty, result.sessions.imported) == (2, 2, 0)
    assert memory.import_from(write_json(tmp_path / "e.json", []), format="chatgpt").messages.found == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"id": "c", "mapping": {', "c.json, item 1 is not valid JSON"),
        ('[{"id": "c", "mapping": {}} {"id": "d"}]', "item 2: expected a comma"),
        ('[{"id": "c", "mapping": {}}, 7]', "c.json, conversation 2: expected a JSON object, found a number"),
        ('[{"id": "c", "mapping": {"n": {"message": "x"}}, "current_node": "n"}]', "conversation 1, node n, message: expected"),
        ('[{"id": "c", "mapping": {}, "create_time": "soon"}]', "conversation 1: 'create_time'"),
    ],
    ids=["cut", "comma", "item", "node", "time"],
)
def test_a_damaged_export_is_refused_with_the_place_and_nothing_is_stored(
    memory: Engine, tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        memory.import_from(tmp_path / "c.json", format="chatgpt")
    assert memory.stats().messages == 0


@pytest.mark.ledger("X13")
def test_custom_instructions_are_memories_once(memory: Engine, tmp_path: Path) -> None:
    content = {"content_type": "user_editable_context", "user_profile": "The user says: ...", "user_instructions": "..."}
    given = {"about_user_message": "I am a botanist in Coimbra.", "about_model_message": "Answer briefly."}
    hidden = {"is_visually_hidden_from_conversation": True, "user_context_message_data": given}
    talks = [
        chatgpt_talk(f"t{number}", chatgpt_message("user", content=content, metadata=hidden), chatgpt_message("user", "Hello"))
        for number in range(3)
    ]
    file = write_json(tmp_path / "conversations.json", talks)
    assert memory.import_from(file, user="ana").memories.imported == 2
    assert texts(memory, user="ana") == ["Answer briefly.", "I am a botanist in Coimbra."]
    (about,) = memory.memories(user="ana", where={"custom_instructions": "about the user"})
    assert about.created_at.year == 2023
    assert said(memory, "t0") == [("user", "Hello")]
    assert memory.import_from(file, user="ana").memories.known == 2


@pytest.mark.ledger("X13")
def test_entries_of_chatgpts_memory_become_memories(memory: Engine, tmp_path: Path) -> None:
    talk = chatgpt_talk(
        "t1",
        chatgpt_message("user", "We moved."),
        chatgpt_message("assistant", "Has moved to Porto.", recipient="bio"),
        chatgpt_message("assistant", "Forget that the user lives in Braga.", recipient="bio"),
        chatgpt_message("tool", "Model set context updated.", name="bio"),
    )
    memory.import_from(write_json(tmp_path / "conversations.json", [talk]), user="ana")
    assert texts(memory, user="ana") == ["Has moved to Porto."]


def test_the_newest_list_of_saved_memories_becomes_memories(memory: Engine, tmp_path: Path) -> None:
    def listing(text: str) -> dict[str, object]:
        return chatgpt_message(
            "assistant", at=None, content={"content_type": "model_editable_context", "model_set_context": text}
        )

    newest = "1. [2024-08-02]. Sails a boat called Petrel.\n\n2. [2024-09-14]. Is allergic to shellfish.\nAlso to kiwi."
    talks = [
        chatgpt_talk("new", listing(newest), chatgpt_message("user", "Hello"), at=1_730_000_000.0),
        chatgpt_talk("old", listing("1. [2024-01-01]. Sails no more."), chatgpt_message("user", "Hello"), at=1_710_000_000.0),
        chatgpt_talk("none", listing(""), chatgpt_message("user", "Hello"), at=1_740_000_000.0),
    ]
    file = write_json(tmp_path / "conversations.json", talks)
    memory.import_from(file, user="ana")
    found = {each.text: each for each in memory.memories(user="ana")}
    assert set(found) == {"Sails a boat called Petrel.", "Is allergic to shellfish.\nAlso to kiwi."}
    assert found["Sails a boat called Petrel."].created_at.date().isoformat() == "2024-08-02"
    assert memory.import_from(file, user="ana").memories.known == 2
    assert [text for _, text in said(memory, "new")] == ["Hello"]


def test_nothing_is_learned_from_a_conversation_that_chatgpt_was_told_not_to_remember(memory: Engine, tmp_path: Path) -> None:
    private = {**chatgpt_talk("c", chatgpt_message("user", "I live in Lyon.")), "is_do_not_remember": True}
    result = memory.import_from(write_json(tmp_path / "c.json", [private]), user="ana")
    memory.drain()
    assert (result.learning, result.sessions.imported, memory.memories(user="ana")) == (0, 1, [])


def test_the_custom_gpt_or_project_of_a_conversation_is_kept(memory: Engine, tmp_path: Path) -> None:
    talks = [
        {**chatgpt_talk("a", chatgpt_message("user", "Hi")), "gizmo_id": "g-7", "gizmo_type": "gpt"},
        {**chatgpt_talk("b", chatgpt_message("user", "Hi")), "gizmo_id": "g-p-8", "gizmo_type": "snorlax"},
    ]
    memory.import_from(write_json(tmp_path / "c.json", talks), user="ana")
    kept = {session.id: session.metadata for session in memory.sessions(user="ana")}
    assert (kept["a"]["gpt"], kept["b"]["project"]) == ("g-7", "g-p-8")


def test_marks_of_citations_are_left_out_of_answers(memory: Engine, tmp_path: Path) -> None:
    answer = "Try the bakery. \ue200cite\ue202turn0search3\ue202turn0search1\ue201 It opens at 7 【4:1†source】."
    talk = chatgpt_talk("c", chatgpt_message("user", "What is 【1†x】?"), chatgpt_message("assistant", answer))
    memory.import_from(write_json(tmp_path / "c.json", [talk]))
    assert [text for _, text in said(memory, "c")] == ["What is 【1†x】?", "Try the bakery. It opens at 7."]
