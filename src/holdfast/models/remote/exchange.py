"""What all chat models share: a question, an answer as it was read, and a schema for models that cannot be held to one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from holdfast.chat import Schema, Tool, ToolCall, Turn
from holdfast.errors import AnswerInvalid
from holdfast.models.remote.http import well_formed

__all__ = ["ChatRequest", "RawReply", "closed_schema", "is_strict", "plain", "read_arguments", "with_schema_in_words"]

_SCHEMA_IN_WORDS: Final = (
    "Answer with one JSON value that fits this JSON Schema, and with nothing else: no explanation, no code fence.\n{schema}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked."""

    turns: tuple[Turn, ...]
    schema: Schema | None = None
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 1024
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """What a model answered, before what it cost is added."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    cut_off: bool = False

    @property
    def stop(self) -> Literal["end", "length", "tool"]:
        """Why it ended; a cut-off answer is one whatever else it holds."""
        if self.cut_off:
            return "length"
        return "tool" if self.tool_calls else "end"


def plain(value: Any) -> Any:
    """Return JSON made of dicts, lists and well-formed texts, whatever mappings and sequences it was made of."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(part) for part in value]
    return value


def closed_schema(schema: Any) -> Any:
    """Return a schema whose objects allow no properties but those they name, as providers ask for."""
    if isinstance(schema, list):
        return [closed_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: closed_schema(part) for key, part in plain(schema).items()}
    if isinstance(closed.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def is_strict(schema: Any) -> bool:
    """Tell whether every object of a closed schema requires all its properties, which OpenAI's strict mode wants."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        named = set(schema.get("properties") or ())
        if schema.get("additionalProperties") is not False or named != set(schema.get("required") or ()):
            return False
    return all(map(is_strict, schema.values()))


def with_schema_in_words(turns: Sequence[Turn], schema: Schema) -> tuple[Turn, ...]:
    """Ask for JSON in the last turn of the user, for models that nothing else holds to it."""
    words = _SCHEMA_IN_WORDS.format(schema=json.dumps(plain(schema), ensure_ascii=False))
    places = [number for number, turn in enumerate(turns) if turn.role == "user"]
    if not places:
        return (*turns, Turn(role="user", text=words))
    last = places[-1]
    changed = replace(turns[last], text=f"{turns[last].text}\n\n{words}")
    return (*turns[:last], changed, *turns[last + 1 :])


def read_arguments(name: str, arguments: object) -> Mapping[str, Any]:
    """Return the arguments a model gave to a tool: an object, or the JSON text of one; no text at all is an empty one."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, dict):
        raise AnswerInvalid(f"The model called {name!r} with arguments that are not a JSON object.")
    cleaned: dict[str, Any] = plain(arguments)
    return cleaned
