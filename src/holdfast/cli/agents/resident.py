"""The ``resident`` command."""

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, with_flags
from holdfast.cli.output import emit
from holdfast.resident.arguments import absolute
from holdfast.resident.endpoint import StoreOptions, connect, endpoint_for

_TIMEOUT = 10.0


@click.command(epilog="Example: holdfast resident --stop")
@click.option("--stop", is_flag=True, help="Stop the process. It starts again when it is needed.")
@with_flags(scope=False)
def resident(flags: Flags, *, stop: bool) -> None:
    """Show or stop the resident process for coding agents.

    The hooks and MCP servers of coding agents share one process that keeps the store open and the models loaded. The
    process starts when it is needed, and ends when it is idle.
    """
    options = StoreOptions(
        store=absolute(flags.store), preset=flags.preset, settings=absolute(flags.settings), tenant=flags.tenant
    )
    endpoint = endpoint_for(options)
    wire = connect(endpoint, timeout=_TIMEOUT)
    if wire is None:
        emit({"running": False, "log": endpoint.log_file}, ["not running"], as_json=flags.json)
        return
    try:
        wire.send({"op": "stop" if stop else "ping"})
        answer = wire.receive() or {}
    finally:
        wire.close()
    shown = "stopping" if stop else f"running, process {answer.get('pid')}"
    emit({"running": not stop, "pid": answer.get("pid"), "log": endpoint.log_file}, [shown], as_json=flags.json)
    say(f"Log: {endpoint.log_file}", as_json=flags.json)
