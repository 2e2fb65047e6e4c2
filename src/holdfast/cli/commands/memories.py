"""Commands on memories themselves: remember, list, show, revise, history."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import say
from holdfast.cli.hints import nothing_found
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
        narrowed = {"kind": kinds, "where": where, **{name: value for name, value in wanted.items() if name != "limit"}}
        hint = None if found else nothing_found(memory, flags, said=False, narrowed=narrowed)
    emit(found, [memory_line(each) for each in found], as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


@click.command(epilog="Example: holdfast show mem_01k4...")
@click.argument("id")
@with_flags(scope=False)
def show(flags: Flags, id: str) -> None:
    """Show one memory with its sources.

    ID is a memory's id, as `list` and `recall` print it.
    """
    with open_memory(flags) as memory:
        value, lines = _whole(memory, memory.get(id))
    emit(value, lines, as_json=flags.json)


def _whole(memory: "Engine", found: Memory) -> tuple[dict[str, Any], list[str]]:
    """Return a memory with its sources, for programs and for people."""
    from holdfast.protocols import MemoryFilter, MessageFilter  # noqa: PLC0415  (not needed for help)

    said = services(memory).store.messages(MessageFilter(ids=found.sources)) if found.sources else []
    made_of = services(memory).store.memories(MemoryFilter(ids=found.sources, statuses=None)) if found.sources else []
    fields = plain(found)
    lines = [f"{name:13} {_cell(content)}" for name, content in fields.items() if content not in (None, [], {}, "")]
    return {**fields, "source_messages": said, "source_memories": made_of}, [*lines, *_source_lines(found, said, made_of)]


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


@click.command(epilog='Example: holdfast revise mem_01k4... "prefers green tea" --tag drinks --reason "said so today"')
@click.argument("id")
@click.argument("text", nargs=-1)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated. Replaces all earlier tags.")
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@click.option("--importance", type=click.FloatRange(0, 10), help="From 0 to 10.")
@click.option("--topic", help="The topic it belongs to.")
@click.option("--pinned/--no-pinned", default=None, help="Make it part of every context, or not.")
@click.option("--reason", help="Why, for the history.")
@with_flags(scope=False)
def revise(
    flags: Flags, id: str, text: tuple[str, ...], *, tags: tuple[str, ...], no_tags: bool, reason: str | None, **changed: Any
) -> None:
    """Correct a memory: its text, tags, importance, topic or pin.

    ID is a memory's id, which stays. TEXT replaces the text; `-` reads it from standard input. What is not given stays as it
    is. The earlier revision stays in the history, and the change can be undone.
    """
    if tags and no_tags:
        raise click.UsageError("Give --tag or --no-tags, not both.")
    if not text and not tags and not no_tags and all(value is None for value in changed.values()):
        raise click.UsageError("Say what to change: TEXT, --tag, --no-tags, --importance, --topic, --pinned or --no-pinned.")
    new = _standard_input() if text == ("-",) else " ".join(text) if text else None
    with open_memory(flags) as memory:
        revised = memory.revise(id, new, tags=tags if tags or no_tags else None, reason=reason, **changed)
        value, lines = _whole(memory, revised)
        change = memory.history(id)[-1].id
    emit(value, lines, as_json=flags.json)
    say(f"To undo this: holdfast undo {change}", as_json=flags.json)


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
