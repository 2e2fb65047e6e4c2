"""Ask a chat model for structured data.

This module loads prompts, validates the answer against a schema, retries once if needed, and adds up the usage.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from typing import Any

from holdfast.chat import ChatModel, Reply, Schema, Turn, Usage, usage_of
from holdfast.errors import AnswerInvalid, ModelError, SettingsError
from holdfast.runtime.regex import regex
from holdfast.text.clean import escape_line
from holdfast.text.json.find import ParsedText, conform, read
from holdfast.text.language import detect_language
from holdfast.text.secrets.redact import redact
from holdfast.types import Change

_MAX_REPEATED_CHARACTERS = 2000
"""Maximum number of characters of an invalid answer that the retry shows to the model."""
_MAX_PROBLEM_CHARACTERS = 300
_MAX_CONTINUATIONS = 2
"""Maximum number of times that a model is asked for the rest of an answer that was cut off."""
_CUT_OFF = "the answer was cut off"
_PROSE = regex(r"\s*(?:\S+\s+){7,}\S+[.!?\"”»)]\s*\Z")
"""Matches an answer in prose: at least eight words with punctuation at the end."""
_BULLET = regex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(?P<text>\S.*?)[ \t]*$", re.MULTILINE)
"""Matches a line of an answer that is a plain list, such as "- Chose oak for the worktop"."""
_STORES_NOTHING = ("repair", "rating")
"""Names of prompts whose answers are not stored as memories. The text about the user's wishes is not added to them."""
_PLACEHOLDER = regex(r"\{([a-z_]+)\}")
_ESCAPED_TWICE = regex(r"&amp;(lt|gt|amp);")


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer:
    """A model's answer that matches the schema. ``flaws`` lists dropped parts and other problems, and may be empty."""

    data: Any
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt for one task in one language. ``user`` contains placeholders such as ``{transcript}``."""

    version: str
    system: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShape:
    """The accepted formats of an answer. ``schema`` is the format that the model is asked for."""

    schema: Schema
    adapt: Callable[[Any], Any] = lambda value: value
    """Function that converts an answer from another known format to the format of the schema."""
    items: str | None = None
    """Name of the list in the answer. If the answer was cut off, the model is asked for the rest of this list. None: no list."""
    empty: Any = None
    """Another form of an answer without items that is accepted, such as an empty list. None: there is no other form."""
    plain: str | None = None
    """Name of the field that takes an answer in plain text instead of JSON. None: plain text is not accepted.

    If the plain text was cut off, the model is asked again.
    """
    bare: Callable[[str], Mapping[str, Any] | None] | None = None
    """Function that reads a short answer in plain text, such as a name. It returns None if the text is no valid answer."""


def complete(
    model: ChatModel, turns: Sequence[Turn], schema: Schema | AnswerShape, *, max_tokens: int = 1024, timeout: float = 60.0
) -> StructuredAnswer:
    """Ask the model for data that match the schema. Retry once if the answer contains no usable data.

    Raise AnswerInvalid if the retry contains none either. The returned answer, or the error, has the usage of all calls.
    """
    shape = schema if isinstance(schema, AnswerShape) else AnswerShape(schema=schema)
    call = partial(model.chat, schema=shape.schema, max_tokens=max_tokens, timeout=timeout)
    first = call(turns)
    try:
        answer = _usable(first, shape, spent=first.usage)
        _check_name(first, shape, answer)
    except ValueError as error:
        problem = _sentence(error)
    else:
        return _completed(call, turns, first, shape, answer)
    try:
        second = call(_repair(turns, first, shape.schema, problem))
    except ModelError as error:
        error.usage = first.usage + usage_of(error)
        raise
    spent = first.usage + second.usage
    try:
        answer = _usable(second, shape, spent=spent, flaws=(f"the first answer could not be used: {problem}",))
    except ValueError as error:
        invalid = AnswerInvalid(f"{model.name} returned no usable answer in two attempts: {_sentence(error)}.")
        invalid.usage = spent
        raise invalid from None
    return _completed(call, turns, second, shape, answer)


def _completed(
    call: Callable[[Sequence[Turn]], Reply], turns: Sequence[Turn], reply: Reply, shape: AnswerShape, answer: StructuredAnswer
) -> StructuredAnswer:
    """Return an answer, completed by further model calls if it was cut off.

    ``call`` calls the model. ``turns`` are the turns that the model was given, ``reply`` is its reply, and ``answer``
    is the valid part of the reply. If the missing part cannot be obtained, ``flaws`` of the returned answer still says
    that the answer was cut off.
    """
    instruction = prompt_turns(load_prompt("repair", _language(turns), part="-rest"))[-1]
    for _ in range(_MAX_CONTINUATIONS):
        if _CUT_OFF not in answer.flaws or not (shape.items or shape.plain):
            break
        again = _repair(turns, reply, shape.schema, _CUT_OFF) if shape.items is None else None
        try:
            reply = call(again or [*turns, Turn(role="assistant", text=reply.text), instruction])
        except ModelError as error:
            return replace(answer, usage=answer.usage + usage_of(error))
        joined = _joined(answer, reply, shape)
        if joined is None:
            return replace(answer, usage=answer.usage + reply.usage)
        answer = joined
    return answer


def _joined(answer: StructuredAnswer, reply: Reply, shape: AnswerShape) -> StructuredAnswer | None:
    """Return an answer that was cut off, completed with the model's next reply. Return None if the reply is not usable.

    If the answer is a list, the new entries of the reply are added. An answer of another form is replaced by the reply,
    unless the reply was cut off, too.
    """
    spent = answer.usage + reply.usage
    before = tuple(flaw for flaw in answer.flaws if flaw != _CUT_OFF)
    try:
        rest = _usable(reply, shape, spent=spent, flaws=before)
    except ValueError:
        return None
    if shape.items is None:
        return rest if _CUT_OFF not in rest.flaws else replace(answer, usage=spent)
    known = answer.data[shape.items]
    items = [*known, *(item for item in rest.data[shape.items] if item not in known)]
    return replace(rest, data={**rest.data, shape.items: items})


def _usable(reply: Reply, shape: AnswerShape, *, spent: Usage, flaws: tuple[str, ...] = ()) -> StructuredAnswer:
    """Return the valid part of a reply. Raise ValueError if no part of it is valid.

    ``spent`` is the usage to record in the returned answer. ``flaws`` are earlier problems, which the answer lists
    first.
    """
    try:
        reading = read(reply.text)
    except ValueError as error:
        lines = [match["text"] for match in _BULLET.finditer(reply.text)] if shape.items and "{" not in reply.text else []
        if lines:
            reading = ParsedText(value=lines, whole=True)
        elif shape.plain and _PROSE.match(reply.text) and "{" not in reply.text:
            reading = ParsedText(value={shape.plain: reply.text.strip()}, whole=True)
        elif shape.bare and (value := shape.bare(reply.text)):
            reading = ParsedText(value=value, whole=True)
        else:
            raise ValueError(f"{error}{' It was cut off' if reply.stop == 'length' else ''}") from None
    value = shape.adapt(reading.value)
    if value == []:
        raise ValueError("The answer is an empty list, not an object")
    data, dropped = conform(value, shape.schema)
    if reply.stop == "length" or reading.cut:  # not every model says that its output was cut off
        flaws += (_CUT_OFF,)
    elif not reading.whole:
        flaws += ("a part of the answer could not be read",)
    return StructuredAnswer(data=data, flaws=flaws + dropped, usage=spent)


def _check_name(reply: Reply, shape: AnswerShape, answer: StructuredAnswer) -> None:
    """Raise ValueError if the answer has no usable entries and lacks the list that the prompt asks for.

    The model has then probably answered in the format of another design, or answered another question. The error makes the
    caller ask the model once more.
    """
    if shape.items is None or answer.data[shape.items]:
        return
    value = read(reply.text).value
    if shape.empty is not None and value == shape.empty:
        return
    if isinstance(value, Mapping) and shape.items not in value:
        raise ValueError(f"the answer lacks {shape.items}, and what it holds instead is empty")


def _repair(turns: Sequence[Turn], reply: Reply, schema: Schema, problem: str) -> list[Turn]:
    """Return the turns for a retry: the earlier turns, the beginning of the invalid answer, then the problem and the schema.

    If the answer is empty, the problem and the schema are appended to the last turn, because many models reject two user
    turns in a row.
    """
    form = json.dumps(schema, ensure_ascii=False, default=dict)
    *_, instruction = prompt_turns(load_prompt("repair", _language(turns)), problem=problem, form=form)
    shown = reply.text[:_MAX_REPEATED_CHARACTERS].strip()
    if shown:
        return [*turns, Turn(role="assistant", text=shown), instruction]
    *before, last = turns
    return [*before, replace(last, text=f"{last.text}\n\n{instruction.text}")]


def _sentence(error: ValueError) -> str:
    return str(error)[:_MAX_PROBLEM_CHARACTERS].rstrip(". ")


def _language(turns: Sequence[Turn]) -> str | None:
    """Return the language of the prompt, detected in the first turn, which contains the instructions."""
    return detect_language(turns[0].text) if turns else None


@cache
def load_prompt(name: str, language: str | None, *, part: str = "") -> Prompt:
    """Load a prompt by name in a language. If there is no translation, load the English prompt.

    A prompt file can contain several sections per language. ``part`` is appended to the language to select one of them:
    ``-rest`` selects ``en-rest``.
    """
    file = resources.files("holdfast.prompts") / f"{name}.toml"
    if not file.is_file():
        raise SettingsError(f"There is no prompt named {name!r}. The names are those of the files in holdfast/prompts.")
    table = tomllib.loads(file.read_text("utf-8"))
    spoken = (language or "en").partition("-")[0].casefold()
    spoken = spoken if isinstance(table.get(spoken + part), dict) else "en"
    texts = table[spoken + part]
    system = texts["system"].strip()
    if system and name not in _STORES_NOTHING:
        system = f"{system}\n\n{_consent()[spoken]}"
    return Prompt(version=str(table["version"]), system=system, user=texts["user"].strip())


@cache
def _consent() -> Mapping[str, str]:
    """Return a mapping from languages to a prompt text about the user's wishes.

    The text is added to prompts whose answers are stored.
    """
    table = tomllib.loads((resources.files("holdfast.prompts") / "tools.toml").read_text("utf-8"))
    return {language: texts["consent"]["text"].strip() for language, texts in table.items() if isinstance(texts, dict)}


def prompt_turns(prompt: Prompt, **values: str | Sequence[str]) -> list[Turn]:
    """Fill the placeholders of a prompt and return the turns for the model.

    Values are escaped, so they cannot close the tags around them or add placeholders. A string keeps its line breaks. A list
    becomes one line per item. Secrets in the values are redacted: stored messages can contain secrets, and a model must never
    see them.
    """
    placeholders = set(_PLACEHOLDER.findall(prompt.user))
    if placeholders != values.keys():
        unmatched = ", ".join(sorted(placeholders ^ values.keys()))
        raise ValueError(f"The placeholders of prompt {prompt.version} and the given values do not match: {unmatched}.")
    filled = _PLACEHOLDER.sub(lambda match: _as_data(values[match[1]]), prompt.user)
    user = Turn(role="user", text=filled)
    return [Turn(role="system", text=prompt.system), user] if prompt.system else [user]


def _as_data(value: str | Sequence[str]) -> str:
    lines = value.split("\n") if isinstance(value, str) else value
    # The caller may have escaped parts of a line already. Escaping them twice would confuse the model.
    return "\n".join(_ESCAPED_TWICE.sub(r"&\1;", escape_line(redact(line).text)) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an extraction or condensing step. ``flaws`` lists problems in plain words, and may be empty."""

    changes: tuple[Change, ...] = ()
    model: str | None = None
    """Name of the model that proposed the changes; None if rules proposed them."""
    failed: bool = False
    """True if a model is configured but failed, so that rules proposed the changes."""
    away: bool = False
    """True if the model failed because it could not be reached or did not answer. It may work again later."""
    prompt: str = ""
    """Version of the prompt, or version of the rules if rules proposed the changes."""
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
