"""A chat server that is as strict as the strictest real servers. It rejects invalid message lists with the real API's errors.

It checks the requests of both dialects, OpenAI's chat completions and Anthropic's messages. Valid requests are answered
as by ``ChatServer``. The rules are the union of the rules of api.openai.com, api.anthropic.com, and the templates of
Gemma and Mistral in vLLM and llama.cpp, which demand alternating roles.
"""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.models.remote.chat_server import ChatServer, ReceivedRequest, Send, Step

Messages = Sequence[Mapping[str, Any]]


class StrictServer(ChatServer):
    """A ``ChatServer`` that answers 400 to a message list that breaks a rule.

    A rejected request does not use up a scripted reply.
    """

    def __init__(self, *, respond: Callable[[ReceivedRequest], Step] | None = None) -> None:
        super().__init__(respond=respond)
        self.rejections: list[str] = []
        """The error messages of all rejected requests."""

    def next_step(self, request: ReceivedRequest) -> Step:
        """Return the error for an invalid request. For a valid request, return the next scripted reply."""
        anthropic = request.path.endswith("/messages")
        problem = (anthropic_problem if anthropic else openai_problem)(request.body)
        if problem is None:
            return super().next_step(request)
        self.requests.append(request)
        self.rejections.append(problem)
        error = {"type": "invalid_request_error", "message": problem}
        body: dict[str, Any] = {"error": {**error, "param": "messages", "code": None}}
        if anthropic:
            body = {"type": "error", "error": error, "request_id": "req_1"}
        return Send(json.dumps(body).encode(), status=400)


def openai_problem(body: Mapping[str, Any]) -> str | None:
    """Return the error message for a request to ``/v1/chat/completions``, or None if the request is valid."""
    messages: Messages = body["messages"]
    for index, message in enumerate(messages):
        if message["role"] not in ("system", "user", "assistant", "tool"):
            expected = "Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
            return f"Invalid value: '{message['role']}'. {expected} (messages[{index}].role)"
        if not (message.get("tool_calls") or _has_text(message.get("content"))):
            return (
                f"Invalid value for 'content': expected a non-empty string, got {message.get('content')!r}. (messages[{index}])"
            )
    talk = messages[1:] if messages and messages[0]["role"] == "system" else messages
    if any(message["role"] == "system" for message in talk):
        return "System message must be at the beginning."
    return _openai_order(talk)


def _openai_order(talk: Messages) -> str | None:
    if not talk or talk[0]["role"] != "user":
        return "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
    open_calls: set[str] = set()
    before = ""
    for message in talk:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        elif role == before:
            return "Conversation roles must alternate user/assistant/user/assistant/..."
        open_calls |= {call["id"] for call in message.get("tool_calls", ())}
        before = role
    if open_calls or before not in ("user", "tool"):
        return "Cannot set `add_generation_prompt` to True when the last message is from the assistant."
    return None


def anthropic_problem(body: Mapping[str, Any]) -> str | None:
    """Return the error message for a request to ``/v1/messages``, or None if the request is valid."""
    messages: Messages = body["messages"]
    if not messages:
        return "messages: at least one message is required"
    if "system" in body and not _has_text(body["system"]):
        return "system: text content blocks must be non-empty"
    for index, message in enumerate(messages):
        if message["role"] not in ("user", "assistant"):
            return f"messages.{index}.role: Input should be 'user' or 'assistant'"
        if problem := _anthropic_content(index, message["content"]):
            return problem
    return _anthropic_order(messages) or _anthropic_tools(messages)


def _anthropic_order(messages: Messages) -> str | None:
    roles = [message["role"] for message in messages]
    if roles[0] != "user":
        return 'messages: first message must use the "user" role'
    for role, following in itertools.pairwise(roles):
        if role == following:
            return f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
    if roles[-1] != "user":
        return "This model does not support assistant message prefill. The conversation must end with a user message."
    return None


def _anthropic_content(index: int, content: Any) -> str | None:
    if isinstance(content, str):
        return None if _has_text(content) else f"messages.{index}: text content blocks must contain non-whitespace text"
    if not content:
        return f"messages.{index}: all messages must have non-empty content"
    if any(block["type"] == "text" and not _has_text(block["text"]) for block in content):
        return f"messages.{index}: text content blocks must contain non-whitespace text"
    return None


def _anthropic_tools(messages: Messages) -> str | None:
    for index, message in enumerate(messages):
        called = _ids(message, "tool_use", "id")
        answered = _ids(messages[index + 1], "tool_result", "tool_use_id") if index + 1 < len(messages) else set()
        if called - answered:
            return f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after"
        if answered - called:
            return f"messages.{index + 1}: unexpected `tool_use_id` found in `tool_result` blocks"
    return None


def _ids(message: Mapping[str, Any], kind: str, name: str) -> set[str]:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return {block[name] for block in blocks if block["type"] == kind}


def _has_text(content: Any) -> bool:
    return isinstance(content, str) and bool(content.strip())
