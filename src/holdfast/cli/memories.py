"""Commands on memories themselves: remember, list, show, history."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import say
from holdfast.cli.options import Flags, digest_waiting, limit_option, open_memory, pairs, with_flags
from holdfast.cli.output import brief, count, day, emit, memory_line, plain, safe
from holdfast.errors import InvalidInput
from holdfast.services import services
from holdfast.types import ChangeRecord, Memory, Message

if TYPE_CHECKING:
    from holdfast.engine import Engine

_TIME = "DATE"


@click.command(epilog='Example: holdfast remember "prefers tea" --key drink --user ana')
@click.argument("text", nargs=-1, required=True)
@click.option("--key", help="What it is a value of, such as `drink`; can be looked up and forgotten by it.")
@click.option("--kind", help="The sort of memory, of those the preset has. Default: the preset's.")
@click.option("--topic", help="The topic it belongs to.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--importance", type=click.FloatRange(0, 10), help="From 0 to 10. Default: 5.")
@click.option("--pin", is_flag=True, help="Make it part of every context.")
@click.option("--meta", "metadata", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Metadata; may be repeated.")
@click.option("--expires", metavar=_TIME, help="When it stops counting, such as 2026-03-01 or 2026-03-01T14:30.")
@click.option("--valid-from", metavar=_TIME, help="Since when it holds. Default: now.")
@with_flags()
def remember(flags: Flags, text: tuple[str, ...], *, pin: bool, expires: str | None, **told: Any) -> None:
    """Keep something.

    TEXT is what to keep; `-` reads it from standard input. It is on disk when the command ends.
    """
    kept = _standard_input() if text == ("-",) else " ".join(text)
    with open_memory(flags) as memory:
        new = memory.remember(kept, pinned=True if pin else None, expires_at=expires, **told, **flags.scope)
    emit(new, [f"{new.id}  {brief(str(new))}"], as_json=flags.json)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Standard input is not UTF-8 text: {error}.") from error


@click.command("list", epilog="Example: holdfast list --user ana --kind fact --json")
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option("--key", help="Only the values of this key.")
@click.option("--topic", help="Only this topic.")
@click.option("--where", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Only with this metadata; may be repeated.")
@click.option("--as-of", metavar=_TIME, help="Those that held at a moment, by what is known today.")
@click.option("--known-at", metavar=_TIME, help="As the store knew them at a moment.")
@click.option("--retired", is_flag=True, help="Those that were forgotten, replaced or have expired.")
@limit_option(100)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first so many.")
@with_flags()
def list_memories(flags: Flags, *, kinds: tuple[str, ...], where: dict[str, Any], **wanted: Any) -> None:
    """List memories, the newest first."""
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.memories(kinds=kinds or None, where=where or None, **wanted, **flags.scope)
        hint = None if found else _why_empty(memory, flags)
    emit(found, [memory_line(each) for each in found], as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


def _why_empty(memory: "Engine", flags: Flags) -> str:
    """Say where memories are, to someone who looked where none are."""
    stats = memory.stats()
    if not stats.memories:
        return 'Nothing is remembered yet. Try: holdfast remember "prefers tea" --key drink'
    if flags.user is None and stats.users:
        whose = f"{count(stats.memories, 'memory')} of {count(stats.users, 'user')}"
        return f"Nothing here is shared by all users; the store holds {whose}: name one with --user."
    return "Nothing was found with these options."


@click.command(epilog="Example: holdfast show mem_01k4...")
@click.argument("id")
@with_flags(scope=False)
def show(flags: Flags, id: str) -> None:
    """Show one memory with its sources.

    ID is a memory's id, as `list` and `recall` print it.
    """
    from holdfast.protocols import MemoryFilter, MessageFilter  # noqa: PLC0415  (not needed for help)

    with open_memory(flags) as memory:
        found = memory.get(id)
        said = services(memory).store.messages(MessageFilter(ids=found.sources)) if found.sources else []
        made_of = services(memory).store.memories(MemoryFilter(ids=found.sources, statuses=None)) if found.sources else []
    fields = plain(found)
    value = {**fields, "source_messages": said, "source_memories": made_of}
    lines = [f"{name:13} {_cell(content)}" for name, content in fields.items() if content not in (None, [], {}, "")]
    emit(value, [*lines, *_source_lines(found, said, made_of)], as_json=flags.json)


def _cell(content: Any) -> str:
    if isinstance(content, list):
        return ", ".join(map(str, content))
    if isinstance(content, dict | bool):
        return safe(json.dumps(content, ensure_ascii=False))
    return safe(str(content)).replace("\n", "\n" + " " * 14)


def _source_lines(memory: Memory, said: list[Message], made_of: list[Memory]) -> list[str]:
    """Return where it came from, in words."""
    lines = [f"  {each.id}  {each.at:%Y-%m-%d %H:%M}  {each.speaker or each.role}: {brief(each.text)}" for each in said]
    lines += [f"  {memory_line(each)}" for each in made_of]
    if not memory.sources:
        return []
    gone = len(memory.sources) - len(said) - len(made_of)
    return ["came from:", *lines, *([f"  ({count(gone, 'source')} no longer kept)"] if gone else [])]


@click.command(epilog="Example: holdfast history mem_01k4...   then: holdfast undo chg_01k4...")
@click.argument("id")
@with_flags(scope=False)
def history(flags: Flags, id: str) -> None:
    """Show how a memory came to be what it is.

    ID is a memory's id. Each change has an id of its own, with which it can be undone.
    """
    with open_memory(flags) as memory:
        changes = memory.history(id)
    lines = [line for change in changes for line in _change_lines(change)]
    emit(changes, lines, as_json=flags.json)
    say(f"To undo the last change: holdfast undo {changes[-1].id}", as_json=flags.json)


def _change_lines(change: ChangeRecord) -> list[str]:
    author = change.author
    by = author.actor + (f", {author.model}" if author.model else "") + (f", {author.job}" if author.job else "")
    lines = [f"{change.id}  {change.at:%Y-%m-%d %H:%M}  {change.action} by {by}: {change.reason or 'no reason given'}"]
    after = change.after
    if after is not None:
        until = f", until {day(after.valid_to)}" if after.valid_to else ""
        lines.append(f"    {brief(str(after))}  ({after.status}, holds since {day(after.valid_from)}{until})")
    return lines
