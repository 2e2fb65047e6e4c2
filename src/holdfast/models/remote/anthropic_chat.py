"""Anthropic's messages."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.chat import ToolCall, Turn
from holdfast.errors import AnswerInvalid
from holdfast.models.remote.exchange import ChatRequest, RawReply, closed_schema, plain, read_arguments, with_schema_in_words
from holdfast.models.remote.http import as_count, as_list, as_mapping, as_text, well_formed

__all__ = ["AnthropicFormat"]

_FORMAT: Final = "output_config"
_FORCED: Final = "tool_choice"
_FORMAT_COMPLAINTS: Final = ("output_config", "output_format", "output format", "structured output", "json_schema", "schema")
_ANSWER_TOOL: Final = "give_answer"
_NO_TEXT: Final = "(empty)"
"""Stands for a text of nothing, which Anthropic refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicFormat:
    """Words questions as Anthropic does.

    A schema is given as the output format; to a model that does not know that, as a tool it is forced to call;
    failing that, in words.
    """

    model: str
    package: str = "anthropic"

    def connect(self, sdk: Any, **options: Any) -> Any:
        """Make the package's client."""
        return sdk.Anthropic(**options)

    def send(self, client: Any) -> Callable[..., Any]:
        """Return the method that sends a question and leaves the answer unread."""
        return client.messages.with_streaming_response.create  # type: ignore[no-any-return]

    def request(self, question: ChatRequest, refused: Collection[str]) -> Mapping[str, Any]:
        """Word a question; a schema goes in the best way that was not refused."""
        request: dict[str, Any] = {"model": self.model, "max_tokens": question.max_tokens}
        turns, schema = question.turns, question.schema
        tools = [_tool(tool.name, tool.description, tool.parameters) for tool in question.tools]
        if schema is not None and _FORMAT not in refused:
            format = {"type": "json_schema", "schema": closed_schema(schema)}
            request["extra_body"] = {_FORMAT: {"format": format}}  # older packages have no argument for it
        elif schema is not None and _FORCED not in refused:
            request[_FORCED] = {"type": "any"} if tools else {"type": "tool", "name": _ANSWER_TOOL}
            tools.append(_tool(_ANSWER_TOOL, "Give the answer.", schema))
        elif schema is not None:
            turns = with_schema_in_words(turns, schema)
        if tools:
            request["tools"] = tools
        if question.stream:
            request["stream"] = True
        system = "\n\n".join(well_formed(turn.text) for turn in turns if turn.role == "system" and turn.text.strip())
        messages = _messages(turns)
        if not messages:
            return {**request, "messages": [{"role": "user", "content": system or _NO_TEXT}]}
        return {**request, "messages": messages, **({"system": system} if system else {})}

    def refusal(self, said: str, request: Mapping[str, Any]) -> str | None:
        """Return the way of giving a schema that a server complains of."""
        if _FORMAT in request.get("extra_body", {}) and any(word in said for word in _FORMAT_COMPLAINTS):
            return _FORMAT
        if _FORCED in request and (_FORCED in said or "thinking" in said or "schema" in said):
            return _FORCED
        return None

    def tokens(self, answer: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return the tokens that went in, cached ones included, and came out."""
        usage = as_mapping(answer.get("usage"))
        if not usage:
            return None
        kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return sum(as_count(usage.get(kind)) for kind in kinds), as_count(usage.get("output_tokens"))

    def read(self, answer: Mapping[str, Any]) -> RawReply:
        """Read the blocks of an answer; what a model thinks aloud is left out."""
        if not isinstance(answer.get("content"), list):
            said = as_mapping(answer.get("error")).get("message") or "there is no content in it"
            raise AnswerInvalid(f"{self.model} gave an answer that cannot be read: {as_text(said)[:200]}.")
        blocks = [as_mapping(block) for block in as_list(answer.get("content"))]
        return _answer(blocks, answer.get("stop_reason"))

    def follow(self) -> "_AnthropicAssembler":
        """Begin to read a streamed answer."""
        return _AnthropicAssembler(dialect=self)


@dataclass(slots=True, kw_only=True)
class _AnthropicAssembler:
    """Puts the pieces of a streamed answer together."""

    dialect: AnthropicFormat
    tokens: tuple[int, int] | None = None
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _stop: str | None = None

    def take(self, event: Mapping[str, Any]) -> str:
        """Take one event, and return the text it brought."""
        kind = event.get("type")
        place = as_count(event.get("index"))
        if kind == "message_start":
            self._count(as_mapping(event.get("message")))
        elif kind == "content_block_start":
            self._blocks[place] = {**as_mapping(event.get("content_block")), "pieces": ""}
        elif kind == "message_delta":
            self._count(event)
            self._stop = as_text(as_mapping(event.get("delta")).get("stop_reason")) or self._stop
        elif kind == "content_block_delta":
            delta = as_mapping(event.get("delta"))
            block = self._blocks.setdefault(place, {"type": "text", "pieces": ""})
            piece = as_text(delta.get("text"))
            block["pieces"] += piece or as_text(delta.get("partial_json"))
            return piece
        return ""

    def answer(self) -> RawReply | None:
        """Return the whole; None when the server never said that it had finished."""
        if self._stop is None:
            return None
        return _answer([_whole(self._blocks[place]) for place in sorted(self._blocks)], self._stop)

    def _count(self, message: Mapping[str, Any]) -> None:
        """Take the newest count: what came out is told again and again, what went in only once."""
        told = self.dialect.tokens(message)
        if told is not None:
            before = self.tokens or (0, 0)
            self.tokens = (told[0] or before[0], told[1] or before[1])


def _whole(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") == "tool_use":
        return {**block, "input": block["pieces"] or block.get("input") or {}}
    return {**block, "text": as_text(block.get("text")) + block["pieces"]}


def _answer(blocks: list[Mapping[str, Any]], stop: Any) -> RawReply:
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
    """Word the turns; those of one side that follow each other become one, as tool results must."""
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
