"""Output of ``holdfast chat``: text in the user's language, or one line of JSON per turn."""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import click

from holdfast.cli.console import reconfigure, say
from holdfast.cli.output import brief, day, echo, plain, safe
from holdfast.cli.wrapping import Flow, columns
from holdfast.recall.context.block import block_words
from holdfast.types import Hit


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("holdfast.cli.terminal_chat") / "messages.toml").read_text("utf-8"))


def command_named(typed: str) -> str | None:
    """Return the slash command for a typed name in any language, or None."""
    names: Mapping[str, Sequence[str]] = _table()["names"]
    return next((name for name, others in names.items() if typed == name or typed in others), None)


def command_names() -> list[str]:
    """Return all names of all slash commands, in all languages."""
    names: Mapping[str, Sequence[str]] = _table()["names"]
    return [each for name, others in names.items() for each in (name, *others)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOutput:
    """Prints results as text in one language, or as JSON."""

    language: str = "en"
    as_json: bool = False
    _flows: list[Flow] = field(default_factory=list, init=False, repr=False)
    """A list with one ``Flow``, which wraps the reply that is being streamed. The list is empty between replies."""

    def text(self, name: str, /, **values: Any) -> str:
        """Return a text from ``messages.toml`` in this language, with its placeholders filled in."""
        template: str = self._own[name]
        return template.format(**values)

    @property
    def help(self) -> Mapping[str, str]:
        """Maps each slash command to its description."""
        found: Mapping[str, str] = self._own["help"]
        return found

    @property
    def _own(self) -> Mapping[str, Any]:
        table = _table()
        found: Mapping[str, Any] = table.get(self.language.partition("-")[0].casefold()) or table["en"]
        return found

    def show(self, value: Any, lines: Sequence[str]) -> None:
        """Print a result: ``value`` as one line of JSON if the output is JSON, otherwise the lines of text."""
        if not self.as_json:
            self.end_pieces()
            echo("\n".join(lines))
            return
        if not sys.stdout.isatty():
            reconfigure(sys.stdout, encoding="utf-8")
        click.echo(json.dumps(plain(value), ensure_ascii=False))

    def piece(self, text: str) -> None:
        """Print a piece of a streamed reply, without terminal control characters."""
        if not self.as_json:
            self._flow(safe(text))

    def _flow(self, text: str) -> None:
        """Print a piece of text. On a terminal, the text is wrapped between words. Elsewhere it is unchanged."""
        width = columns(sys.stdout)
        if width is None:
            click.echo(text, nl=False)
            return
        if not self._flows:
            self._flows.append(Flow(lambda piece: click.echo(piece, nl=False), width))
        self._flows[0].feed(text)

    def end_pieces(self) -> None:
        """Print the rest of a streamed reply, even if the reply was interrupted."""
        for flow in self._flows:
            flow.finish()
        self._flows.clear()

    def aside(self, text: str) -> None:
        """Print a message on stderr, outside the conversation."""
        say(text, as_json=self.as_json)

    def hits(self, hits: Sequence[Hit]) -> Iterator[str]:
        """Yield two lines per hit: a numbered line with the hit, then a line that names the searches that found the hit."""
        for rank, hit in enumerate(hits, 1):
            arms = ", ".join(f"{self._arm(reason.arm)} #{reason.rank} ({reason.score:.2f})" for reason in hit.why)
            yield f"{rank:2}. {hit.score:.2f}  {day(hit.at)}  {self._said(hit)}  ({hit.id})"
            yield f"      {self.text('found_by', arms=arms) if arms else self.text('always')}"

    def _said(self, hit: Hit) -> str:
        """Return the text of a hit. The text of a reply comes after the question that it answers."""
        asked = f'{block_words(self.language).asked} "{brief(hit.asked)}": ' if hit.asked else ""
        return asked + brief(str(hit))

    def _arm(self, name: str) -> str:
        known: Mapping[str, Any] = self._own
        return str(known.get(f"arm_{name}", name))


def hits_json(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return hits in the structure of the JSON output."""
    return [
        {"id": hit.id, "text": str(hit), "score": hit.score, "why": [str(reason) for reason in hit.why]}
        | ({"asked": hit.asked} if hit.asked else {})
        for hit in hits
    ]
