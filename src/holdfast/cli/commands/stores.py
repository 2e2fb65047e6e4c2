"""Commands on whole stores: copying one into another, of whichever kind."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, with_flags
from holdfast.cli.output import count, emit, plain, table
from holdfast.cli.progress import Progress
from holdfast.errors import SettingsError

if TYPE_CHECKING:
    from holdfast.config.settings import Settings
    from holdfast.stores.copying import CopyReport, Side

_key_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(epilog="Example: holdfast store copy memory.db postgresql://holdfast@db.example/holdfast")
def store() -> None:
    """Copy a whole store into another: SQLite, PostgreSQL, either way."""


@store.command("copy", epilog="Example: holdfast store copy memory.db postgresql://holdfast@db.example/holdfast")
@click.argument("source")
@click.argument("target")
@click.option(
    "--source-key-file", type=_key_file, help="The key of an encrypted SOURCE. Default: the setting key (HOLDFAST_KEY)."
)
@click.option(
    "--target-key-file", type=_key_file, help="The key of an encrypted TARGET. Default: the setting key (HOLDFAST_KEY)."
)
@with_flags(scope=False)
def copy(flags: Flags, source: str, target: str, *, source_key_file: Path | None, target_key_file: Path | None) -> None:
    """Copy every tenant's rows of SOURCE into TARGET, and compare both.

    Each is a file (a path, or sqlite:///PATH) or a database (postgresql://USER@HOST/DATABASE). TARGET must be new or empty.
    A copy that was interrupted goes on where it was when it is run again, and until it is finished TARGET cannot be opened.
    Run again after that, it compares and copies nothing. Exits with 1 when the two sides differ.

    SOURCE is copied as of the moment the command begins: stop the programs that write to it, or what they write later is not
    in the copy. A password is better kept in PGPASSWORD or ~/.pgpass than in the address.
    """
    from holdfast.config.settings import load_settings  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.stores.copying import copy_store  # noqa: PLC0415  (as above)

    settings = load_settings(flags.settings)
    bars = {step: Progress(step.capitalize(), quiet=flags.json) for step in ("copying", "comparing")}

    def show(step: str, table: str, done: int, total: int) -> None:
        if step == "comparing":
            bars["copying"].finish()
        bars[step](table, done, total)

    here = _open(settings, source, source_key_file, new=False)
    try:
        there = _open(settings, target, target_key_file, new=True)
        try:
            report = copy_store(here, there, progress=show)
        finally:
            for bar in bars.values():
                bar.finish()
            there.close()
    finally:
        here.close()
    _tell(report, flags)
    if report.wrong:
        click.get_current_context().exit(1)


def _open(settings: "Settings", place: str, key_file: Path | None, *, new: bool) -> "Side":
    """Open one end by its address."""
    from holdfast.config.stores import is_database, store_path  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.stores.copying import open_side  # noqa: PLC0415  (as above)

    named = replace(settings, store=place)
    if is_database(named):
        if key_file is not None:
            raise SettingsError("A key is for SQLite files; a PostgreSQL server encrypts its disks by itself.")
        return open_side(place, new=new)
    key = settings.key if key_file is None else key_file.read_text("utf-8").strip("\r\n")
    return open_side(store_path(named), key=key, new=new)


def _tell(report: "CopyReport", flags: Flags) -> None:
    rows = [("table", "rows", "copied", "digest of the source", "digest of the target", "")]
    rows += [
        (each.table, f"{each.rows:,}", f"{each.copied:,}", each.source[:16], each.target[:16], "same" if each.same else "DIFFERS")
        for each in report.tables
    ]
    rows.append(
        ("full text", f"{report.indexed:,}", "", "", "", "complete" if report.windows == report.indexed else "INCOMPLETE")
    )
    rate = f" ({report.copied / report.seconds:,.0f} a second)" if report.copied and report.seconds else ""
    done = f"{count(report.copied, 'row')} of {report.rows:,} copied in {report.seconds:.1f} s{rate}"
    if not report.copied:
        done = f"Nothing to copy: {report.target} is a copy of {report.source} already"
    emit({**plain(report), "ok": not report.wrong, "wrong": report.wrong}, [*table(rows), f"{done}."], as_json=flags.json)
    for each in report.wrong:
        say(f"error: {each}", as_json=flags.json)
