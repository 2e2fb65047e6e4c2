"""If a process is killed at any file operation of a sync, no line is lost on either side."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from tests.topic_files.support import BROTH, NUTS, PRESET, RICE, Workspace

pytestmark = [
    pytest.mark.long,
    pytest.mark.ledger("X6"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child"),
]

BY_HAND, STORED = "Buys saffron from La Mancha", "Soaks the beans overnight"
_OPERATIONS = ("open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.scandir", "os.listdir", "os.utime")


def _open(folder: Path) -> Workspace:
    memory = holdfast.open(folder / "memory.db", preset=PRESET, embedder="none", worker="none")
    return Workspace(memory, folder / "topics")


def _edit_both_sides(folder: Path) -> None:
    """Write a page, edit it by hand, and then store another line that is not on the page yet."""
    workspace = _open(folder)
    for text in (RICE, BROTH, NUTS):
        workspace.keep(text)
    workspace.files.sync()
    workspace.save(workspace.read().replace(f"- {RICE}", f"- {BY_HAND} (2026-03-01)\n- {RICE}"))
    workspace.keep(STORED)
    workspace.memory.close()


def _killed_at(number: int, work: Callable[[], None]) -> bool:
    """Run a function in a forked child that is killed at its n-th file operation.

    Return False if the function ended before that.
    """
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, _: object) -> None:
            nonlocal seen
            if event in _OPERATIONS:
                seen += 1
                if seen == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_no_line_is_lost_if_a_sync_is_killed_at_any_file_operation(tmp_path: Path) -> None:
    kills = 0
    while True:
        folder = tmp_path / str(kills)
        folder.mkdir()
        _edit_both_sides(folder)

        def sync(folder: Path = folder) -> None:
            _open(folder).files.sync()

        if not _killed_at(kills + 1, sync):
            break
        workspace = _open(folder)
        workspace.files.sync()
        assert set(workspace.known()) == {RICE, BROTH, NUTS, BY_HAND, STORED}, f"killed at operation {kills + 1}"
        page = workspace.read()
        assert all(page.count(text) == 1 for text in (RICE, BROTH, NUTS, BY_HAND, STORED)), f"killed at operation {kills + 1}"
        workspace.memory.close()
        kills += 1
    assert kills > 10
