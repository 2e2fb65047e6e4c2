"""The commands sessions, users, jobs, worker, models, backup, restore, doctor, stats and demo."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.services import services
from holdfast.types import Job

from .support import Holdfast

pytestmark = pytest.mark.long


def test_sessions_are_listed_and_shown(holdfast: Holdfast) -> None:
    ended = holdfast.talk("Me llamo Ana.", "Vivo en Córdoba.")
    opened = holdfast.talk("Hello", user="bob", end=False)

    assert [each["id"] for each in holdfast.json("sessions")] == [opened, ended]
    assert [each["id"] for each in holdfast.json("sessions", "list", "--user", "ana")] == [ended]
    assert [each["id"] for each in holdfast.json("sessions", "--status", "open", "--limit", "5")] == [opened]
    assert "user: Vivo en Córdoba." in holdfast("sessions", "show", ended).stdout
    assert [each["text"] for each in holdfast.json("sessions", "show", ended, "--limit", "1")["messages"]] == ["Vivo en Córdoba."]
    assert holdfast.error("sessions", "show", "ses_nothing")["code"] == "not_found"


def test_users_have_a_time_zone_and_a_language(holdfast: Holdfast) -> None:
    assert holdfast.json("users", "show", "ana") == {"user": "ana", "timezone": "UTC", "language": None}
    holdfast("users", "set", "ana", "--timezone", "Europe/Madrid", "--language", "es")

    assert holdfast.json("users", "show", "ana") == {"user": "ana", "timezone": "Europe/Madrid", "language": "es"}
    assert holdfast.error("users", "set", "ana", "--timezone", "Nowhere/Town")["code"] == "invalid_input"
    assert holdfast.error("users", "set", "ana", exit=2)["code"] == "usage"


def test_worker_once_runs_the_queued_jobs_and_exits(holdfast: Holdfast) -> None:
    holdfast.talk("I'm allergic to peanuts.")
    assert [job["state"] for job in holdfast.json("jobs")] == ["queued"]

    result = holdfast("worker", "--once")

    assert "1 job, 1 new memory" in result.stderr
    assert [job["state"] for job in holdfast.json("jobs", "--state", "done")] == ["done"]
    assert holdfast.json("worker", "--once") == {"steps": 0}


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send")
def test_worker_runs_until_it_is_stopped(holdfast: Holdfast) -> None:
    process = holdfast.start("worker")
    assert process.stderr is not None
    assert b"working on" in process.stderr.readline()
    holdfast.talk("I'm allergic to peanuts.")
    line = process.stderr.readline()
    if line.startswith(b"note:"):
        line = process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=90)

    assert b"1 new memory" in line
    assert process.returncode == 0
    assert out.startswith(b"Done: ")


def test_dead_jobs_are_shown_with_their_error_and_can_be_queued_again(holdfast: Holdfast) -> None:
    with holdfast.memory() as memory, services(memory).store.write() as tx:
        now = services(memory).clock.now()
        dead = Job(
            id="job_1",
            kind="digest",
            payload={},
            effect="x",
            state="dead",
            attempt=5,
            created_at=now,
            not_before=now,
            error="it broke",
        )
        tx.add_job(dead)

    assert "it broke" in holdfast("jobs", "--state", "dead").stdout
    assert holdfast("doctor", "--quick", exit=1).stdout.count("FAIL") >= 1
    rerun = holdfast.json("jobs", "rerun", "job_1")
    assert (rerun["state"], rerun["attempt"]) == ("queued", 0)
    assert holdfast.error("jobs", "rerun", "job_2")["code"] == "not_found"


def test_the_list_of_models_says_which_are_installed(holdfast: Holdfast) -> None:
    listed = {each["name"]: each for each in holdfast.json("models", "list")}

    assert listed["talk-embed-s"]["default"] is True
    assert listed["talk-embed-s"]["installed"] is True
    assert listed["arctic-embed-s"]["installed"] is False
    reader = listed["talk-reader-s"]
    assert (reader["for"], reader["default"], reader["installed"]) == ("learning", True, True)
    assert listed == {each["name"]: each for each in holdfast.json("models")}
    assert "arctic-embed-s" in holdfast("models").stdout
    assert holdfast.json("models", "path") == {"directory": str(holdfast.models)}


def test_models_that_are_missing_or_unknown_are_errors(holdfast: Holdfast, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    assert holdfast.error("models", "path", "arctic-embed-s")["code"] == "weights_missing"
    assert holdfast.error("models", "pull", "no-such-model")["code"] == "model_unknown"
    assert holdfast.error("models", "pull", "arctic-embed-s", "--from", str(empty))["code"] == "weights_unavailable"


@pytest.mark.weights
def test_models_are_pulled_from_a_folder_and_verified(
    holdfast: Holdfast, holdfast_with_weights: Holdfast, tmp_path: Path
) -> None:
    carried = tmp_path / "carried"
    carried.mkdir()
    for path in holdfast_with_weights.json("models", "path", "all-minilm-l6-v2").values():
        (carried / Path(path).name).symlink_to(path)

    result = holdfast("models", "pull", "all-minilm-l6-v2", "--from", str(carried))

    assert "reading model.onnx" in result.stderr
    assert "all-minilm-l6-v2: model.onnx" in result.stdout
    verified = {each["name"]: each["ok"] for each in holdfast.json("models", "verify")}
    assert verified.pop("all-minilm-l6-v2")
    assert verified.pop("talk-embed-s")
    assert verified.pop("talk-reader-s")
    assert set(verified) <= {"use-multilingual"}, "which is here with its extra"
    assert "already there" in holdfast("models", "pull").stdout


@pytest.mark.long
def test_doctor_finds_a_sound_store_with_missing_weights(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea")

    result = holdfast("doctor", exit=1)
    findings = {each["check"]: each["ok"] for each in json.loads(holdfast("doctor", "--json", exit=1).stdout)}

    assert result.stderr == ""
    assert "-> embedder: holdfast models pull arctic-embed-s" in result.stdout
    assert findings.pop("embedder") is False
    assert all(findings.values())


@pytest.mark.long
@pytest.mark.weights
def test_doctor_exits_with_0_when_all_is_well(holdfast_with_weights: Holdfast) -> None:
    assert "FAIL" not in holdfast_with_weights("doctor").stdout


def test_stats_count_what_is_stored(holdfast: Holdfast) -> None:
    holdfast("remember", "prefers tea", "--user", "ana")

    stats = holdfast.json("stats")
    assert (stats["memories"], stats["users"], stats["store"]) == (1, 1, str(holdfast.store))
    assert "fact 1" in holdfast("stats").stdout


def test_restoring_a_backup_keeps_the_replaced_store(holdfast: Holdfast, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    holdfast("remember", "vive en Córdoba", "--user", "ana")
    assert holdfast.json("backup", str(copy))["bytes"] == copy.stat().st_size
    bytes_of_copy = copy.read_bytes()
    holdfast("remember", "moved to Lyon", "--user", "ana")

    assert "--yes" in holdfast("restore", str(copy), exit=2).stderr
    ran = holdfast.run("restore", str(copy), "--yes", "--json")

    restored = json.loads(ran.stdout.decode())
    assert [each["text"] for each in holdfast.json("list", "--user", "ana")] == ["vive en Córdoba"]
    kept = holdfast.json("list", "--user", "ana", "--store", restored["before"])
    assert {each["text"] for each in kept} == {"vive en Córdoba", "moved to Lyon"}
    assert "memory.db.before-restore-" in restored["before"]
    assert copy.read_bytes() == bytes_of_copy
    assert not [file.name for file in holdfast.home.iterdir() if "restoring" in file.name]


def test_a_backup_restores_where_there_is_no_store_yet(holdfast: Holdfast, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    holdfast("remember", "prefers tea")
    holdfast("backup", str(copy))
    elsewhere = tmp_path / "new" / "memory.db"

    assert holdfast.json("restore", str(copy), "--store", str(elsewhere))["before"] is None
    assert [each["text"] for each in holdfast.json("list", "--store", str(elsewhere))] == ["prefers tea"]


def test_backup_does_not_overwrite(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("backup", str(tmp_path / "copy.db"))
    assert holdfast.error("backup", str(tmp_path / "copy.db"))["code"] == "invalid_input"


def _killed_while_writing(holdfast: Holdfast, copy: Path) -> None:
    """Create a backup with one memory. Then add fifty memories to the store and kill the process.

    The fifty memories are only in the store's write-ahead log.
    """
    holdfast("remember", "before")
    holdfast("backup", str(copy))
    script = (
        "import os, sys; from holdfast.config.opening import open_engine\n"
        "memory = open_engine(sys.argv[1], embedder='none', worker='none')\n"
        "for n in range(50): memory.remember(f'after {n}')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(holdfast.store)], check=False, timeout=60)
    assert (holdfast.home / "memory.db-wal").stat().st_size > 0


@pytest.mark.long
def test_the_log_of_a_killed_process_is_never_applied_to_the_restored_file(holdfast: Holdfast, tmp_path: Path) -> None:
    _killed_while_writing(holdfast, tmp_path / "copy.db")

    before = holdfast.json("restore", str(tmp_path / "copy.db"), "--yes")["before"]

    assert sorted(file.name for file in holdfast.home.iterdir()) == sorted(
        ["memory.db", "memory.db.registry.jsonl", Path(before).name]
    )
    assert [each["text"] for each in holdfast.json("list")] == ["before"]
    assert len(holdfast.json("list", "--store", before)) == 51
    assert all(each["ok"] for each in json.loads(holdfast("doctor", "--json", exit=1).stdout) if each["check"] != "embedder")


def test_an_orphaned_write_ahead_log_is_not_applied_to_the_restored_file(holdfast: Holdfast, tmp_path: Path) -> None:
    _killed_while_writing(holdfast, tmp_path / "copy.db")
    holdfast.store.unlink()

    assert holdfast.json("restore", str(tmp_path / "copy.db"))["before"] is None

    assert [each["text"] for each in holdfast.json("list")] == ["before"]


def test_a_damaged_store_can_be_replaced_and_is_kept_with_its_log_as_they_were(holdfast: Holdfast, tmp_path: Path) -> None:
    _killed_while_writing(holdfast, tmp_path / "copy.db")
    damaged = holdfast.store.read_bytes()[:16] + b"\xff" * (holdfast.store.stat().st_size - 16)
    log = (holdfast.home / "memory.db-wal").read_bytes()
    holdfast.store.write_bytes(damaged)

    before = holdfast.json("restore", str(tmp_path / "copy.db"), "--yes")["before"]

    assert Path(before).read_bytes() == damaged
    assert Path(before + "-wal").read_bytes() == log
    assert not (holdfast.home / "memory.db-wal").exists()
    assert [each["text"] for each in holdfast.json("list")] == ["before"]


def test_restore_refuses_a_store_another_program_has_open(holdfast: Holdfast, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    holdfast("remember", "prefers tea", "--shared")
    holdfast("backup", str(copy))

    with holdfast.memory() as memory:
        memory.remember("still here")
        assert holdfast.error("restore", str(copy), "--yes")["code"] == "conflict"
        assert len(memory.memories()) == 2
    assert len(holdfast.json("list")) == 2


def test_restore_refuses_a_file_that_is_not_an_intact_backup(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", "prefers tea " * 500)
    sound, cut, foreign, empty, text = (tmp_path / name for name in ("sound.db", "cut.db", "foreign.db", "empty.db", "text.db"))
    holdfast("backup", str(sound))
    whole = sound.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE places (name)")
    connection.close()
    empty.write_bytes(b"")
    text.write_text("not a database at all, but a good deal of text " * 50)
    altered = tmp_path / "altered.db"
    altered.write_bytes(whole.replace(b"prefers tea prefers tea", b"prefers tea prefers gin"))

    codes = {
        file.stem: holdfast.error("restore", str(file), "--yes")["code"]
        for file in (cut, foreign, empty, text, altered, holdfast.store)
    }

    assert codes == {
        "cut": "store_corrupt",
        "foreign": "store_foreign",
        "empty": "invalid_input",
        "text": "store_locked",
        "altered": "store_corrupt",
        "memory": "invalid_input",
    }
    assert len(holdfast.json("list")) == 1
    assert sorted(file.name for file in holdfast.home.iterdir()) == ["memory.db", "memory.db.acked", "memory.db.registry.jsonl"]


def test_restore_refuses_a_store_with_a_log_next_to_it(holdfast: Holdfast, tmp_path: Path) -> None:
    holdfast("remember", "prefers tea")
    with holdfast.memory() as memory:
        memory.remember("another")
        other = ("--store", str(tmp_path / "other.db"))
        assert "not a backup" in holdfast.error("restore", str(holdfast.store), *other)["message"]
    assert not (tmp_path / "other.db").exists()


def test_bench_speed_refuses_invalid_sizes(holdfast: Holdfast) -> None:
    assert holdfast.error("bench", "speed", "--sizes", "many", exit=2)["code"] == "usage"


@pytest.mark.long
def test_the_demo_runs_without_weights_and_says_what_is_missing(holdfast: Holdfast) -> None:
    began = time.monotonic()
    shown = holdfast.run("demo").stdout.decode()

    assert time.monotonic() - began < 60
    assert "holdfast models pull" in shown
    assert "<- msg_" in shown
    assert "Mi hermana se llama Lucía" in shown
    assert "<memory id=" in shown
    assert "recall finds it and its message 0 times" in shown
    assert "a scan of the files found nothing left" in shown
    assert not holdfast.home.exists()


@pytest.mark.long
@pytest.mark.weights
def test_the_demo_recalls_by_meaning_with_no_word_in_common(holdfast_with_weights: Holdfast) -> None:
    shown = holdfast_with_weights("demo").stdout

    assert "found by meaning #1" in shown
    assert "No word in common" in shown
