"""The supported assistants: the location and format of each assistant's list of MCP servers."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import SettingsError

if TYPE_CHECKING:
    from holdfast.config.folders import HomeFolders

NAME = "holdfast"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class InstallTarget(StrEnum):
    """The settings file to change: the user's or the project's."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """An entry in the settings: the command that starts the MCP server, its arguments and its environment variables."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One assistant and the layout of its MCP settings."""

    under: str
    """Name of the settings table that maps server names to entries."""
    of_user: "Callable[[HomeFolders], Path]"
    of_project: str | None
    """Path of the settings file inside a project; None if the assistant has no project settings."""
    shape: Callable[[ServerEntry], dict[str, Any]]
    is_toml: bool = False
    restart: str = "Restart the assistant to use it."

    def path(self, folders: "HomeFolders", place: InstallTarget, project: Path) -> Path:
        """Return the settings file to change: the user's or the project's, as ``place`` says.

        ``folders`` are the configuration folders of the user, and ``project`` is the folder of the project. If the
        settings are JSON and only a file with the suffix ``.jsonc`` exists, return that file. Raise ``SettingsError`` if
        ``place`` is the project, but the assistant has no project settings.
        """
        if place is InstallTarget.USER:
            chosen = self.of_user(folders)
        elif self.of_project is None:
            raise SettingsError("This assistant has no project settings. Use --scope user.")
        else:
            chosen = project / self.of_project
        commented = chosen.with_suffix(".jsonc")
        return commented if not self.is_toml and commented.exists() and not chosen.exists() else chosen

    def shaped(self, entry: ServerEntry) -> dict[str, Any]:
        """Return a server entry in the format of this assistant's settings."""
        return self.shape(entry)

    def alone(self, shaped: Mapping[str, Any]) -> str:
        """Return the text of a new settings file that contains only the given server entry."""
        if self.is_toml:
            return toml_table((self.under, NAME), shaped)
        return json.dumps({self.under: {NAME: shaped}}, indent=2, ensure_ascii=False) + "\n"


def toml_table(names: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return a TOML table as text. Values may be strings, lists and nested mappings.

    ``names`` are the parts of the table's name: ``("servers", "holdfast")`` becomes ``[servers.holdfast]``.
    """
    lines = [f"[{'.'.join(map(_toml_key, names))}]"]
    lines += [f"{_toml_key(name)} = {_toml(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        # TOML uses JSON's escapes, except that it has no surrogate pairs and requires DEL to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _plain(entry: ServerEntry) -> dict[str, Any]:
    shaped: dict[str, Any] = {"command": entry.command, "args": list(entry.args)}
    return shaped | ({"env": dict(entry.env)} if entry.env else {})


def _typed(entry: ServerEntry) -> dict[str, Any]:
    return {"type": "stdio", **_plain(entry)}


def _opencode(entry: ServerEntry) -> dict[str, Any]:
    shaped: dict[str, Any] = {"type": "local", "command": [entry.command, *entry.args], "enabled": True}
    return shaped | ({"environment": dict(entry.env)} if entry.env else {})


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        under="mcpServers",
        of_user=lambda folders: (folders.claude or folders.home) / ".claude.json",
        of_project=".mcp.json",
        shape=_typed,
    ),
    "claude-desktop": Client(
        under="mcpServers",
        of_user=lambda folders: folders.settings / "Claude" / "claude_desktop_config.json",
        of_project=None,
        shape=_plain,
        restart="Quit Claude and start it again to use it.",
    ),
    "cursor": Client(
        under="mcpServers",
        of_user=lambda folders: folders.home / ".cursor" / "mcp.json",
        of_project=".cursor/mcp.json",
        shape=_plain,
    ),
    "vscode": Client(
        under="servers",
        of_user=lambda folders: folders.settings / "Code" / "User" / "mcp.json",
        of_project=".vscode/mcp.json",
        shape=_typed,
        restart="In VS Code, start the server from the list of MCP servers.",
    ),
    "codex": Client(
        under="mcp_servers",
        of_user=lambda folders: (folders.codex or folders.home / ".codex") / "config.toml",
        of_project=".codex/config.toml",
        shape=_plain,
        is_toml=True,
    ),
    "gemini": Client(
        under="mcpServers",
        of_user=lambda folders: folders.home / ".gemini" / "settings.json",
        of_project=".gemini/settings.json",
        shape=_plain,
    ),
    "opencode": Client(
        under="mcp",
        of_user=lambda folders: folders.xdg / "opencode" / "opencode.json",
        of_project="opencode.json",
        shape=_opencode,
    ),
}
