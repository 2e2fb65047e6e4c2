"""The commands ``forget``, ``undo``, ``erase``, ``receipts`` and ``scrub``."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from holdfast.cli.console import say
from holdfast.cli.hints import unknown_user
from holdfast.cli.options import Flags, confirm, open_memory, with_flags, with_user, yes_option
from holdfast.cli.output import count, emit, memory_line, table
from holdfast.errors import NotFound
from holdfast.text.clean import clean_name
from holdfast.types import Memory, Receipt

if TYPE_CHECKING:
    from holdfast.engine import Engine


@click.command(epilog="Example: holdfast forget --key drink --user ana")
@click.argument("id", required=False)
@click.option("--key", help="Forget all memories of the user with this key.")
@click.option("--kind", help="With --key: only memories of this kind.")
@click.option("--reason", default="asked to forget", show_default=True, help="Reason, for the history.")
@yes_option
@with_flags()
def forget(flags: Flags, *, id: str | None, key: str | None, kind: str | None, reason: str, yes: bool) -> None:
    """Hide memories. You can undo it later.

    Give the ID of a memory, or --key. Forgotten memories are no longer recalled. They are removed when the undo window
    has passed, after 30 days by default. To remove data for good now, use `holdfast erase`.
    """
    if (id is None) == (key is None):
        raise click.UsageError("Give the ID of a memory, or --key.")
    flags = flags if id is not None else with_user(flags)
    with open_memory(flags) as memory:
        if id is not None:
            ids = [id]
            forgotten = memory.forget(id, reason=reason)
            if not forgotten:
                raise NotFound(f"There is no live memory {id}. Nothing was forgotten.")
        else:
            ids = [each.id for each in _of_key(memory, flags, key, kind)]
            if len(ids) > 1 and sys.stdin.isatty():  # scripts are not asked, since this can be undone
                confirm(f"Forget {count(len(ids), 'memory')} with the key {key!r}?", yes=yes)
            forgotten = memory.forget(key=key, kind=kind, reason=reason, **flags.scope)
        change = memory.history(ids[0])[-1].id if forgotten and ids else None
    value = {"forgotten": forgotten, "ids": ids if forgotten else [], "undo": change}
    emit(value, [f"Forgot {count(forgotten, 'memory')}."], as_json=flags.json)
    if change:
        say(f"To undo this: holdfast undo {change}", as_json=flags.json)


def _of_key(memory: "Engine", flags: Flags, key: str | None, kind: str | None) -> list[Memory]:
    """Return the memories that would be hidden by forgetting a key. With ``--user``, these do not include shared memories."""
    name, user = clean_name(key, what="key"), clean_name(flags.user, what="user")
    found = memory.memories(key=name, kinds=[kind] if kind else None, limit=100_000, **flags.scope)
    return [each for each in found if user is None or each.scope.user == user]


@click.command(epilog="Example: holdfast undo chg_01k4...")
@click.argument("change")
@with_flags(scope=False)
def undo(flags: Flags, change: str) -> None:
    """Undo a change and the rest of its batch.

    CHANGE is the id of a change, as printed by `forget` and `history`, or of a batch, as printed by `chat`.
    """
    with open_memory(flags) as memory:
        undone = memory.undo(change)
    emit(undone, [memory_line(each) for each in undone], as_json=flags.json)


@click.command(epilog="Example: holdfast erase mem_01k4... (one memory), or: holdfast erase --user ana")
@click.argument("memory_id", metavar="[ID]", required=False)
@click.option("--id", help="Memory to erase, with all its revisions. The same as ID.")
@click.option("--session", metavar="ID", help="Session to erase, with everything derived from it.")
@click.option("--source", metavar="ID", help="Message to erase, with everything derived from it.")
@click.option("--scrub", is_flag=True, help="Overwrite the bytes now, even if erasures share a scrub.")
@yes_option
@with_flags(all_users=True)
def erase(
    flags: Flags, *, memory_id: str | None, id: str | None, session: str | None, source: str | None, scrub: bool, yes: bool
) -> None:
    """Remove data for good, including the bytes on disk.

    Choose the data to erase: the ID of a memory, a session, a message, or all data of a --user, --app or --agent. A user is
    erased across all apps. This cannot be undone. The receipt shows what was removed, and what a scan of the files
    found afterwards.
    """
    if memory_id and id:
        raise click.UsageError("Give one memory: ID or --id, not both.")
    id = memory_id or id
    things = {"memory": id, "session": session, "source": source}
    owners = {"user": flags.user, "app": flags.app, "agent": flags.agent}
    named = [f"{name} {value!r}" for name, value in {**things, **owners}.items() if value is not None]
    if not named:
        raise click.UsageError("Nothing to erase. Give the ID of a memory, or --session, --source, --user, --app or --agent.")
    # The engine erases everything that any argument selects: `--id X --user ana` would erase all of Ana's data.
    if len([value for value in things.values() if value]) > 1 or (any(things.values()) and any(owners.values())):
        raise click.UsageError("Give the ID of a memory, --session or --source alone, or parts of a scope together.")
    whole = "everything of " if any(owners.values()) else ""
    confirm(f"Erase {whole}{' and '.join(named)} for good?", yes=yes)
    with open_memory(flags) as memory:
        hint = unknown_user(memory, flags.user)
        receipt = memory.erase(id=id, session=session, source=source, **flags.scope)
        if scrub and receipt.status == "pending":
            memory.scrub()
            receipt = replace(memory.receipt(receipt.id), target=receipt.target)
    emit(receipt, _receipt_lines(receipt), as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


@click.command(epilog="Example: holdfast scrub")
@with_flags(scope=False)
def scrub(flags: Flags) -> None:
    """Overwrite the bytes of erased data now, and complete the pending receipts.

    Background work also scrubs. If several erasures follow each other quickly, background work waits, so that one scrub
    serves all of them. In PostgreSQL, it scrubs all tenants together, at most once per `scrub_interval`. This command does
    not wait. During the scrub, a store in a file cannot be written to; a PostgreSQL store can.
    """
    with open_memory(flags) as memory:
        found = memory.scrub()
    emit(found, table(_receipt_rows(found)) or ["No receipt was pending."], as_json=flags.json)
    if any(receipt.status == "pending" for receipt in found):
        click.echo("Some receipts are still pending: another program reads an older state. Try again later.", err=True)


@click.command(epilog="Example: holdfast receipts")
@click.argument("id", required=False)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1), help="Show the newest N receipts.")
@with_flags(scope=False)
def receipts(flags: Flags, *, id: str | None, limit: int) -> None:
    """List erasures, or show one receipt.

    A receipt contains times and numbers, but no names and no content. Background work completes a pending receipt.
    """
    with open_memory(flags) as memory:
        if id is not None:
            found = memory.receipt(id)
            emit(found, _receipt_lines(found), as_json=flags.json)
            return
        listed = memory.receipts(limit=limit)
    emit(listed, table(_receipt_rows(listed)) or ["Nothing was erased."], as_json=flags.json)


def _receipt_rows(listed: Sequence[Receipt]) -> list[tuple[str, ...]]:
    return [
        (
            each.id,
            f"{each.at:%Y-%m-%d %H:%M}",
            each.status,
            "verified" if each.verified else "not verified",
            ", ".join(each.target),
        )
        for each in listed
    ]


def _receipt_lines(receipt: Receipt) -> list[str]:
    target = ", ".join(f"{name} {value}" for name, value in receipt.target.items())
    removed = [
        count(number, noun)
        for noun, number in (
            ("memory", receipt.memories),
            ("revision", receipt.revisions),
            ("message", receipt.messages),
            ("session", receipt.sessions),
            ("job", receipt.jobs),
            ("vector", receipt.vectors),
        )
        if number
    ]
    lines = [f"Erased {target}: {', '.join(removed) or 'nothing was stored'}."]
    if receipt.rebuilt:
        lines.append(f"Rebuilt from the remaining data: {count(receipt.rebuilt, 'memory')}.")
    if receipt.status == "pending":
        lines.append("PENDING: the rows are removed, but their bytes are not overwritten yet. Background work completes it.")
        lines.append(f"         To see whether it is complete: holdfast receipts {receipt.id}")
    elif receipt.verified:
        lines.append("Verified: a scan found nothing of it in the store or its files.")
    else:
        lines.append("NOT VERIFIED: the bytes are overwritten, but a scan could not confirm it everywhere.")
    lines += [f"Left: {place}" for place in receipt.residue]
    lines += [f"Still in a copy: {file}" for file in receipt.backups]
    lines += [f"Not found, so not erased: {file}" for file in receipt.missing]
    return lines
