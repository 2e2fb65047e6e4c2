"""The ``demo`` command: a conversation over two sessions in a temporary store."""

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.commands.recall import hit_lines
from holdfast.cli.options import Flags, open_memory
from holdfast.cli.output import brief, count, echo
from holdfast.recall.notices import words_only
from holdfast.services import services

if TYPE_CHECKING:
    from holdfast.engine import Engine

_USER = "ana"
_TALK = (
    ("user", "Hi! I moved to Lyon last month."),
    ("assistant", "Welcome to Lyon! How are you settling in?"),
    ("user", "Great, thanks. I'm allergic to peanuts. What should I cook tonight?"),
    ("assistant", "How about a risotto?"),
    ("user", "Mi hermana se llama Lucía y vive en Rosario."),
)
_BY_MEANING = "Which foods should she avoid?"
_BY_WORDS = "allergic to what?"
_SPANISH = "¿Dónde vive su hermana?"


@click.command(epilog="Example: holdfast demo")
def demo() -> None:
    """Play a demo conversation over two sessions.

    Shows the messages, the memories extracted from them, and the hits of a later session. Then shows the context block
    for the system prompt, and how memories are forgotten and erased. Uses a temporary store and leaves nothing behind.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-", ignore_cleanup_errors=True) as folder:
        flags = Flags(store=str(Path(folder) / "demo.db"), preset="default")
        with open_memory(flags, quiet=True) as memory:
            _first_session(memory)
        with open_memory(flags, quiet=True) as memory:  # reopened, as by another process
            _second_session(memory)
            _forget(memory)
    echo('\nTry it yourself: holdfast remember "prefers tea" --key drink --user ana')


def _title(text: str) -> None:
    echo(f"\n== {text}")


def _first_session(memory: "Engine") -> None:
    _title("Four days ago: Ana talks to the assistant. Each message is on disk before the next")
    talk = memory.session(user=_USER)
    then = services(memory).clock.now() - timedelta(days=4)
    for minute, (role, text) in enumerate(_TALK):
        talk.add(role, text, at=then + timedelta(minutes=minute))
        echo(f"  {role:>9}: {text}")
    talk.end()
    services(memory).jobs.run_one()
    _title("The session ends and is digested. Memories, and the messages they come from")
    messages = {message.id: message for message in talk.messages()}
    for each in reversed(memory.memories(user=_USER)):
        echo(f"  {each.kind:8} {brief(each.text)}")
        for source in each.sources:
            echo(f"           <- {source[:14]}...  {brief(messages[source].text)}")
    echo("  (Questions, small talk and the assistant's messages stay in the log but become no memories.)")


def _second_session(memory: "Engine") -> None:
    _title("Today: another process opens the store and asks")
    hits = memory.recall(_BY_MEANING, user=_USER, limit=1)
    if services(memory).embedding.embedder() is None:
        echo(f"  {words_only(services(memory).embedding.problem or 'no embedder is configured')}")
        echo(f"  With the weights, {_BY_MEANING!r} would find the allergy. By words:")
        _ask(memory, _BY_WORDS)
    else:
        echo(f"  {_BY_MEANING}")
        echo("\n".join(f"  {line}" for hit in hits for line in hit_lines(1, hit, explain=True)))
        shared = {word for hit in hits for word in _words(hit.text)} & _words(_BY_MEANING)
        common = f"Words in common: {', '.join(sorted(shared))}" if shared else "No word in common"
        echo(f"        {common}: found by meaning, with a model on this machine.")
    _ask(memory, _SPANISH)
    _title("The context block for the system prompt, at most 120 tokens")
    question = _BY_WORDS if services(memory).embedding.embedder() is None else _BY_MEANING
    echo("\n".join(f"  {line}" for line in memory.context(question, user=_USER, max_tokens=120).text.splitlines()))


def _words(text: str) -> set[str]:
    return {word.strip(".,?!'").casefold() for word in text.split()}


def _ask(memory: "Engine", question: str) -> None:
    echo(f"  {question}")
    for hit in memory.recall(question, user=_USER, limit=1):
        echo("\n".join(f"  {line}" for line in hit_lines(1, hit, explain=True)))


def _forget(memory: "Engine") -> None:
    _title("Forgetting")
    allergy = next(each for each in memory.memories(user=_USER) if "allergic" in each.text)
    forgotten = memory.forget(id=allergy.id)
    left = [hit for hit in memory.recall(_BY_WORDS, user=_USER) if "allergic" in hit.text]
    echo(f"  forget:  {forgotten} memory hidden; recall finds it and its message {len(left)} times")
    memory.undo(memory.history(allergy.id)[-1])
    back = [hit for hit in memory.recall(_BY_WORDS, user=_USER) if "allergic" in hit.text]
    echo(f"  undo:    it is back; recall finds it {len(back)} time")
    receipt = memory.erase(user=_USER)
    result = "a scan of the files found nothing left" if receipt.verified else f"not verified: {receipt.status}"
    echo(
        f"  erase:   {count(receipt.memories, 'memory')}, {count(receipt.messages, 'message')}, {count(receipt.vectors, 'vector')} removed; {result}"
    )
