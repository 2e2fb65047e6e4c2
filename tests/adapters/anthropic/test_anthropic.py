"""Anthropic's memory tool: behavior that its own suite does not cover."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import holdfast
from holdfast.adapters import ITEM

if TYPE_CHECKING:
    from holdfast.adapters.anthropic import HoldfastMemoryTool

if find_spec("anthropic") is None:
    pytest.skip("Anthropic's memory tool is not installed: make test-adapters runs its tests", allow_module_level=True)

pytestmark = [pytest.mark.ledger("X14"), pytest.mark.long]
SECRET = "password: hunter2hunter2\r\n  4111 1111 1111 1111 \n"


def adapter() -> Any:
    """Import and return the module of the adapter.

    The import is inside a function because it takes seconds, and every pytest worker imports every test file.
    """
    return import_module("holdfast.adapters.anthropic")


@pytest.fixture
def memory(open_memory: Callable[..., holdfast.Engine]) -> holdfast.Engine:
    return open_memory(kinds=[ITEM])


@pytest.fixture
def tool(memory: holdfast.Engine) -> HoldfastMemoryTool:
    tool: HoldfastMemoryTool = adapter().HoldfastMemoryTool(memory, user="ana")
    return tool


def _create(tool: HoldfastMemoryTool, path: str, text: str = "hello") -> str:
    return str(tool.call({"command": "create", "path": path, "file_text": text}))


def _view(tool: HoldfastMemoryTool, path: str) -> str:
    return str(tool.call({"command": "view", "path": path}))


def test_the_tool_presents_itself_as_the_memory_tool(memory: holdfast.Engine) -> None:
    cached = adapter().HoldfastMemoryTool(memory, cache_control={"type": "ephemeral"})
    assert cached.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}


def test_a_file_is_kept_exactly_and_survives_a_restart(open_memory: Callable[..., holdfast.Engine]) -> None:
    _create(adapter().HoldfastMemoryTool(open_memory(kinds=[ITEM])), "/memories/a.txt", SECRET)
    later = open_memory()
    assert [item.text for item in later.memories(kind="item")] == [SECRET]
    assert "hunter2hunter2\r\n" in _view(adapter().HoldfastMemoryTool(later), "/memories/a.txt")


def test_an_empty_file_is_a_file(tool: HoldfastMemoryTool) -> None:
    _create(tool, "/memories/empty.txt", "")
    assert _view(tool, "/memories/empty.txt").endswith("     1\t")
    tool.call({"command": "insert", "path": "/memories/empty.txt", "insert_line": 0, "insert_text": "first"})
    assert _view(tool, "/memories/empty.txt").endswith("     1\tfirst\n     2\t")


def test_the_root_exists_without_files(tool: HoldfastMemoryTool) -> None:
    assert _view(tool, "/memories").splitlines()[1:] == ["0B\t/memories"]


def test_a_listing_shows_two_levels_with_sizes_and_without_hidden_files(tool: HoldfastMemoryTool) -> None:
    for path in ("a.txt", "b/c.txt", "b/d/e.txt", "b/d/f/g.txt", ".hidden", "b/.hidden/x"):
        _create(tool, f"/memories/{path}", "12345")
    assert _view(tool, "/memories").splitlines()[1:] == [
        "30B\t/memories",
        "5B\t/memories/a.txt",
        "15B\t/memories/b/",
        "5B\t/memories/b/c.txt",
        "10B\t/memories/b/d/",
    ]


def test_a_folder_moves_with_all_its_files(tool: HoldfastMemoryTool) -> None:
    for path in ("a/one.txt", "a/b/two.txt"):
        _create(tool, f"/memories/{path}", path)
    tool.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z/y"})
    assert "a/b/two.txt" in _view(tool, "/memories/z/y/b/two.txt")
    with pytest.raises(adapter().ToolError, match="does not exist"):
        _view(tool, "/memories/a")
    with pytest.raises(adapter().ToolError, match="into itself"):
        tool.call({"command": "rename", "old_path": "/memories/z", "new_path": "/memories/z/y/x"})


def test_a_file_is_not_a_folder_and_a_folder_is_not_a_file(tool: HoldfastMemoryTool) -> None:
    _create(tool, "/memories/a/b.txt")
    with pytest.raises(adapter().ToolError, match=r"/memories/a/b\.txt is a file"):
        _create(tool, "/memories/a/b.txt/c.txt")
    with pytest.raises(adapter().ToolError, match="already exists"):
        _create(tool, "/memories/a")
    with pytest.raises(adapter().ToolError, match="is not a file"):
        tool.call({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"})


@pytest.mark.parametrize("path", ["/memoriesX/a", "memories/a", "/", ""])
def test_a_path_outside_is_an_error(tool: HoldfastMemoryTool, path: str) -> None:
    with pytest.raises(adapter().ToolError, match="must start with /memories"):
        _create(tool, path)


def test_a_name_that_cannot_be_stored_is_an_error_for_the_model(tool: HoldfastMemoryTool) -> None:
    with pytest.raises(adapter().ToolError, match="limit"):
        _create(tool, "/memories/" + 5000 * "x")
    with pytest.raises(adapter().ToolError, match="NUL"):
        _create(tool, "/memories/a\x00b")


def test_users_have_different_files(memory: holdfast.Engine, tool: HoldfastMemoryTool) -> None:
    _create(tool, "/memories/a.txt", "of ana")
    _create(adapter().HoldfastMemoryTool(memory), "/memories/a.txt", "of nobody")
    assert "of ana" in _view(tool, "/memories/a.txt")
    memory.erase(user="ana")
    with pytest.raises(adapter().ToolError, match="does not exist"):
        _view(tool, "/memories/a.txt")
    assert tool.clear_all_memory() == "All memory cleared"
    assert "of nobody" in _view(adapter().HoldfastMemoryTool(memory), "/memories/a.txt")


def test_edits_of_several_threads_are_all_kept(tool: HoldfastMemoryTool) -> None:
    _create(tool, "/memories/log.txt", "")

    def add(number: int) -> None:
        tool.call({"command": "insert", "path": "/memories/log.txt", "insert_line": 0, "insert_text": f"entry {number}"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    text = _view(tool, "/memories/log.txt")
    assert all(f"entry {number}\n" in text for number in range(12))


def test_one_of_several_threads_creates_a_file(memory: holdfast.Engine) -> None:
    tools = [adapter().HoldfastMemoryTool(memory, user="ana") for _ in range(4)]

    def create(number: int) -> str | None:
        try:
            return _create(tools[number], "/memories/a.txt", f"by {number}")
        except adapter().ToolError as error:
            return None if "already exists" in str(error) else str(error)

    with ThreadPoolExecutor(4) as pool:
        created = [number for number, result in enumerate(pool.map(create, range(4))) if result]
    assert len(created) == 1
    assert f"by {created[0]}" in _view(tools[0], "/memories/a.txt")


def test_files_can_be_recalled(tool: HoldfastMemoryTool, memory: holdfast.Engine) -> None:
    _create(tool, "/memories/drinks.md", "Ana likes green tea.")
    memory.drain()
    assert memory.recall("green tea", user="ana")[0].text == "Ana likes green tea."


def test_the_async_tool_runs_the_same_commands(memory: holdfast.Engine) -> None:
    tool = adapter().HoldfastAsyncMemoryTool(memory, user="ana")

    async def use() -> str:
        await tool.call({"command": "create", "path": "/memories/a.txt", "file_text": "one"})
        with pytest.raises(adapter().ToolError, match="already exists"):
            await tool.call({"command": "create", "path": "/memories/a.txt", "file_text": "two"})
        shown = str(await tool.call({"command": "view", "path": "/memories/a.txt"}))
        assert await tool.clear_all_memory() == "All memory cleared"
        return shown

    assert anyio.run(use).endswith("1\tone")
    assert memory.memories(kind="item", user="ana") == []


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base"


@pytest.fixture
def on_disk(memory: holdfast.Engine, base: Path) -> HoldfastMemoryTool:
    tool: HoldfastMemoryTool = adapter().HoldfastMemoryTool(memory, user="ana", base_path=base)
    return tool


def _texts(base: Path) -> dict[str, str]:
    root = base / "memories"
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}


def test_a_folder_on_disk_has_the_same_files(on_disk: HoldfastMemoryTool, base: Path, memory: holdfast.Engine) -> None:
    _create(on_disk, "/memories/a/b.txt", SECRET)
    assert _texts(base) == {"a/b.txt": SECRET}
    assert (base / "memories/a/b.txt").stat().st_mode & 0o077 == 0
    on_disk.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c"})
    assert _texts(base) == {"c/b.txt": SECRET}
    assert not (base / "memories/a").exists()
    assert memory.recall("hunter2hunter2", user="ana")[0].text == SECRET
    on_disk.clear_all_memory()
    assert _texts(base) == {}


def test_edits_on_disk_are_taken_over(on_disk: HoldfastMemoryTool, base: Path, memory: holdfast.Engine) -> None:
    for name in ("kept", "edited", "deleted"):
        _create(on_disk, f"/memories/{name}", name)
    root = base / "memories"
    (root / "edited").write_text("by hand", "utf-8")
    (root / "deleted").unlink()
    (root / "new").write_text("new", "utf-8")
    (root / "picture.png").write_bytes(b"\x89PNG\xff\x00")
    assert "by hand" in _view(on_disk, "/memories/edited")
    assert sorted(
        item.text for item in memory.memories(kind="item", user="ana") if item.namespace == ("anthropic user=ana",)
    ) == ["by hand", "kept", "new"]
    assert (root / "picture.png").exists()


def test_a_new_folder_gets_the_files_of_the_memory(memory: holdfast.Engine, on_disk: HoldfastMemoryTool, tmp_path: Path) -> None:
    _create(on_disk, "/memories/a.txt", "hello")
    other = adapter().HoldfastMemoryTool(memory, user="ana", base_path=tmp_path / "other")
    assert "hello" in _view(other, "/memories/a.txt")
    assert _texts(tmp_path / "other") == {"a.txt": "hello"}


def test_erased_files_do_not_come_back_from_disk(on_disk: HoldfastMemoryTool, base: Path, memory: holdfast.Engine) -> None:
    _create(on_disk, "/memories/a.txt", "hello")
    memory.erase(user="ana")
    with pytest.raises(adapter().ToolError, match="does not exist"):
        _view(on_disk, "/memories/a.txt")
    assert _texts(base) == {}


def test_two_changes_of_a_file_are_both_kept(on_disk: HoldfastMemoryTool, base: Path, memory: holdfast.Engine) -> None:
    _create(on_disk, "/memories/a.txt", "one")
    _create(adapter().HoldfastMemoryTool(memory, user="ana"), "/memories/b.txt", "two")
    tool = adapter().HoldfastMemoryTool(memory, user="ana")
    tool.call({"command": "str_replace", "path": "/memories/a.txt", "old_str": "one", "new_str": "by the model"})
    (base / "memories/a.txt").write_text("by hand", "utf-8")
    assert "by hand" in _view(on_disk, "/memories/a.txt")
    assert sorted(_texts(base).values()) == ["by hand", "by the model", "two"]


def test_a_name_that_is_not_possible_on_disk_is_an_error(on_disk: HoldfastMemoryTool, base: Path) -> None:
    with pytest.raises(adapter().ToolError, match="not possible on disk"):
        _create(on_disk, "/memories/" + 300 * "x")
    _create(on_disk, "/memories/a.txt", "hello")
    assert _texts(base) == {"a.txt": "hello"}


def test_a_link_on_disk_is_not_read_and_leads_nowhere(on_disk: HoldfastMemoryTool, base: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("outside", "utf-8")
    (base / "memories/link").symlink_to(tmp_path / "secret")
    (base / "memories/file").symlink_to(tmp_path / "secret/key")
    assert _view(on_disk, "/memories").splitlines()[1:] == ["0B\t/memories"]
    for path in ("/memories/link/key", "/memories/file", "/memories/link/new"):
        with pytest.raises(adapter().ToolError, match="would escape"):
            _create(on_disk, path)
    assert (tmp_path / "secret/key").read_text("utf-8") == "outside"
    assert [path.name for path in (tmp_path / "secret").iterdir()] == ["key"]
