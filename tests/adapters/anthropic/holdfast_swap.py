"""Make Anthropic's tests create Holdfast's tool instead of their tool for local files.

The tests look at files on disk. Therefore files on disk are copied into the store before each command, and the files of
the store are written to disk after the command. Only Holdfast's tool runs the commands.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as builtin
import anyio
import holdfast_suite

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.anthropic import HoldfastAsyncMemoryTool, HoldfastMemoryTool
from holdfast.adapters.files import MemoryFiles

_folder = tempfile.TemporaryDirectory()
_engines: list[holdfast.Engine] = []


class DiskFiles(MemoryFiles):
    """Files of a memory that are also on disk while no command runs."""

    def __init__(self, memory: holdfast.Engine, root: Path) -> None:
        super().__init__(memory, "test", {"user": None, "app": None, "agent": None})
        self.root = root

    def on_disk(self, command: Callable[..., str]) -> Callable[..., str]:
        """Return a command that reads the files from disk before it runs, and writes them to disk afterwards."""

        def run(*arguments: Any) -> str:
            self.root.mkdir(parents=True, exist_ok=True)
            files = [path for path in self.root.rglob("*") if path.is_file()]
            self.clear()
            self._store([(path.relative_to(self.root).parts, path.read_bytes().decode()) for path in files], exists="")
            try:
                return command(*arguments)
            finally:
                shutil.rmtree(self.root)
                self.root.mkdir()
                for file in self._files(()):
                    path = self.root.joinpath(*self._path(file))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(file.text.encode())

        return run


def _memory() -> holdfast.Engine:
    """Return a new memory."""
    holdfast_suite.note_use()
    _engines.append(holdfast.open(Path(_folder.name) / f"{len(_engines)}.db", kinds=[ITEM], embedder="none", worker="none"))
    return _engines[-1]


def _files(memory: holdfast.Engine, root: Path) -> MemoryFiles:
    """Return the files of a memory that are also in a folder on disk."""
    root.mkdir(parents=True, exist_ok=True)
    files = DiskFiles(memory, root)
    for name in ("view", "create", "str_replace", "insert", "delete", "rename"):
        setattr(files, name, files.on_disk(getattr(files, name)))
    return files


class SwappedTool(HoldfastMemoryTool):
    """Holdfast's tool, with the arguments of ``BetaLocalFilesystemMemoryTool``."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_memory())
        self.files = _files(self.files.memory, Path(base_path) / "memories")
        self.base_path, self.memory_root = Path(base_path), Path(base_path) / "memories"


class SwappedAsyncTool(HoldfastAsyncMemoryTool):
    """Holdfast's tool, with the arguments of ``BetaAsyncLocalFilesystemMemoryTool``."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_memory())
        self.files = _files(self.files.memory, Path(base_path) / "memories")
        self.base_path, self.memory_root = anyio.Path(base_path), anyio.Path(base_path) / "memories"


def pytest_unconfigure() -> None:
    """Close all engines and delete their files."""
    for engine in _engines:
        engine.close()
    _folder.cleanup()


builtin.BetaLocalFilesystemMemoryTool = SwappedTool  # type: ignore[assignment,misc]
builtin.BetaAsyncLocalFilesystemMemoryTool = SwappedAsyncTool  # type: ignore[assignment,misc]
