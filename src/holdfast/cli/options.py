"""Options that several commands share, and helpers that use them.

The options work before and after the command: ``holdfast --user ana recall tea`` equals ``holdfast recall tea --user ana``.
"""

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import click

from holdfast.cli.console import note, notes, say
from holdfast.cli.output import count
from holdfast.errors import StoreForeign
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.config.settings import Settings
    from holdfast.engine import Engine

Function = TypeVar("Function", bound=Callable[..., Any])
_MAX_DIGEST_SECONDS = 1.0


class ScopeParts(TypedDict):
    """The parts of a scope that the command line can set."""

    user: str | None
    app: str | None
    agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Values of the options that all commands share."""

    store: str | None = None
    preset: str | None = None
    settings: str | None = None
    tenant: str | None = None
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    shared: bool = False
    json: bool = False
    debug: bool = False

    @property
    def scope(self) -> ScopeParts:
        """The scope parts, as keyword arguments for the engine's methods."""
        return {"user": self.user, "app": self.app, "agent": self.agent}


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Store an option's value in the click context. A value given after the command overrides a value given before."""
    if value:
        context.meta[f"holdfast.{option.name}"] = value


def _option(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, expose_value=False, callback=_keep, **attributes)


_SCOPE = (
    _option("--user", metavar="NAME", help="User whose memories to use. Default: the setting `user`, or your login name."),
    _option("--app", metavar="NAME", help="App whose memories to use. Default: those of no app."),
    _option("--agent", metavar="NAME", help="Agent whose memories to use. Default: those of no agent."),
    _option("--shared", is_flag=True, help="Use the memories that all users share, instead of a user's."),
)
_OWNERS = (
    _option("--user", metavar="NAME", help="Only data of this user."),
    _option("--app", metavar="NAME", help="Only data of this app."),
    _option("--agent", metavar="NAME", help="Only data of this agent."),
)
"""Scope options of commands that apply to the data of all users by default."""
settings_option = _option(
    "--settings", metavar="FILE", help="Settings file, or the YAML file of a design. Default: see docs/reference/settings.md."
)
_STORE = (
    _option(
        "--store",
        metavar="PATH",
        help="Store: a file, a folder, or postgresql://USER@HOST/DATABASE. Default: a file in the data directory.",
    ),
    _option("--preset", metavar="NAME", help="Preset: how memories are extracted and recalled. Default: default."),
    settings_option,
    _option("--tenant", metavar="NAME", help="Tenant whose data to use. Default: default."),
)
_OUTPUT = (
    _option("--json", is_flag=True, help="Print JSON. Errors are JSON too, on stderr."),
    _option("--debug", is_flag=True, help="Print the traceback of an error."),
)


def _with(function: Function, *groups: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed([option for group in groups for option in group]):
        function = option(function)
    return function


def common_options(function: Function) -> Function:
    """Add every shared option to a group, so that the options can precede a command."""
    return _with(function, _SCOPE, _STORE, _OUTPUT)


def with_flags(
    *, scope: bool = True, store: bool = True, default_user: bool = False, all_users: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the shared options to a command. The command receives the options' values as its first argument, a ``Flags`` object.

    ``scope`` adds the options that select a user, app or agent. ``store`` adds the options that select the store, the
    preset and the tenant. With ``default_user``, the command uses the default user if neither a user nor ``--shared`` is
    given. With ``all_users``, the command applies to all users if no user is given, and has no option ``--shared``. An
    option that the command does not have is refused, even if it is given before the command's name.
    """
    groups = ((_OWNERS if all_users else _SCOPE) if scope else (), _STORE if store else (), _OUTPUT)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> None:
            meta = click.get_current_context().meta
            given = {item.name: meta[f"holdfast.{item.name}"] for item in fields(Flags) if f"holdfast.{item.name}" in meta}
            flags = Flags(**given)
            _refuse_others(given)
            if flags.user and flags.shared:
                raise click.UsageError("Give --user or --shared, not both.")
            function(with_user(flags) if default_user else flags, *args, **kwargs)

        return _with(command, *groups)

    return decorate


def _refuse_others(given: Mapping[str, Any]) -> None:
    """Raise a usage error for an option that was given before the command's name and that the command does not have.

    ``given`` maps the names of the given options to their values. Without this check, the option would be ignored.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:  # the subcommand checks
        return
    known = {option.name for option in context.command.params}
    for name in given:
        if name not in known:
            raise click.UsageError(f"--{name} does not apply to `{context.command_path}`.")


def with_user(flags: Flags) -> Flags:
    """Return the flags with the default user, if neither a user nor ``--shared`` is given. Print whose memory is used.

    If no user was ever chosen, a person at a terminal is asked once, and the answer is stored in the settings.
    """
    is_group = click.get_current_context().invoked_subcommand is not None  # its command can name the user
    if flags.user is not None or flags.shared or is_group:
        return flags
    return replace(flags, user=_default_user(flags))


def _default_user(flags: Flags) -> str:
    from holdfast.config.default_user import default_user, save_default_user  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (as above)

    found = default_user(load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant))
    if found.is_chosen:
        say(f"Memory of {found.name}.", as_json=flags.json)
        return found.name
    if sys.stdin.isatty() and sys.stderr.isatty() and not flags.json:
        name: str = click.prompt("Whose memory is this? Your name", default=found.name, err=True)
        path = save_default_user(name)
        say(f"Memory of {name.strip()}. The name is stored in {path}; --user and --shared choose another memory.")
        return name.strip()
    note(
        f"Memory of {found.name}, your login name. Choose another with --user, `holdfast users default NAME` or --shared.",
        as_json=flags.json,
    )
    return found.name


def limit_option(default: int, description: str = "Show at most N results.") -> Callable[[Function], Function]:
    """Return the ``--limit`` option with the given default and help text."""
    return click.option("--limit", type=click.IntRange(min=1), default=default, show_default=True, metavar="N", help=description)


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@contextmanager
def open_memory(flags: Flags, *, quiet: bool = False, worker: Literal["none", "thread"] = "none") -> Iterator["Engine"]:
    """Open the engine that the flags select. The engine's warnings are printed on stderr, each only once."""
    with notes(as_json=flags.json, quiet=quiet, traces=flags.debug):
        _note_new_store(flags)
        try:
            opened = _open(flags, worker)
        except StoreForeign:
            if not sys.stdin.isatty():
                raise
            convert_store(flags)
            opened = _open(flags, worker)
        with opened as memory:
            yield memory


def _note_new_store(flags: Flags) -> None:
    """Print a note if ``--store`` names a file that does not exist: the path may be mistyped."""
    if flags.store is None:
        return
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import is_database, store_path  # noqa: PLC0415  (as above)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    if not is_database(settings) and not store_path(settings).exists():
        note(f"There is no store at {store_path(settings)} yet. A new, empty one is created.", as_json=flags.json)


def _open(flags: Flags, worker: Literal["none", "thread"] = "none") -> "Engine":
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (heavy: not needed for --help)

    return open_engine(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, worker=worker)


def convert_store(flags: Flags, *, yes: bool = False) -> None:
    """Offer to convert another program's store: move its file aside, and import it into a new store at the same path.

    With ``yes``, convert the store without asking.
    """
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import store_path  # noqa: PLC0415  (as above)
    from holdfast.importers.convert import moved_aside  # noqa: PLC0415  (as above)
    from holdfast.importers.formats import find_format  # noqa: PLC0415  (as above)

    file = store_path(load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant))
    found = find_format(file)
    confirm(f"{file} is {found.title}. Convert it? The file itself is kept under another name.", yes=yes)
    with moved_aside(file, found.name) as kept, _open(flags) as memory:
        result = memory.import_from(kept, format=found.name, **flags.scope)
    imported = f"{count(result.memories.imported, 'memory')} and {count(result.messages.imported, 'message')}"
    say(f"Converted {file}: {imported}. The original is {kept}.", as_json=flags.json)


def check_models(flags: Flags, settings: "Settings | None" = None) -> None:
    """Fail if a configured model lacks its package or API key; warn if its server does not respond."""
    from holdfast.config import readiness  # noqa: PLC0415  (as above)
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (as above)
    from holdfast.config.opening import make_preset  # noqa: PLC0415  (as above)

    loaded = settings or load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    for warning in readiness.check_models(loaded, make_preset(loaded)):
        note(warning, as_json=flags.json)


def digest_waiting(memory: "Engine") -> None:
    """Digest ended and idle sessions that no worker has processed yet. No further job is started after one second."""
    until = time.monotonic() + _MAX_DIGEST_SECONDS
    services(memory).digester.close_idle_sessions()
    while time.monotonic() < until and services(memory).jobs.run_one():
        pass


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation before data is lost. Without a terminal, require ``--yes``."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is no terminal to ask on. Add --yes to confirm.")
    click.confirm(question, abort=True, err=True)


def pairs(_context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` options. A value that is valid JSON (3, true, [1, 2]) is decoded; any other value stays text."""
    found: dict[str, Any] = {}
    for pair in values:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE.", param=option)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
