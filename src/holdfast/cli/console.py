"""Prints messages, warnings and errors on stderr. It imports little, because ``--help`` also uses it."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import click

from holdfast.cli.wrapping import fit


def say(message: str, *, as_json: bool = False) -> None:
    """Print a message on stderr, so that stdout contains only the result. In JSON mode, print nothing."""
    if not as_json:
        click.echo(fit(message, sys.stderr), err=True)


def note(message: str, *, as_json: bool = False) -> None:
    """Print a warning on stderr. In JSON mode, the warning is one line of JSON."""
    shown = json.dumps({"note": message}, ensure_ascii=False) if as_json else fit(f"note: {message}", sys.stderr)
    click.echo(shown, err=True)


def one_error(code: str, message: str) -> Mapping[str, Mapping[str, str]]:
    """Return an error in the structure of the JSON output."""
    return {"error": {"code": code, "message": message}}


def fail(error: Mapping[str, Mapping[str, str]], *, as_json: bool, before: str | None = None, after: str | None = None) -> None:
    """Print an error on stderr. ``before`` and ``after`` are lines to print around it, such as the usage line and an example."""
    if as_json:
        click.echo(json.dumps(error, ensure_ascii=False), err=True)
        return
    if before:
        click.echo(before, err=True)
    click.echo(fit(f"error: {error['error']['message']}", sys.stderr), err=True)
    if after:
        click.echo(fit(after, sys.stderr), err=True)


_HINTS = "holdfast.hints"
"""Name of the logger for hints to programmers. The hints mention arguments of the Python API, so the command line drops them."""


@contextmanager
def notes(*, as_json: bool, quiet: bool = False, traces: bool = False) -> Iterator[None]:
    """Print the warnings that the engine logs inside the ``with`` block. They go to stderr, each text only once.

    With ``quiet``, print nothing. With ``traces``, also print the traceback of a logged error.
    """
    import logging  # noqa: PLC0415  (not needed for --help)

    class Notes(logging.Handler):
        """A log handler that prints warnings on stderr."""

        printed: frozenset[str] = frozenset()

        def emit(self, record: logging.LogRecord) -> None:
            """Print a record, unless the same text was printed before."""
            message = record.getMessage()
            if quiet or message in self.printed or record.name == _HINTS:
                return
            self.printed |= {message}
            if traces and record.exc_info:
                message = self.format(record)
            note(message, as_json=as_json)

    logger, handler = logging.getLogger("holdfast"), Notes(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def show_notices(notices: Iterable[str]) -> None:
    """Print the notices of a recall, such as a failed embedder, as warnings on stderr.

    Inside a ``with notes(...)`` block, each text is printed only once.
    """
    import logging  # noqa: PLC0415  (not needed for --help)

    for notice in notices:
        logging.getLogger("holdfast").warning("%s", notice)


def prepare_streams() -> None:
    """Make stdout and stderr replace characters that the console cannot encode, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure(stream, errors="replace")


def reconfigure(stream: TextIO, **how: str) -> None:
    """Change settings of a text stream, such as its encoding. Does nothing if the stream does not support that."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(**how)
