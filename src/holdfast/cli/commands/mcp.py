"""The command that serves a memory to an assistant: mcp."""

import signal
import sys

import click

from holdfast.cli.console import notes
from holdfast.cli.options import Flags, with_flags
from holdfast.errors import ExtraMissing
from holdfast.version import __version__


@click.command(epilog="Example: holdfast mcp --user ana   (holdfast install writes this into a client's settings)")
@with_flags()
def mcp(flags: Flags) -> None:
    """Serve this memory to an assistant over stdio (MCP).

    A client such as Claude or Cursor starts this command by itself and speaks with it over standard input and output.
    Any number of them may use one store at once. It ends when the client closes the stream.
    """
    try:
        from holdfast.mcp.stdio import serve_stdio  # noqa: PLC0415  (an extra)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise ExtraMissing('The MCP server needs a package that is not installed: pip install "holdfast[mcp]"') from error
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (numpy and the store: not needed for help)

    if sys.stdin.isatty():
        click.echo("This waits for an MCP client on standard input; Ctrl-C ends it.", err=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread sits in a read that nothing else ends; the store bears it
    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_engine(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant) as memory,
    ):
        serve_stdio(memory, {"user": flags.user, "app": flags.app, "agent": flags.agent}, version=__version__)
