"""Import of a Chroma collection written as Reachy's design writes it; the collection itself stays unchanged."""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import chromadb
import pytest
from click.testing import CliRunner

from holdfast import Engine
from holdfast.cli.app import app
from holdfast.designs.reachy import MemoryManager
from holdfast.errors import InvalidInput, NotFound
from holdfast.importers.run import ImportCounts
from holdfast.protocols import Role, Vectors
from holdfast.testing import FrozenClock, HashEmbedder

OpenMemory = Callable[..., Engine]
NOW = datetime(2026, 3, 1, 12)  # noqa: DTZ001  (the design's times have no zone)


class Collection:
    """A Chroma collection in the format of Reachy's design: entries with a random id, a vector, and metadata with type and time."""

    def __init__(self, folder: Path, name: str = "memories") -> None:
        self.folder = folder
        self._client = chromadb.PersistentClient(path=str(folder))
        self._collection = self._client.get_or_create_collection(name=name, metadata={"hnsw:space": "cosine"})
        self._embedder = HashEmbedder(dimensions=384)

    def store(self, content: str, type: str, metadata: dict[str, Any] | None = None, *, at: datetime = NOW) -> str:
        id = str(uuid.uuid4())
        self._collection.add(
            ids=[id],
            embeddings=[self._embedder.embed([content], role="document")[0].tolist()],
            documents=[content],
            metadatas=[{"type": type, "created_at": at.isoformat(), **(metadata or {})}],
        )
        return id

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Collection]:
    collection = Collection(tmp_path / "robot")
    yield collection
    collection.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Engine:
    return open_memory(preset="reachy")


def imported(memory: Engine, folder: Path, **options: Any) -> ImportCounts:
    return memory.import_from(folder, format="chroma", **options).memories


def bytes_of(folder: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*") if file.is_file()}


def test_types_times_metadata_and_ids_are_kept(robot: Collection, memory: Engine) -> None:
    yesterday = NOW - timedelta(days=1)
    fact = robot.store(
        "User prefers to be called Alex", "fact", {"category": "user_profile", "sure": True, "level": 0.5}, at=yesterday
    )
    robot.store("We talked about the sea", "conversation", at=yesterday)
    robot.store("dancing", "context", {"context_key": "task"})
    result = imported(memory, robot.folder)
    assert (result.found, result.imported) == (3, 3)
    kept = {each.kind: each for each in memory.memories()}
    assert kept["fact"].metadata == {
        "category": "user_profile",
        "sure": True,
        "level": 0.5,
        "imported_id": fact,
        "imported_from": "chroma",
    }
    assert kept["fact"].origin == "import"
    assert kept["fact"].valid_from.isoformat() == "2026-02-28T12:00:00+00:00"
    assert kept["fact"].expires_at is None
    assert kept["conversation"].expires_at == kept["conversation"].valid_from + timedelta(days=30)
    assert kept["context"].key == "task"
    assert [each.text for each in memory.memories(where={"category": "user_profile"})] == ["User prefers to be called Alex"]


def test_expired_records_are_counted_and_left_out(robot: Collection, memory: Engine) -> None:
    robot.store("long ago", "conversation", at=NOW - timedelta(days=31))
    robot.store("yesterday's task", "context", {"context_key": "task"}, at=NOW - timedelta(days=1))
    robot.store("an old fact", "fact", at=NOW - timedelta(days=900))
    result = imported(memory, robot.folder)
    assert (result.imported, result.expired) == (1, 2)
    assert [each.text for each in memory.memories()] == ["an old fact"]


def test_a_context_lasts_to_the_end_of_its_users_day(robot: Collection, open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="reachy")
    memory.set_user("alex", timezone="America/Los_Angeles")
    robot.store("packing", "context", {"context_key": "task"}, at=NOW)
    clock.set("2026-03-02T05:00:00Z")  # past midnight in UTC, evening there
    assert imported(memory, robot.folder, user="alex").imported == 1
    clock.set("2026-03-02T09:00:00Z")
    assert memory.memories(user="alex") == []


def test_a_repeated_import_adds_nothing_twice_and_restores_nothing(robot: Collection, memory: Engine) -> None:
    robot.store("likes the sea", "fact")
    robot.store("likes the sea", "fact", {"room": "hall"})
    robot.store("likes tea", "fact")
    first = imported(memory, robot.folder)
    assert (first.imported, first.repeated) == (2, 1)
    (tea,) = [each for each in memory.memories() if each.text == "likes tea"]
    memory.forget(tea.id)
    before = memory.memories()
    robot.store("likes snow", "fact")
    again = imported(memory, robot.folder)
    assert (again.imported, again.known, again.repeated) == (1, 2, 1)
    assert sorted(each.text for each in memory.memories()) == ["likes snow", "likes the sea"]
    assert before[0] in memory.memories(), "what was there is as it was"


def test_the_newest_value_of_a_context_wins(robot: Collection, memory: Engine) -> None:
    robot.store("dancing", "context", {"context_key": "task"}, at=NOW - timedelta(hours=1))
    robot.store("waving", "context", {"context_key": "task"}, at=NOW - timedelta(hours=2))
    imported(memory, robot.folder)
    assert [each.text for each in memory.memories(kinds=["context"], key="task")] == ["dancing"]


def test_types_of_the_designs_first_version_are_mapped_to_those_of_the_second(robot: Collection, memory: Engine) -> None:
    for type in ("observation", "preference", "event", "task"):
        robot.store(f"something of type {type}", type)
    imported(memory, robot.folder)
    kinds = {each.metadata["type"]: each.kind for each in memory.memories()}
    assert kinds == {"observation": "conversation", "preference": "fact", "event": "context", "task": "context"}


def test_the_designs_manager_finds_what_was_imported(robot: Collection, folder: Path, clock: FrozenClock) -> None:
    robot.store("User is interested in robotics and AI", "fact", {"category": "user_profile"})
    robot.store("dancing", "context", {"context_key": "task"})

    async def story() -> None:
        async with MemoryManager(folder, embedder=HashEmbedder(), clock=clock, worker="none") as manager:
            imported(manager.engine, robot.folder)
            (found,) = await manager.search("robotics and AI")
            assert found.memory.content == "User is interested in robotics and AI"
            assert await manager.get_context("task") == "dancing"

    asyncio.run(story())


def test_the_collection_is_only_read(robot: Collection, memory: Engine) -> None:
    robot.store("likes the sea", "fact")
    robot.close()
    before = bytes_of(robot.folder)
    imported(memory, robot.folder)
    assert bytes_of(robot.folder) == before


@pytest.mark.long
def test_more_than_one_page_is_read(tmp_path: Path, memory: Engine) -> None:
    client = chromadb.PersistentClient(path=str(tmp_path / "many"))
    collection = client.get_or_create_collection("memories", embedding_function=None)
    collection.add(
        ids=[f"id-{number}" for number in range(2500)],
        embeddings=[[1.0, number / 2500] for number in range(2500)],
        documents=[f"fact number {number}" for number in range(2500)],
    )
    client.close()
    seen: list[tuple[int, int]] = []
    result = imported(memory, tmp_path / "many", progress=lambda done, total: seen.append((done, total)))
    assert result.imported == 2500
    assert seen == [(done, 2500) for done in (*range(200, 2500, 200), 2500)]


def test_the_error_for_a_missing_collection_lists_the_existing_ones(robot: Collection, memory: Engine) -> None:
    with pytest.raises(NotFound, match=r"no collection 'notes'\. Its collections are: memories"):
        imported(memory, robot.folder, collection="notes")


def test_a_folder_that_is_not_chromas_is_refused_and_stays_as_it_is(tmp_path: Path, memory: Engine) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(InvalidInput, match=r"no chroma\.sqlite3"):
        imported(memory, tmp_path / "photos")
    assert list((tmp_path / "photos").iterdir()) == []


def test_a_damaged_file_is_refused(tmp_path: Path, memory: Engine) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"not a database" * 100)
    with pytest.raises(InvalidInput, match="cannot be read as a Chroma database"):
        imported(memory, tmp_path)


def test_a_preset_without_the_designs_types_keeps_their_lifetimes(robot: Collection, open_memory: OpenMemory) -> None:
    robot.store("We talked about the sea", "conversation")
    memory = open_memory()
    imported(memory, robot.folder)
    (kept,) = memory.memories()
    assert (kept.kind, kept.metadata["kind"], kept.expires_at) == ("fact", "conversation", kept.valid_from + timedelta(days=30))


def test_the_format_is_recognized(robot: Collection, memory: Engine) -> None:
    robot.store("likes the sea", "fact")
    assert memory.import_from(robot.folder).format == "chroma"
    assert memory.import_from(robot.folder / "chroma.sqlite3").memories.known == 1


def test_the_command_imports_and_counts(robot: Collection, tmp_path: Path) -> None:
    robot.store("likes the sea", "fact")
    robot.store("long ago", "conversation", at=NOW - timedelta(days=3000))
    runner = CliRunner(env={"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_MODELS": str(tmp_path / "none")})
    first = runner.invoke(app, ["import", str(robot.folder), "--format", "chroma", "--user", "alex"])
    assert first.stdout == "Format: chroma.\nImported 1 memory of 2; skipped: 1 expired.\n"
    again = json.loads(runner.invoke(app, ["import", str(robot.folder), "--format", "chroma", "--user", "alex", "--json"]).stdout)
    counts = again["memories"]
    assert (counts["found"], counts["imported"], counts["known"], counts["expired"]) == (2, 0, 1, 1)
    listed = json.loads(runner.invoke(app, ["list", "--user", "alex", "--json"]).stdout)
    assert [each["text"] for each in listed] == ["likes the sea"]
    wrong = runner.invoke(app, ["import", str(robot.folder), "--collection", "notes"])
    assert wrong.exit_code == 1
    assert "Its collections are: memories" in wrong.stderr


class Counting(HashEmbedder):
    """An embedder that counts the documents it embeds."""

    documents = 0

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        self.documents += len(texts) if role == "document" else 0
        return super().embed(texts, role=role)


class Turned(Counting):
    """An embedder that stands for another model: it returns different vectors of the same length."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return super().embed(texts, role=role)[:, ::-1].copy()


@pytest.mark.parametrize(("model", "embedded"), [(Counting, 8), (Turned, 48)], ids=["same", "other"])
def test_vectors_of_the_same_model_are_kept(
    robot: Collection, open_memory: OpenMemory, model: type[Counting], embedded: int
) -> None:
    for number in range(40):
        robot.store(f"Box {number} is in room {number * 7}", "fact")
    embedder = model(dimensions=384)
    memory = open_memory(preset="reachy", embedder=embedder)
    assert memory.import_from(robot.folder).memories.imported == 40
    assert abs(embedder.documents - embedded) <= 2  # the sample, and the check of the embedder's first use
    assert memory.stats().vectors == 40
    assert memory.recall("Box 31 is in room 217")[0].text == "Box 31 is in room 217"
