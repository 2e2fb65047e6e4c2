"""Temporary folders with user data: private, removed at the end, and removed by others if their process was killed."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.runtime.file_locks import lock_file

_HOLD = """
import sys
from holdfast.runtime.private_folders import private_folder
with private_folder() as folder:
    (folder / "diary.txt").write_text("Plays the oboe.")
    print(folder, flush=True)
    sys.stdin.read()
"""
_CLEAN = "from holdfast.runtime.private_folders import remove_abandoned_folders as clean; clean()"
_FAIL = """
from holdfast.runtime.private_folders import private_folder
with private_folder() as folder:
    (folder / "diary.txt").write_text("Plays the oboe.")
    raise ValueError
"""


def _environment(temporary: Path) -> dict[str, str]:
    """Return the environment of a process whose temporary files are in this folder, on every system."""
    return {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))}


def _run(code: str, temporary: Path, *, exit: int = 0) -> None:
    done = subprocess.run([sys.executable, "-c", code], env=_environment(temporary), capture_output=True, timeout=60, check=False)
    assert done.returncode == exit, done.stderr


@contextmanager
def _holding(temporary: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Yield a process that uses a private folder until its standard input is closed, and the path of the folder."""
    command = [sys.executable, "-c", _HOLD]
    with subprocess.Popen(
        command, env=_environment(temporary), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_folder_is_private_and_is_removed_at_the_end(tmp_path: Path) -> None:
    with _holding(tmp_path) as (process, folder):
        assert folder.is_relative_to(tmp_path)
        assert [each.name for each in folder.iterdir()] == ["diary.txt"]
        if os.name != "nt":
            assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)} == {0o700}
        process.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_removed_after_an_error(tmp_path: Path) -> None:
    _run(_FAIL, tmp_path, exit=1)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_running_process_stays(tmp_path: Path) -> None:
    with _holding(tmp_path) as (running, living):
        with _holding(tmp_path) as (process, killed):
            process.kill()
            process.wait(60)
            assert (killed / "diary.txt").exists()
        _run(_CLEAN, tmp_path)
        assert list(tmp_path.iterdir()) == [living.parent]
        assert (living / "diary.txt").read_text() == "Plays the oboe."
        running.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_removes_those_of_killed_processes(tmp_path: Path) -> None:
    with _holding(tmp_path) as (process, killed):
        process.kill()
        process.wait(60)
    with _holding(tmp_path) as (_, living):
        assert list(tmp_path.iterdir()) == [living.parent]
        assert not killed.exists()


def test_a_folder_without_files_is_left_alone_because_a_process_may_be_about_to_lock_it(tmp_path: Path) -> None:
    (tmp_path / "holdfast-private-new").mkdir()
    _run(_CLEAN, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["holdfast-private-new"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_nothing_is_removed_through_a_symbolic_link(tmp_path: Path) -> None:
    temporary, other = tmp_path / "temporary", tmp_path / "other"
    temporary.mkdir()
    (other / "files").mkdir(parents=True)
    (temporary / "holdfast-private-trap").symlink_to(other)
    _run(_CLEAN, temporary)
    assert (other / "files").exists()


def test_a_locked_file_cannot_be_locked_again_until_it_is_closed(tmp_path: Path) -> None:
    first = lock_file(tmp_path / "lock")
    assert first is not None
    assert lock_file(tmp_path / "lock") is None
    first.close()
    second = lock_file(tmp_path / "lock")
    assert second is not None
    second.close()
