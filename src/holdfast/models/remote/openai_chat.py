"""The request and reply format of OpenAI's Chat Completions API, also for compatible servers."""

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
    with_schema_in_prompt,
)
from holdfast.models.remote.http import as_count, as_list, as_mapping, as_text, well_formed

__all__ = ["OpenAIFormat", "connect_openai"]

_OPENAI: Final = "api.openai.com"
_SCHEMA: Final = "response_format"
_COUNTING: Final = "stream_options"
_LIMITS: Final = ("max_completion_tokens", "max_tokens")
"""Names that servers use for the request field with the maximum number of tokens."""
_SCHEMA_ERRORS: Final = ("response_format", "response format", "json_schema", "json schema", "structured output", "grammar")


def connect_openai(sdk: Any, **options: Any) -> Any:
    """Create a client of the ``openai`` package.

    The client sends the account's organization and project only to OpenAI, and not to other servers.
    """
    client = sdk.OpenAI(**options)
    if urlsplit(options["base_url"]).hostname != _OPENAI:
        client.organization = client.project = None
    return client


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIFormat:
    """Builds requests and parses replies in OpenAI's format.

    ``limit`` is the name of the request field with the maximum number of tokens. Servers use different names for it.
    """

    model: str
    limit: str = "max_tokens"
    package: str = "openai"

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Create the client of the ``openai`` package."""
        return connect_openai(sdk, **options)

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the client method that sends a request and leaves the response body unread."""
        return client.chat.completions.with_streaming_response.create  # type: ignore[no-any-return]

    def request(self, chat_request: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Return the fields of a request, except those in ``refused``.

        If the server has refused ``response_format``, the schema is put into the prompt instead.
        """
        turns, schema = chat_request.turns, chat_request.schema
        limit = next(field for field in (self.limit, *_LIMITS) if field not in refused or set(_LIMITS) <= set(refused))
        request: dict[str, Any] = {"model": self.model, limit: chat_request.max_tokens}
        if schema is not None and _SCHEMA in refused:
            turns = with_schema_in_prompt(turns, schema)
        elif schema is not None:
            closed = closed_schema(schema)
            format = {"name": "answer", "schema": closed, "strict": is_strict(closed)}
            request[_SCHEMA] = {"type": "json_schema", "json_schema": format}
        if chat_request.tools:
            request["tools"] = [_tool(tool) for tool in chat_request.tools]
        if chat_request.stream:
            request["stream"] = True
            if _COUNTING not in refused:
                request[_COUNTING] = {"include_usage": True}
        return {**request, "messages": [_message(turn) for turn in turns]}

    def refusal(self, message: str, request: Mapping[str, Any]) -> str | None:
        """Return the request field that the server rejects, according to its error message.

        Return None if the message names no field that can be omitted or renamed.
        """
        if _SCHEMA in request and any(word in message for word in _SCHEMA_ERRORS):
            return _SCHEMA
        if _COUNTING in request and _COUNTING in message:
            return _COUNTING
        if "support" not in message and "unknown" not in message:
            return None
        return next((field for field in _LIMITS if field in request and field in message), None)

    def tokens(self, response: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return a pair: the number of input tokens, and the number of output tokens. Return None if the server reported none."""
        usage = as_mapping(response.get("usage"))
        if not usage:
            return None
        return as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))

    def read(self, response: Mapping[str, Any]) -> RawReply:
        """Parse the first choice of a response."""
        choice = as_mapping(next(iter(as_list(response.get("choices"))), None))
        message = as_mapping(choice.get("message"))
        if not message:
            problem = as_mapping(response.get("error")).get("message") or "it has no message"
            raise AnswerInvalid(f"{self.model} returned an unreadable response: {as_text(problem)[:200]}.")
        calls = [_PartialToolCall.parse(call) for call in as_list(message.get("tool_calls"))]
        text = _content(message.get("content")) or as_text(message.get("refusal"))
        return RawReply(text=text, tool_calls=_finished(calls), cut_off=choice.get("finish_reason") == "length")

    def assembler(self) -> "_OpenAIAssembler":
        """Return an object that assembles a streamed reply from its events."""
        return _OpenAIAssembler(self)


class _OpenAIAssembler:
    """Assembles a streamed reply from its events."""

    def __init__(self, provider_format: OpenAIFormat) -> None:
        self._format = provider_format
        self._text: list[str] = []
        self._calls: dict[int, _PartialToolCall] = {}
        self._finish: str | None = None
        self.tokens: tuple[int, int] | None = None

    def add(self, event: Mapping[str, Any]) -> str:
        """Add one event and return the text it contains."""
        self.tokens = self._format.tokens(event) or self.tokens
        choice = as_mapping(next(iter(as_list(event.get("choices"))), None))
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        delta = as_mapping(choice.get("delta"))
        for part in as_list(delta.get("tool_calls")):
            index = as_count(as_mapping(part).get("index"))
            self._calls[index] = self._calls.get(index, _PartialToolCall()).joined(_PartialToolCall.parse(part))
        piece = _content(delta.get("content"))
        self._text.append(piece)
        return piece

    def reply(self) -> RawReply | None:
        """Return the complete reply, or None if the stream ended before the server marked it as finished."""
        if self._finish is None:
            return None
        calls = [self._calls[index] for index in sorted(self._calls)]
        return RawReply(text="".join(self._text), tool_calls=_finished(calls), cut_off=self._finish == "length")


@dataclass(frozen=True, slots=True)
class _PartialToolCall:
    """A tool call, or a streamed piece of one."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @classmethod
    def parse(cls, part: Any) -> "_PartialToolCall":
        function = as_mapping(as_mapping(part).get("function"))
        value = function.get("arguments")  # JSON text by specification, but some servers send an object
        arguments = json.dumps(value) if isinstance(value, dict) else as_text(value)
        return cls(as_text(as_mapping(part).get("id")), as_text(function.get("name")), arguments)

    def joined(self, more: "_PartialToolCall") -> "_PartialToolCall":
        return _PartialToolCall(self.id or more.id, self.name or more.name, self.arguments + more.arguments)


def _finished(calls: list[_PartialToolCall]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=call.id or f"call_{number}", name=call.name, arguments=read_arguments(call.name, call.arguments))
        for number, call in enumerate(calls)
        if call.name
    )


def _content(content: Any) -> str:
    """Return the text of a content field, which is a string or a list of parts."""
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
        message["content"] = text if text.strip() else None
        message["tool_calls"] = [_sent_call(call) for call in turn.tool_calls]
    return message


def _sent_call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(plain(call.arguments), ensure_ascii=True)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
