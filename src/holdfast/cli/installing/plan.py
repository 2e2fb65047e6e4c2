"""Compute the changes of an installation, without writing anything."""

import difflib
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.cli.installing.clients import CLIENTS, Client, InstallTarget, ServerEntry
from holdfast.cli.installing.environment_file import environment_path, written
from holdfast.cli.installing.hooks import HOOKS, HookSettings, plugin, with_hooks, without_hooks
from holdfast.cli.installing.merge_settings import Unmergeable, edit_json, merged, removed
from holdfast.cli.options import Flags
from holdfast.config.folders import HomeFolders, chosen_folders


class Refused(Exception):
    """A file cannot be changed without losing content.

    ``text`` is the entry that a person can add by hand. It is empty if an entry was to be removed.
    """

    def __init__(self, path: Path, why: Unmergeable, text: str) -> None:
        advice = "Add the entry above by hand." if text else "Remove the entries with holdfast by hand."
        super().__init__(f"{path} {why}. Nothing was changed. {advice}")
        self.path = path
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The client to install for, and the location of its settings."""

    client: str
    place: InstallTarget
    folders: HomeFolders
    project: Path

    @property
    def form(self) -> Client:
        """The layout of the client's MCP settings."""
        return CLIENTS[self.client]

    @property
    def hooks(self) -> HookSettings | None:
        """The layout of the client's hooks, or None if it has no hooks."""
        return HOOKS.get(self.client)

    @property
    def server_path(self) -> Path:
        """The file with the list of MCP servers."""
        return self.form.path(self.folders, self.place, self.project)

    @property
    def hook_path(self) -> Path | None:
        """The file with the hooks."""
        return self.hooks.path(self.folders, self.place, self.project) if self.hooks else None


@dataclass(slots=True)
class Plan:
    """The files to change, with their content before and after the change. The content is None if the file does not exist."""

    before: dict[Path, bytes | None] = field(default_factory=dict)
    after: dict[Path, bytes | None] = field(default_factory=dict)
    secret: dict[Path, str] = field(default_factory=dict)
    """Files that only their owner may read. A diff does not show their values."""

    def content(self, path: Path) -> bytes:
        """Return the planned content of a file: its content on disk with the changes so far."""
        if path not in self.after:
            self.before[path] = self.after[path] = path.read_bytes() if path.exists() else None
        return self.after[path] or b""

    @property
    def changed(self) -> list[Path]:
        """The files whose content changes."""
        return [path for path, content in self.after.items() if content != self.before[path]]

    def diff(self) -> str:
        """Return the changes as a unified diff. Values of secret files are hidden."""
        parts = [
            "".join(
                difflib.unified_diff(_lines(self.before[path]), _lines(self.after[path]), f"{path} (now)", f"{path} (after)", n=2)
            )
            for path in self.changed
        ]
        hidden = [f"{path}: variables {', '.join(_names(text))}\n" for path, text in self.secret.items()]
        return "".join([*parts, *hidden])


def _lines(content: bytes | None) -> list[str]:
    lines = (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _names(text: str) -> list[str]:
    return [line.partition("=")[0] for line in text.splitlines() if "=" in line and not line.startswith("#")]


def plan_install(target: Target, flags: Flags, variables: Mapping[str, str], *, hooks: bool) -> Plan:
    """Return the plan of an installation: the settings files to change for a client, with their new content.

    ``variables`` are the environment variables to write to the environment file. With ``hooks``, hooks are installed,
    too. Raise ``Refused`` if a file cannot be changed without losing content.
    """
    plan = Plan()
    path = target.server_path
    options = arguments(flags, target, variables)
    entry = target.form.shaped(_entry(options))
    wanted = target.hooks if hooks else None
    commands = {event: hook_words(target, event, options) for event in wanted.events.values()} if wanted else {}
    try:
        plan.after[path] = merged(target.form, plan.content(path), entry)
    except Unmergeable as error:
        text = target.form.alone(entry)
        if wanted is not None and target.hook_path == path:  # one file for both
            text = json.dumps(with_hooks(json.loads(text), wanted, commands), indent=2, ensure_ascii=False) + "\n"
        raise Refused(path, error, text) from error
    if wanted is not None and target.hook_path is not None:
        _plan_hooks(plan, wanted, target.hook_path, commands)
    if variables:
        plan.secret[environment_path()] = written(dict(variables))
    return plan


def alone(target: Target, flags: Flags, variables: Mapping[str, str]) -> str:
    """Return the text of a settings file that contains only the entry for the MCP server.

    ``variables`` are the environment variables for the environment file.
    """
    return target.form.alone(target.form.shaped(_entry(arguments(flags, target, variables))))


def _plan_hooks(plan: Plan, form: HookSettings, path: Path, commands: Mapping[str, Sequence[str]]) -> None:
    if form.shape is None:
        plan.content(path)
        plan.after[path] = plugin(commands).encode()
        return
    try:
        plan.after[path] = edit_json(plan.content(path), lambda settings: with_hooks(settings, form, commands))
    except Unmergeable as error:
        text = json.dumps(with_hooks({}, form, commands), indent=2, ensure_ascii=False)
        raise Refused(path, error, text) from error


def plan_removal(target: Target) -> Plan:
    """Return the changes that undo an installation. A file in which nothing is left afterwards is removed."""
    plan = Plan()
    path = at = target.server_path
    try:
        plan.after[path] = _or_none(removed(target.form, plan.content(path))) if path.exists() else None
        hook_path = target.hook_path
        if target.hooks is not None and hook_path is not None and hook_path.exists():
            at = hook_path
            content = plan.content(hook_path)
            left = b"" if target.hooks.shape is None else edit_json(content, without_hooks)
            plan.after[hook_path] = _or_none(left, beside=target.hooks.beside)
    except Unmergeable as error:
        raise Refused(at, error, "") from error
    plan.before.setdefault(path, None)
    return plan


def _or_none(content: bytes, *, beside: Mapping[str, Any] | None = None) -> bytes | None:
    """Return the content of a file, or None if nothing is left in it and the file can be removed.

    Nothing is left if the content is blank, an empty JSON object, or exactly the entries in ``beside``.
    """
    if not content.strip():
        return None
    try:
        left = json.loads(content)
    except ValueError:
        return content
    return None if left in ({}, dict(beside or {})) else content


def arguments(flags: Flags, target: Target, variables: Mapping[str, str]) -> list[str]:
    """Return the command-line options that the installed ``mcp`` and ``hook`` commands get, such as ``--user ana``.

    Paths are absolute, because assistants start the commands in another folder. ``variables`` are the variables for the
    environment file. If they set more than the folders for data and weights, the options include ``--env-file``.
    """
    named: dict[str, Any] = {
        "user": flags.user,
        "app": flags.app,
        "agent": flags.agent,
        "tenant": flags.tenant,
        "preset": flags.preset,
        "store": _absolute(flags.store),
        "settings": _absolute(flags.settings),
        "env-file": str(environment_path()) if set(variables) - set(chosen_folders()) else None,
    }
    options = [word for name, value in named.items() if value for word in (f"--{name}", value)]
    options += ["--shared"] if flags.shared else []
    return [*options, "--project"] if target.hooks is not None and flags.app is None else options


def _entry(options: Sequence[str]) -> ServerEntry:
    command, *more = executable()
    return ServerEntry(command=command, args=(*more, "mcp", *options), env=chosen_folders())


def hook_words(target: Target, event: str, options: Sequence[str]) -> list[str]:
    """Return the command of a hook, as a list of words. ``event`` is the event at which the hook runs.

    ``options`` are the options that :func:`arguments` returned. If environment variables set the folders for data or
    weights, ``--env-file`` is added, if it is missing. The file that this option names contains the variables.
    """
    folders = ["--env-file", str(environment_path())] if chosen_folders() and "--env-file" not in options else []
    return [*executable(), "hook", event, "--client", target.client, *options, *folders]


def _absolute(path: str | None) -> str | None:
    if path is None or "://" in path:
        return path
    return str(Path(path).expanduser().absolute())


def executable() -> list[str]:
    """Return the command that starts Holdfast, with an absolute path, as a list of words."""
    found = shutil.which("holdfast", path=str(Path(sys.executable).absolute().parent))
    return [str(Path(found).absolute())] if found else [str(Path(sys.executable).absolute()), "-m", "holdfast.cli"]
