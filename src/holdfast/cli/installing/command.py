"""The ``install`` command."""

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


@click.command(epilog="Example: holdfast install claude-code --user ana")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--print", "only_print", is_flag=True, help="Print the entry without writing it.")
@click.option(
    "--scope",
    "where",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Install for all your projects, or for the project in this folder.",
)
@with_flags()
def install(flags: Flags, client: str, *, only_print: bool, where: str) -> None:
    """Add Holdfast to an assistant's settings.

    Adds one entry, `holdfast`, to the assistant's list of MCP servers and changes nothing else in the file. A copy of the old
    file is kept next to it. A file with comments is not rewritten: the entry is printed instead, for you to add.
    """
    from holdfast.config.folders import home_folders  # noqa: PLC0415  (heavy: not needed for --help)

    form = CLIENTS[client]
    path = form.path(home_folders(), InstallTarget(where), Path.cwd())
    entry = form.shaped(_entry(flags))
    if find_spec("mcp") is None:
        say(
            'The MCP server needs a package that is not installed. Install it with: pip install "holdfast[mcp]"',
            as_json=flags.json,
        )
    if only_print:
        _show(flags, form.alone(entry), path)
        return
    try:
        before = path.read_bytes() if path.exists() else b""
        after = merged(form, before, entry)
    except Unmergeable as error:
        _show(flags, form.alone(entry), path)
        raise SettingsError(f"{path} {error}. It was not changed. Add the entry above by hand.") from error
    backup = replace_file(path, after) if after != before else None
    result = {"client": client, "path": path, "changed": after != before, "backup": backup}
    emit(result, [f"{client}: {path}"], as_json=flags.json)
    _print_next_steps(flags, form.restart, backup, changed=after != before)


def _show(flags: Flags, text: str, path: Path) -> None:
    emit({"path": path, "text": text, "changed": False}, [text.rstrip("\n")], as_json=flags.json)
    say(f"Add this to {path}", as_json=flags.json)


def _print_next_steps(flags: Flags, restart: str, backup: Path | None, *, changed: bool) -> None:
    if not changed:
        say("Already installed; nothing was changed.", as_json=flags.json)
        return
    if backup is not None:
        say(f"Backup of the old file: {backup}", as_json=flags.json)
    say(restart, as_json=flags.json)


def _entry(flags: Flags) -> ServerEntry:
    """Return the server entry. Its paths are absolute, because assistants do not use the search path of a shell."""
    from holdfast.config.folders import chosen_folders  # noqa: PLC0415  (as above)

    named: dict[str, Any] = {
        "user": flags.user,
        "app": flags.app,
        "agent": flags.agent,
        "tenant": flags.tenant,
        "preset": flags.preset,
        "store": _absolute(flags.store),
        "settings": _absolute(flags.settings),
    }
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
