"""The ``store`` command: copy a whole store to another store."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, settings_option, with_flags
from holdfast.cli.output import count, emit, plain, table
from holdfast.cli.progress import Progress
from holdfast.errors import SettingsError

if TYPE_CHECKING:
    from holdfast.config.settings import Settings
    from holdfast.stores.copying import CopyReport, Side

_key_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(epilog="Example: holdfast store copy memory.db postgresql://holdfast@db.example/holdfast")
def store() -> None:
    """Copy a whole store to another store, in SQLite or PostgreSQL."""


@store.command("copy", epilog="Example: holdfast store copy memory.db postgresql://holdfast@db.example/holdfast")
@click.argument("source")
@click.argument("target")
@click.option(
    "--source-key-file", type=_key_file, help="File with the key of an encrypted SOURCE. Default: the key setting (HOLDFAST_KEY)."
)
@click.option(
    "--target-key-file", type=_key_file, help="File with the key of an encrypted TARGET. Default: the key setting (HOLDFAST_KEY)."
)
@settings_option
@with_flags(scope=False, store=False)
def copy(flags: Flags, source: str, target: str, *, source_key_file: Path | None, target_key_file: Path | None) -> None:
    """Copy all tenants from SOURCE to TARGET, then compare both.

    Each side is a file (a path, or sqlite:///PATH) or a database (postgresql://USER@HOST/DATABASE). TARGET must be new
    or empty. If a copy was interrupted, run the command again: it continues where it stopped. TARGET cannot be opened
    until the copy is complete. If the copy is already complete, the command only compares. Exits with 1 if the two
    sides differ.

    The copy contains the state of SOURCE when the command starts. First stop the programs that write to SOURCE.
    Otherwise their later writes are missing from the copy. Keep passwords in PGPASSWORD or ~/.pgpass rather than in the
    address.
    """
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.stores.copying import copy_store  # noqa: PLC0415  (as above)

    settings = load_settings(flags.settings)
    bars = {step: Progress(step.capitalize(), quiet=flags.json) for step in ("copying", "comparing")}

    def show(step: str, table: str, done: int, total: int) -> None:
        if step == "comparing":
            bars["copying"].finish()
        bars[step](table, done, total)

    source_side = _open(settings, source, source_key_file, new=False)
    try:
        target_side = _open(settings, target, target_key_file, new=True)
        try:
            report = copy_store(source_side, target_side, progress=show)
        finally:
            for bar in bars.values():
                bar.finish()
            target_side.close()
    finally:
        source_side.close()
    _note_copy(settings, source, target)
    _print_report(report, flags)
    if report.wrong:
        click.get_current_context().exit(1)


def _open(settings: "Settings", place: str, key_file: Path | None, *, new: bool) -> "Side":
    """Open the source or the target of a copy: a SQLite file or a PostgreSQL database.

    ``place`` is the path or URL of the store. ``key_file`` contains the key of an encrypted SQLite file; without it,
    the key in the settings is used. ``new`` is True for the target.
    """
    from holdfast.config.stores import is_database, store_path  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.stores.copying import open_side  # noqa: PLC0415  (as above)

    named = replace(settings, store=place)
    if is_database(named):
        if key_file is not None:
            raise SettingsError(
                "A key file applies to SQLite files only. Encrypt a PostgreSQL database on its server. Nothing was copied."
            )
        return open_side(place, new=new)
    key = settings.key if key_file is None else key_file.read_text("utf-8").strip("\r\n")
    return open_side(store_path(named), key=key, new=new)


def _note_copy(settings: "Settings", source: str, target: str) -> None:
    """If both sides are files, record where the copy is, so that later erasures from the source are also made in the copy."""
    from holdfast.config.stores import is_database, store_path  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.forgetting.records import Registry  # noqa: PLC0415  (as above)

    sides = [replace(settings, store=place) for place in (source, target)]
    if not any(is_database(side) for side in sides):
        Registry(str(store_path(sides[0]))).add_copy(store_path(sides[1]))


def _print_report(report: "CopyReport", flags: Flags) -> None:
    rows = [("table", "rows", "copied", "digest of the source", "digest of the target", "")]
    rows += [
        (each.table, f"{each.rows:,}", f"{each.copied:,}", each.source[:16], each.target[:16], "same" if each.same else "DIFFERS")
        for each in report.tables
    ]
    rows.append(
        ("full text", f"{report.indexed:,}", "", "", "", "complete" if report.windows == report.indexed else "INCOMPLETE")
    )
    rate = f" ({report.copied / report.seconds:,.0f} per second)" if report.copied and report.seconds else ""
    done = f"{count(report.copied, 'row')} of {report.rows:,} copied in {report.seconds:.1f} s{rate}"
    if not report.copied:
        done = f"Nothing to copy: {report.target} is already a copy of {report.source}"
    emit({**plain(report), "ok": not report.wrong, "wrong": report.wrong}, [*table(rows), f"{done}."], as_json=flags.json)
    for each in report.wrong:
        say(f"error: {each}", as_json=flags.json)
