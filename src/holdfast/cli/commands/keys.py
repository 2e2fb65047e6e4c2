"""Commands on keys: who may use the server, and for whom."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from click.core import ParameterSource

from holdfast.access.keys import LEVELS, Gate
from holdfast.cli.console import say
from holdfast.cli.options import Flags, confirm, open_memory, with_flags, yes_option
from holdfast.cli.output import brief, count, day, emit, plain
from holdfast.services import services
from holdfast.types import KeyLevel, KeyRecord

_SPAN = re.compile(r"(\d{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_operator = click.option(
    "--operator", metavar="NAME", help="The tenant the server was started with. Default: the settings' tenant."
)


@contextmanager
def _gate(flags: Flags, operator: str | None) -> Iterator[Gate]:
    """Open the place where keys are kept: --tenant is what they open, not where they are."""
    with open_memory(replace(flags, tenant=operator)) as memory:
        yield Gate(services(memory).store, services(memory).clock)


def _moment(_context: click.Context, option: click.Parameter, value: str | None) -> str | datetime | None:
    """Read a moment, or how long from now: 30d, 12h."""
    span = _SPAN.fullmatch(value.strip()) if value else None
    if span is None:
        return value
    if not int(span[1]):
        raise click.BadParameter("A key that never works is of no use.", param=option)
    return datetime.now(UTC) + timedelta(**{_UNITS[span[2]]: int(span[1])})


@click.group(invoke_without_command=True, epilog="Example: holdfast keys create --scope write --user ana --label phone")
@_operator
@with_flags()
def keys(flags: Flags, *, operator: str | None) -> None:
    """Make, list and revoke the keys that open the server."""
    if click.get_current_context().invoked_subcommand is None:
        _print_keys(flags, operator)


@keys.command("create", epilog="Example: holdfast keys create --scope read --tenant acme --user ana --expires 30d")
@click.option("--scope", "level", required=True, type=click.Choice(LEVELS), help="What it may do; each includes the one before.")
@click.option("--label", metavar="TEXT", help="What it is for.")
@click.option("--expires", callback=_moment, metavar="WHEN", help="A date, or how long from now: 30d, 12h. Default: never.")
@_operator
@with_flags()
def create(flags: Flags, *, level: KeyLevel, label: str | None, expires: str | datetime | None, operator: str | None) -> None:
    """Make a key and print it, once.

    With --user, --app or --agent it is bound to them: it opens nothing of others. --tenant says whose rows it opens.
    From the first key on, the server lets nobody in without one, on this machine either.
    """
    _refuse_empty(flags)
    with _gate(flags, operator) as gate:
        first = not gate.keys_needed()
        record, secret = gate.create_key(level=level, label=label, tenant=flags.tenant, expires_at=expires, **flags.scope)
    emit({**_shown(record), "key": secret}, [secret], as_json=flags.json)
    say(f"{_line(record)}\nKeep it now: it cannot be shown again.", as_json=flags.json)
    if first:
        say("The server now needs a key on this machine too; `holdfast keys off` undoes that.", as_json=flags.json)


def _refuse_empty(flags: Flags) -> None:
    """Refuse a name that was given and is empty, as by a variable that is not set: the key would be bound to nobody."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        for name in ("tenant", "user", "app", "agent"):
            given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
            if given and not getattr(flags, name):
                raise click.UsageError(f"--{name} is empty.")
        context = context.parent


@keys.command("list", epilog="Example: holdfast keys list --tenant acme")
@_operator
@with_flags()
def list_keys(flags: Flags, *, operator: str | None) -> None:
    """List keys, oldest first, also those that no longer work."""
    _print_keys(flags, operator)


def _print_keys(flags: Flags, operator: str | None) -> None:
    wanted = {name: value for name, value in (("tenant", flags.tenant), *flags.scope.items()) if value is not None}
    with _gate(flags, operator) as gate:
        found = [record for record in gate.list_keys() if all(getattr(record, name) == value for name, value in wanted.items())]
        if not found:
            needed = "The server needs one all the same." if gate.keys_needed() else "The server is for this machine alone."
            say(f"No keys. {needed}", as_json=flags.json)
    emit([_shown(record) for record in found], [_line(record) for record in found], as_json=flags.json)


@keys.command("revoke", epilog="Example: holdfast keys revoke 3f8kq2m9x7c1v5b0")
@click.argument("id")
@_operator
@with_flags(scope=False)
def revoke(flags: Flags, *, id: str, operator: str | None) -> None:
    """Make a key worthless, at once and everywhere."""
    with _gate(flags, operator) as gate:
        record = gate.revoke(id)
    emit(_shown(record), [_line(record)], as_json=flags.json)


@keys.command("off", epilog="Example: holdfast keys off --yes")
@yes_option
@_operator
@with_flags(scope=False)
def off(flags: Flags, *, yes: bool, operator: str | None) -> None:
    """Revoke every key, and let this machine in without one again."""
    confirm("Revoke every key, and let anyone on this machine use the server?", yes=yes)
    with _gate(flags, operator) as gate:
        revoked = gate.disable_keys()
    emit({"revoked": revoked}, [f"Revoked {count(revoked, 'key')}. The server needs none on this machine."], as_json=flags.json)


def _shown(record: KeyRecord) -> dict[str, Any]:
    """Return what is told of a key: never its hash."""
    told = plain(replace(record, hash=b""))
    told["scope"] = told.pop("level")
    return {name: value for name, value in told.items() if name != "hash"}


def _line(record: KeyRecord) -> str:
    bound = [f"{part} {brief(name)}" for part in ("user", "app", "agent") if (name := getattr(record, part))]
    state = "works"
    if record.revoked_at is not None:
        state = f"revoked {day(record.revoked_at)}"
    elif record.expires_at is not None:
        state = f"{'works until' if record.works(datetime.now(UTC)) else 'expired'} {day(record.expires_at)}"
    used = f"used {day(record.last_used_at)}" if record.last_used_at else "never used"
    label = [brief(record.label)] if record.label else []
    return "  ".join([record.id, f"{record.level:5}", f"tenant {brief(record.tenant)}", *bound, state, used, *label])
