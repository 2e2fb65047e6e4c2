"""The ``apps`` commands: list, install, uninstall and purge apps, and show their metrics."""

from typing import Any, Literal, get_args

import click

from holdfast.apps import EVERY_APP, AppEntry, AppMetrics, Point
from holdfast.cli.console import say
from holdfast.cli.options import Flags, confirm, digest_waiting, limit_option, open_memory, with_flags, yes_option
from holdfast.cli.output import brief, count, day, emit, memory_line, plain

_uninstalled = click.option("--uninstalled", is_flag=True, help="Include uninstalled apps.")


def _print_apps(flags: Flags, *, uninstalled: bool) -> None:
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.apps.list(uninstalled=uninstalled)
    emit(found, [_line(entry) for entry in found], as_json=flags.json)
    if not found:
        say("No apps.", as_json=flags.json)


def _line(entry: AppEntry) -> str:
    state = "installed" if entry.installed else "uninstalled" if entry.uninstalled_at else "not installed"
    since = day(entry.uninstalled_at or entry.installed_at)
    name = "" if entry.name == entry.app else f"  {brief(entry.name)}"
    shared = ""
    if entry.shares_with:
        shared = "  shares with " + ("all apps" if EVERY_APP in entry.shares_with else ", ".join(map(brief, entry.shares_with)))
    return f"{brief(entry.app)}{name}  {state}  {since}  {count(entry.memory_count, 'memory')}{shared}"


@click.group(invoke_without_command=True, epilog='Example: holdfast apps install calendar --name "My calendar"')
@_uninstalled
@with_flags(scope=False)
def apps(flags: Flags, *, uninstalled: bool) -> None:
    """List, install and uninstall apps; show their metrics."""
    if click.get_current_context().invoked_subcommand is None:
        _print_apps(flags, uninstalled=uninstalled)


@apps.command("list", epilog="Example: holdfast apps list --uninstalled")
@_uninstalled
@with_flags(scope=False)
def list_apps(flags: Flags, *, uninstalled: bool) -> None:
    """List installed apps, and apps that have memories but were never installed."""
    _print_apps(flags, uninstalled=uninstalled)


@apps.command("show", epilog="Example: holdfast apps show calendar")
@click.argument("name", metavar="APP")
@limit_option(100)
@with_flags(scope=False)
def show_app(flags: Flags, name: str, limit: int) -> None:
    """Show an app and its memories, across all users."""
    with open_memory(flags) as memory:
        digest_waiting(memory)
        entry, found = memory.apps.get(name), memory.apps.memories(name, limit=limit)
    emit({**plain(entry), "memories": found}, [_line(entry), *(memory_line(each) for each in found)], as_json=flags.json)


@apps.command("install", epilog="Example: holdfast apps install calendar --share-with mail --share-with tasks")
@click.argument("name", metavar="APP")
@click.option("--name", "title", metavar="TEXT", help="Display name.")
@click.option("--share-with", "named", multiple=True, metavar="APP", help="App that may read its memories. Repeatable.")
@click.option("--share-with-all", "everyone", is_flag=True, help="Let every app read its memories.")
@click.option("--share-with-none", "nobody", is_flag=True, help="Stop sharing.")
@with_flags(scope=False)
def install(flags: Flags, *, name: str, title: str | None, named: tuple[str, ...], everyone: bool, nobody: bool) -> None:
    """Install an app, or update its name and sharing.

    Only registers the app in this store. An app's memories are private unless it shares them. You can withdraw a share at any
    time with --share-with-none.
    """
    if bool(named) + everyone + nobody > 1:
        raise click.UsageError("Give only one of --share-with, --share-with-all and --share-with-none.")
    shares: tuple[str, ...] | Literal["all"] | None = "all" if everyone else () if nobody else named or None
    with open_memory(flags) as memory:
        entry = memory.apps.install(name, name=title, shares_with=shares)
    emit(entry, [_line(entry)], as_json=flags.json)


@apps.command("uninstall", epilog="Example: holdfast apps uninstall calendar --purge")
@click.argument("name", metavar="APP")
@click.option("--purge", is_flag=True, help="Also remove its memories for good.")
@click.option("--everything", is_flag=True, help="Also remove its memories, its sessions and its entry in the list, for good.")
@yes_option
@with_flags(scope=False)
def uninstall(flags: Flags, *, name: str, purge: bool, everything: bool, yes: bool) -> None:
    """Mark an app as uninstalled.

    Its memories stay unless you add --purge or --everything.
    """
    if purge or everything:
        confirm(f"Remove {'everything' if everything else 'all memories'} of the app {name!r} for good?", yes=yes)
    with open_memory(flags) as memory:
        had = memory.apps.get(name).memory_count
        purged = memory.apps.uninstall(name, purge_memories=purge, everything=everything)
    kept = had - purged
    emit(
        {"app": name, "purged": purged, "kept": kept},
        [f"Uninstalled {brief(name)}: {count(purged, 'memory')} removed, {count(kept, 'memory')} kept."],
        as_json=flags.json,
    )


@apps.command("purge", epilog="Example: holdfast apps purge calendar --yes")
@click.argument("name", metavar="APP")
@yes_option
@with_flags(scope=False)
def purge(flags: Flags, *, name: str, yes: bool) -> None:
    """Remove all memories of an app for good.

    Its sessions stay stored, but their existing messages are no longer recalled, and nothing is learned from them. To
    remove the sessions as well, use `holdfast erase --app`.
    """
    confirm(f"Remove all memories of the app {name!r} for good?", yes=yes)
    with open_memory(flags) as memory:
        purged = memory.apps.purge(name)
    emit({"app": name, "purged": purged}, [f"Removed {count(purged, 'memory')} of {brief(name)}."], as_json=flags.json)


@apps.command("context", epilog="Example: holdfast apps context calendar --point unanswered --session ses_01k...")
@click.argument("name", metavar="APP")
@click.option("--point", type=click.Choice(get_args(Point)), default="selection", show_default=True, help="Purpose of the block.")
@click.option("--session", "conversation", metavar="ID", help="Session that the block is for.")
@with_flags(default_user=True)
def app_context(flags: Flags, *, name: str, point: Point, conversation: str | None) -> None:
    """Print the context block of an app."""
    with open_memory(flags) as memory:
        digest_waiting(memory)
        block = memory.apps.context(name, point, conversation, flags.user)
    shown = {"app": name, "text": block.text, "tokens": block.tokens, "memories": [hit.id for hit in block.hits]}
    emit(shown, [block.text] if block.text else [], as_json=flags.json)
    if not block.text:
        say("No memories.", as_json=flags.json)


@apps.command("compactions", epilog="Example: holdfast apps compactions calendar")
@click.argument("name", metavar="APP")
@limit_option(20)
@with_flags(scope=False)
def app_compactions(flags: Flags, name: str, limit: int) -> None:
    """List the memories that were removed because the app had more memories than its cap.

    To restore a memory, run `holdfast undo BATCH`.
    """
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.apps.compactions(name, limit=limit)
    lines = [
        f"{each.at:%Y-%m-%d}  {each.batch}  {f'merged into {each.merged_into}' if each.merged_into else 'dropped'}  "
        f"{brief(each.text)}  ({brief(each.reason)})"
        for each in found
    ]
    emit(list(found), lines, as_json=flags.json)
    if not found:
        say("Nothing was removed.", as_json=flags.json)


@apps.command("energy", epilog="Example: holdfast apps energy --level 0.8 --used 120")
@click.option("--level", type=click.FloatRange(0, 1), help="Charge of the battery, 0 to 1. Below 0.2, background work waits.")
@click.option("--used", type=click.FloatRange(min=0), help="Energy units that the host has used since its last report.")
@with_flags(scope=False)
def energy(flags: Flags, *, level: float | None, used: float | None) -> None:
    """Report the host's battery level or energy use to Holdfast.

    Prints the battery level, and the energy that memory work has used in the last 24 hours.
    """
    with open_memory(flags) as memory:
        if level is not None:
            memory.apps.report_energy_level(level)
        if used is not None:
            memory.apps.report_energy(used)
        measured = memory.apps.metrics()
        now = memory.apps.energy_level()
    share = "unknown" if measured.energy_share is None else f"{measured.energy_share:.1%}"
    emit(
        {"level": now, "energy": measured.energy, "energy_share": measured.energy_share},
        [f"battery {now:.0%}, memory work {measured.energy:.1f} units in 24 hours, share of the host's total: {share}"],
        as_json=flags.json,
    )


@apps.command("metrics", epilog="Example: holdfast apps metrics --since 2026-03-01")
@click.option("--since", metavar="DATE", help="Start of the period, such as 2026-03-01. Default: 24 hours ago.")
@with_flags(scope=False)
def metrics(flags: Flags, **options: Any) -> None:
    """Show metrics: memories, compactions, sessions, energy."""
    with open_memory(flags) as memory:
        measured = memory.apps.metrics(**options)
    emit(measured, _metric_lines(measured), as_json=flags.json)


def _metric_lines(measured: AppMetrics) -> list[str]:
    sessions = f"{measured.conversations_with_memories:,} of {measured.conversations:,}"
    share = "unknown" if measured.energy_share is None else f"{measured.energy_share:.1%}"
    return [
        f"{measured.since:%Y-%m-%d %H:%M} to {measured.until:%Y-%m-%d %H:%M} UTC",
        f"memories created           {measured.creations:,} ({measured.creations_per_hour:.2f} per hour)",
        f"compactions                {measured.compactions:,} ({measured.compactions_per_app_per_day:.2f} per app and day)",
        f"apps with memories         {measured.apps_with_memories:,} of {measured.apps:,} ({measured.share_of_apps_with_memories:.0%})",
        f"sessions with memories     {sessions} ({measured.share_of_conversations_with_memories:.0%})",
        f"energy used                {measured.energy:.1f} units, share of the host's total: {share}",
    ]
