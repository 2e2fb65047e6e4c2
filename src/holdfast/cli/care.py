"""Commands that look after the store: backup, doctor, stats."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import Flags, open_memory, with_flags
from holdfast.cli.output import emit, table
from holdfast.services import services


@click.command(epilog="Example: holdfast backup memory-2026-03-01.db")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@with_flags(scope=False)
def backup(flags: Flags, file: Path) -> None:
    """Write a consistent copy of the store.

    FILE must be new. It holds nothing that was erased; programs may go on using the store meanwhile.
    """
    with open_memory(flags) as memory:
        target = memory.backup(file)
    size = target.stat().st_size
    emit({"path": target, "bytes": size}, [f"{target}  {size / 1e6:.1f} MB"], as_json=flags.json)


@click.command(epilog="Example: holdfast doctor --json")
@click.option("--quick", is_flag=True, help="Leave out the check of every row's hash.")
@click.option("--rebuild-index", is_flag=True, help="First build the index of vectors anew, if it is kept outside the store.")
@with_flags(scope=False)
def doctor(flags: Flags, *, quick: bool, rebuild_index: bool) -> None:
    """Check the store, the embedder and the queue.

    Exits with 1 when something is wrong, and says what to do about it.
    """
    if rebuild_index:
        _rebuild_index(flags)
    with open_memory(flags, quiet=True) as memory:
        findings = memory.doctor(deep=not quick)
        location = services(memory).store.location
    rows = [("ok" if each.ok else "FAIL", each.check, each.detail) for each in findings]
    lines = [f"store: {location}", *table(rows)]
    lines += [f"  -> {each.check}: {each.remedy}" for each in findings if each.remedy and not each.ok]
    emit(findings, lines, as_json=flags.json)
    if not all(each.ok for each in findings):
        click.get_current_context().exit(1)


def _rebuild_index(flags: Flags) -> None:
    from holdfast.config.settings import load_settings  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for help)

    store = make_store(load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant))
    try:
        store.rebuild_index()
    finally:
        store.close()


@click.command(epilog="Example: holdfast stats --json")
@with_flags(scope=False)
def stats(flags: Flags) -> None:
    """Count what is stored."""
    with open_memory(flags) as memory:
        found = memory.stats().to_dict()
        location = services(memory).store.location
    rows = [("store", location), *((name.replace("_", " "), _cell(name, value)) for name, value in found.items())]
    emit({"store": location, **found}, table(rows), as_json=flags.json)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{part} {number:,}" for part, number in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return f"{value / 1e6:.1f} MB" if name == "bytes" else f"{value:,}"
