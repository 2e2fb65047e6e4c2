"""The cache of the items that a filter allows is not used after the items, the filter or the user have changed."""

from pathlib import Path

import pytest

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.testing import HashEmbedder


def _open(path: Path) -> Engine:
    return open_engine(path, embedder=HashEmbedder(), worker="none")


def _found(memory: Engine, **wanted: object) -> set[str]:
    return {hit.text for hit in memory.recall("boats in the harbour", user="ana", **wanted)}  # type: ignore[arg-type]


def test_a_memory_stored_after_a_filtered_recall_is_found_by_the_next(tmp_path: Path) -> None:
    with _open(tmp_path / "memory.db") as memory:
        memory.remember("boats are in the harbour", user="ana", metadata={"place": "port"})
        assert len(_found(memory, where={"place": "port"})) == 1
        memory.remember("red boats leave the harbour", user="ana", metadata={"place": "port"})
        assert len(_found(memory, where={"place": "port"})) == 2


def test_writes_of_another_store_on_the_same_file_are_found(tmp_path: Path) -> None:
    with _open(tmp_path / "memory.db") as memory, _open(tmp_path / "memory.db") as other:
        memory.remember("boats are in the harbour", user="ana", metadata={"place": "port"})
        assert len(_found(memory, where={"place": "port"})) == 1
        other.remember("red boats leave the harbour", user="ana", metadata={"place": "port"})
        assert len(_found(memory, where={"place": "port"})) == 2


def test_a_forgotten_memory_is_not_found_by_the_same_filter(tmp_path: Path) -> None:
    with _open(tmp_path / "memory.db") as memory:
        kept = memory.remember("boats are in the harbour", user="ana", metadata={"place": "port"})
        assert _found(memory, where={"place": "port"}) == {kept.text}
        memory.forget(kept.id)
        assert not _found(memory, where={"place": "port"})


@pytest.mark.parametrize(
    ("one", "other"),
    [({"place": "1"}, {"place": 1}), ({"place": 1}, {"place": True}), ({"place": ["a", "b"]}, {"place": ["a"]})],
)
def test_similar_filters_are_not_confused(tmp_path: Path, one: dict[str, object], other: dict[str, object]) -> None:
    with _open(tmp_path / "memory.db") as memory:
        for number, place in enumerate(("1", 1, True, "a", "b")):
            memory.remember(f"boats {number} in the harbour", user="ana", metadata={"place": place})
        assert _found(memory, where=one) != _found(memory, where=other)


def test_one_users_filter_is_not_anothers(tmp_path: Path) -> None:
    with _open(tmp_path / "memory.db") as memory:
        memory.remember("boats are in the harbour", user="ana", kind="event")
        memory.remember("boats of luis in the harbour", user="luis", kind="event")
        assert _found(memory, kinds=["event"]) == {"boats are in the harbour"}
        found = memory.recall("boats in the harbour", user="luis", kinds=["event"])
        assert [hit.text for hit in found] == ["boats of luis in the harbour"]
