"""Suggests a correct command line after a usage error."""

import re

import click

_UNKNOWN = re.compile(r"No such command '(.+?)'\.")


def advice(error: click.UsageError) -> str | None:
    """Return a hint about what to type instead of a wrong command line.

    After an unknown subcommand, the hint lists the subcommands. After other errors, the hint is the example in the
    command's help. If the command itself is unknown, the hint names ``holdfast --help``.
    """
    if error.ctx is None:
        return None
    context, command = error.ctx, error.ctx.command
    if context.parent is None:
        return "Run `holdfast --help` to list the commands."
    unknown = _UNKNOWN.match(error.format_message())
    if unknown and isinstance(command, click.Group):
        return _subcommands(context, command, unknown.group(1))
    return command.epilog


def _subcommands(context: click.Context, group: click.Group, word: str) -> str:
    path, names = context.command_path, group.list_commands(context)
    listed = f"The commands of `{path}` are: {', '.join(names)}."
    return f"To show one: {path} show {word}\n{listed}" if "show" in names else listed
