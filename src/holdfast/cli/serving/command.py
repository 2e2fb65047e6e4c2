"""The command that serves a memory over HTTP: serve."""

import json
import sys
from dataclasses import dataclass

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, check_models, with_flags
from holdfast.errors import ExtraMissing

_PACKAGES = ("fastapi", "uvicorn", "starlette", "pydantic", "anyio", "python_multipart", "multipart")


@click.command(epilog="Example: holdfast serve --chat ollama:llama3.2   then open http://127.0.0.1:8321/")
@click.option("--host", metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1; any other machine needs a key.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="The port; 0 takes a free one. Default: 8321.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help="Processes on one store.")
@click.option("--chat", metavar="MODEL", help="The chat model, such as ollama:llama3.2. Default: the settings'.")
@click.option("--embedder", metavar="MODEL", help="The embedding model, or none. Default: the settings'.")
@with_flags(scope=False)
def serve(flags: Flags, *, host: str | None, port: int | None, workers: int, chat: str | None, embedder: str | None) -> None:
    """Serve this memory over HTTP, with a dashboard.

    On this machine alone it needs no key. To serve others, make keys first: holdfast keys create --scope admin. Ctrl-C or a
    SIGTERM ends it: requests under way are finished, and queued work stays queued for the next start.
    """
    try:
        from holdfast.cli.serving import processes  # noqa: PLC0415  (an extra, and heavy)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise ExtraMissing('The server needs packages that are not installed: pip install "holdfast[server]"') from error
    asked = processes.ServePlan(
        store=flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, chat=chat, embedder=embedder,
        debug=flags.debug,
    )  # fmt: skip
    settings = asked.load()
    check_models(flags, settings)
    plan = processes.at(asked, host or settings.serve_host)
    processes.check(plan)
    sock = processes.listen(plan.host, settings.serve_port if port is None else port)
    if sys.stderr.isatty():  # a log has its own lines
        say("Starting the server ...", as_json=flags.json)
    started = _Address(flags, plan.host, sock.getsockname()[1])
    with sock:
        if workers == 1:
            processes.serve_here(plan, sock, started)
        else:
            processes.serve_many(plan, sock, started, workers)


@dataclass(frozen=True, slots=True)
class _Address:
    """Prints where the dashboard is, once the server answers."""

    flags: Flags
    host: str
    port: int

    def set(self) -> None:
        """Print it."""
        _announce(self.flags, self.host, self.port)


def _announce(flags: Flags, host: str, port: int) -> None:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    url = f"http://{shown}:{port}/"
    click.echo(json.dumps({"url": url}) if flags.json else f"Dashboard: {url}")
    say("Ctrl-C ends it.", as_json=flags.json)
