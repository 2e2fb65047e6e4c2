"""The command to talk with: chat."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from holdfast.cli.console import notes
from holdfast.cli.options import Flags, check_models, with_flags
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.cli.terminal_chat.output import ChatOutput
    from holdfast.engine import Engine


@click.command(epilog="Example: HOLDFAST_CHAT=ollama:llama3.2 holdfast chat --user ana")
@click.option("--session", metavar="ID", help="Go on with this conversation. Default: a new one.")
@click.option("--persona", metavar="TEXT", help="Who the assistant is: the first words of its system prompt.")
@click.option("--language", type=click.Choice(["en", "es"]), help="The language of commands and tools. Default: the user's.")
@click.option("--off-record", is_flag=True, help="Keep nothing of this conversation.")
@click.option("--no-stream", is_flag=True, help="Print a reply when it is whole, not as it comes.")
@with_flags()
def chat(
    flags: Flags, *, session: str | None, persona: str | None, language: str | None, off_record: bool, no_stream: bool
) -> None:
    """Talk to an assistant that remembers.

    Each message is on disk before the model is asked. /help lists what else can be typed; /end or Ctrl-D ends the
    conversation and shows what was learnt. A conversation that is cut short, even by a kill, is gone through later. Without
    a chat model (HOLDFAST_CHAT) it still remembers, and shows what it would tell one. With --json, every line of input
    gives a line of JSON. Exits with 1 if the model could not answer the last message.
    """
    from holdfast.agent.agent import Agent  # noqa: PLC0415  (the engine: not needed for help)
    from holdfast.cli.terminal_chat.conversation import TerminalChat  # noqa: PLC0415  (as above)
    from holdfast.cli.terminal_chat.output import ChatOutput  # noqa: PLC0415  (as above)
    from holdfast.cli.terminal_chat.slash_commands import take  # noqa: PLC0415  (as above)

    check_models(flags)
    ids = iter([session] if session else [])
    with _opened(flags) as memory:

        def begin() -> Agent:
            opened = memory.session(**flags.scope, id=next(ids, None), off_record=off_record)
            return Agent(memory, session=opened, persona=persona, language=language)

        agent = begin()
        voice = ChatOutput(language=agent.language or "en", as_json=flags.json)
        talk = TerminalChat(memory, agent, voice, begin=begin, streamed=not no_stream and not flags.json)
        if sys.stdin.isatty():
            voice.aside(_greeting(memory, voice, agent.session.scope.user, off_record=off_record))
        for line in _lines(voice):
            if not take(talk, line):
                break
        talk.finish()
    if talk.unanswered:
        click.get_current_context().exit(1)


@contextlib.contextmanager
def _opened(flags: Flags) -> Iterator["Engine"]:
    """Open the memory with a worker of its own, so that learning goes on while people talk."""
    from holdfast.config.opening import open_engine  # noqa: PLC0415  (numpy and the store: not needed for help)

    with (
        notes(as_json=flags.json, traces=flags.debug),
        open_engine(flags.store, preset=flags.preset, settings=flags.settings, tenant=flags.tenant, worker="thread") as memory,
    ):
        yield memory


def _greeting(memory: "Engine", voice: "ChatOutput", user: str | None, *, off_record: bool) -> str:
    name = services(memory).chat.name
    model = voice.words("with_model", name=name) if name else voice.words("without_model")
    if off_record:
        return voice.words("hello_off", preset=memory.preset.name, model=model)
    return voice.words("hello", who=user or voice.words("nobody"), preset=memory.preset.name, model=model)


def _lines(voice: "ChatOutput") -> Iterator[str]:
    """Yield what is typed, or what comes through a pipe, until there is no more."""
    if not sys.stdin.isatty():
        for line in sys.stdin.buffer:
            yield line.decode("utf-8", errors="replace").removeprefix("\ufeff").rstrip("\r\n")
        return
    with contextlib.suppress(ImportError):  # not everywhere; with it, a line can be edited and an earlier one brought back
        import readline  # noqa: F401, PLC0415
    prompt = "> " if sys.stdout.isatty() and not voice.as_json else ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            click.echo(err=True)
            return
        except KeyboardInterrupt:
            click.echo(err=True)
            voice.aside(voice.words("prompt_hint"))
