"""The ``chat`` command."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from holdfast.cli.options import Flags, check_models, open_memory, with_flags
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.cli.terminal_chat.output import ChatOutput
    from holdfast.engine import Engine


@click.command(epilog="Example: HOLDFAST_CHAT=ollama:llama3.2 holdfast chat --user ana")
@click.option("--session", metavar="ID", help="Continue this session. Default: start a new one.")
@click.option("--persona", metavar="TEXT", help="Who the assistant is: the start of its system prompt.")
@click.option(
    "--language", type=click.Choice(["en", "es"]), help="Language of messages, commands and tools. Default: the user's."
)
@click.option("--off-record", is_flag=True, help="Store nothing of this session.")
@click.option("--no-stream", is_flag=True, help="Print each reply when it is complete.")
@with_flags(default_user=True)
def chat(
    flags: Flags, *, session: str | None, persona: str | None, language: str | None, off_record: bool, no_stream: bool
) -> None:
    """Chat with an assistant that remembers.

    Type a message, or a command such as /remember or /why. /help lists the commands. /end or Ctrl-D ends the session
    and shows the new memories. Each message is on disk before the model replies. If the program is killed, the session
    is digested later.

    Without a chat model (HOLDFAST_CHAT), messages are still stored, and the system prompt is shown instead of a reply.
    With --json, each line of input produces one line of JSON. Exits with 1 if the model failed to answer the last
    message.
    """
    from holdfast.agent.agent import Agent  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.cli.terminal_chat.conversation import TerminalChat  # noqa: PLC0415  (as above)
    from holdfast.cli.terminal_chat.output import ChatOutput  # noqa: PLC0415  (as above)
    from holdfast.cli.terminal_chat.slash_commands import handle_line  # noqa: PLC0415  (as above)

    check_models(flags)
    ids = iter([session] if session else [])
    with open_memory(flags, worker="thread") as memory:  # sessions are digested during the chat

        def begin() -> Agent:
            opened = memory.session(**flags.scope, id=next(ids, None), off_record=off_record)
            return Agent(memory, session=opened, persona=persona, language=language)

        agent = begin()
        output = ChatOutput(language=agent.language or "en", as_json=flags.json)
        talk = TerminalChat(memory, agent, output, begin=begin, streamed=not no_stream and not flags.json)
        if sys.stdin.isatty():
            output.aside(_greeting(memory, output, agent.session.scope.user, off_record=off_record))
        for line in _lines(output):
            if not handle_line(talk, line):
                break
        talk.finish()
    if talk.unanswered:
        click.get_current_context().exit(1)


def _greeting(memory: "Engine", output: "ChatOutput", user: str | None, *, off_record: bool) -> str:
    name = services(memory).chat.name
    model = output.text("with_model", name=name) if name else output.text("without_model")
    if off_record:
        return output.text("hello_off", preset=memory.preset.name, model=model)
    return output.text("hello", who=user or output.text("nobody"), preset=memory.preset.name, model=model)


def _lines(output: "ChatOutput") -> Iterator[str]:
    """Yield the lines typed at the terminal or read from a pipe, until the input ends."""
    if not sys.stdin.isatty():
        for line in sys.stdin.buffer:
            yield line.decode("utf-8", errors="replace").removeprefix("\ufeff").rstrip("\r\n")
        return
    with contextlib.suppress(ImportError):  # where available, gives line editing and history
        import readline  # noqa: F401, PLC0415
    prompt = "> " if sys.stdout.isatty() and not output.as_json else ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            click.echo(err=True)
            return
        except KeyboardInterrupt:
            click.echo(err=True)
            output.aside(output.text("prompt_hint"))
