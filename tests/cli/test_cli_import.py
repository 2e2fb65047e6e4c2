"""The ``import`` command, and the offer to convert the store of another program."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.cli.commands.import_ import FORMATS
from holdfast.designs.rumi import MemoryStore
from holdfast.importers import formats
from tests.importers.support import chatgpt_message, chatgpt_talk, write_json

from .support import Holdfast, executable

pytestmark = pytest.mark.long


def rumi(path: Path) -> Path:
    """Write a store in the format of the design Rumi."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY, key TEXT, value TEXT, source TEXT, created_at TEXT, updated_at TEXT)"
        )
        database.execute(
            "INSERT INTO facts VALUES (1, 'nombre', 'Lucas', 'explicit', '2025-11-01 10:00:00', '2025-11-01 10:00:00')"
        )
        database.commit()
    return path


@pytest.mark.ledger("X13")
def test_the_command_recognizes_counts_and_can_be_repeated(holdfast: Holdfast, tmp_path: Path) -> None:
    file = write_json(tmp_path / "c.json", [chatgpt_talk("c", chatgpt_message("user", "I live in Lyon."))])
    counted = holdfast("import", str(file), "--user", "ana", "--dry-run").stdout
    assert counted == "Format: chatgpt.\nFound 1 message.\nFound 1 session.\nNothing was stored.\n"
    first = holdfast("import", str(file), "--user", "ana").stdout
    assert first == "Format: chatgpt.\nImported 1 message of 1.\nImported 1 session of 1.\nQueued for learning: 1 session.\n"
    again = holdfast("import", str(file), "--user", "ana").stdout
    assert "Imported 0 messages of 1; skipped: 1 already stored." in again
    assert holdfast.json("import", str(file), "--user", "ana", "--learn", "0")["messages"]["known"] == 1


@pytest.mark.ledger("X13")
def test_pasted_text_comes_from_standard_input(holdfast: Holdfast) -> None:
    holdfast("import", "-", "--user", "ana", input="[2024-05-01] - Prefers tea\n")
    (tea,) = holdfast.json("list", "--user", "ana")
    assert (tea["text"], tea["created_at"][:10]) == ("Prefers tea", "2024-05-01")


@pytest.mark.parametrize(("pasted", "problem"), [("", "is empty"), ('{"colour": "green"}', "was not recognized")])
def test_standard_input_without_an_import_is_refused_without_the_path_of_a_temporary_file(
    holdfast: Holdfast, pasted: str, problem: str
) -> None:
    message = holdfast.error("import", "-", "--user", "ana", input=pasted)["message"]
    assert message.startswith(("pasted.txt", "The format of pasted.txt"))
    assert problem in message
    assert "Nothing was imported." in message
    assert holdfast.json("list", "--user", "ana") == []


def test_text_without_a_user_goes_to_the_default_user_and_is_shared_only_on_request(holdfast: Holdfast) -> None:
    holdfast("import", "-", input="The cellar has a second door.")
    assert holdfast.json("list", "--shared") == []
    holdfast("import", "-", "--shared", input="The office has a garden.")
    assert len(holdfast.json("list", "--shared")) == 1


def test_the_command_knows_all_formats() -> None:
    assert [each.name for each in formats.FORMATS] == list(FORMATS)


def test_an_unknown_format_is_an_error_with_the_list(holdfast: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    error = holdfast.error("import", str(tmp_path / "x.bin"))
    assert (error["code"], "chatgpt" in error["message"]) == ("invalid_input", True)


def test_a_foreign_store_is_left_alone_and_the_error_says_how_to_convert_it(holdfast: Holdfast, tmp_path: Path) -> None:
    file = rumi(tmp_path / ".rumi" / "memory.db")
    before = file.read_bytes()
    error = holdfast.error("--preset", "rumi", "--store", str(file), "list")
    assert error["code"] == "store_foreign"
    assert f"`holdfast import {file} --store {file}` converts it" in error["message"]
    assert file.read_bytes() == before


def test_a_foreign_store_is_converted_in_place_and_kept(holdfast: Holdfast, tmp_path: Path) -> None:
    file = rumi(tmp_path / ".rumi" / "memory.db")
    before = file.read_bytes()
    where = ("--preset", "rumi", "--store", str(file))
    assert "Add --yes" in holdfast.error(*where, "import", str(file), exit=2)["message"]
    printed = holdfast(*where, "import", str(file), "--yes").stderr
    assert "Converted" in printed
    assert (tmp_path / ".rumi" / "memory.rumi.db").read_bytes() == before
    (name,) = json.loads(holdfast(*where, "list", "--json").stdout)
    assert (name["text"], name["key"], name["created_at"][:10]) == ("Lucas", "nombre", "2025-11-01")


def test_a_failed_conversion_restores_the_file(holdfast: Holdfast, tmp_path: Path) -> None:
    file = rumi(tmp_path / "memory.db")
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE facts SET created_at = 'yesterday'")
        database.commit()
    before = file.read_bytes()
    error = holdfast.error("--store", str(file), "import", str(file), "--yes")
    assert "yesterday" in error["message"]
    assert file.read_bytes() == before
    assert not (tmp_path / "memory.rumi.db").exists()


def test_on_a_terminal_every_command_offers_the_conversion(holdfast: Holdfast, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    file = rumi(tmp_path / ".rumi" / "memory.db")
    command = [executable(), "--preset", "rumi", "--store", str(file)]
    for answer, code, name in ((b"n\n", 1, "chat"), (b"y\n", 0, "list")):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*command, name], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=holdfast.environment
        ) as process:
            os.write(ours, answer)
            printed, asked = process.communicate(timeout=60)
        for end in (ours, theirs):
            os.close(end)
        assert process.returncode == code, (printed, asked)
        assert b"is memory.db of the design Rumi. Convert it?" in asked
    assert b"nombre: Lucas" in printed
    assert (tmp_path / ".rumi" / "memory.rumi.db").exists()


def test_the_format_may_stand_before_the_path(holdfast: Holdfast, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("- Prefers tea\n")
    assert holdfast.json("import", "pasted", str(file), "--user", "ana")["format"] == "pasted"
    assert "Two formats" in holdfast.error("import", "pasted", str(file), "--format", "text", exit=2)["message"]
    assert "Give one PATH" in holdfast.error("import", str(file), str(file), exit=2)["message"]


def test_templates_and_wrong_properties_are_named_with_the_reason(holdfast: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Daily.md").write_text("# {{date}}\n")
    (tmp_path / "vault" / "Trip.md").write_text("---\ntags: [travel\n---\nWe went to Porto.\n")
    printed = holdfast("import", str(tmp_path / "vault"), "--user", "ana").stdout
    assert "Imported 1 memory of 1." in printed
    assert "Skipped 1 template:\n  Daily.md: {{date}}\n" in printed
    assert "In 1 file, properties at the top are not valid YAML. Only they are left out; correct them" in printed
    assert "\n  Trip.md: line 2: " in printed
    assert "empty" not in printed


def test_the_command_says_how_many_memories_follow_a_moved_file(holdfast: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Porto.md").write_text("We took the tram.\n")
    holdfast("import", str(tmp_path / "vault"), "--user", "ana")
    (tmp_path / "vault" / "Porto.md").rename(tmp_path / "vault" / "Lisbon.md")
    assert (
        "Found 1 memory; of these: 1 to update."
        in holdfast("import", str(tmp_path / "vault"), "--user", "ana", "--dry-run").stdout
    )
    assert "Imported 0 memories of 1, updated 1." in holdfast("import", str(tmp_path / "vault"), "--user", "ana").stdout


def _mem0(path: Path, *users: str | None) -> Path:
    """Write memories as mem0's API returns them, each with its user."""
    named = [{"id": f"m-{number}", "memory": f"Likes {number}", "user_id": user} for number, user in enumerate(users)]
    path.write_text(json.dumps({"results": named, "relations": [{"source": "a", "relationship": "knows", "target": "b"}]}))
    return path


def test_a_store_that_names_its_users_keeps_them_apart(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("import", str(_mem0(tmp_path / "m.json", "ana", "ben", None)))
    listed = {user: [each["text"] for each in holdfast.json("list", "--user", user)] for user in ("ana", "ben")}
    assert listed == {"ana": ["Likes 0"], "ben": ["Likes 1"]}
    own = [each["text"] for each in holdfast.json("list")]
    assert sorted(own) == ["Likes 2", "a knows b"]


def test_a_store_with_one_user_says_nothing_of_the_default_user(holdfast: Holdfast, tmp_path: Path) -> None:
    ran = holdfast("import", str(_mem0(tmp_path / "m.json", "ana", "ana")))
    assert "Memory of" not in ran.stderr
    assert len(holdfast.json("list", "--user", "ana")) == 3


def test_a_named_user_gets_everything(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("import", str(_mem0(tmp_path / "m.json", "ana", "ben")), "--user", "zoe")
    assert len(holdfast.json("list", "--user", "zoe")) == 3


def test_a_design_finds_its_own_data_after_an_import(holdfast: Holdfast, tmp_path: Path) -> None:
    store = tmp_path / "new.db"
    holdfast("--preset", "rumi", "--store", str(store), "import", str(rumi(tmp_path / "old.db")))
    found = MemoryStore(store)
    found.init_db()
    assert [(fact.key, fact.value) for fact in found.get_all()] == [("nombre", "Lucas")]
    found.close()
