"""Requests, raw replies and JSON Schema helpers that all chat models share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from holdfast.chat import Schema, Tool, ToolCall, Turn
from holdfast.errors import AnswerInvalid
from holdfast.models.remote.http import well_formed

__all__ = ["ChatRequest", "RawReply", "closed_schema", "is_strict", "plain", "read_arguments", "with_schema_in_prompt"]

_SCHEMA_PROMPT: Final = (
    "Answer with one JSON value that fits this JSON Schema, and with nothing else: no explanation, no code fence.\n{schema}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A request to a chat model, independent of the provider."""

    turns: tuple[Turn, ...]
    schema: Schema | None = None
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 1024
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A reply parsed from the provider's format. Its cost is added later."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    cut_off: bool = False

    @property
    def stop(self) -> Literal["end", "length", "tool"]:
        """Why the reply ended: ``length`` if it was truncated, else ``tool`` if it contains tool calls, else ``end``."""
        if self.cut_off:
            return "length"
        return "tool" if self.tool_calls else "end"


def plain(value: Any) -> Any:
    """Convert nested mappings and sequences to dicts and lists, and replace characters that cannot be sent."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(part) for part in value]
    return value


def closed_schema(schema: Any) -> Any:
    """Return the schema with ``additionalProperties: false`` on objects with named properties, as providers require."""
    if isinstance(schema, list):
        return [closed_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: closed_schema(part) for key, part in plain(schema).items()}
    if isinstance(closed.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def is_strict(schema: Any) -> bool:
    """Return True if every object in a schema requires all its properties. OpenAI's strict mode demands this."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        named = set(schema.get("properties") or ())
        if schema.get("additionalProperties") is not False or named != set(schema.get("required") or ()):
            return False
    return all(map(is_strict, schema.values()))


def with_schema_in_prompt(turns: Sequence[Turn], schema: Schema) -> tuple[Turn, ...]:
    """Append a schema to the last user turn, with the instruction to follow it. For models without a schema parameter."""
    prompt = _SCHEMA_PROMPT.format(schema=json.dumps(plain(schema), ensure_ascii=False))
    user_turns = [index for index, turn in enumerate(turns) if turn.role == "user"]
    if not user_turns:
        return (*turns, Turn(role="user", text=prompt))
    last = user_turns[-1]
    changed = replace(turns[last], text=f"{turns[last].text}\n\n{prompt}")
    return (*turns[:last], changed, *turns[last + 1 :])


def read_arguments(name: str, arguments: object) -> Mapping[str, Any]:
    """Return a tool call's arguments, given as an object or as JSON text. An empty text means no arguments.

    Raise ``AnswerInvalid`` for other arguments. ``name`` is the name of the tool.
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, dict):
        raise AnswerInvalid(f"The model called {name!r} with arguments that are not a JSON object.")
    cleaned: dict[str, Any] = plain(arguments)
    return cleaned
