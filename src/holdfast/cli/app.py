"""Lists the commands, and converts errors to messages and exit codes.

A command's module is imported when the command is called. Exit codes: 0 for success, 1 for an error, 2 for a usage error.
"""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from holdfast.cli.console import fail, one_error, prepare_streams
from holdfast.cli.options import common_options
from holdfast.errors import HoldfastError
from holdfast.version import __version__


class CommandEntry(NamedTuple):
    """The place from which a command is imported, as ``module:name``, and its description in ``holdfast --help``."""

    location: str
    summary: str


COMMANDS = {
    "remember": CommandEntry("commands.memories:remember", "Store a memory."),
    "recall": CommandEntry("commands.recall:recall", "Find memories and messages for a query, best first."),
    "context": CommandEntry("commands.recall:context", "Print the context block for a system prompt."),
    "chat": CommandEntry("terminal_chat.command:chat", "Chat with an assistant that remembers."),
    "list": CommandEntry("commands.memories:list_memories", "List memories, newest first."),
    "show": CommandEntry("commands.memories:show", "Show a memory and its sources."),
    "revise": CommandEntry("commands.memories:revise", "Edit a memory: its text, tags, importance, topic or pin."),
    "history": CommandEntry("commands.memories:history", "Show the changes to a memory."),
    "proposals": CommandEntry("commands.proposals:proposals", "List, accept and dismiss proposed changes."),
    "forget": CommandEntry("commands.forget:forget", "Hide memories. You can undo it later."),
    "undo": CommandEntry("commands.forget:undo", "Undo a change and the rest of its batch."),
    "erase": CommandEntry("commands.forget:erase", "Remove data for good, including the bytes on disk."),
    "receipts": CommandEntry("commands.forget:receipts", "List erasures, or show one receipt."),
    "scrub": CommandEntry("commands.forget:scrub", "Overwrite the bytes of erased data now, and complete the pending receipts."),
    "sessions": CommandEntry("commands.sessions:sessions", "List sessions, or show one."),
    "traces": CommandEntry("commands.traces:traces", "Show how context blocks were built, and why a memory was not recalled."),
    "apps": CommandEntry("commands.apps:apps", "List, install and uninstall apps; show their metrics."),
    "topics": CommandEntry("commands.topics:topics", "List, show and edit topics; sync the topic files."),
    "users": CommandEntry(
        "commands.sessions:users", "List users. Show or set the default user, and users' time zones and languages."
    ),
    "jobs": CommandEntry("commands.jobs:jobs", "List background jobs, or queue one again."),
    "worker": CommandEntry("commands.jobs:worker", "Run background jobs until stopped."),
    "serve": CommandEntry("serving.command:serve", "Serve this store over HTTP, with a dashboard."),
    "models": CommandEntry("commands.models:models", "List, download and verify models that run on this machine."),
    "keys": CommandEntry("commands.keys:keys", "Create, list and revoke access keys for the server."),
    "import": CommandEntry("commands.import_:importing", "Import conversations, memories and documents of other programs."),
    "export": CommandEntry("commands.export:export", "Write memories and conversations to a file."),
    "mcp": CommandEntry("agents.mcp:mcp", "Serve this store to an assistant over MCP on stdio."),
    "hook": CommandEntry("agents.hook:hook", "Handle an event of a coding agent."),
    "resident": CommandEntry("agents.resident:resident", "Show or stop the resident process for coding agents."),
    "install": CommandEntry("installing.command:install", "Add Holdfast to an assistant's settings."),
    "backup": CommandEntry("commands.maintenance:backup", "Write a consistent copy of the store to a file."),
    "restore": CommandEntry("commands.restore:restore", "Replace the store with a backup."),
    "store": CommandEntry("commands.stores:store", "Copy a whole store to another store, in SQLite or PostgreSQL."),
    "doctor": CommandEntry("commands.maintenance:doctor", "Check the store, the models and the job queue."),
    "stats": CommandEntry("commands.maintenance:stats", "Show counts of stored data."),
    "demo": CommandEntry("commands.demo:demo", "Play a demo conversation over two sessions."),
    "bench": CommandEntry("commands.bench:bench", "Measure speed, learning and recall on this machine."),
    "completion": CommandEntry("commands.completion:completion", "Print a shell completion script."),
}


class LazyGroup(click.Group):
    """A click group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the names of all commands, the most common commands first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (click's signature)
        """Import a command and return it, or None if the name is unknown."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].location.partition(":")
        command = getattr(import_module(f"holdfast.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named in ``args``. For an unknown name, fail and suggest the most similar command."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415  (only after a typo)

            near = get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"There is no command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  (click's signature)
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002, FBT001, FBT002  (click's signature)
        **extra: Any,
    ) -> Any:
        """Run a command line and exit."""
        given = list(sys.argv[1:] if args is None else args)
        flags = given[: given.index("--")] if "--" in given else given
        prepare_streams()
        # standalone_mode=False: errors are printed below, not by click. windows_expand_args=False: a * in an argument is text.
        extra["windows_expand_args"] = False
        try:
            result = super().main(given, prog_name or "holdfast", complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:  # `holdfast` or a group such as `holdfast users` without arguments
            click.echo(error.format_message())
            sys.exit(0)
        except click.UsageError as error:
            from holdfast.cli.usage import advice  # noqa: PLC0415  (only after a mistake)

            usage = error.ctx.get_usage() if error.ctx else None
            fail(one_error("usage", error.format_message()), as_json="--json" in flags, before=usage, after=advice(error))
            sys.exit(2)
        except click.Abort:
            fail(one_error("aborted", "Aborted."), as_json="--json" in flags)
            sys.exit(1)
        except (HoldfastError, click.ClickException, OSError) as error:
            _print_traceback(error, flags)
            fail(one_error(_code(error), _message(error)), as_json="--json" in flags)
            sys.exit(1)
        except Exception as error:  # noqa: BLE001  (the edge: people get a message, and --debug for more)
            _print_traceback(error, flags)
            message = f"Unexpected {type(error).__name__}: {error}. This is a bug. Run the command again with --debug for the traceback."
            fail(one_error("unexpected", message), as_json="--json" in flags)
            sys.exit(1)
        sys.exit(result if isinstance(result, int) else 0)


def _print_traceback(error: BaseException, flags: list[str]) -> None:
    if "--debug" in flags:
        traceback.print_exception(error)


def _code(error: Exception) -> str:
    return error.code if isinstance(error, HoldfastError) else "system"


def _message(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


_HELP = """Persistent memory for AI assistants.

\b
holdfast remember "prefers tea" --key drink --user ana
holdfast recall "what does she drink?" --user ana
"""


@click.command(
    cls=LazyGroup,
    help=_HELP,
    epilog="Run `holdfast COMMAND --help` for the options of a command.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@common_options
def app() -> None:
    """Define the options that may precede a command."""
