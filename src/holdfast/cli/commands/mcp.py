"""The ``mcp`` command."""

import signal
import sys
import threading

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
@with_flags()
def mcp(flags: Flags, *, tools: str) -> None:
    """Serve this store to an assistant over MCP on stdio.

    A client such as Claude or Cursor starts this command and talks to it over standard input and output. Several clients can
    use one store at once. The command ends when the client closes the stream.
    """
    try:
        from holdfast.mcp.stdio import serve_stdio  # noqa: PLC0415  (an extra)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise ExtraMissing(
            'The MCP server needs a package that is not installed. Install it with: pip install "holdfast[mcp]"'
        ) from error
    from holdfast.adapters import ITEM  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.adapters.mcp_memory import KnowledgeGraph, graph_tools  # noqa: PLC0415  (as above)
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (as above)
    from holdfast.config.preloading import preload  # noqa: PLC0415  (as above)

    if sys.stdin.isatty():
        click.echo("Waiting for an MCP client on standard input. Press Ctrl-C to stop.", err=True)
    with_graph = tools != "holdfast"
    kinds = [ITEM] if with_graph else []
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing else ends a thread blocked in read(); the store survives a kill
    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_engine(flags.store, preset=flags.preset, kinds=kinds, settings=flags.settings, tenant=flags.tenant) as memory,
    ):
        extra = graph_tools(KnowledgeGraph(memory, **flags.scope)) if with_graph else ()
        # In a thread, so that the client need not wait. Not a daemon: loading must not be cut off when the process ends.
        threading.Thread(target=preload, args=(memory,), name="holdfast-preload").start()
        serve_stdio(memory, flags.scope, version=__version__, extra_tools=extra, own_tools=tools != "graph")
