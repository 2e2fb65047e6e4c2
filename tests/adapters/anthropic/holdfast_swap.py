"""Make Anthropic's tests create Holdfast's tool instead of their tool for local files.

The tests read files on disk, so the tool is created with ``base_path``: it then keeps its files in a real folder. One test
calls a private method that returns the path of a file. The swapped tool has that method, too.
"""

import tempfile
from pathlib import Path

import anthropic.lib.tools._beta_builtin_memory_tool as builtin
import anyio
import holdfast_suite
from anthropic.lib.tools import ToolError

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.anthropic import HoldfastAsyncMemoryTool, HoldfastMemoryTool
from holdfast.adapters.files import FileError
from holdfast.adapters.folder import FolderFiles

_folder = tempfile.TemporaryDirectory()
_engines: list[holdfast.Engine] = []


def _memory() -> holdfast.Engine:
    """Open an engine with a new store. Also record that a test used the adapter."""
    holdfast_suite.note_use()
    _engines.append(holdfast.open(Path(_folder.name) / f"{len(_engines)}.db", kinds=[ITEM], embedder="none", worker="none"))
    return _engines[-1]


class SwappedTool(HoldfastMemoryTool):
    """Holdfast's tool, with the constructor arguments of ``BetaLocalFilesystemMemoryTool``."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_memory(), base_path=base_path)
        self.base_path, self.memory_root = Path(base_path), Path(base_path) / "memories"


class SwappedAsyncTool(HoldfastAsyncMemoryTool):
    """Holdfast's tool, with the constructor arguments of ``BetaAsyncLocalFilesystemMemoryTool``."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_memory(), base_path=base_path)
        self.base_path, self.memory_root = anyio.Path(base_path), anyio.Path(base_path) / "memories"

    async def _ensure_memory_root(self) -> None:
        assert isinstance(self.files, FolderFiles)
        self.files.sync()

    async def _validate_path(self, path: str) -> anyio.Path:
        assert isinstance(self.files, FolderFiles)
        try:
            return anyio.Path(self.files.place(path))
        except FileError as error:
            raise ToolError(str(error)) from error


def pytest_unconfigure() -> None:
    """Close all engines and delete their files."""
    for engine in _engines:
        engine.close()
    _folder.cleanup()


builtin.BetaLocalFilesystemMemoryTool = SwappedTool  # type: ignore[assignment,misc]
builtin.BetaAsyncLocalFilesystemMemoryTool = SwappedAsyncTool  # type: ignore[assignment,misc]
