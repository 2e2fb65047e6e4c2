"""The list of commands, each imported when it is called, and the one place where errors become words and exit codes.

Exit codes: 0 for success, 1 for an error, 2 for a command line that makes no sense.
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
    """Where a command lives, and its line in the list."""

    home: str
    summary: str


COMMANDS = {
    "remember": CommandEntry("commands.memories:remember", "Keep something."),
    "recall": CommandEntry("commands.recall:recall", "Find what matters for a question, best first."),
    "context": CommandEntry("commands.recall:context", "Print the memory block for a system prompt."),
    "chat": CommandEntry("terminal_chat.command:chat", "Talk to an assistant that remembers."),
    "list": CommandEntry("commands.memories:list_memories", "List memories, the newest first."),
    "show": CommandEntry("commands.memories:show", "Show one memory with its sources."),
    "revise": CommandEntry("commands.memories:revise", "Correct a memory: its text, tags, importance, topic or pin."),
    "history": CommandEntry("commands.memories:history", "Show how a memory came to be what it is."),
    "forget": CommandEntry("commands.forget:forget", "Hide memories; can be undone for a while."),
    "undo": CommandEntry("commands.forget:undo", "Undo a change and those made with it."),
    "erase": CommandEntry("commands.forget:erase", "Remove for good, also from the bytes on disk."),
    "sessions": CommandEntry("commands.sessions:sessions", "List conversations, or show one."),
    "apps": CommandEntry("commands.apps:apps", "List apps, install and uninstall them, and see how memory serves them."),
    "topics": CommandEntry("commands.topics:topics", "List topics, show a page, and keep the topic files in step."),
    "users": CommandEntry("commands.sessions:users", "List users, and set or show their time zone and language."),
    "jobs": CommandEntry("commands.jobs:jobs", "List background work, or queue it again."),
    "worker": CommandEntry("commands.jobs:worker", "Do background work until stopped."),
    "serve": CommandEntry("serving.command:serve", "Serve this memory over HTTP, with a dashboard."),
    "models": CommandEntry("commands.models:models", "List, fetch and check the models that run on this machine."),
    "keys": CommandEntry("commands.keys:keys", "Make, list and revoke the keys that open the server."),
    "import": CommandEntry("commands.import_:importing", "Bring in what other programs remember."),
    "mcp": CommandEntry("commands.mcp:mcp", "Serve this memory to an assistant over stdio (MCP)."),
    "install": CommandEntry("installing.command:install", "Put this memory into an assistant's settings."),
    "backup": CommandEntry("commands.maintenance:backup", "Write a consistent copy of the store."),
    "restore": CommandEntry("commands.restore:restore", "Put a backup in the store's place."),
    "store": CommandEntry("commands.stores:store", "Copy a whole store into another: SQLite, PostgreSQL, either way."),
    "doctor": CommandEntry("commands.maintenance:doctor", "Check the store, the embedder and the queue."),
    "stats": CommandEntry("commands.maintenance:stats", "Count what is stored."),
    "demo": CommandEntry("commands.demo:demo", "Play a conversation over two sessions."),
    "bench": CommandEntry("commands.bench:bench", "Measure speed on this machine, how well it learns, and how well it recalls."),
    "completion": CommandEntry("commands.completion:completion", "Print a shell's completion script."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the names in the order a newcomer wants them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (click's signature)
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].home.partition(":")
        command = getattr(import_module(f"holdfast.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name those that look like it."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415  (only after a slip)

            near = get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"There is no command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  (click's signature)
        """Write the list without importing any of it."""
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
        # Not standalone: click would print errors its own way. No expansion: what is typed is text, also with a * in it.
        extra["windows_expand_args"] = False
        try:
            result = super().main(given, prog_name or "holdfast", complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:  # a bare `holdfast`, or a bare group such as `holdfast users`
            click.echo(error.format_message())
            sys.exit(0)
        except click.UsageError as error:
            usage = error.ctx.get_usage() if error.ctx else None
            fail(one_error("usage", error.format_message()), as_json="--json" in flags, before=usage)
            sys.exit(2)
        except click.Abort:
            fail(one_error("aborted", "Aborted."), as_json="--json" in flags)
            sys.exit(1)
        except (HoldfastError, click.ClickException, OSError) as error:
            _tell(error, flags)
            fail(one_error(_code(error), _words(error)), as_json="--json" in flags)
            sys.exit(1)
        except Exception as error:  # noqa: BLE001  (the edge: a person sees a sentence, and how to see more)
            _tell(error, flags)
            message = f"Unexpected {type(error).__name__}: {error}. Run it again with --debug to see where."
            fail(one_error("unexpected", message), as_json="--json" in flags)
            sys.exit(1)
        sys.exit(result if isinstance(result, int) else 0)


def _tell(error: BaseException, flags: list[str]) -> None:
    if "--debug" in flags:
        traceback.print_exception(error)


def _code(error: Exception) -> str:
    return error.code if isinstance(error, HoldfastError) else "system"


def _words(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


_HELP = """Persistent memory for AI assistants.

\b
holdfast remember "prefers tea" --key drink --user ana
holdfast recall "what should I pour her?" --user ana
"""


@click.command(
    cls=LazyGroup,
    help=_HELP,
    epilog="Each command explains itself: holdfast recall --help",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@common_options
def app() -> None:
    """Take the options that stand before a command."""
