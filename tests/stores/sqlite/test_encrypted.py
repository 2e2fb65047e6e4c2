"""An encrypted file passes the tests that all stores share, and nothing in it is readable without the key."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import Engine
from holdfast.errors import StoreLocked
from holdfast.protocols import MemoryFilter
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import HashEmbedder, StoreSuite
from holdfast.testing.samples import OpenStore, a_memory, a_message, remember, say
from tests.stores.sqlite.test_store import open_with

KEY = "correct horse battery staple ñ"
RAW_KEY = "raw:" + "5a" * 32
"""A raw key, which is used as it is. A passphrase would need a slow key derivation for each connection."""
WORDS = ("pangolin", "zanzibar", "quixotic")


class TestEncrypted(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Iterator[OpenStore]:
        yield from open_with(tmp_path, RAW_KEY, new=True)


def readable_words(folder: Path) -> set[tuple[str, str]]:
    """Return pairs of a file name and a word that is readable in the file. SQLite's own header counts as a word."""
    return {
        (file.name, word)
        for file in folder.rglob("*")
        if file.is_file()
        for word in (*WORDS, "CREATE TABLE", "SQLite format")
        if word.encode().lower() in file.read_bytes().lower()
    }


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A closed encrypted file that contains a memory."""
    path = tmp_path / "home" / "memory.db"
    store = SQLiteStore(path, key=KEY)
    remember(store, a_memory("a pangolin in zanzibar", key="quixotic"))
    store.close()
    return path


@pytest.mark.ledger("A13")
def test_no_plain_text_is_on_disk_during_use_or_afterwards(folder: Path, open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(key=KEY, embedder=HashEmbedder())
    memory.remember("a pangolin in zanzibar", user="quixotic")
    talk = memory.session(user="quixotic")
    talk.add("user", "I live in Zanzibar with a pangolin.")
    talk.end()
    memory.drain()
    memory.recall("pangolin", user="quixotic")
    assert {file.name for file in folder.iterdir()} >= {"memory.db", "memory.db-wal"}
    assert readable_words(folder) == set()
    memory.close()
    assert readable_words(folder) == set()


def test_the_same_words_can_be_read_in_a_plain_file(tmp_path: Path) -> None:
    """The same search finds the words in an unencrypted file, so the test above can fail."""
    store = SQLiteStore(tmp_path / "memory.db")
    remember(store, a_memory("a pangolin in zanzibar", key="quixotic"))
    found = {word for _, word in readable_words(tmp_path)}
    store.close()
    assert found >= set(WORDS)


@pytest.mark.parametrize(("key", "said"), [("another key", "key does not open"), (None, "HOLDFAST_KEY"), ("", "key")])
def test_a_wrong_or_missing_key_opens_nothing_and_changes_nothing(closed: Path, key: str | None, said: str) -> None:
    before = closed.read_bytes()
    with pytest.raises(StoreLocked, match=said) as caught:
        SQLiteStore(closed, key=key)
    assert str(closed) in str(caught.value)
    assert caught.value.code == "store_locked"
    assert closed.read_bytes() == before


def test_a_key_for_a_plain_file_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SQLiteStore(path).close()
    before = path.read_bytes()
    with pytest.raises(StoreLocked):
        SQLiteStore(path, key=KEY)
    assert path.read_bytes() == before


def test_the_right_key_opens_it_again(closed: Path) -> None:
    store = SQLiteStore(closed, key=KEY)
    assert [memory.text for memory in store.memories(MemoryFilter())] == ["a pangolin in zanzibar"]
    store.close()


def test_a_backup_is_encrypted_too_and_opens_with_the_key(closed: Path, tmp_path: Path) -> None:
    target = tmp_path / "copies" / "copy.db"
    store = SQLiteStore(closed, key=KEY)
    say(store, a_message("a quixotic plan"))
    store.backup(target)
    store.close()
    assert readable_words(target.parent) == set()
    with pytest.raises(StoreLocked):
        SQLiteStore(target)
    copy = SQLiteStore(target, key=KEY)
    assert [memory.text for memory in copy.memories(MemoryFilter())] == ["a pangolin in zanzibar"]
    assert all(finding.ok for finding in copy.check())
    copy.close()


@pytest.mark.ledger("X5")
def test_erasing_from_an_encrypted_file_gives_a_receipt(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(key=KEY)
    memory.remember("a pangolin in zanzibar", user="ana")
    receipt = memory.erase(user="ana")
    assert (receipt.memories, receipt.status) == (1, "erased")
    assert memory.memories(user="ana") == []


def test_the_key_can_come_from_the_environment(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_KEY", KEY)
    with holdfast.open(closed, worker="none", embedder="none") as memory:
        assert memory.stats().memories == 1
