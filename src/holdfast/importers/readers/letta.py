"""Read agent files of Letta (``.af``): the memory blocks and messages of agents. Both versions of the format are supported."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.fields import Fields, digest
from holdfast.importers.payloads import limited
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.runtime.regex import regex
from holdfast.types.translatable import translatable

_ROLES = ("user", "assistant", "tool", "system")
_BACKGROUND_AGENTS = frozenset({"sleeptime_agent", "voice_sleeptime_agent"})
"""Types of agents to which only other agents speak. They share the memory blocks of the agent that they work for."""
_UNSPOKEN = frozenset({"heartbeat", "login", "system_alert", "bootup"})
"""Types of user messages that the program wrote."""
_REMINDER = regex(r"<system-reminder>.*?(?:</system-reminder>|\Z)\s*", re.DOTALL)
"""Text that the program adds to messages of the user."""


def looks_like_agent_file(value: Any) -> bool:
    """Return True if a JSON object is the content of an agent file of Letta."""
    if not isinstance(value, Mapping):
        return False
    return ("agents" in value and "blocks" in value) or ("agent_type" in value and "core_memory" in value)


def parse(text: str) -> Any:
    """Parse JSON. Letta's API returns an agent file as text, so a saved response is a JSON text that contains JSON."""
    value = json.loads(text)
    return json.loads(value) if isinstance(value, str) else value


def load(path: Path) -> Fields:
    """Return the content of an agent file."""
    try:
        return Fields(parse(path.read_text("utf-8-sig")), path.name)
    except ValueError as error:
        raise InvalidInput(
            translatable(
                "import.bad_json", "{file} is not valid JSON: {error}. Nothing was imported.", file=path.name, error=str(error)
            )
        ) from error


def read_letta(path: Path) -> Iterator[Record]:
    """Yield for each agent its memory blocks, then its messages. The messages of background agents are left out."""
    file = load(path)
    if "agents" not in file.values:
        yield from _blocks(file.objects("core_memory"), file.maybe("name"))
        yield from _messages(file)
        return
    blocks = {block.maybe("id"): block for block in file.objects("blocks")}
    for agent in file.objects("agents"):
        has_list = agent.values.get("block_ids") is not None
        own = [blocks[id] for id in agent.texts("block_ids") if id in blocks] if has_list else list(blocks.values())
        yield from _blocks(own, agent.maybe("name"))
        if agent.maybe("agent_type") not in _BACKGROUND_AGENTS:
            yield from _messages(agent)


def _blocks(blocks: list[Fields], agent: str | None) -> Iterator[Note]:
    for block in blocks:
        label, text = block.maybe("label") or "memory", block.maybe("value") or ""
        id = f"block-{digest(agent, label, text)}"
        if label == "persona" and text.strip():  # the agent speaks of itself, not of the user
            text = f"{agent or 'The assistant'}: {text}"
        yield Note(
            id=id,
            text=text,
            key=label,
            metadata={"block": label, **({"agent": agent} if agent else {})},
            created_at=block.maybe_time("created_at"),
        )


def _messages(agent: Fields) -> Iterator[Record]:
    """Yield the conversation with an agent.

    The id of the conversation is derived from its first message. The agent's id is not unique, because every file numbers its
    agents from ``agent-0``.
    """
    messages = agent.objects("messages")
    if not messages:
        return
    name = agent.maybe("name")
    metadata = {"agent": name} if name else {}
    first = next((each for each in messages if each.maybe("role") != "system"), messages[0])
    id = f"letta-{digest(name, first.values.get('created_at'), first.maybe('role'), _text(first))}"
    yield Conversation(id=id, at=messages[0].maybe_time("created_at"), metadata=metadata)
    for number, message in enumerate(messages):
        yield from _said(message, number)


def _said(message: Fields, number: int) -> Iterator[Said]:
    role = message.maybe("role") or "user"
    if role == "system":  # the prompt with the blocks in it
        return
    text = _unwrapped(_text(message)) if role == "user" else _text(message)
    calls = [dict(call.values) for call in message.objects("tool_calls")]
    sent = [argument for call in calls if (argument := _sent(call)) is not None]
    others = [call for call in calls if _sent(call) is None]
    if sent:
        text = "\n\n".join(sent)
    elif role == "assistant" and calls:
        text = ""  # thoughts before a call
    payload: dict[str, Any] = {"tool_calls": others} if others else {}
    if role == "tool":
        payload, text = {"content": text, "name": message.maybe("name")}, ""
    if text.strip() or payload:
        yield Said(
            id=message.maybe("id") or f"message-{number}",
            role=role if role in _ROLES else "tool",
            text=text,
            at=message.maybe_time("created_at"),
            payload=limited(payload) if payload else None,
        )


def _text(message: Fields) -> str:
    content = message.values.get("content", message.values.get("text"))
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return "\n\n".join(text for text in texts if text.strip())


def _unwrapped(text: str) -> str:
    """Return the text of a user message. Older versions of Letta wrap the text in JSON.

    Return an empty text if Letta itself wrote the message.
    """
    text = _REMINDER.sub("", text)
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else None
    except ValueError:
        return text
    if not isinstance(value, Mapping):
        return text
    if value.get("type") in _UNSPOKEN:
        return ""
    return str(value["message"]) if isinstance(value.get("message"), str) else text


def _sent(call: Mapping[str, Any]) -> str | None:
    """Return the text that an assistant sent with the tool ``send_message``, or None for other tools."""
    function = call.get("function", call)
    if not isinstance(function, Mapping) or function.get("name") != "send_message":
        return None
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        return None
    return str(arguments["message"]) if isinstance(arguments, Mapping) and "message" in arguments else None
