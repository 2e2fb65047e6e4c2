"""The commands ``remember``, ``list``, ``show``, ``revise`` and ``history``."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.console import note, say
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
@click.option("--key", help="Name of the attribute, such as `drink`. List and forget by it.")
@click.option("--kind", help="Kind of memory, from those of the preset. Default: the preset's.")
@click.option("--topic", help="Topic it belongs to.")
@click.option("--tag", "tags", multiple=True, help="Tag. Repeatable.")
@click.option("--importance", type=click.FloatRange(0, 10), help="Importance from 0 to 10. Default: 5.")
@click.option("--pin", is_flag=True, help="Include it in every context block.")
@click.option("--meta", "metadata", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Metadata. Repeatable.")
@click.option("--expires", metavar=_TIME, help="When it expires, such as 2026-03-01 or 2026-03-01T14:30.")
@click.option("--valid-from", metavar=_TIME, help="When it became true. Default: now.")
@click.option("--no-redact", "redact", flag_value=False, default=True, help="Store secrets, such as passwords, as they are.")
@with_flags(default_user=True)
def remember(flags: Flags, text: tuple[str, ...], *, pin: bool, expires: str | None, **attributes: Any) -> None:
    """Store a memory.

    TEXT is the text to store; `-` reads it from standard input. The memory is durable when the command ends.
    """
    content = _standard_input() if text == ("-",) else " ".join(text)
    with open_memory(flags) as memory:
        new = memory.remember(content, pinned=True if pin else None, expires_at=expires, **attributes, **flags.scope)
    emit(new, [f"{new.id}  {brief(str(new))}"], as_json=flags.json)
    _say_redacted(new, flags)


def _say_redacted(memory: Memory, flags: Flags) -> None:
    if memory.redacted:
        listed = safe(", ".join(map(str, memory.redacted)))
        note(f"Secrets were replaced before storing: {listed}. --no-redact stores them as they are.", as_json=flags.json)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Standard input is not UTF-8 text: {error}. Nothing was stored.") from error


@click.command("list", epilog="Example: holdfast list --user ana --kind fact --json")
@click.option("--kind", "kinds", multiple=True, help="Only memories of this kind. Repeatable.")
@click.option("--key", help="Only memories with this key.")
@click.option("--topic", help="Only memories of this topic.")
@click.option(
    "--where", multiple=True, callback=pairs, metavar="NAME=VALUE", help="Only memories with this metadata. Repeatable."
)
@click.option("--as-of", metavar=_TIME, help="Only memories that were true then, as known today.")
@click.option("--known-at", metavar=_TIME, help="Memories as the store had them then.")
@click.option("--retired", is_flag=True, help="Show retired memories: forgotten, superseded or expired.")
@limit_option(100)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N results.")
@with_flags(default_user=True)
def list_memories(flags: Flags, *, kinds: tuple[str, ...], where: dict[str, Any], **options: Any) -> None:
    """List memories, newest first."""
    with open_memory(flags) as memory:
        digest_waiting(memory)
        found = memory.memories(kinds=kinds or None, where=where or None, **options, **flags.scope)
        filters = {"kind": kinds, "where": where, **{name: value for name, value in options.items() if name != "limit"}}
        hint = None if found else nothing_found(memory, flags, messages_searched=False, filters=filters)
    emit(found, [memory_line(each) for each in found], as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


@click.command(epilog="Example: holdfast show mem_01k4...")
@click.argument("id")
@with_flags(scope=False)
def show(flags: Flags, id: str) -> None:
    """Show a memory and its sources.

    ID is the id of a memory, as printed by `list` and `recall`.
    """
    with open_memory(flags) as memory:
        value, lines = _whole(memory, memory.get(id))
    emit(value, lines, as_json=flags.json)


def _whole(memory: "Engine", found: Memory) -> tuple[dict[str, Any], list[str]]:
    """Return a memory and its sources in two forms: as JSON fields and as lines of text."""
    from holdfast.protocols import MemoryFilter, MessageFilter  # noqa: PLC0415  (not needed for --help)

    messages = services(memory).store.messages(MessageFilter(ids=found.sources)) if found.sources else []
    memories = services(memory).store.memories(MemoryFilter(ids=found.sources, statuses=None)) if found.sources else []
    fields = plain(found)
    lines = [f"{name:13} {_cell(content)}" for name, content in fields.items() if content not in (None, [], {}, "")]
    return {**fields, "source_messages": messages, "source_memories": memories}, [
        *lines,
        *_source_lines(found, messages, memories),
    ]


def _cell(content: Any) -> str:
    if isinstance(content, list):
        return ", ".join(map(str, content))
    if isinstance(content, dict | bool):
        return safe(json.dumps(content, ensure_ascii=False))
    return safe(str(content)).replace("\n", "\n" + " " * 14)


def _source_lines(memory: Memory, messages: list[Message], memories: list[Memory]) -> list[str]:
    """Return the lines of text that list a memory's sources."""
    lines = [f"  {each.id}  {each.at:%Y-%m-%d %H:%M}  {each.speaker or each.role}: {brief(each.text)}" for each in messages]
    lines += [f"  {memory_line(each)}" for each in memories]
    if not memory.sources:
        return []
    gone = len(memory.sources) - len(messages) - len(memories)
    return ["derived from:", *lines, *([f"  ({count(gone, 'source')} no longer kept)"] if gone else [])]


@click.command(epilog='Example: holdfast revise mem_01k4... "prefers green tea" --tag drinks --reason "said so today"')
@click.argument("id")
@click.argument("text", nargs=-1)
@click.option("--tag", "tags", multiple=True, help="Tag. Repeatable. Replaces all earlier tags.")
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@click.option("--importance", type=click.FloatRange(0, 10), help="Importance from 0 to 10.")
@click.option("--topic", help="Topic it belongs to.")
@click.option("--pinned/--no-pinned", default=None, help="Include it in every context block, or stop doing so.")
@click.option("--reason", help="Reason, for the history.")
@click.option("--no-redact", "redact", flag_value=False, default=True, help="Store secrets, such as passwords, as they are.")
@with_flags(scope=False)
def revise(
    flags: Flags,
    id: str,
    text: tuple[str, ...],
    *,
    tags: tuple[str, ...],
    no_tags: bool,
    reason: str | None,
    redact: bool,
    **changed: Any,
) -> None:
    """Edit a memory: its text, tags, importance, topic or pin.

    ID is the id of a memory; it does not change. TEXT replaces the text; `-` reads it from standard input. Fields that
    you do not give stay unchanged. The earlier revision stays in the history, and you can undo the change.
    """
    if tags and no_tags:
        raise click.UsageError("Give --tag or --no-tags, not both.")
    if not text and not tags and not no_tags and all(value is None for value in changed.values()):
        raise click.UsageError("Nothing to change. Give TEXT, --tag, --no-tags, --importance, --topic, --pinned or --no-pinned.")
    new = _standard_input() if text == ("-",) else " ".join(text) if text else None
    with open_memory(flags) as memory:
        revised = memory.revise(id, new, tags=tags if tags or no_tags else None, reason=reason, redact=redact, **changed)
        value, lines = _whole(memory, revised)
        change = memory.history(id)[-1].id
    emit(value, lines, as_json=flags.json)
    _say_redacted(revised, flags)
    say(f"To undo this: holdfast undo {change}", as_json=flags.json)


@click.command(epilog="Example: holdfast history mem_01k4...; holdfast undo chg_01k4...")
@click.argument("id")
@with_flags(scope=False)
def history(flags: Flags, id: str) -> None:
    """Show the changes to a memory.

    ID is the id of a memory. To undo a change, pass its id to `holdfast undo`.
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
        lines.append(f"    {brief(str(after))}  ({after.status}, valid from {day(after.valid_from)}{until})")
    return lines
