"""Commands on conversations and on the people in them: sessions, users."""

from datetime import datetime
from typing import Any

import click

from holdfast.cli.console import say
from holdfast.cli.hints import unknown_user
from holdfast.cli.options import Flags, limit_option, open_memory, with_flags
from holdfast.cli.output import emit, plain, safe, table
from holdfast.errors import NotFound
from holdfast.services import services
from holdfast.types import Message, SessionRecord, UserProfile


def _list_options(function: Any) -> Any:
    function = click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first so many.")(
        function
    )
    function = limit_option(50)(function)
    states = click.Choice(["open", "idle", "ended"])
    return click.option("--status", "statuses", type=states, multiple=True, help="Only these; may be repeated.")(function)


def _print_sessions(flags: Flags, *, statuses: tuple[Any, ...], limit: int, offset: int) -> None:
    with open_memory(flags) as memory:
        found = memory.sessions(statuses=statuses or None, limit=limit, offset=offset, **flags.scope)
        hint = None if found else unknown_user(memory, flags.user)
    emit(found, [_line(session) for session in found], as_json=flags.json)
    if not found:
        say(hint or "No conversations.", as_json=flags.json)


def _line(session: SessionRecord) -> str:
    scope = session.scope
    parts = {"user": scope.user, "app": scope.app, "agent": scope.agent}
    whose = " ".join(f"{name}={value}" for name, value in parts.items() if value) or "shared"
    return f"{session.id}  {session.last_at:%Y-%m-%d %H:%M}  {session.status:5}  {whose}"


@click.group(invoke_without_command=True, epilog="Example: holdfast sessions show ses_01k4...")
@_list_options
@with_flags()
def sessions(flags: Flags, **wanted: Any) -> None:
    """List conversations, or show one."""
    if click.get_current_context().invoked_subcommand is None:
        _print_sessions(flags, **wanted)


@sessions.command("list")
@_list_options
@with_flags()
def list_sessions(flags: Flags, **wanted: Any) -> None:
    """List conversations, the most recently active first."""
    _print_sessions(flags, **wanted)


@sessions.command("show")
@click.argument("id")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the last so many messages.")
@with_flags(scope=False)
def show_session(flags: Flags, id: str, limit: int | None) -> None:
    """Show what was said in a conversation.

    ID is a session's id, as `sessions` prints it.
    """
    with open_memory(flags) as memory:
        record = services(memory).store.session(id)
        if record is None:
            raise NotFound(f"There is no session {id}.")
        said = memory.session(id=id).messages(limit=limit)
    lines = [_line(record), *(_message(message) for message in said)]
    emit({**plain(record), "messages": said}, lines, as_json=flags.json)


def _message(message: Message) -> str:
    who = message.speaker or message.role
    aside = f" [{message.action}]" if message.action else ""
    return f"{message.at:%Y-%m-%d %H:%M}  {safe(who)}{aside}: {safe(message.text)}  ({message.id})"


@click.group()
def users() -> None:
    """List users, and set or show their time zone and language."""


@users.command("list", epilog="Example: holdfast users list --limit 20 --json")
@limit_option(100)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N.")
@with_flags(scope=False)
def list_users(flags: Flags, *, limit: int, offset: int) -> None:
    """List users by name, with their memories, sessions and last activity.

    Listed is everyone with a profile, memories (also forgotten ones), sessions or messages.
    """
    with open_memory(flags) as memory:
        found = memory.users(limit=limit, offset=offset)
    rows = [("user", "memories", "sessions", "last activity")]
    rows += [(safe(each.user), f"{each.memories:,}", f"{each.sessions:,}", _moment(each.last_at)) for each in found]
    emit(found, table(rows) if found else [], as_json=flags.json)
    if not found:
        say(
            "No further users." if offset else "No users yet: a user exists once something is stored with --user.",
            as_json=flags.json,
        )


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "-"


@users.command("set", epilog="Example: holdfast users set ana --timezone Europe/Madrid --language es")
@click.argument("name")
@click.option("--timezone", metavar="ZONE", help="Where their days end: an IANA name such as Europe/Madrid.")
@click.option("--language", metavar="CODE", help="The language of their context block, such as `es`.")
@with_flags(scope=False)
def set_user(flags: Flags, name: str, timezone: str | None, language: str | None) -> None:
    """Tell the engine a user's time zone or language."""
    if timezone is None and language is None:
        raise click.UsageError("Give --timezone, --language or both.")
    with open_memory(flags) as memory:
        profile = memory.set_user(name, timezone=timezone, language=language)
    emit(profile, _profile(profile), as_json=flags.json)


@users.command("show")
@click.argument("name")
@with_flags(scope=False)
def show_user(flags: Flags, name: str) -> None:
    """Show what the engine itself knows of a user."""
    with open_memory(flags) as memory:
        profile = services(memory).store.user(name)
    emit(profile, _profile(profile), as_json=flags.json)


def _profile(profile: UserProfile) -> list[str]:
    return [f"{safe(profile.user)}: time zone {profile.timezone}, language {profile.language or 'not set'}"]
