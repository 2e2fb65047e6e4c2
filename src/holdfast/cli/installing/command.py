"""The ``install`` command."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import say
from holdfast.cli.installing.clients import CLIENTS, InstallTarget
from holdfast.cli.installing.safe_write import replace_file
from holdfast.cli.options import Flags, with_flags, with_user
from holdfast.cli.output import emit
from holdfast.errors import SettingsError

if TYPE_CHECKING:
    from holdfast.cli.installing.plan import Plan, Refused, Target


@click.command(epilog="Example: holdfast install claude-code --user ana")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--remove", is_flag=True, help="Remove what an installation added.")
@click.option("--dry-run", is_flag=True, help="Show the changes as a diff without making them.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry for the MCP server without writing it.")
@click.option("--no-hooks", is_flag=True, help="Install the MCP server only.")
@click.option("--no-weights", is_flag=True, help="Do not download missing weights of models.")
@click.option(
    "--scope",
    "where",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Install for all your projects, or for the project in this folder.",
)
@with_flags()
def install(
    flags: Flags, client: str, *, remove: bool, dry_run: bool, only_print: bool, no_hooks: bool, no_weights: bool, where: str
) -> None:
    """Add Holdfast to an assistant's settings.

    Adds one entry, `holdfast`, to the assistant's list of MCP servers, and hooks if it is a coding agent with hooks. Nothing else
    in the files changes, and a copy of each old file is kept next to it. A file with comments is not rewritten: the entry is
    printed instead, for you to add. Settings from `HOLDFAST_*` variables and keys of models are carried over in a file that
    only you can read. See docs/coding-agents.md.
    """
    from holdfast.cli.installing.plan import Refused, Target, plan_removal  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.folders import home_folders  # noqa: PLC0415  (as above)

    target = Target(client=client, place=InstallTarget(where), folders=home_folders(), project=Path.cwd())
    try:
        if remove:
            _finish(flags, target, plan_removal(target), dry_run=dry_run, remove=True)
            return
        _install(with_user(flags), target, dry_run=dry_run, only_print=only_print, hooks=not no_hooks, weights=not no_weights)
    except Refused as refused:
        _show(flags, refused)
        raise SettingsError(str(refused)) from refused


def _install(flags: Flags, target: "Target", *, dry_run: bool, only_print: bool, hooks: bool, weights: bool) -> None:
    from holdfast.cli.installing.environment_file import carried_variables  # noqa: PLC0415  (as above)
    from holdfast.cli.installing.plan import alone, plan_install  # noqa: PLC0415  (as above)
    from holdfast.cli.installing.weights import fetch_missing  # noqa: PLC0415  (as above)
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (as above)

    if find_spec("mcp") is None:
        say(
            'The MCP server needs a package that is not installed. Install it with: pip install "holdfast-memory[mcp]"',
            as_json=flags.json,
        )
    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    variables = carried_variables(flags, settings)
    if only_print:
        text = alone(target, flags, variables)
        emit({"path": target.server_path, "text": text, "changed": False}, [text.rstrip("\n")], as_json=flags.json)
        say(f"Add this to {target.server_path}", as_json=flags.json)
        return
    plan = plan_install(target, flags, variables, hooks=hooks)
    if weights and not dry_run:
        fetch_missing(flags, settings)
    _finish(flags, target, plan, dry_run=dry_run, remove=False)


def _show(flags: Flags, refused: "Refused") -> None:
    if refused.text:
        emit({"path": refused.path, "text": refused.text, "changed": False}, [refused.text.rstrip("\n")], as_json=flags.json)
        say(f"Add this to {refused.path}", as_json=flags.json)


def _finish(flags: Flags, target: "Target", plan: "Plan", *, dry_run: bool, remove: bool) -> None:
    """Write the changes of an installation or removal, and print the result. With ``dry_run``, only print the changes."""
    changed = plan.changed
    result: dict[str, Any] = {"client": target.client, "path": target.server_path, "changed": bool(changed), "backup": None}
    if dry_run:
        emit({**result, "changed": False, "diff": plan.diff()}, [plan.diff().rstrip("\n")], as_json=flags.json)
        return
    backups = _write(plan)
    result |= {"backup": backups.get(target.server_path), "files": changed, "hooks": target.hook_path}
    emit(result, [f"{target.client}: {path}" for path in (changed or [target.server_path])], as_json=flags.json)
    if not changed:
        say(f"{'Not installed' if remove else 'Already installed'}; nothing was changed.", as_json=flags.json)
        return
    for backup in backups.values():
        say(f"Backup of the old file: {backup}", as_json=flags.json)
    for path in plan.secret:
        say(f"Settings and keys for assistants: {path}, which only you can read.", as_json=flags.json)
    if not remove and target.hooks is not None and target.hooks.advice:
        say(target.hooks.advice, as_json=flags.json)
    say(target.form.restart if not remove else "Restart the assistant.", as_json=flags.json)
    if remove:
        _name_kept_secrets(flags)


def _name_kept_secrets(flags: Flags) -> None:
    from holdfast.cli.installing.environment_file import environment_path  # noqa: PLC0415  (heavy: not needed for --help)

    path = environment_path()
    if path.exists():
        say(f"Other assistants may use the settings and keys in {path}. If none does, delete it.", as_json=flags.json)


def _write(plan: "Plan") -> dict[Path, Path]:
    """Write the changed files. Return the path of the backup for each file that existed before."""
    from holdfast.cli.installing.environment_file import write_private  # noqa: PLC0415  (heavy: not needed for --help)

    for path, text in plan.secret.items():
        write_private(path, text)
    backups: dict[Path, Path] = {}
    for path in plan.changed:
        content = plan.after[path]
        backup = replace_file(path, content if content is not None else b"")
        if content is None:
            path.unlink()
        if backup is not None:
            backups[path] = backup
    return backups
