"""The request and reply format of Anthropic's Messages API."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.chat import ToolCall, Turn
from holdfast.errors import AnswerInvalid
from holdfast.models.remote.exchange import ChatRequest, RawReply, closed_schema, plain, read_arguments, with_schema_in_prompt
from holdfast.models.remote.http import as_count, as_list, as_mapping, as_text, well_formed

__all__ = ["AnthropicFormat"]

_FORMAT: Final = "output_config"
"""Request field for the output format. It also names this feature in the list of rejected features."""
_FORCED: Final = "tool_choice"
"""Request field that forces a tool call. It also names this feature in the list of rejected features."""
_FORMAT_ERRORS: Final = ("output_config", "output_format", "output format", "structured output", "json_schema", "schema")
_ANSWER_TOOL: Final = "give_answer"
_NO_TEXT: Final = "(empty)"
"""Text that is sent instead of an empty text, because Anthropic rejects empty texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicFormat:
    """Builds requests and parses replies in Anthropic's format.

    A schema is sent as the output format. If the model does not support an output format, the schema is sent as a tool that
    the model must call. If the model rejects that too, the schema is added to the prompt.
    """

    model: str
    package: str = "anthropic"

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Create the client from the ``anthropic`` package."""
        return sdk.Anthropic(**options)

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the client method that sends a request and leaves the response body unread."""
        return client.messages.with_streaming_response.create  # type: ignore[no-any-return]

    def request(self, chat_request: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Return the request fields. ``refused`` contains the features that the server has rejected before.

        There are three ways to send a schema: as the output format, as a tool, or in the prompt. The first way that the
        server has not rejected is used.
        """
        request: dict[str, Any] = {"model": self.model, "max_tokens": chat_request.max_tokens}
        turns, schema = chat_request.turns, chat_request.schema
        tools = [_tool(tool.name, tool.description, tool.parameters) for tool in chat_request.tools]
        if schema is not None and _FORMAT not in refused:
            format = {"type": "json_schema", "schema": closed_schema(schema)}
            request["extra_body"] = {_FORMAT: {"format": format}}  # older versions of the package have no argument for it
        elif schema is not None and _FORCED not in refused:
            request[_FORCED] = {"type": "any"} if tools else {"type": "tool", "name": _ANSWER_TOOL}
            tools.append(_tool(_ANSWER_TOOL, "Give the answer.", schema))
        elif schema is not None:
            turns = with_schema_in_prompt(turns, schema)
        if tools:
            request["tools"] = tools
        if chat_request.stream:
            request["stream"] = True
        system = "\n\n".join(well_formed(turn.text) for turn in turns if turn.role == "system" and turn.text.strip())
        messages = _messages(turns)
        if not messages:
            return {**request, "messages": [{"role": "user", "content": system or _NO_TEXT}]}
        return {**request, "messages": messages, **({"system": system} if system else {})}

    def refusal(self, message: str, request: Mapping[str, Any]) -> str | None:
        """Return the feature that the server rejects according to its error message, or None if the error has another cause."""
        if _FORMAT in request.get("extra_body", {}) and any(word in message for word in _FORMAT_ERRORS):
            return _FORMAT
        if _FORCED in request and (_FORCED in message or "thinking" in message or "schema" in message):
            return _FORCED
        return None

    def tokens(self, response: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return a pair: the number of input tokens, including cached ones, and the number of output tokens.

        Return None if the server reported no tokens.
        """
        usage = as_mapping(response.get("usage"))
        if not usage:
            return None
        kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return sum(as_count(usage.get(kind)) for kind in kinds), as_count(usage.get("output_tokens"))

    def read(self, response: Mapping[str, Any]) -> RawReply:
        """Parse the content blocks of a response. Thinking blocks are ignored."""
        if not isinstance(response.get("content"), list):
            problem = as_mapping(response.get("error")).get("message") or "it has no content"
            raise AnswerInvalid(f"{self.model} returned an unreadable response: {as_text(problem)[:200]}.")
        blocks = [as_mapping(block) for block in as_list(response.get("content"))]
        return _raw_reply(blocks, response.get("stop_reason"))

    def assembler(self) -> "_AnthropicAssembler":
        """Return an assembler for a streamed reply."""
        return _AnthropicAssembler(provider_format=self)


@dataclass(slots=True, kw_only=True)
class _AnthropicAssembler:
    """Assembles a streamed reply from its events."""

    provider_format: AnthropicFormat
    tokens: tuple[int, int] | None = None
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _stop: str | None = None

    def add(self, event: Mapping[str, Any]) -> str:
        """Add one event and return the reply text that it contains."""
        kind = event.get("type")
        index = as_count(event.get("index"))
        if kind == "message_start":
            self._count(as_mapping(event.get("message")))
        elif kind == "content_block_start":
            self._blocks[index] = {**as_mapping(event.get("content_block")), "pieces": ""}
        elif kind == "message_delta":
            self._count(event)
            self._stop = as_text(as_mapping(event.get("delta")).get("stop_reason")) or self._stop
        elif kind == "content_block_delta":
            delta = as_mapping(event.get("delta"))
            block = self._blocks.setdefault(index, {"type": "text", "pieces": ""})
            piece = as_text(delta.get("text"))
            block["pieces"] += piece or as_text(delta.get("partial_json"))
            return piece
        return ""

    def reply(self) -> RawReply | None:
        """Return the complete reply, or None if the stream ended before the server marked it as finished."""
        if self._stop is None:
            return None
        return _raw_reply([_complete(self._blocks[index]) for index in sorted(self._blocks)], self._stop)

    def _count(self, message: Mapping[str, Any]) -> None:
        """Keep the latest token counts. The server sends the output count repeatedly and the input count once."""
        counts = self.provider_format.tokens(message)
        if counts is not None:
            before = self.tokens or (0, 0)
            self.tokens = (counts[0] or before[0], counts[1] or before[1])


def _complete(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") == "tool_use":
        return {**block, "input": block["pieces"] or block.get("input") or {}}
    return {**block, "text": as_text(block.get("text")) + block["pieces"]}


def _raw_reply(blocks: list[Mapping[str, Any]], stop: Any) -> RawReply:
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    calls: list[ToolCall] = []
    for number, block in enumerate(block for block in blocks if block.get("type") == "tool_use"):
        name = as_text(block.get("name"))
        arguments = read_arguments(name, block.get("input"))
        if name == _ANSWER_TOOL:
            texts = [json.dumps(arguments, ensure_ascii=False)]
        else:
            calls.append(ToolCall(id=as_text(block.get("id")) or f"call_{number}", name=name, arguments=arguments))
    return RawReply(text="".join(texts), tool_calls=tuple(calls), cut_off=stop == "max_tokens")


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": plain(parameters)}


def _messages(turns: tuple[Turn, ...]) -> list[dict[str, Any]]:
    """Convert turns to messages. Consecutive turns of one role are merged, because Anthropic requires this for tool results."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn.role == "system":
            continue
        role = "assistant" if turn.role == "assistant" else "user"
        blocks = list(_blocks(turn))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    return messages


def _blocks(turn: Turn) -> Iterator[dict[str, Any]]:
    text = well_formed(turn.text)
    if turn.role == "tool":
        yield {"type": "tool_result", "tool_use_id": turn.call or "", "content": text or _NO_TEXT}
        return
    if text.strip() or turn.role == "user":
        yield {"type": "text", "text": text if text.strip() else _NO_TEXT}
    for call in turn.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": plain(call.arguments)}
