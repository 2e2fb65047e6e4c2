"""The ``export`` command: write stored data to a file."""

import sys
from pathlib import Path
from typing import Any

import click

from holdfast.cli.console import say
from holdfast.cli.hints import check_user
from holdfast.cli.options import Flags, open_memory, with_flags
from holdfast.cli.output import count, emit
from holdfast.cli.progress import Progress

_FORMATS = ("jsonl", "markdown", "pam")
_NOUNS = {
    "users": "user",
    "apps": "app",
    "messages": "message",
    "sessions": "session",
    "memories": "memory",
    "jobs": "job",
    "traces": "trace",
}


@click.command(epilog="Example: holdfast export ana.jsonl --user ana")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    help="jsonl can be imported without loss; markdown is for reading; pam is Portable AI Memory. Default: by the file's extension.",
)
@click.option("--session", metavar="ID", help="Export one session, with everything derived from it.")
@click.option("--replace", is_flag=True, help="Replace FILE if it exists.")
@with_flags(all_users=True)
def export(flags: Flags, file: Path, *, format: str | None, session: str | None, replace: bool) -> None:
    """Write memories and conversations to a file.

    Without options, all data of the tenant is exported. With --user, --app or --agent, all data of that user, app or
    agent is exported: everything that `holdfast erase` would remove with the same options. FILE is `-` for standard
    output. Only you can read the file. The file appears when the export is complete. Its folder must exist.
    """
    chosen: Any = format
    shown = Progress("exporting", quiet=flags.json)
    to_stdout = str(file) == "-"
    with open_memory(flags) as memory:
        if not memory.traces(user=flags.user, limit=1):
            check_user(memory, flags.user, outcome="Nothing was exported.")
        result = memory.export(
            sys.stdout.buffer if to_stdout else file,
            session=session,
            format=chosen,
            replace=replace,
            progress=lambda name, done: shown(name, done, 0),
            **flags.scope,
        )
    shown.finish()
    total = ", ".join(count(number, _NOUNS[name]) for name, number in result.counts.items() if number)
    line = f"Exported {total or 'nothing: no data was found'}."
    if to_stdout:
        say(line, as_json=flags.json)
        return
    emit(result, [f"{line[:-1]} to {file} ({result.format}, {result.bytes:,} bytes)."], as_json=flags.json)
