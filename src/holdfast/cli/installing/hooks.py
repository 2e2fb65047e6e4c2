"""The hooks of each coding agent: the location of its settings, and the format of an entry."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.installing.clients import InstallTarget
from holdfast.cli.installing.merge_settings import Unmergeable

if TYPE_CHECKING:
    from holdfast.config.folders import HomeFolders

_OURS = re.compile(r"holdfast(?:\.cli|\.exe)?[\"']? hook ")
_TIMEOUT_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The location and format of a coding agent's hooks."""

    of_user: "Callable[[HomeFolders], Path]"
    of_project: str
    events: Mapping[str, str]
    """Maps the agent's name of an event to the argument of ``holdfast hook``."""
    shape: Callable[[str], dict[str, Any]] | None
    """Function that returns the entry for a command. None if the file is a plugin."""
    beside: Mapping[str, Any]
    """Other settings that a new file needs."""
    advice: str = ""

    def path(self, folders: "HomeFolders", place: InstallTarget, project: Path) -> Path:
        """Return the file that contains the hooks of the user or of the project, as ``place`` says.

        ``folders`` are the configuration folders of the user, and ``project`` is the folder of the project.
        """
        return self.of_user(folders) if place is InstallTarget.USER else project / self.of_project


def with_hooks(settings: dict[str, Any], form: HookSettings, commands: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return settings with a hook for each event. Hooks of other programs stay, and an older hook of Holdfast is replaced.

    ``form`` is the format of the coding agent's hooks. ``commands`` maps each event to the words of the command to run.
    """
    assert form.shape is not None
    hooks = _table(settings)
    changed = {**form.beside, **settings, "hooks": hooks}
    for name, event in form.events.items():
        entry = form.shape(command_line(commands[event]))
        others = hooks.get(name, [])
        if not isinstance(others, list):
            raise Unmergeable(f"has no list of hooks under {name!r}")
        places = [place for place, each in enumerate(others) if is_ours(each)]
        kept = [each for each in others if not is_ours(each)]
        hooks[name] = [*kept[: places[0]], entry, *kept[places[0] :]] if places else [*kept, entry]
    return changed


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without the hooks of Holdfast. Lists and tables that become empty are removed."""
    if "hooks" not in settings:
        return settings
    left = {
        name: [each for each in entries if not is_ours(each)] if isinstance(entries, list) else entries
        for name, entries in _table(settings).items()
    }
    kept = {name: entries for name, entries in left.items() if entries != []}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {name: kept if name == "hooks" else value for name, value in settings.items()} if kept else rest


def _table(settings: dict[str, Any]) -> dict[str, Any]:
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Unmergeable("has no table of hooks under 'hooks'")
    return dict(hooks)


def is_ours(entry: object) -> bool:
    """Return True if an entry of a coding agent's hook settings runs ``holdfast hook``."""
    if not isinstance(entry, Mapping):
        return False
    inner = entry.get("hooks")
    if isinstance(inner, list):
        return any(is_ours(each) for each in inner)
    return isinstance(entry.get("command"), str) and _OURS.search(entry["command"]) is not None


def command_line(words: Sequence[str]) -> str:
    """Return a command as one line for the shell, with quotes where they are needed."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def plugin(commands: Mapping[str, Sequence[str]]) -> str:
    """Return the source code of the plugin for opencode. The plugin runs ``holdfast hook`` at opencode's events.

    ``commands`` maps each event to the words of the command to run.
    """
    template = (resources.files("holdfast.cli.installing") / "opencode_plugin.js").read_text("utf-8")
    return template.replace('"COMMANDS"', json.dumps({event: list(words) for event, words in commands.items()}, indent=2))


def _group(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}]}


def _gemini(command: str) -> dict[str, Any]:
    return {"hooks": [{"name": "holdfast", "type": "command", "command": command, "timeout": _TIMEOUT_SECONDS * 1000}]}


_USUAL = {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop"}

HOOKS: Mapping[str, HookSettings] = {
    "claude-code": HookSettings(
        of_user=lambda folders: (folders.claude or folders.home / ".claude") / "settings.json",
        of_project=".claude/settings.local.json",
        events={**_USUAL, "SessionEnd": "session-end"},
        shape=_group,
        beside={},
    ),
    "codex": HookSettings(
        of_user=lambda folders: (folders.codex or folders.home / ".codex") / "hooks.json",
        of_project=".codex/hooks.json",
        events=_USUAL,
        shape=_group,
        beside={},
        advice="Codex runs new hooks only after you have trusted them: start codex and enter /hooks.",
    ),
    "gemini": HookSettings(
        of_user=lambda folders: folders.home / ".gemini" / "settings.json",
        of_project=".gemini/settings.json",
        events={"SessionStart": "session-start", "BeforeAgent": "prompt", "AfterAgent": "stop", "SessionEnd": "session-end"},
        shape=_gemini,
        beside={},
    ),
    "opencode": HookSettings(
        of_user=lambda folders: folders.xdg / "opencode" / "plugins" / "holdfast.js",
        of_project=".opencode/plugins/holdfast.js",
        events={event: event for event in ("session-start", "prompt", "stop", "session-end")},
        shape=None,
        beside={},
    ),
    "cursor": HookSettings(
        of_user=lambda folders: folders.home / ".cursor" / "hooks.json",
        of_project=".cursor/hooks.json",
        events={
            "sessionStart": "session-start",
            "beforeSubmitPrompt": "prompt",
            "afterAgentResponse": "reply",
            "stop": "stop",
            "sessionEnd": "session-end",
        },
        shape=lambda command: {"command": command},
        beside={"version": 1},
    ),
    "vscode": HookSettings(
        of_user=lambda folders: folders.home / ".copilot" / "hooks" / "holdfast.json",
        of_project=".github/hooks/holdfast.json",
        events=_USUAL,
        shape=lambda command: {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS},
        beside={},
    ),
}
"""The coding agents with hooks."""
