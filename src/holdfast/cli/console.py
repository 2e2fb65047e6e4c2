"""The way out to people: streams that never choke, errors and notes on stderr. Light, as even help needs it."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import click

from holdfast.cli.wrapping import fit


def say(message: str, *, as_json: bool = False) -> None:
    """Tell a person something beside the result, on stderr; programs get silence."""
    if not as_json:
        click.echo(fit(message, sys.stderr), err=True)


def note(message: str, *, as_json: bool = False) -> None:
    """Print a warning on stderr; programs get it as a line of JSON."""
    shown = json.dumps({"note": message}, ensure_ascii=False) if as_json else fit(f"note: {message}", sys.stderr)
    click.echo(shown, err=True)


def one_error(code: str, message: str) -> Mapping[str, Mapping[str, str]]:
    """Return an error as programs get it."""
    return {"error": {"code": code, "message": message}}


def fail(error: Mapping[str, Mapping[str, str]], *, as_json: bool, before: str | None = None) -> None:
    """Print an error on stderr."""
    if as_json:
        click.echo(json.dumps(error, ensure_ascii=False), err=True)
        return
    if before:
        click.echo(before, err=True)
    click.echo(fit(f"error: {error['error']['message']}", sys.stderr), err=True)


_HINTS = "holdfast.hints"
"""The logger of hints for programmers, which name arguments of the Python API."""


@contextmanager
def notes(*, as_json: bool, quiet: bool = False, traces: bool = False) -> Iterator[None]:
    """Show the engine's warnings on stderr while this lasts, each once."""
    import logging  # noqa: PLC0415  (not needed for help)

    class Notes(logging.Handler):
        """Prints a record as a note."""

        said: frozenset[str] = frozenset()

        def emit(self, record: logging.LogRecord) -> None:
            """Print it, unless it was said before."""
            message = record.getMessage()
            if quiet or message in self.said or record.name == _HINTS:
                return
            self.said |= {message}
            if traces and record.exc_info:
                message = self.format(record)
            note(message, as_json=as_json)

    logger, handler = logging.getLogger("holdfast"), Notes(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def prepare_streams() -> None:
    """Make sure that no letter a console cannot show stops a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure(stream, errors="replace")


def reconfigure(stream: TextIO, **how: str) -> None:
    """Change how a stream writes, where it can be changed."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(**how)
