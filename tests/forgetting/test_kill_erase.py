"""A process is killed while it erases. Either nothing was erased yet, or the next process finishes the erasure."""

import os
import shutil
import signal
from pathlib import Path

import pytest

import holdfast
from tests.durability.support import KillPoint, KillSwitch

pytestmark = [
    pytest.mark.long,
    pytest.mark.ledger("X5"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child"),
]
POINTS = [KillPoint(f"file:{file} {act}", nth) for file, act in (("log", "write"), ("database", "write")) for nth in range(1, 24)]
POINTS += [KillPoint(f"file:{file} sync", nth) for file in ("log", "database") for nth in range(1, 4)]


def a_store(folder: Path) -> Path:
    """Create a store in which two users have sessions, memories and retired memories."""
    folder.mkdir()
    with holdfast.open(folder / "memory.db", embedder="none", worker="none") as memory:
        for user, animal in (("ana", "pangolin"), ("bob", "walrus")):
            with memory.session(user=user) as talk:
                for number in range(12):
                    talk.add("user", f"My {animal} has box number {number}.")
            memory.forget(memory.remember(f"feeds the {animal} at noon", user=user).id)
            memory.remember(f"walks the {animal} at night", user=user)
        memory.drain()
    return folder


def erase_and_die(path: Path, point: KillPoint) -> bool:
    """Erase a user in a child process that kills itself at a file operation. Return True if it was killed."""
    child = os.fork()
    if child == 0:
        memory = holdfast.open(path, embedder="none", worker="none")
        memory.recall("pangolin", user="ana")
        memory.close()
        KillSwitch(point).install()
        holdfast.open(path, embedder="none", worker="none").erase(user="ana")
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def files_with(folder: Path, word: bytes) -> list[str]:
    return [file.name for file in folder.iterdir() if word in file.read_bytes()]


def wrong_after(folder: Path, point: KillPoint) -> list[str]:
    """Return what is wrong after a kill: a half-erased user, erased bytes on disk, lost data of others, or a damaged file."""
    wrong = []
    with holdfast.open(folder / "memory.db", embedder="none", worker="none") as memory:
        left = len(memory.memories(user="ana")), sum(session.scope.user == "ana" for session in memory.sessions())
        memory.drain()
        wrong += [f"{finding.check}: {finding.detail}" for finding in memory.doctor() if not finding.ok]
        if left == (0, 0) and (remains := files_with(folder, b"pangolin")):
            wrong.append(f"the rows are gone, but {remains} hold erased bytes")
        if left != (0, 0):
            memory.erase(user="ana")
            wrong += [f"{name} holds erased bytes after a second erasure" for name in files_with(folder, b"pangolin")]
        if not memory.recall("walrus", user="bob") or not files_with(folder, b"walrus"):
            wrong.append("data of another user is lost")
    return [f"{point.point} {point.nth}: {each}" for each in wrong]


def test_a_process_killed_while_erasing_leaves_an_erasure_that_is_finished_or_has_not_begun(tmp_path: Path) -> None:
    whole = a_store(tmp_path / "whole")
    assert files_with(whole, b"pangolin")
    kills, wrong = 0, list[str]()
    for number, point in enumerate(POINTS):
        folder = Path(shutil.copytree(whole, tmp_path / str(number)))
        kills += erase_and_die(folder / "memory.db", point)
        wrong += wrong_after(folder, point)
        shutil.rmtree(folder)
    assert wrong == []
    assert kills >= 50
