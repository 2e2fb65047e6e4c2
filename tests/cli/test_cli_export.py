"""The ``export`` command."""

import json
from pathlib import Path

import pytest

from .support import Holdfast


@pytest.fixture
def filled(holdfast: Holdfast) -> Holdfast:
    holdfast.talk("I live in Lyon.", user="ana")
    holdfast.talk("I live in Oslo.", user="bob")
    holdfast("remember", "prefers tea", "--user", "ana")
    return holdfast


@pytest.mark.ledger("U7", "X13", "X18")
def test_one_command_exports_all_data_of_a_person(filled: Holdfast, tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    printed = filled("export", str(file), "--user", "ana").stdout
    assert printed.startswith("Exported 1 job, 1 memory, 1 message, 1 session, 1 user to ")
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"Lyon" in file.read_bytes()
    assert b"Oslo" not in file.read_bytes()


@pytest.mark.ledger("U7")
def test_the_extension_chooses_the_format(filled: Holdfast, tmp_path: Path) -> None:
    for name, start in (("a.md", b"# Memories"), ("a.zip", b"PK"), ("a.jsonl", b'{"type":"holdfast-export"'), ("a.txt", b"{")):
        filled("export", str(tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(start), name


@pytest.mark.long
def test_standard_output_has_only_the_export(filled: Holdfast) -> None:
    ran = filled.run("export", "-", "--user", "ana")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("holdfast-export", "end")
    assert b"Exported 1 job" in ran.stderr


def test_an_existing_file_is_replaced_only_on_request(filled: Holdfast, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text("mine")
    assert "exists" in filled.error("export", str(file))["message"]
    assert file.read_text() == "mine"
    assert filled.json("export", str(file), "--replace")["counts"]["messages"] == 2


@pytest.mark.ledger("X13")
def test_the_command_imports_an_export(filled: Holdfast, tmp_path: Path) -> None:
    file, other = tmp_path / "all.jsonl", Holdfast(home=tmp_path / "other", models=filled.models, embedder=filled.embedder)
    filled("export", str(file))
    assert other("import", str(file), "--dry-run").stdout.endswith("Nothing was stored.\n")
    assert other.json("list", "--user", "ana") == []
    printed = other("import", str(file)).stdout
    assert printed.startswith(
        "Format: holdfast.\nImported 1 memory of 1.\nImported 2 messages of 2.\nImported 2 sessions of 2.\n"
    )
    other("export", str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
    assert "skipped: 2 already stored" in other("import", str(file)).stdout


def test_a_missing_folder_or_user_is_an_error_and_nothing_is_written(filled: Holdfast, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "such" / "all.jsonl"
    assert filled.error("export", str(missing))["message"].endswith("Create it first. Nothing was exported.")
    assert not (tmp_path / "no").exists()
    file = tmp_path / "anna.jsonl"
    assert "Did you mean 'ana'?" in filled.error("export", str(file), "--user", "anna")["message"]
    assert not file.exists()


def test_a_user_of_whom_only_questions_are_kept_is_exported(filled: Holdfast, tmp_path: Path) -> None:
    filled("context", "where is the key?", "--user", "cleo")
    file = tmp_path / "cleo.jsonl"
    filled("export", str(file), "--user", "cleo")
    assert b"where is the key?" in file.read_bytes()


def test_a_backup_into_a_missing_folder_is_an_error(filled: Holdfast, tmp_path: Path) -> None:
    assert filled.error("backup", str(tmp_path / "no" / "copy.db"))["message"].endswith("No backup was written.")
    assert not (tmp_path / "no").exists()
