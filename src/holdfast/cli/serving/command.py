"""The ``serve`` command."""

import json
import sys
from dataclasses import dataclass

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, check_models, with_flags
from holdfast.errors import ExtraMissing

_PACKAGES = ("fastapi", "uvicorn", "starlette", "pydantic", "anyio", "python_multipart", "multipart")


@click.command(epilog="Example: holdfast serve --chat ollama:llama3.2")
@click.option("--host", metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1. Other machines need an access key.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port; 0 picks a free one. Default: 8321.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help="Number of server processes."
)
@click.option("--chat", metavar="MODEL", help="Chat model, such as ollama:llama3.2. Default: the chat setting.")
@click.option("--embedder", metavar="MODEL", help="Embedding model, or none. Default: the embedder setting.")
@with_flags(scope=False)
def serve(flags: Flags, *, host: str | None, port: int | None, workers: int, chat: str | None, embedder: str | None) -> None:
    """Serve this store over HTTP, with a dashboard.

    Without access keys, the server accepts requests from this machine only. To serve others: holdfast keys create --scope admin.
    Ctrl-C or SIGTERM stops the server after the current requests. Queued jobs stay queued for the next start.
    """
    try:
        from holdfast.cli.serving import processes  # noqa: PLC0415  (an extra, and heavy)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise ExtraMissing(
            'The server needs packages that are not installed. Install them with: pip install "holdfast-memory[server]"'
        ) from error
    requested = processes.ServePlan(
        store=flags.store,
        preset=flags.preset,
        settings=flags.settings,
        tenant=flags.tenant,
        chat=chat,
        embedder=embedder,
        debug=flags.debug,
    )
    settings = requested.load()
    check_models(flags, settings)
    plan = processes.with_host(requested, host or settings.serve_host)
    processes.check(plan)
    sock = processes.listen(plan.host, settings.serve_port if port is None else port)
    if sys.stderr.isatty():  # not in a log file
        say("Starting the server ...", as_json=flags.json)
    started = _Address(flags, plan.host, sock.getsockname()[1])
    with sock:
        if workers == 1:
            processes.serve_here(plan, sock, started)
        else:
            processes.serve_many(plan, sock, started, workers)


@dataclass(frozen=True, slots=True)
class _Address:
    """Prints the URL of the dashboard when the server has started."""

    flags: Flags
    host: str
    port: int

    def set(self) -> None:
        """Print the URL. The server calls this when it has started."""
        _announce(self.flags, self.host, self.port)


def _announce(flags: Flags, host: str, port: int) -> None:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    url = f"http://{shown}:{port}/"
    click.echo(json.dumps({"url": url}) if flags.json else f"Dashboard: {url}")
    say("Press Ctrl-C to stop.", as_json=flags.json)
