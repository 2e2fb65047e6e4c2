"""Asking a model for data: prompts from files, answers that fit a schema, one chance to repair, and every call counted."""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from holdfast.chat import ChatModel, Reply, Schema, Turn, Usage, usage_of
from holdfast.errors import AnswerInvalid, ModelError, SettingsError
from holdfast.text.clean import escape_line
from holdfast.text.json.find import conform, read
from holdfast.text.language import detect_language
from holdfast.types import Change

_MAX_REPEATED_CHARACTERS = 2000
"""Characters of a useless answer that the model gets to see once more."""
_MAX_PROBLEM_CHARACTERS = 300
_MARK = re.compile(r"\{([a-z_]+)\}")
_ESCAPED_TWICE = re.compile(r"&amp;(lt|gt|amp);")


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer:
    """Data that fits the schema. ``flaws`` names what was dropped or went wrong on the way; none means all went well."""

    data: Any
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The words for one task in one language; ``user`` has marks such as ``{transcript}``."""

    version: str
    system: str
    user: str


def complete(
    model: ChatModel, turns: Sequence[Turn], schema: Schema, *, max_tokens: int = 1024, timeout: float = 60.0
) -> StructuredAnswer:
    """Ask, and ask once more when nothing usable came; raise AnswerInvalid when the second answer is useless, too.

    The usage of every call is in the answer, or in the error's ``usage``.
    """
    first = model.chat(turns, schema=schema, max_tokens=max_tokens, timeout=timeout)
    try:
        return _usable(first, schema, spent=first.usage)
    except ValueError as error:
        problem = _sentence(error)
    again = [*turns, *_repair(first, schema, problem, language=_language(turns))]
    try:
        second = model.chat(again, schema=schema, max_tokens=max_tokens, timeout=timeout)
    except ModelError as error:
        error.usage = first.usage + usage_of(error)
        raise
    spent = first.usage + second.usage
    try:
        return _usable(second, schema, spent=spent, flaws=(f"the first answer could not be used: {problem}",))
    except ValueError as error:
        invalid = AnswerInvalid(f"{model.name} gave no usable answer, twice: {_sentence(error)}.")
        invalid.usage = spent
        raise invalid from None


def _usable(reply: Reply, schema: Schema, *, spent: Usage, flaws: tuple[str, ...] = ()) -> StructuredAnswer:
    """Return what of a reply is valid; raise ValueError when nothing is."""
    try:
        reading = read(reply.text)
    except ValueError as error:
        raise ValueError(f"{error}{' It was cut off' if reply.stop == 'length' else ''}") from None
    data, dropped = conform(reading.value, schema)
    if reply.stop == "length":
        flaws += ("the answer was cut off",)
    elif not reading.whole:
        flaws += ("a part of the answer could not be read",)
    return StructuredAnswer(data=data, flaws=flaws + dropped, usage=spent)


def _repair(reply: Reply, schema: Schema, problem: str, *, language: str | None) -> list[Turn]:
    """Return the turns that show a model its answer's beginning and say what was wrong with it."""
    form = json.dumps(schema, ensure_ascii=False, default=dict)
    asked = prompt_turns(load_prompt("repair", language), problem=problem, form=form)
    shown = reply.text[:_MAX_REPEATED_CHARACTERS].strip()
    return [*([Turn(role="assistant", text=shown)] if shown else []), *asked]


def _sentence(error: ValueError) -> str:
    return str(error)[:_MAX_PROBLEM_CHARACTERS].rstrip(". ")


def _language(turns: Sequence[Turn]) -> str | None:
    """Return the language of the instructions, which stand first; what follows is data in any language."""
    return detect_language(turns[0].text) if turns else None


@cache
def load_prompt(name: str, language: str | None) -> Prompt:
    """Return the prompt of a name in a language; in English where the language has none."""
    file = resources.files("holdfast.prompts") / f"{name}.toml"
    if not file.is_file():
        raise SettingsError(f"There is no prompt named {name!r}.")
    table = tomllib.loads(file.read_text("utf-8"))
    own = table.get((language or "en").partition("-")[0].casefold())
    words = own if isinstance(own, dict) else table["en"]
    return Prompt(version=str(table["version"]), system=words["system"].strip(), user=words["user"].strip())


def prompt_turns(prompt: Prompt, **values: str | Sequence[str]) -> list[Turn]:
    """Fill the marks of a prompt; each value is data and can neither close the tags around it nor hold marks.

    A text keeps its lines; a list gives each of its texts one line.
    """
    marks = set(_MARK.findall(prompt.user))
    if marks != values.keys():
        odd = ", ".join(sorted(marks ^ values.keys()))
        raise ValueError(f"The prompt {prompt.version} and the values given for it differ in: {odd}.")
    filled = _MARK.sub(lambda mark: _as_data(values[mark[1]]), prompt.user)
    asked = Turn(role="user", text=filled)
    return [Turn(role="system", text=prompt.system), asked] if prompt.system else [asked]


def _as_data(value: str | Sequence[str]) -> str:
    lines = value.split("\n") if isinstance(value, str) else value
    # A caller may have escaped the parts of a line already; twice would only puzzle the model.
    return "\n".join(_ESCAPED_TWICE.sub(r"&\1;", escape_line(line)) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one policy. ``flaws`` says what went wrong on the way, in words for people; none means all went well."""

    changes: tuple[Change, ...] = ()
    model: str | None = None
    """The model that thought of the changes; None when rules did."""
    prompt: str = ""
    """The version of the prompt, or of the rules."""
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
