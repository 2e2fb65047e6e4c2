"""Anthropic's memory tool: files that Claude writes for itself, stored in Holdfast.

::

    with holdfast.open(kinds=[ITEM]) as memory:
        tool = HoldfastMemoryTool(memory, user="ana")
        client.beta.messages.tool_runner(model=..., messages=[...], tools=[tool]).until_done()
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast
from holdfast.adapters.files import FileError, MemoryFiles
from holdfast.adapters.folder import FolderFiles
from holdfast.adapters.shared import Owner, extra_missing

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
    from anyio.to_thread import run_sync
except ImportError as error:
    raise extra_missing("Anthropic's memory tool", "anthropic", error) from error

LABEL = "anthropic"


class HoldfastMemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool for a synchronous client. Its files are stored in Holdfast."""

    def __init__(
        self,
        memory: holdfast.Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        base_path: str | Path | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Store the tool's files in ``memory``, which was opened with ``kinds=[holdfast.adapters.ITEM]``.

        Args:
            memory: The memory.
            user: The user, app and agent that own the files. Different owners have different files, and erasing a user erases
                their files. By default, the files belong to nobody.
            app: See ``user``.
            agent: See ``user``.
            base_path: A folder on disk. The files are then also in its folder ``memories``, where Anthropic's own local tool
                keeps them, and people can edit them there. If a user is erased, the next command of the tool deletes the files
                on disk. By default, the files are only in the memory.
            cache_control: Anthropic's setting for prompt caching. It sets a cache breakpoint at this tool.
        """
        super().__init__(cache_control=cache_control)
        self.files = _files(memory, {"user": user, "app": app, "agent": agent}, base_path)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder or a file."""
        return _called(self.files.view, command.path, _range(command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return _called(self.files.create, command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text in a file."""
        return _called(self.files.str_replace, command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text into a file."""
        return _called(self.files.insert, command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return _called(self.files.delete, command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return _called(self.files.rename, command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Delete all files."""
        return _called(self.files.clear)


class HoldfastAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Anthropic's memory tool for an asynchronous client. Its commands run in threads."""

    def __init__(
        self,
        memory: holdfast.Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        base_path: str | Path | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Store the tool's files in ``memory``. Takes the arguments of :class:`HoldfastMemoryTool`."""
        super().__init__(cache_control=cache_control)
        self.files = _files(memory, {"user": user, "app": app, "agent": agent}, base_path)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder or a file."""
        return await run_sync(_called, self.files.view, command.path, _range(command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return await run_sync(_called, self.files.create, command.path, command.file_text)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text in a file."""
        return await run_sync(_called, self.files.str_replace, command.path, command.old_str, command.new_str)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text into a file."""
        return await run_sync(_called, self.files.insert, command.path, command.insert_line, command.insert_text)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return await run_sync(_called, self.files.delete, command.path)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return await run_sync(_called, self.files.rename, command.old_path, command.new_path)

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        return await run_sync(_called, self.files.clear)


def _files(memory: holdfast.Engine, owner: Owner, base_path: str | Path | None) -> MemoryFiles:
    if base_path is None:
        return MemoryFiles(memory, LABEL, owner)
    return FolderFiles(memory, LABEL, owner, Path(base_path) / "memories")


def _called(command: Callable[..., str], *arguments: Any) -> str:
    """Run a command. Raise ``ToolError`` if the model's input is invalid."""
    try:
        return command(*arguments)
    except (FileError, holdfast.InvalidInput) as error:
        raise ToolError(str(error)) from error


def _range(command: BetaMemoryTool20250818ViewCommand) -> tuple[int, int] | None:
    given = command.view_range
    return (given[0], given[1]) if given and len(given) == 2 else None
