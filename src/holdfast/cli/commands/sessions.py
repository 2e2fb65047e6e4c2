"""The commands ``sessions`` and ``users``."""

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
    function = click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N results.")(
        function
    )
    function = limit_option(50)(function)
    states = click.Choice(["open", "idle", "ended"])
    return click.option("--status", "statuses", type=states, multiple=True, help="Only sessions with this status. Repeatable.")(
        function
    )


def _print_sessions(flags: Flags, *, statuses: tuple[Any, ...], limit: int, offset: int) -> None:
    with open_memory(flags) as memory:
        found = memory.sessions(statuses=statuses or None, limit=limit, offset=offset, **flags.scope)
        hint = None if found else unknown_user(memory, flags.user)
    emit(found, [_line(session) for session in found], as_json=flags.json)
    if not found:
        say(hint or "No sessions.", as_json=flags.json)


def _line(session: SessionRecord) -> str:
    scope = session.scope
    parts = {"user": scope.user, "app": scope.app, "agent": scope.agent}
    whose = " ".join(f"{name}={value}" for name, value in parts.items() if value) or "shared"
    return f"{session.id}  {session.last_at:%Y-%m-%d %H:%M}  {session.status:5}  {whose}"


@click.group(invoke_without_command=True, epilog="Example: holdfast sessions show ses_01k4...")
@_list_options
@with_flags(all_users=True)
def sessions(flags: Flags, **options: Any) -> None:
    """List sessions, or show one."""
    if click.get_current_context().invoked_subcommand is None:
        _print_sessions(flags, **options)


@sessions.command("list", epilog="Example: holdfast sessions list --user ana --status open")
@_list_options
@with_flags(all_users=True)
def list_sessions(flags: Flags, **options: Any) -> None:
    """List sessions, most recently active first."""
    _print_sessions(flags, **options)


@sessions.command("show", epilog="Example: holdfast sessions show ses_01k4... --limit 20")
@click.argument("id")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show only the last N messages.")
@with_flags(all_users=True)
def show_session(flags: Flags, id: str, limit: int | None) -> None:
    """Show the messages of a session.

    ID is the id of a session, as printed by `sessions`. If several users have a session with this id, name one with --user.
    """
    with open_memory(flags) as memory:
        try:
            session = memory.session(id=id, **flags.scope)
        except NotFound:
            raise NotFound(f"There is no session {id}. Run `holdfast sessions` to see all.") from None
        record = services(memory).store.session(session.id, session.scope)
        if record is None:
            raise NotFound(f"There is no session {id} in this scope. Run `holdfast sessions` to see all.")
        messages = session.messages(limit=limit)
    lines = [_line(record), *(_message(message) for message in messages)]
    emit({**plain(record), "messages": messages}, lines, as_json=flags.json)


def _message(message: Message) -> str:
    who = message.speaker or message.role
    action = f" [{message.action}]" if message.action else ""
    return f"{message.at:%Y-%m-%d %H:%M}  {safe(who)}{action}: {safe(message.text)}  ({message.id})"


@click.group(epilog="Example: holdfast users list")
def users() -> None:
    """List users. Show or set the default user, and users' time zones and languages."""


@users.command("list", epilog="Example: holdfast users list --limit 20 --json")
@limit_option(100)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N results.")
@click.option("--containing", metavar="TEXT", help="Only names that contain this text. Case and accents do not matter.")
@with_flags(scope=False)
def list_users(flags: Flags, *, limit: int, offset: int, containing: str | None) -> None:
    """List users by name, with counts and last activity.

    The list includes everyone with a profile, a memory (even a forgotten memory), a session or a message.
    """
    with open_memory(flags) as memory:
        found = memory.users(containing=containing, limit=limit, offset=offset)
    rows = [("user", "memories", "sessions", "last activity")]
    rows += [(safe(each.user), f"{each.memories:,}", f"{each.sessions:,}", _moment(each.last_at)) for each in found]
    emit(found, table(rows) if found else [], as_json=flags.json)
    if not found:
        say(
            f"No name contains {safe(containing)!r}."
            if containing
            else "No more users."
            if offset
            else "No users yet. To create one, store something with --user.",
            as_json=flags.json,
        )


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "-"


@users.command("set", epilog="Example: holdfast users set ana --timezone Europe/Madrid --language es")
@click.argument("name")
@click.option("--timezone", metavar="ZONE", help="Time zone: an IANA name such as Europe/Madrid.")
@click.option("--language", metavar="CODE", help="Language of their context block, such as `es`.")
@with_flags(scope=False)
def set_user(flags: Flags, name: str, timezone: str | None, language: str | None) -> None:
    """Set a user's time zone or language."""
    if timezone is None and language is None:
        raise click.UsageError("Nothing to set. Give --timezone, --language or both.")
    with open_memory(flags) as memory:
        profile = memory.set_user(name, timezone=timezone, language=language)
    emit(profile, _profile(profile), as_json=flags.json)


@users.command("default", epilog="Example: holdfast users default ana")
@click.argument("name", required=False)
@with_flags(scope=False)
def default(flags: Flags, name: str | None) -> None:
    """Show or set the default user.

    Commands, the dashboard's chat and `holdfast install` use the memory of the default user if you give neither --user nor
    --shared. NAME is stored in the settings file of the data directory.
    """
    from holdfast.config.default_user import default_user, save_default_user  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (as above)

    path = None if name is None else save_default_user(name)
    found = default_user(load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant))
    emit({"user": found.name, "chosen": found.is_chosen, "path": path}, [found.name], as_json=flags.json)
    if path is not None:
        say(f"Stored in {path}.", as_json=flags.json)
    elif not found.is_chosen:
        say("This is your login name. Set another with: holdfast users default NAME", as_json=flags.json)


@users.command("show", epilog="Example: holdfast users show ana")
@click.argument("name")
@with_flags(scope=False)
def show_user(flags: Flags, name: str) -> None:
    """Show a user's time zone and language."""
    with open_memory(flags) as memory:
        hint = unknown_user(memory, name)
        profile = services(memory).store.user(name)
    emit(profile, _profile(profile), as_json=flags.json)
    if hint:
        say(hint, as_json=flags.json)


def _profile(profile: UserProfile) -> list[str]:
    return [f"{safe(profile.user)}: time zone {profile.timezone}, language {profile.language or 'not set'}"]
