"""Files that Holdfast writes are private, and an encrypted store writes no plain text."""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.stores.sqlite.store import SQLiteStore
from tests.cli.support import Holdfast

OpenMemory = Callable[..., Engine]
FilesWith = Callable[[str | bytes], list[str]]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


@pytest.fixture(autouse=True)
def common_umask() -> Iterator[None]:
    """The umask of most systems, under which a plain open() creates files that everyone can read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Return the files and folders that users other than the owner can access, with their modes."""
    found = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): oct(mode) for path in found if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077}


def remember_in_topic(memory: Engine, text: str) -> None:
    memory.session(user="ana")  # from now on, the pages of this user are written
    memory.remember(text, user="ana", topic="garden")
    memory.drain()


def test_store_log_pages_and_backups_are_private(open_memory: OpenMemory, folder: Path) -> None:
    memory = open_memory(preset="rostro")
    remember_in_topic(memory, "keeps bees")
    memory.backup(folder / "copies" / "today.db")
    assert (folder / "memory.db-wal").exists()
    assert list(folder.rglob("garden.md"))
    assert modes(folder) == {}
    memory.close()
    assert modes(folder) == {}


def test_an_external_index_is_in_a_private_folder(open_memory: OpenMemory, folder: Path) -> None:
    pytest.importorskip("chromadb")
    memory = open_memory(settings={"index": "chroma"})
    memory.remember("keeps bees", user="ana")
    memory.drain()
    index = folder / "memory.db.chroma"
    assert stat.S_IMODE(index.stat().st_mode) == 0o700


def test_a_restored_store_and_the_one_before_it_are_private(tmp_path: Path) -> None:
    holdfast = Holdfast(home=tmp_path / "home", models=tmp_path / "no-weights")
    holdfast("remember", "keeps bees", "--user", "ana")
    holdfast("backup", str(tmp_path / "home" / "copy.db"))
    holdfast("restore", "--yes", str(tmp_path / "home" / "copy.db"))
    assert len(list(holdfast.home.glob("memory.db.before-restore-*"))) == 1
    assert modes(holdfast.home) == {}


def test_a_copied_store_is_private(tmp_path: Path) -> None:
    holdfast = Holdfast(home=tmp_path / "home", models=tmp_path / "no-weights")
    holdfast("remember", "keeps bees", "--user", "ana")
    holdfast("store", "copy", str(holdfast.store), str(tmp_path / "home" / "other" / "copy.db"))
    assert modes(holdfast.home) == {}


def test_existing_files_and_folders_keep_their_modes(folder: Path) -> None:
    folder.mkdir(mode=0o750)
    SQLiteStore(folder / "memory.db").close()
    (folder / "memory.db").chmod(0o640)
    SQLiteStore(folder / "memory.db").close()
    assert modes(folder) == {".": "0o750", "memory.db": "0o640"}


def test_doctor_reports_a_store_that_everyone_can_read(memory: Engine, folder: Path) -> None:
    (found,) = [each for each in memory.doctor() if each.check == "permissions"]
    assert found.ok
    (folder / "memory.db").chmod(0o644)
    (found,) = [each for each in memory.doctor() if each.check == "permissions"]
    assert not found.ok
    assert "chmod 600" in (found.remedy or "")


# Encrypted stores.


def test_an_encrypted_store_writes_no_plain_text_pages(open_memory: OpenMemory, folder: Path, files_with: FilesWith) -> None:
    memory = open_memory(preset="rostro", key="k3y")
    remember_in_topic(memory, "keeps zanzibarquartz bees")
    assert "zanzibarquartz" in memory.topics.page("garden", user="ana").markdown
    memory.close()
    assert files_with("zanzibarquartz") == []
    assert not (folder / "topics").exists()


def test_an_encrypted_store_writes_pages_if_the_setting_allows_it(open_memory: OpenMemory, files_with: FilesWith) -> None:
    memory = open_memory(preset="rostro", key="k3y", settings={"plain_topic_files": "true"})
    remember_in_topic(memory, "keeps zanzibarquartz bees")
    memory.close()
    assert files_with("zanzibarquartz") == ["garden.md"]


def test_pages_from_before_the_encryption_are_reported(
    open_memory: OpenMemory, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "topics").mkdir(parents=True)
    (folder / "topics" / "garden.md").write_text("# Garden\n")
    with caplog.at_level(logging.WARNING, "holdfast"):
        open_memory(preset="rostro", key="k3y")
    assert "contains topic pages in plain text" in caplog.text
