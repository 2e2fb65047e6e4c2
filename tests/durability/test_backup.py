"""Backups under load: each is complete, consistent and restored by one command."""

import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import holdfast
from holdfast.cli.app import app
from holdfast.engine import Engine

from .support import half_applied

pytestmark = [pytest.mark.long, pytest.mark.ledger("X6")]

BACKUPS = 10
WRITERS = 2
MESSAGES = 3
"""Messages per session. The last session of each writer may be open when a backup starts."""


class Load:
    """Threads that add memories and sessions until they are told to stop, and the ids of everything acknowledged."""

    def __init__(self, memory: Engine) -> None:
        self._memory = memory
        self._over = threading.Event()
        self.acknowledged: list[str] = []
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        try:
            for turn in range(100_000):
                if self._over.is_set():
                    return
                self.acknowledged.append(self._memory.remember(f"writer {number} wrote note {turn}", user="ana").id)
                talk = self._memory.session(user="ana", id=f"{number}-{turn}")
                for place in range(MESSAGES):
                    said = talk.add("user", f"I live in Town{number}x{turn}x{place}.", id=f"{number}-{turn}-{place}")
                    self.acknowledged.append(said.id)
                talk.end()
        except BaseException as error:  # noqa: BLE001  (the test must see it)
            self.errors.append(error)

    def wait_for_more(self, known: int, seconds: float = 30.0) -> None:
        """Wait until more than ``known`` writes are acknowledged."""
        ends = time.monotonic() + seconds
        while len(self.acknowledged) <= known and not self.errors and time.monotonic() < ends:
            time.sleep(0.05)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def stored(memory: Engine) -> set[str]:
    """Return the ids of all memories and messages of a store."""
    memories = {each.id for each in memory.memories(user="ana", limit=100_000)}
    sessions = [each.id for each in memory.sessions(user="ana", limit=100_000)]
    return memories | {each.id for id in sessions for each in memory.session(user="ana", id=id).messages(limit=None)}


def problems(copy: Path, place: Path, before: set[str]) -> list[str]:
    """Restore a backup with the command, finish its work, and return what is wrong."""
    result = CliRunner().invoke(app, ["restore", str(copy), "--store", str(place), "--yes"])
    if result.exit_code:
        return [result.stderr]
    wrong = half_applied(place)
    with holdfast.open(place, embedder="none", worker="none") as memory:
        wrong += [f"{finding.check}: {finding.detail}" for finding in memory.doctor() if not finding.ok]
        if lost := before - stored(memory):
            wrong.append(f"{len(lost)} rows that were stored before the backup started are missing")
        while memory.drain():
            pass
        wrong += [f"{job.kind} is {job.state}" for job in memory.jobs(limit=100_000) if job.state != "done"]
        facts = [each.text for each in memory.memories(user="ana", kind="fact", limit=100_000)]
        if len(facts) != len(set(facts)):
            wrong.append("a conversation was digested twice")
    return wrong


def test_ten_backups_under_load_are_complete_and_restored_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    copies: list[tuple[Path, set[str]]] = []
    with holdfast.open(tmp_path / "memory.db", embedder="none", worker="thread") as memory:
        load = Load(memory)
        try:
            for number in range(BACKUPS):
                time.sleep(0.2)
                load.wait_for_more(len(copies[-1][1]) if copies else 0)
                before = set(load.acknowledged)
                copies.append((tmp_path / f"copy{number}.db", before))
                memory.backup(copies[-1][0])
        finally:
            load.stop()
    assert load.errors == []
    assert len(copies[-1][1]) > len(copies[0][1]) > 0
    wrong = [(copy.name, each) for copy, before in copies for each in problems(copy, tmp_path / f"restored-{copy.name}", before)]
    assert wrong == []


def test_a_backup_into_a_folder_that_is_a_file_fails_with_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("not a folder", "utf-8")
    with holdfast.open(tmp_path / "memory.db", embedder="none", worker="none") as memory:
        memory.remember("likes tea", user="ana")
        with pytest.raises(holdfast.StoreError, match="The store is unchanged"):
            memory.backup(tmp_path / "backups" / "copy.db")
        assert memory.count_memories(user="ana") == 1
