"""What a conversation in the terminal prints: words in the person's language, or a line of JSON each turn."""

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
from holdfast.types import Hit


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("holdfast.cli.terminal_chat") / "words.toml").read_text("utf-8"))


def command_named(typed: str) -> str | None:
    """Return the command that a word means, in any language."""
    names: Mapping[str, Sequence[str]] = _table()["names"]
    return next((name for name, others in names.items() if typed == name or typed in others), None)


def command_names() -> list[str]:
    """Return every name of every command."""
    names: Mapping[str, Sequence[str]] = _table()["names"]
    return [each for name, others in names.items() for each in (name, *others)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOutput:
    """Speaks to a person in their language, or to a program in JSON."""

    language: str = "en"
    as_json: bool = False
    _flows: list[Flow] = field(default_factory=list, init=False, repr=False)
    """The reply that is being printed in pieces, if any."""

    def words(self, name: str, /, **values: Any) -> str:
        """Return some of the program's own words."""
        template: str = self._own[name]
        return template.format(**values)

    @property
    def help(self) -> Mapping[str, str]:
        """The commands, each with what it does."""
        found: Mapping[str, str] = self._own["help"]
        return found

    @property
    def _own(self) -> Mapping[str, Any]:
        table = _table()
        found: Mapping[str, Any] = table.get(self.language.partition("-")[0].casefold()) or table["en"]
        return found

    def show(self, value: Any, lines: Sequence[str]) -> None:
        """Print a result: one line of JSON, or lines."""
        if not self.as_json:
            self.end_pieces()
            echo("\n".join(lines))
            return
        if not sys.stdout.isatty():
            reconfigure(sys.stdout, encoding="utf-8")
        click.echo(json.dumps(plain(value), ensure_ascii=False))

    def piece(self, text: str) -> None:
        """Print a piece of a reply; what a model says must not steer a terminal."""
        if not self.as_json:
            self._flow(safe(text))

    def _flow(self, text: str) -> None:
        """Print as the words come: whole on a terminal, at once elsewhere."""
        width = columns(sys.stdout)
        if width is None:
            click.echo(text, nl=False)
            return
        if not self._flows:
            self._flows.append(Flow(lambda piece: click.echo(piece, nl=False), width))
        self._flows[0].feed(text)

    def end_pieces(self) -> None:
        """Print the last word of a reply that came in pieces, or was broken off."""
        for flow in self._flows:
            flow.finish()
        self._flows.clear()

    def aside(self, text: str) -> None:
        """Say something beside the conversation."""
        say(text, as_json=self.as_json)

    def hits(self, hits: Sequence[Hit]) -> Iterator[str]:
        """Yield what was recalled as numbered lines, each with the reason."""
        for place, hit in enumerate(hits, 1):
            arms = ", ".join(f"{self._arm(reason.arm)} #{reason.rank} ({reason.score:.2f})" for reason in hit.why)
            yield f"{place:2}. {hit.score:.2f}  {day(hit.at)}  {brief(str(hit))}  ({hit.id})"
            yield f"      {self.words('found_by', arms=arms) if arms else self.words('always')}"

    def _arm(self, name: str) -> str:
        known: Mapping[str, Any] = self._own
        return str(known.get(f"arm_{name}", name))


def recalled(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Return what was recalled as programs get it."""
    return [{"id": hit.id, "text": str(hit), "score": hit.score, "why": [str(reason) for reason in hit.why]} for hit in hits]
