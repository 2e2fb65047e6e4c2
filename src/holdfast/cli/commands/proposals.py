"""The ``proposals`` commands: list, accept and dismiss changes that wait for a person's decision."""

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, digest_waiting, limit_option, open_memory, with_flags
from holdfast.cli.output import emit, memory_line


def _print_proposals(flags: Flags, limit: int) -> None:
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.proposals(limit=limit, **flags.scope)
    emit(found, [memory_line(each) for each in found], as_json=flags.json)
    if not found:
        say("No proposals.", as_json=flags.json)


@click.group(invoke_without_command=True, epilog="Example: holdfast proposals accept mem_01k4...")
@limit_option(100)
@with_flags(default_user=True)
def proposals(flags: Flags, *, limit: int) -> None:
    """List, accept and dismiss proposed changes.

    A change waits as a proposal if it would supersede a memory that you stored, but may be based on text that you did not
    write.
    """
    if click.get_current_context().invoked_subcommand is None:
        _print_proposals(flags, limit)


@proposals.command("list", epilog="Example: holdfast proposals list --user ana")
@limit_option(100)
@with_flags(default_user=True)
def list_proposals(flags: Flags, *, limit: int) -> None:
    """List proposed changes, newest first."""
    _print_proposals(flags, limit)


@proposals.command("accept", epilog="Example: holdfast proposals accept mem_01k4...")
@click.argument("id")
@with_flags(scope=False)
def accept(flags: Flags, id: str) -> None:
    """Accept a proposed change.

    ID is the id of the proposal. The proposal becomes a memory, and supersedes the memories that it proposed to
    replace.
    """
    with open_memory(flags) as memory:
        accepted = memory.accept(id)
    emit(accepted, [memory_line(accepted)], as_json=flags.json)


@proposals.command("dismiss", epilog="Example: holdfast proposals dismiss mem_01k4...")
@click.argument("id")
@with_flags(scope=False)
def dismiss(flags: Flags, id: str) -> None:
    """Dismiss a proposed change. You can undo the dismissal later.

    ID is the id of the proposal.
    """
    with open_memory(flags) as memory:
        dismissed = memory.dismiss(id)
        change = memory.history(id)[-1].id
    emit(dismissed, [memory_line(dismissed)], as_json=flags.json)
    say(f"To undo this: holdfast undo {change}", as_json=flags.json)
