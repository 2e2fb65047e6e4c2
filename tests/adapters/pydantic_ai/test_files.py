"""The store for Pydantic AI's harness. The harness's tests are not published, so its own stores are the reference."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters import ITEM

pytest.importorskip("pydantic_ai_harness", reason="Pydantic AI is not installed: make test-adapters runs its tests")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.memory import (
    InMemoryStore,
    Memory,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
    SqliteMemoryStore,
)

from holdfast.adapters.pydantic_ai import HoldfastFiles

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # Pydantic AI
]


@pytest.fixture
def memory(open_memory: Callable[..., holdfast.Engine]) -> holdfast.Engine:
    return open_memory(kinds=[ITEM])


@pytest.fixture
def files(memory: holdfast.Engine) -> HoldfastFiles:
    return HoldfastFiles(memory, user="ana")


async def _story(store: Any) -> list[Any]:
    """Make a fixed series of calls to a store, and return the results.

    Version strings differ between stores, so they are replaced with 0, 1, 2, ... for each path, in order of appearance.
    """
    versions: dict[str, list[str]] = {}
    results: list[Any] = []

    def shown(value: Any, path: str) -> Any:
        if value is None or isinstance(value, list):
            return value
        known = versions.setdefault(path, [])
        if value.version is not None and value.version not in known:
            known.append(value.version)
        return {**vars(value), "version": known.index(value.version) if value.version else None}

    async def note(work: Any, path: str = "a/MEMORY.md") -> Any:
        try:
            value = await work
        except (ValueError, TypeError, MemoryConflictError, MemoryOperationConflictError) as error:
            results.append(type(error).__name__)
            return None
        results.append(shown(value, path))
        return value

    one, two = MemoryOperation("op1", "print1"), MemoryOperation("op2", "print2")
    await note(store.read("a/MEMORY.md", max_chars=10))
    first = await note(store.write("a/MEMORY.md", " Éire\nline", expected_version=None, operation=one))
    await note(store.write("a/MEMORY.md", " Éire\nline", expected_version=None, operation=one))
    await note(store.get_operation(one))
    await note(store.get_operation(MemoryOperation("op1", "other")))
    await note(store.get_operation(two))
    await note(store.write("a/MEMORY.md", "lost", expected_version=None))
    await note(store.write("a/MEMORY.md", "lost", expected_version="nonsense"))
    await note(store.read("a/MEMORY.md", max_chars=3))
    second = await note(
        store.write_with_metadata("a/MEMORY.md", "new", expected_version=first.version, metadata={"by": "ana"}, operation=two)
    )
    await note(store.read("a/MEMORY.md", max_chars=10))
    await note(store.write("a/b/deep.md", "", expected_version=None), "a/b/deep.md")
    await note(store.write("c.md", "c", expected_version=None), "c.md")
    for prefix, limit in (("", 10), ("a/", 10), ("a", 10), ("a/b/", 1), ("", 1), ("x", 10)):
        await note(store.list_paths(prefix, limit=limit))
    await note(store.delete("a/MEMORY.md", expected_version=first.version))
    await note(store.delete("a/MEMORY.md", expected_version=second.version, operation=MemoryOperation("op3", "print3")))
    await note(store.delete("a/MEMORY.md", expected_version=second.version, operation=MemoryOperation("op3", "print3")))
    await note(store.read("a/MEMORY.md", max_chars=10))
    await note(store.delete("a/MEMORY.md", expected_version=None))
    await note(store.list_paths("a/", limit=10))
    await note(store.write("a/MEMORY.md", "again", expected_version=second.version))
    await note(store.write("a/MEMORY.md", "again", expected_version=None))
    await note(store.read("a/MEMORY.md", max_chars=10))
    for wrong in ("../x", "a//b", "a/./b", "/a", "a b", ""):
        await note(store.write(wrong, "x", expected_version=None))
    await note(store.read("c.md", max_chars=0))
    await note(store.list_paths(limit=0))
    await note(store.write_with_metadata("c.md", "c", expected_version=None, metadata={"n": 1}))
    await note(store.write_with_metadata("d.md", "d", expected_version=None, metadata={"n": "x" * 5000}))
    return results


@pytest.mark.parametrize("reference", ["memory", "sqlite"])
def test_every_result_is_that_of_the_harness_own_stores(files: HoldfastFiles, reference: str, tmp_path: Path) -> None:
    other = InMemoryStore() if reference == "memory" else SqliteMemoryStore(database=tmp_path / "reference.db")
    for mine, expected in zip(asyncio.run(_story(files)), asyncio.run(_story(other)), strict=True):
        assert mine == expected


def test_the_store_implements_all_three_protocols(files: HoldfastFiles) -> None:
    assert isinstance(files, MemoryStore)
    assert isinstance(files, MetadataMemoryStore)
    assert isinstance(files, SearchableMemoryStore)


def test_of_several_writers_one_wins(memory: holdfast.Engine) -> None:
    stores = [HoldfastFiles(memory) for _ in range(4)]

    async def append(number: int) -> int:
        store, lost = stores[number % 4], 0
        while True:
            current = await store.read("log.md", max_chars=10_000)
            text = f"{current.content if current else ''}{number}\n"
            try:
                await store.write("log.md", text, expected_version=current.version if current else None)
            except MemoryConflictError:
                lost += 1
            else:
                return lost

    async def use() -> str:
        await asyncio.gather(*(append(number) for number in range(16)))
        found = await stores[0].read("log.md", max_chars=10_000)
        return "" if found is None else found.content

    assert sorted(map(int, asyncio.run(use()).split())) == list(range(16))


def test_a_search_finds_files_of_one_folder(files: HoldfastFiles) -> None:
    async def use() -> Any:
        await files.write("a/boats.md", "the harbor has a lighthouse\n" + "rope\n" * 400, expected_version=None)
        await files.write("a/lighthouse.md", "opening times", expected_version=None)
        await files.write("a/cats.md", "Miso sleeps", expected_version=None)
        await files.write("a/deep/boats.md", "another lighthouse", expected_version=None)
        return await files.search("a/", "lighthouse", limit=5, max_files=100, max_chars=300, max_file_chars=10_000)

    result = asyncio.run(use())
    assert {match.path for match in result.matches} == {"a/boats.md", "a/lighthouse.md"}
    assert all(0 < match.score <= 1 for match in result.matches)
    assert sum(len(match.path) + len(match.snippet) for match in result.matches) <= 300 + 2 * len("a/")
    assert result.scanned == 3


def test_owners_are_separate_and_a_deleted_text_is_gone(files: HoldfastFiles, memory: holdfast.Engine) -> None:
    async def use() -> None:
        written = await files.write("x.md", "quiet axolotls", expected_version=None)
        assert await HoldfastFiles(memory).read("x.md", max_chars=10) is None
        await files.delete("x.md", expected_version=written.version)

    asyncio.run(use())
    assert [found.text for found in memory.memories(user="ana")] == [""]


def test_an_agent_writes_a_file_that_the_next_one_reads(files: HoldfastFiles) -> None:
    def write(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("write_memory", {"content": "- Ana is allergic to walnuts"})])

    def read(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(str(messages))])

    async def use() -> str:
        await Agent(FunctionModel(write), capabilities=[Memory(store=files)]).run("remember my allergy")
        return str((await Agent(FunctionModel(read), capabilities=[Memory(store=files)]).run("hello")).output)

    assert "Ana is allergic to walnuts" in asyncio.run(use())
