"""The ``mcp`` command."""

import signal
import sys
import threading
from pathlib import Path

import click

from holdfast.cli.console import notes
from holdfast.cli.options import Flags, with_flags
from holdfast.errors import ExtraMissing
from holdfast.version import __version__


@click.command(epilog="Example: holdfast mcp --user ana")
@click.option(
    "--tools",
    type=click.Choice(["holdfast", "graph", "all"]),
    default="holdfast",
    show_default=True,
    help="Tools to offer: those of Holdfast, the nine tools of MCP's official memory server (a knowledge graph), or all.",
)
@click.option(
    "--project",
    is_flag=True,
    help="Use the Git repository of the working directory as the app, unless --app is given. See docs/coding-agents.md.",
)
@click.option("--env-file", metavar="FILE", help="Set environment variables from a file of NAME=value lines.")
@click.option("--in-process", is_flag=True, help="Open the store in this process, without the resident process.")
@with_flags(default_user=True)
def mcp(flags: Flags, *, tools: str, project: bool, env_file: str | None, in_process: bool) -> None:
    """Serve this store to an assistant over MCP on stdio.

    A client such as Claude or Cursor starts this command and talks to it over standard input and output. Several
    clients can use one store at once. The command ends when the client closes the stream. A resident process, which all
    clients share, opens the store. If that is not possible, this process opens the store.
    """
    if env_file is not None:
        from holdfast.config import environment  # noqa: PLC0415  (not needed for --help)

        environment.load_file(env_file)
    if not in_process and tools == "holdfast" and not flags.debug and relayed(flags, project=project):
        return
    _serve_in_process(flags, tools=tools, project=project)


def relayed(flags: Flags, *, project: bool) -> bool:
    """Pass messages between the client and the resident process until the client closes the stream.

    Return False if the resident process cannot be used.
    """
    from holdfast.resident import arguments, relay  # noqa: PLC0415  (not needed for --help)

    named = {**flags.scope, "store": flags.store, "preset": flags.preset, "settings": flags.settings, "tenant": flags.tenant}
    values = {name: value for name, value in named.items() if isinstance(value, str)}
    chosen = {"project": project, "shared": flags.shared}
    return relay.run(arguments.Arguments((), values, frozenset(name for name, given in chosen.items() if given)))


def _serve_in_process(flags: Flags, *, tools: str, project: bool) -> None:
    try:
        from holdfast.mcp.stdio import serve_stdio  # noqa: PLC0415  (an extra)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise ExtraMissing(
            'The MCP server needs a package that is not installed. Install it with: pip install "holdfast-memory[mcp]"'
        ) from error
    from holdfast.adapters import ITEM  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.adapters.mcp_memory import KnowledgeGraph, graph_tools  # noqa: PLC0415  (as above)
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (as above)
    from holdfast.config.preloading import preload  # noqa: PLC0415  (as above)
    from holdfast.resident.scope import scope_for  # noqa: PLC0415  (as above)

    if sys.stdin.isatty():
        click.echo("Waiting for an MCP client on standard input. Press Ctrl-C to stop.", err=True)
    scope = scope_for({**flags.scope, "project": project, "shared": flags.shared}, cwd=Path.cwd())
    with_graph = tools != "holdfast"
    kinds = [ITEM] if with_graph else []
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing else ends a thread blocked in read(); the store survives a kill
    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_engine(flags.store, preset=flags.preset, kinds=kinds, settings=flags.settings, tenant=flags.tenant) as memory,
    ):
        extra = graph_tools(KnowledgeGraph(memory, **scope.parts)) if with_graph else ()
        # In a thread, so that the client need not wait. Not a daemon: loading must not be cut off when the process ends.
        threading.Thread(target=preload, args=(memory,), name="holdfast-preload").start()
        serve_stdio(
            memory, scope.parts, version=__version__, extra_tools=extra, own_tools=tools != "graph", project=scope.project
        )
