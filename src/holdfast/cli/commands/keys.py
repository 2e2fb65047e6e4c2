"""The ``keys`` commands: create, list and revoke access keys."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from click.core import ParameterSource

from holdfast.access.keys import LEVELS, Gate, Principal
from holdfast.cli.console import say
from holdfast.cli.options import Flags, confirm, open_memory, with_flags, yes_option
from holdfast.cli.output import brief, count, day, emit, plain
from holdfast.services import services
from holdfast.types import KeyLevel, KeyRecord

_SPAN = re.compile(r"(\d{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_operator = click.option("--operator", metavar="NAME", help="Tenant the server was started with. Default: the tenant setting.")


@contextmanager
def _gate(flags: Flags, operator: str | None) -> Iterator[Gate]:
    """Open the registry of access keys, which is stored in the tenant ``operator``.

    The option ``--tenant`` is not used here. It names the tenant that a new key opens.
    """
    with open_memory(replace(flags, tenant=operator)) as memory:
        yield Gate(services(memory).store, services(memory).clock)


def _moment(_context: click.Context, option: click.Parameter, value: str | None) -> str | datetime | None:
    """Parse an expiry time: a date, or a duration from now such as 30d or 12h."""
    span = _SPAN.fullmatch(value.strip()) if value else None
    if span is None:
        return value
    if not int(span[1]):
        raise click.BadParameter("The key would expire at once. Give a longer span, such as 30d.", param=option)
    return datetime.now(UTC) + timedelta(**{_UNITS[span[2]]: int(span[1])})


@click.group(invoke_without_command=True, epilog="Example: holdfast keys create --scope write --user ana --label phone")
@_operator
@with_flags(all_users=True)
def keys(flags: Flags, *, operator: str | None) -> None:
    """Create, list and revoke access keys for the server."""
    if click.get_current_context().invoked_subcommand is None:
        _print_keys(flags, operator)


@keys.command("create", epilog="Example: holdfast keys create --scope read --tenant acme --user ana --expires 30d")
@click.option(
    "--scope", "level", required=True, type=click.Choice(LEVELS), help="Level of access. Each level includes the one before."
)
@click.option("--label", metavar="TEXT", help="Description of the key.")
@click.option("--expires", callback=_moment, metavar="WHEN", help="Date, or time from now, such as 30d or 12h. Default: never.")
@_operator
@with_flags(all_users=True)
def create(flags: Flags, *, level: KeyLevel, label: str | None, expires: str | datetime | None, operator: str | None) -> None:
    """Create an access key and print it, once.

    With --user, --app or --agent, the key is bound to that user, app or agent and opens no other data. --tenant is the
    tenant that the key opens. After the first key is created, the server requires a key for every request, even from
    this machine. Therefore the first key must be an admin key.
    """
    _refuse_empty(flags)
    with _gate(flags, operator) as gate:
        first = not gate.keys_needed()
        local = Principal.local(gate.tenant)
        record, secret = gate.create_key(
            level=level, label=label, tenant=flags.tenant, expires_at=expires, by=local, **flags.scope
        )
    emit({**_shown(record), "key": secret}, [secret], as_json=flags.json)
    say(f"{_line(record)}\nSave the key now: it cannot be shown again.", as_json=flags.json)
    if first:
        say("The server now requires a key, also from this machine. To turn that off: holdfast keys off", as_json=flags.json)


def _refuse_empty(flags: Flags) -> None:
    """Reject an empty ``--tenant``, ``--user``, ``--app`` or ``--agent``, for example from an unset shell variable.

    With an empty name, the key would not be bound and would open all data.
    """
    context: click.Context | None = click.get_current_context()
    while context is not None:
        for name in ("tenant", "user", "app", "agent"):
            given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
            if given and not getattr(flags, name):
                raise click.UsageError(f"--{name} is empty. Give a name, or leave the option out.")
        context = context.parent


@keys.command("list", epilog="Example: holdfast keys list --tenant acme")
@_operator
@with_flags(all_users=True)
def list_keys(flags: Flags, *, operator: str | None) -> None:
    """List access keys, oldest first.

    Revoked and expired keys are listed, too.
    """
    _print_keys(flags, operator)


def _print_keys(flags: Flags, operator: str | None) -> None:
    filters = {name: value for name, value in (("tenant", flags.tenant), *flags.scope.items()) if value is not None}
    with _gate(flags, operator) as gate:
        found = [record for record in gate.list_keys() if all(getattr(record, name) == value for name, value in filters.items())]
        if not found:
            access = (
                "The server still requires one." if gate.keys_needed() else "The server accepts only requests from this machine."
            )
            say(f"No keys. {access}", as_json=flags.json)
    emit([_shown(record) for record in found], [_line(record) for record in found], as_json=flags.json)


@keys.command("revoke", epilog="Example: holdfast keys revoke 3f8kq2m9x7c1v5b0")
@click.argument("id")
@_operator
@with_flags(scope=False)
def revoke(flags: Flags, *, id: str, operator: str | None) -> None:
    """Revoke an access key. It stops working at once."""
    with _gate(flags, operator) as gate:
        record = gate.revoke(id)
    emit(_shown(record), [_line(record)], as_json=flags.json)


@keys.command("off", epilog="Example: holdfast keys off --yes")
@yes_option
@_operator
@with_flags(scope=False)
def off(flags: Flags, *, yes: bool, operator: str | None) -> None:
    """Revoke all keys. Requests from this machine then need no key."""
    confirm("Revoke all keys, so that anyone on this machine can use the server?", yes=yes)
    with _gate(flags, operator) as gate:
        revoked = gate.disable_keys()
    emit(
        {"revoked": revoked},
        [f"Revoked {count(revoked, 'key')}. The server requires none from this machine."],
        as_json=flags.json,
    )


def _shown(record: KeyRecord) -> dict[str, Any]:
    """Return the fields of a key to print, without its hash."""
    shown = plain(replace(record, hash=b""))
    shown["scope"] = shown.pop("level")
    return {name: value for name, value in shown.items() if name != "hash"}


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
