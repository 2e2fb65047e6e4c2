"""The options that commands share, and what they stand for.

They may stand before or after the command: ``holdfast --user ana recall tea`` is ``holdfast recall tea --user ana``.
"""

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from holdfast.cli.console import note, notes
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.config.settings import Settings
    from holdfast.engine import Engine

Function = TypeVar("Function", bound=Callable[..., Any])
_SECONDS_OF_WORK = 1.0


class ScopeParts(TypedDict):
    """Whose memories are meant."""

    user: str | None
    app: str | None
    agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the shared options say."""

    store: str | None = None
    preset: str | None = None
    settings: str | None = None
    tenant: str | None = None
    user: str | None = None
    app: str | None = None
    agent: str | None = None
    json: bool = False
    debug: bool = False

    @property
    def scope(self) -> ScopeParts:
        """The parts of the scope, as the engine's methods take them."""
        return {"user": self.user, "app": self.app, "agent": self.agent}


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Note an option's value; the one nearest to the end of the command line counts."""
    if value:
        context.meta[f"holdfast.{option.name}"] = value


def _option(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, expose_value=False, callback=_keep, **attributes)


_SCOPE = (
    _option("--user", metavar="NAME", help="Whose memories; without it, those all users share."),
    _option("--app", metavar="NAME", help="The app they belong to; without it, those of no app."),
    _option("--agent", metavar="NAME", help="The agent they belong to; without it, those of no agent."),
)
_STORE = (
    _option(
        "--store",
        metavar="PATH",
        help="The store: a file, a folder, or postgresql://USER@HOST/DATABASE. Default: in the data directory.",
    ),
    _option("--preset", metavar="NAME", help="The way of remembering. Default: default."),
    _option(
        "--settings", metavar="FILE", help="A settings file, or the design's own YAML. Default: see docs/reference/settings.md."
    ),
    _option("--tenant", metavar="NAME", help="Whose rows of the store are seen. Default: default."),
)
_OUTPUT = (
    _option("--json", is_flag=True, help="Print JSON; errors too, on stderr."),
    _option("--debug", is_flag=True, help="Show the traceback of an error."),
)


def _with(function: Function, *groups: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed([option for group in groups for option in group]):
        function = option(function)
    return function


def common_options(function: Function) -> Function:
    """Let a group take every shared option before its command."""
    return _with(function, _SCOPE, _STORE, _OUTPUT)


def with_flags(*, scope: bool = True, store: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the shared options and, as its first argument, what they say."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> None:
            meta = click.get_current_context().meta
            given = {item.name: meta[f"holdfast.{item.name}"] for item in fields(Flags) if f"holdfast.{item.name}" in meta}
            function(Flags(**given), *args, **kwargs)

        return _with(command, _SCOPE if scope else (), _STORE if store else (), _OUTPUT)

    return decorate


def limit_option(default: int, what: str = "At most so many.") -> Callable[[Function], Function]:
    """Return the ``--limit`` option."""
    return click.option("--limit", type=click.IntRange(min=1), default=default, show_default=True, metavar="N", help=what)


yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@contextmanager
def open_memory(flags: Flags, *, quiet: bool = False) -> Iterator["Engine"]:
    """Open the memory the flags name; what the engine has to say on the way goes to stderr, once."""
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (numpy and the store: not needed for help)

    with (
        notes(as_json=flags.json, quiet=quiet, traces=flags.debug),
        open_engine(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, worker="none") as memory,
    ):
        yield memory


def check_models(flags: Flags, settings: "Settings | None" = None) -> None:
    """Stop if a configured model lacks its package or key; warn of a server that does not answer."""
    from holdfast.config import readiness  # noqa: PLC0415  (as above)
    from holdfast.config.opening import make_preset  # noqa: PLC0415  (as above)
    from holdfast.config.settings import load_settings  # noqa: PLC0415  (as above)

    loaded = settings or load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    for warning in readiness.check_models(loaded, make_preset(loaded)):
        note(warning, as_json=flags.json)


def digest_waiting(memory: "Engine") -> None:
    """Digest conversations that ended, or fell silent, and that no worker has come to yet: for a moment at most."""
    until = time.monotonic() + _SECONDS_OF_WORK
    services(memory).digester.close_idle_sessions()
    while time.monotonic() < until and services(memory).jobs.run_one():
        pass


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is lost; where nobody can answer, insist on ``--yes``."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is no terminal to ask on: add --yes if that is meant.")
    click.confirm(question, abort=True, err=True)


def pairs(_context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Read ``name=value`` options; a value that is JSON (3, true, [1, 2]) is taken as such, any other as text."""
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
