"""Copies that are refused, their error messages, and the command ``holdfast store copy``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from holdfast.errors import Conflict, NotFound, StoreError, StoreLocked
from tests.cli.support import Holdfast, executable
from tests.stores.copying.support import copy, copy_until_killed, fill, open_engine, seen
from tests.stores.postgres.support import Server, server

pytestmark = pytest.mark.long

__all__ = ["server"]


@pytest.fixture
def source(tmp_path: Path) -> str:
    fill(tmp_path / "source.db", memories=5)
    return str(tmp_path / "source.db")


@pytest.fixture
def holdfast(tmp_path: Path) -> Holdfast:
    return Holdfast(home=tmp_path / "home", models=tmp_path / "no-weights")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_target_with_other_data_is_refused_and_left_alone(kind: str, source: str, tmp_path: Path, server: Server) -> None:
    target = server.new(empty=True) if kind == "postgres" else str(tmp_path / "other.db")
    with open_engine(target) as memory:
        memory.remember("something else", user="zoe")
    with pytest.raises(Conflict, match="holds other data"):
        copy(source, target)
    with open_engine(target) as memory:
        assert [str(each) for each in memory.memories(user="zoe")] == ["something else"]


def test_a_copy_changed_since_it_was_made_is_refused(source: str, tmp_path: Path) -> None:
    target = str(tmp_path / "target.db")
    copy(source, target)
    with open_engine(target) as memory:
        memory.remember("new since the copy", user="ana")
    with pytest.raises(Conflict, match="holds other data"):
        copy(source, target)


def test_a_target_that_was_only_opened_counts_as_empty(source: str, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    open_engine(target).close()
    assert copy(source, target).wrong == ()
    assert seen(target) == seen(source)


def test_the_unfinished_copy_of_another_store_is_refused(source: str, tmp_path: Path) -> None:
    target, other = tmp_path / "target.db", tmp_path / "other.db"
    fill(other, memories=1)
    copy_until_killed(source, target, steps=5, batch=3)
    with pytest.raises(Conflict, match=r"holds an unfinished copy of .*source\.db"):
        copy(other, target)


def test_an_unfinished_copy_cannot_be_copied(source: str, tmp_path: Path) -> None:
    copy_until_killed(source, tmp_path / "half.db", steps=5, batch=3)
    with pytest.raises(StoreError, match="is not finished"):
        copy(tmp_path / "half.db", tmp_path / "target.db")


def test_the_doctor_says_that_a_copy_is_not_finished(source: str, tmp_path: Path, holdfast: Holdfast) -> None:
    copy_until_killed(source, tmp_path / "half.db", steps=5, batch=3)
    message = holdfast("doctor", "--store", str(tmp_path / "half.db"), exit=1).stderr
    assert f"is not finished (from {source})" in message


def test_a_store_is_not_copied_onto_itself(source: str) -> None:
    with pytest.raises(Conflict, match="both source and target"):
        copy(source, source)


def test_a_missing_source_store_is_not_created(tmp_path: Path, server: Server) -> None:
    with pytest.raises(NotFound, match="There is no store"):
        copy(tmp_path / "nothing.db", tmp_path / "target.db")
    with pytest.raises(NotFound, match="There is no store"):
        copy(server.new(empty=True), tmp_path / "target.db")
    assert list(tmp_path.iterdir()) == []


def test_an_encrypted_source_without_its_key_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "source.db", memories=1, key="raw:" + "5a" * 32)
    with pytest.raises(StoreLocked, match="encrypted"):
        copy(tmp_path / "source.db", tmp_path / "target.db")


def test_the_command_copies_compares_and_says_so(holdfast: Holdfast, source: str, server: Server) -> None:
    target = server.new(empty=True)
    first = holdfast("store", "copy", source, target)
    assert "DIFFERS" not in first.stdout
    assert "copied in" in first.stdout
    assert "Copying memories ..." in first.stderr
    assert "Nothing to copy" in holdfast("store", "copy", f"sqlite:///{source}", target).stdout
    report = holdfast.json("store", "copy", source, target)
    assert (report["ok"], {each["table"] for each in report["tables"] if each["copied"]}) == (True, set())


def test_the_command_fails_when_rows_are_not_what_was_written(holdfast: Holdfast, source: str, tmp_path: Path) -> None:
    apsw.Connection(source).execute("UPDATE messages SET text = 'flipped' WHERE seq = (SELECT max(seq) FROM messages)")
    assert "messages: 1 rows" in holdfast("store", "copy", source, str(tmp_path / "t.db"), exit=1).stderr


def test_a_key_in_a_file_opens_the_source_and_leaves_the_target_plain(holdfast: Holdfast, tmp_path: Path) -> None:
    key = "raw:" + "5a" * 32
    fill(tmp_path / "source.db", memories=1, key=key)
    (tmp_path / "key").write_text(f"{key}\n", "utf-8")
    target = tmp_path / "target.db"
    holdfast("store", "copy", str(tmp_path / "source.db"), str(target), "--source-key-file", str(tmp_path / "key"))
    assert target.read_bytes().startswith(b"SQLite format 3")


SECRET = "hunter2-s3cret"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ana:{SECRET}@127.0.0.1:1/db",
        f"postgresql://ana:{SECRET}@127.0.0.1:port/db",
        f"postgresql://ana:{SECRET}@[::1/db",
        f"postgresql://ana:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"postgresql://127.0.0.1:1/db?user=ana&password={SECRET}",
        f"mysql://ana:{SECRET}@127.0.0.1/db",
    ],
)
def test_a_wrong_address_is_an_error_that_never_shows_the_password(url: str, holdfast: Holdfast, source: str) -> None:
    ran = holdfast("store", "copy", source, url, exit=1)
    assert "error: " in ran.stderr
    assert not [part for part in (SECRET, "ana", "127.0.0.1") if part in ran.stdout + ran.stderr]
    assert "Unexpected" not in ran.stderr


def test_without_the_extra_the_error_names_it(source: str, tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError('none here', name='psycopg')\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, executable(), "store", "copy", source, "postgresql://ana@127.0.0.1/db", "--json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "HOLDFAST_HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    error = json.loads(ran.stderr.splitlines()[-1])["error"]
    assert (ran.returncode, error["code"]) == (1, "extra_missing")
    assert "pip install 'holdfast-memory[postgres]'" in error["message"]
