"""The command that puts this memory into an assistant's settings: install."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from holdfast.cli.console import say
from holdfast.cli.installing.clients import CLIENTS, InstallTarget, ServerEntry
from holdfast.cli.installing.merge_settings import Unmergeable, merged
from holdfast.cli.installing.safe_write import replace_file
from holdfast.cli.options import Flags, with_flags
from holdfast.cli.output import emit
from holdfast.errors import SettingsError


@click.command(epilog="Example: holdfast install claude-code --user ana   or, to look first: holdfast install codex --print")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--print", "only_print", is_flag=True, help="Show what would be written, and write nothing.")
@click.option(
    "--scope",
    "where",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For all of your projects, or for the one in this folder.",
)
@with_flags()
def install(flags: Flags, client: str, *, only_print: bool, where: str) -> None:
    """Put this memory into an assistant's settings.

    Adds one entry, `holdfast`, to the file in which the assistant keeps its MCP servers, and leaves everything else in it
    as it is. The file as it was is kept beside it. A file with comments is not rewritten: the entry is shown instead.
    """
    from holdfast.config.folders import home_folders  # noqa: PLC0415  (numpy and the store: not needed for help)

    form = CLIENTS[client]
    path = form.path(home_folders(), InstallTarget(where), Path.cwd())
    entry = form.shaped(_entry(flags))
    if find_spec("mcp") is None:
        say('The MCP server needs a package that is not installed yet: pip install "holdfast[mcp]"', as_json=flags.json)
    if only_print:
        _show(flags, form.alone(entry), path)
        return
    try:
        before = path.read_bytes() if path.exists() else b""
        after = merged(form, before, entry)
    except Unmergeable as error:
        _show(flags, form.alone(entry), path)
        raise SettingsError(f"{path} {error}, so it was left as it is. Add what is printed above by hand.") from error
    backup = replace_file(path, after) if after != before else None
    told = {"client": client, "path": path, "changed": after != before, "backup": backup}
    emit(told, [f"{client}: {path}"], as_json=flags.json)
    _say_what_now(flags, form.restart, backup, changed=after != before)


def _show(flags: Flags, text: str, path: Path) -> None:
    emit({"path": path, "text": text, "changed": False}, [text.rstrip("\n")], as_json=flags.json)
    say(f"This belongs into {path}", as_json=flags.json)


def _say_what_now(flags: Flags, restart: str, backup: Path | None, *, changed: bool) -> None:
    if not changed:
        say("It was there already.", as_json=flags.json)
        return
    if backup is not None:
        say(f"The file as it was: {backup}", as_json=flags.json)
    say(restart, as_json=flags.json)


def _entry(flags: Flags) -> ServerEntry:
    """Return what starts the server: the whole path of the command, as assistants have no shell's search path."""
    from holdfast.config.folders import chosen_folders  # noqa: PLC0415  (as above)

    named: dict[str, Any] = {
        "user": flags.user, "app": flags.app, "agent": flags.agent, "tenant": flags.tenant, "preset": flags.preset,
        "store": _absolute(flags.store), "settings": _absolute(flags.settings),
    }  # fmt: skip
    options = [word for name, value in named.items() if value for word in (f"--{name}", value)]
    command, *more = _executable()
    return ServerEntry(command=command, args=(*more, "mcp", *options), env=chosen_folders())


def _absolute(path: str | None) -> str | None:
    if path is None or "://" in path:
        return path
    return str(Path(path).expanduser().absolute())


def _executable() -> list[str]:
    found = shutil.which("holdfast", path=str(Path(sys.executable).absolute().parent))
    return [str(Path(found).absolute())] if found else [str(Path(sys.executable).absolute()), "-m", "holdfast.cli"]
