"""The storage for CrewAI: behavior that its own suite does not cover."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("crewai.memory", reason="CrewAI is not installed: make test-adapters runs its tests")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord

import holdfast
from holdfast.adapters.crewai import HoldfastStorage

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # CrewAI
]
NORTH, EAST, BETWEEN = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.8, 0.6, 0.0]


def _record(id: str, vector: list[float] | None = None, *, scope: str = "/", **more: object) -> MemoryRecord:
    return MemoryRecord(id=id, content=f"password: hunter2hunter2 {id}", scope=scope, embedding=vector, **more)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[HoldfastStorage]:
    storage = HoldfastStorage(tmp_path / "crew.db", worker="none")
    yield storage
    storage.close()


def test_it_is_a_storage_backend(storage: HoldfastStorage) -> None:
    assert isinstance(storage, StorageBackend)


def test_a_record_is_returned_unchanged(storage: HoldfastStorage) -> None:
    made = _record("a", BETWEEN, scope="/x/y", categories=["c"], metadata={"n": {"m": [1, None]}}, source="s", private=True)
    storage.save([made])
    found = storage.get_record("a")
    assert found is not None
    assert found.model_dump() == made.model_dump()
    assert found.embedding == pytest.approx(BETWEEN)


def test_the_score_is_the_cosine(storage: HoldfastStorage) -> None:
    storage.save(
        [_record("north", NORTH), _record("east", EAST), _record("between", BETWEEN), _record("none"), _record("zero", [0.0] * 3)]
    )
    found = [(record.id, round(score, 3)) for record, score in storage.search(NORTH)]
    assert found == [("north", 1.0), ("between", 0.8), ("east", 0.0)]
    assert [record.id for record, _ in storage.search(EAST, limit=1)] == ["east"]
    assert [record.id for record, _ in storage.search(NORTH, min_score=0.9)] == ["north"]
    assert storage.search([0.0, 0.0, 0.0]) == []
    assert storage.count() == 5


def test_equal_vectors_and_texts_stay_separate_records(storage: HoldfastStorage) -> None:
    storage.save([MemoryRecord(id=str(number), content="the same", embedding=NORTH) for number in range(30)])
    assert len(storage.search(NORTH, limit=100)) == 30


def test_a_search_reads_on_until_enough_records_match(storage: HoldfastStorage) -> None:
    storage.save([_record(f"near{number}", NORTH, metadata={"tags": ["a", "b"]}) for number in range(600)])
    storage.save([_record("far", BETWEEN, metadata={"tags": ["a"]})])
    assert [record.id for record, _ in storage.search(NORTH, metadata_filter={"tags": ["a"]}, limit=1)] == ["far"]


def test_vectors_survive_a_process_that_ends_before_they_are_indexed(tmp_path: Path) -> None:
    first = HoldfastStorage(tmp_path / "crew.db", worker="none")
    first.save([_record("a", BETWEEN), _record("b", EAST)])
    first.close()
    again = HoldfastStorage(tmp_path / "crew.db", worker="none")
    with pytest.raises(EmbeddingDimensionMismatchError):
        again.search([1.0] * 4)
    assert [record.id for record, _ in again.search(NORTH)] == ["a", "b"]
    again.close()


def test_an_update_changes_vector_and_scope(storage: HoldfastStorage) -> None:
    storage.save([_record("a", NORTH, scope="/old"), _record("b", NORTH, scope="/old/deep")])
    assert len(storage.search(NORTH)) == 2
    storage.update(_record("a", EAST, scope="/new"))
    assert [record.id for record, score in storage.search(EAST) if score > 0.5] == ["a"]
    assert (storage.count(), storage.count("/old"), storage.count("/new")) == (2, 1, 1)
    assert storage.list_scopes("/") == ["/new", "/old"]


def test_records_are_listed_and_deleted_by_age(storage: HoldfastStorage) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    storage.save([_record(f"day{days}", NORTH, created_at=now - timedelta(days=days)) for days in (3, 1, 2)])
    assert [record.id for record in storage.list_records()] == ["day1", "day2", "day3"]
    storage.touch_records(["day3"])
    assert [record.id for record in storage.list_records(limit=2, offset=1)] == ["day2", "day3"]
    touched = storage.get_record("day3")
    assert touched is not None
    assert touched.last_accessed > now
    assert storage.delete(older_than=now - timedelta(days=1, hours=12)) == 2
    assert [record.id for record in storage.list_records()] == ["day1"]


def test_users_are_separate(tmp_path: Path) -> None:
    ana, bob = (HoldfastStorage(tmp_path / "crew.db", user=user, worker="none") for user in ("ana", "bob"))
    ana.save([_record("a", NORTH)])
    assert (len(ana.search(NORTH)), bob.search(NORTH), bob.get_record("a")) == (1, [], None)
    bob.reset()
    assert ana.count() == 1
    ana.close()
    bob.close()


def test_a_deleted_record_leaves_nothing(tmp_path: Path, storage: HoldfastStorage) -> None:
    storage.save([_record("a", NORTH)])
    assert storage.delete(record_ids=["a", "unknown"]) == 1
    with holdfast.open(tmp_path / "crew.db", embedder="none", worker="none") as memory:
        assert (memory.stats().memories, dict(memory.stats().retired)) == (0, {})


def test_the_async_calls_save_search_and_delete(storage: HoldfastStorage) -> None:
    async def use() -> tuple[int, int]:
        await storage.asave([_record("a", NORTH), _record("b", EAST, categories=["c"])])
        found = await storage.asearch(NORTH, categories=["c"])
        return len(found), await storage.adelete(categories=["c"])

    assert asyncio.run(use()) == (1, 1)
