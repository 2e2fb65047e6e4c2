"""Two stores in one folder keep their pages apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import Engine


def _opened(path: Path) -> Engine:
    return holdfast.open(path, preset="rostro", worker="none", embedder="none")


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Engine]:
    with _opened(tmp_path / "memory.db") as memory:
        memory.remember("Secret of store one", topic="cooking")
        memory.drain()
        yield memory


@pytest.mark.ledger("R7")
def test_the_second_store_has_a_folder_of_its_own(first: Engine, tmp_path: Path) -> None:
    assert first.memories()
    assert (tmp_path / "topics" / "cooking.md").is_file()
    with _opened(tmp_path / "other.db") as second:
        second.drain()
        assert second.memories() == []
        second.remember("Bomba rice", topic="cooking")
        second.drain()
    assert "Bomba" not in (tmp_path / "topics" / "cooking.md").read_text()
    assert "Bomba" in (tmp_path / "topics-other" / "cooking.md").read_text()


@pytest.mark.ledger("R7")
def test_a_renamed_store_keeps_its_folder(tmp_path: Path) -> None:
    with _opened(tmp_path / "memory.db") as memory:
        memory.remember("Bomba rice", topic="cooking")
        memory.drain()
    (tmp_path / "memory.db").rename(tmp_path / "renamed.db")
    (tmp_path / "topics" / "cooking.md").write_text("# Cooking\n\n- Bomba rice (2026-02-12)\n- Saffron (2026-02-13)\n")
    with _opened(tmp_path / "renamed.db") as memory:
        memory.drain()
        assert {found.text for found in memory.memories()} == {"Bomba rice", "Saffron"}
    assert not (tmp_path / "topics-renamed").exists()
