"""The ``mcp`` command."""

import signal
import socket
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.console import notes
from holdfast.cli.options import Flags, with_flags
from holdfast.errors import ExtraMissing
from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.engine import Engine
    from holdfast.resident.wire import Wire


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

    Return False if the resident process cannot be used. With ``project``, the Git repository of the agent's folder is
    the app.
    """
    from holdfast.resident import arguments, relay  # noqa: PLC0415  (not needed for --help)

    named = {**flags.scope, "store": flags.store, "preset": flags.preset, "settings": flags.settings, "tenant": flags.tenant}
    values = {name: value for name, value in named.items() if isinstance(value, str)}
    chosen = {"project": project, "shared": flags.shared}
    return relay.run(arguments.Arguments((), values, frozenset(name for name, given in chosen.items() if given)))


def _serve_in_process(flags: Flags, *, tools: str, project: bool) -> None:
    """Open the store in this process and serve MCP.

    The store is opened in a second thread. Meanwhile, the handshake is answered, because clients wait only a few seconds for it.
    """
    if find_spec("mcp") is None or find_spec("anyio") is None:
        raise ExtraMissing(
            'The MCP server needs a package that is not installed. Install it with: pip install "holdfast-memory[mcp]"'
        )
    from holdfast.resident.relay import Relay  # noqa: PLC0415  (not needed for --help)

    if sys.stdin.isatty():
        click.echo("Waiting for an MCP client on standard input. Press Ctrl-C to stop.", err=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing else ends a thread blocked in read(); the store survives a kill
    with notes(as_json=flags.json, traces=flags.debug):
        Relay(_LocalServer(flags, tools=tools, project=project), own_tools=tools != "graph").run()


class _LocalServer:
    """Connects to an MCP server in this process. It opens the store when a connection is requested."""

    def __init__(self, flags: Flags, *, tools: str, project: bool) -> None:
        self._flags = flags
        self._tools = tools
        self._scope = {**flags.scope, "project": project, "shared": flags.shared}

    def connect_running(self) -> None:
        """Return None: the server does not run yet."""

    def connect(self) -> "Wire":
        """Open the store, start the server in a new thread, and return a connection to it."""
        from holdfast.adapters import ITEM  # noqa: PLC0415  (heavy)
        from holdfast.config.opening import open_engine  # noqa: PLC0415  (as above)
        from holdfast.resident.wire import Wire  # noqa: PLC0415  (as above)

        flags, kinds = self._flags, [] if self._tools == "holdfast" else [ITEM]
        memory = open_engine(flags.store, preset=flags.preset, kinds=kinds, settings=flags.settings, tenant=flags.tenant)
        client, server = socket.socketpair()
        threading.Thread(target=self._serve, args=(memory, server), name="holdfast-mcp").start()
        return Wire(client)

    def _serve(self, memory: "Engine", connection: socket.socket) -> None:
        from holdfast.adapters.mcp_memory import KnowledgeGraph, graph_tools  # noqa: PLC0415  (heavy)
        from holdfast.config.preloading import preload  # noqa: PLC0415  (as above)
        from holdfast.mcp.stdio import serve_connection  # noqa: PLC0415  (an extra)
        from holdfast.resident.scope import scope_for  # noqa: PLC0415  (heavy)

        scope = scope_for(self._scope, cwd=Path.cwd())
        with memory, connection:
            extra = graph_tools(KnowledgeGraph(memory, **scope.parts)) if self._tools != "holdfast" else ()
            # In a thread, so that the client need not wait. Not a daemon: loading must not be cut off when the process ends.
            threading.Thread(target=preload, args=(memory,), name="holdfast-preload").start()
            serve_connection(
                memory,
                scope.parts,
                connection,
                version=__version__,
                extra_tools=extra,
                own_tools=self._tools != "graph",
                project=scope.project,
            )
