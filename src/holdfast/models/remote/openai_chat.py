"""OpenAI's chat completions, as OpenAI and the many servers that imitate it speak them."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.chat import Tool, ToolCall, Turn
from holdfast.errors import AnswerInvalid
from holdfast.models.remote.exchange import (
    ChatRequest,
    RawReply,
    closed_schema,
    is_strict,
    plain,
    read_arguments,
    with_schema_in_words,
)
from holdfast.models.remote.http import as_count, as_list, as_mapping, as_text, well_formed

__all__ = ["OpenAIFormat", "connect_openai"]

_OPENAI: Final = "api.openai.com"
_SCHEMA: Final = "response_format"
_COUNTING: Final = "stream_options"
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
_SCHEMA_COMPLAINTS: Final = ("response_format", "response format", "json_schema", "json schema", "structured output", "grammar")


def connect_openai(sdk: Any, **options: Any) -> Any:
    """Make a client; the organisation and project of an OpenAI account are told to nobody else."""
    client = sdk.OpenAI(**options)
    if urlsplit(options["base_url"]).hostname != _OPENAI:
        client.organization = client.project = None
    return client


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIFormat:
    """Words questions as OpenAI does. ``limit`` names the field that bounds an answer: servers differ."""

    model: str
    limit: str = "max_tokens"
    package: str = "openai"

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Make the package's client."""
        return connect_openai(sdk, **options)

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the method that sends a question and leaves the answer unread."""
        return client.chat.completions.with_streaming_response.create  # type: ignore[no-any-return]

    def request(self, question: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Word a question; a schema that cannot be given as such goes into the words."""
        turns, schema = question.turns, question.schema
        limit = next(field for field in (self.limit, *_LIMITS) if field not in refused or set(_LIMITS) <= set(refused))
        request: dict[str, Any] = {"model": self.model, limit: question.max_tokens}
        if schema is not None and _SCHEMA in refused:
            turns = with_schema_in_words(turns, schema)
        elif schema is not None:
            closed = closed_schema(schema)
            format = {"name": "answer", "schema": closed, "strict": is_strict(closed)}
            request[_SCHEMA] = {"type": "json_schema", "json_schema": format}
        if question.tools:
            request["tools"] = [_tool(tool) for tool in question.tools]
        if question.stream:
            request["stream"] = True
            if _COUNTING not in refused:
                request[_COUNTING] = {"include_usage": True}
        return {**request, "messages": [_message(turn) for turn in turns]}

    def refusal(self, said: str, request: Mapping[str, Any]) -> str | None:
        """Return the field a server complains of, if it can be left out or has another name."""
        if _SCHEMA in request and any(word in said for word in _SCHEMA_COMPLAINTS):
            return _SCHEMA
        if _COUNTING in request and _COUNTING in said:
            return _COUNTING
        named = [field for field in _LIMITS if field in request and field in said and ("support" in said or "unknown" in said)]
        return named[0] if named else None

    def tokens(self, answer: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return the tokens that went in and came out."""
        usage = as_mapping(answer.get("usage"))
        if not usage:
            return None
        return as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))

    def read(self, answer: Mapping[str, Any]) -> RawReply:
        """Read the first choice."""
        choice = as_mapping(next(iter(as_list(answer.get("choices"))), None))
        message = as_mapping(choice.get("message"))
        if not message:
            said = as_mapping(answer.get("error")).get("message") or "there is no message in it"
            raise AnswerInvalid(f"{self.model} gave an answer that cannot be read: {as_text(said)[:200]}.")
        calls = [_PartialToolCall.of(call) for call in as_list(message.get("tool_calls"))]
        text = _content(message.get("content")) or as_text(message.get("refusal"))
        return RawReply(text=text, tool_calls=_finished(calls), cut_off=choice.get("finish_reason") == "length")

    def follow(self) -> "_OpenAIAssembler":
        """Begin to read a streamed answer."""
        return _OpenAIAssembler(self)


class _OpenAIAssembler:
    """Puts the pieces of a streamed answer together."""

    def __init__(self, dialect: OpenAIFormat) -> None:
        self._dialect = dialect
        self._text: list[str] = []
        self._calls: dict[int, _PartialToolCall] = {}
        self._finish: str | None = None
        self.tokens: tuple[int, int] | None = None

    def take(self, event: Mapping[str, Any]) -> str:
        """Take one event, and return the text it brought."""
        self.tokens = self._dialect.tokens(event) or self.tokens
        choice = as_mapping(next(iter(as_list(event.get("choices"))), None))
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        delta = as_mapping(choice.get("delta"))
        for part in as_list(delta.get("tool_calls")):
            place = as_count(as_mapping(part).get("index"))
            self._calls[place] = self._calls.get(place, _PartialToolCall()).and_then(_PartialToolCall.of(part))
        piece = _content(delta.get("content"))
        self._text.append(piece)
        return piece

    def answer(self) -> RawReply | None:
        """Return the whole; None when the server never said that it had finished."""
        if self._finish is None:
            return None
        calls = [self._calls[place] for place in sorted(self._calls)]
        return RawReply(text="".join(self._text), tool_calls=_finished(calls), cut_off=self._finish == "length")


@dataclass(frozen=True, slots=True)
class _PartialToolCall:
    """A tool call, or a piece of one."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @classmethod
    def of(cls, part: Any) -> "_PartialToolCall":
        function = as_mapping(as_mapping(part).get("function"))
        given = function.get("arguments")  # text by the rules; some servers send the object itself
        arguments = json.dumps(given) if isinstance(given, dict) else as_text(given)
        return cls(as_text(as_mapping(part).get("id")), as_text(function.get("name")), arguments)

    def and_then(self, more: "_PartialToolCall") -> "_PartialToolCall":
        return _PartialToolCall(self.id or more.id, self.name or more.name, self.arguments + more.arguments)


def _finished(calls: list[_PartialToolCall]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=call.id or f"call_{number}", name=call.name, arguments=read_arguments(call.name, call.arguments))
        for number, call in enumerate(calls)
        if call.name
    )


def _content(content: Any) -> str:
    """Return a text that may come whole or in parts."""
    if isinstance(content, list):
        return "".join(as_text(as_mapping(part).get("text")) for part in content)
    return as_text(content)


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": plain(tool.parameters)},
    }


def _message(turn: Turn) -> dict[str, Any]:
    text = well_formed(turn.text)
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call or "", "content": text}
    message: dict[str, Any] = {"role": turn.role, "content": text}
    if turn.tool_calls:
        message["content"] = text or None
        message["tool_calls"] = [_sent_call(call) for call in turn.tool_calls]
    return message


def _sent_call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(plain(call.arguments), ensure_ascii=True)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
