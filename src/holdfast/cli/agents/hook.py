"""The ``hook`` command for click. For a fast start, ``holdfast.cli.main`` runs most hooks without click."""

import click

from holdfast.cli.options import Flags, with_flags
from holdfast.resident.arguments import Arguments
from holdfast.resident.events import CLIENTS
from holdfast.resident.hook import EVENTS, run


@click.command(epilog="Example: holdfast hook prompt --client claude-code --user ana --project")
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--client", type=click.Choice(CLIENTS), default="claude-code", show_default=True, help="The coding agent.")
@click.option("--project", is_flag=True, help="Use the Git repository of the agent's folder as the app, unless --app is given.")
@click.option("--env-file", metavar="FILE", help="Set environment variables from a file of NAME=value lines.")
@click.option("--wait", metavar="SECONDS", type=float, help="Maximum time to wait for a resident process that is starting.")
@with_flags()
def hook(flags: Flags, event: str, *, client: str, project: bool, env_file: str | None, wait: float | None) -> None:
    """Handle an event of a coding agent.

    `holdfast install` puts this command into the agent's settings. The agent sends the event as JSON on standard input, and reads
    context from standard output. The command always exits with 0, so that it never stops the agent.
    """
    named = {
        **flags.scope,
        "store": flags.store,
        "preset": flags.preset,
        "settings": flags.settings,
        "tenant": flags.tenant,
        "client": client,
        "env-file": env_file,
        "wait": None if wait is None else str(wait),
    }
    values = {name: value for name, value in named.items() if isinstance(value, str)}
    chosen = {"project": project, "shared": flags.shared}
    run(Arguments((event,), values, frozenset(name for name, given in chosen.items() if given)))
