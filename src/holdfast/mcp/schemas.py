"""Output schemas and annotations of the MCP tools."""

from collections.abc import Mapping

from holdfast.chat import Schema
from holdfast.mcp.sdk import types

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_FREE: Schema = {"type": "object", "additionalProperties": True}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _object(required: str, **properties: Schema) -> Schema:
    """Return the JSON Schema of an object. ``required`` lists property names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_CONSENT = _object(
    "message_id wish memories messages",
    message_id=_TEXT,
    wish=_TEXT,
    memories=_list(_object("id content", id=_TEXT, content=_TEXT)),
    messages=_list(_TEXT),
    change_id=_TEXT,
)
"""Schema of the result of a user's wish about memory."""
_FOUND = _object(
    "id content type score created_at metadata",
    id=_TEXT,
    content=_TEXT,
    type=_TEXT,
    score={"type": "number", "minimum": 0, "maximum": 1},
    created_at=_TIME,
    metadata=_FREE,
    key=_TEXT,
    asked=_TEXT,
    since_changed_to=_TEXT,
    said_later=_TEXT,
)
_LISTED = _object(
    "id content type created_at metadata",
    id=_TEXT,
    content=_TEXT,
    type=_TEXT,
    created_at=_TIME,
    metadata=_FREE,
    key=_TEXT,
    topic=_TEXT,
    expires_at=_TIME,
)
_BRIEF = _object("id content type", id=_TEXT, content=_TEXT, type=_TEXT, asked=_TEXT)

_CHANGE = _object("change_id action at", change_id=_TEXT, action=_TEXT, at=_TIME, content=_TEXT, reason=_TEXT, revision=_NUMBER)
_FORGOTTEN: Mapping[str, Schema] = {
    "key": _TEXT,
    "forgotten": _NUMBER,
    "ids": _list(_TEXT),
    "keys": _list(_TEXT),
    "near": _list(_object("id text", id=_TEXT, text=_TEXT)),
    "notices": _list(_TEXT),
}

OUTPUTS: Mapping[str, Schema] = {
    "search_memories": _object("result", result=_list(_FOUND), notices=_list(_TEXT)),
    "store_memory": _object(
        "id content type created_at", id=_TEXT, content=_TEXT, type=_TEXT, created_at=_TIME, key=_TEXT, redacted=_list(_TEXT)
    ),
    "update_memory": _object(
        "id content type revision", id=_TEXT, content=_TEXT, type=_TEXT, revision=_NUMBER, redacted=_list(_TEXT)
    ),
    "forget_memory": _object("", success={"type": "boolean"}, id=_TEXT, error=_TEXT, **_FORGOTTEN),
    "memory_context": _object(
        "text tokens memories left_out",
        text=_TEXT,
        tokens=_NUMBER,
        memories=_list(_BRIEF),
        left_out=_NUMBER,
        message=_TEXT,
        notices=_list(_TEXT),
    ),
    "remember": _object("id key value", id=_TEXT, key=_TEXT, value=_TEXT, redacted=_list(_TEXT)),
    "forget": _object("key forgotten ids", **_FORGOTTEN),
    "list_memories": _object("memories next_offset", memories=_list(_LISTED), next_offset={"type": ["integer", "null"]}),
    "memory_history": _object("id changes", id=_TEXT, changes=_list(_CHANGE)),
    "undo_change": _object(
        "change_id memories",
        change_id=_TEXT,
        memories=_list(_object("id content status", id=_TEXT, content=_TEXT, status=_TEXT)),
    ),
    "add_messages": _object(
        "conversation_id added ids",
        conversation_id=_TEXT,
        added=_NUMBER,
        ids=_list(_TEXT),
        redacted=_list(_TEXT),
        consent=_list(_CONSENT),
    ),
    "end_conversation": _object("conversation_id ended", conversation_id=_TEXT, ended={"type": "boolean"}),
    "app_context": _object("text tokens", text=_TEXT, tokens=_NUMBER, notices=_list(_TEXT)),
    "report_energy": _object("level", level={"type": "number"}),
}
"""Output schema of each tool. Lists are wrapped in an object as ``result``, because older clients accept only objects."""

_KEYED_DESIGNS = ("rumi",)
"""Designs with the tools ``remember`` and ``forget``, which select memories by key.

These tools replace ``store_memory`` and ``forget_memory``.
"""
_TWINS = {"store_memory": "remember", "forget_memory": "forget"}
APP_TOOLS = ("app_context", "report_energy")
"""Tools of the apps design: one returns the context block of an app, the other one reports the energy of the host."""
READ_ONLY_TOOLS = ("search_memories", "memory_context", "list_memories", "memory_history", "app_context")
"""Tools that change nothing."""
_DESTRUCTIVE = ("forget_memory", "forget", "update_memory", "undo_change")
_NOT_IDEMPOTENT = ("add_messages", "undo_change", "report_energy")


def tool_names(preset: str) -> tuple[str, ...]:
    """Return the names of the tools for a preset, in the order in which they are listed."""
    replaced = _TWINS if preset in _KEYED_DESIGNS else {}
    left_out = (*_TWINS.values(), *(() if preset == "apps" else APP_TOOLS))
    return tuple(replaced.get(name, name) for name in OUTPUTS if name not in left_out)


def annotations(name: str, title: str) -> types.ToolAnnotations:
    """Return the annotations of a tool.

    Most tools are idempotent: storing the same text again only refreshes its date, and forgetting again finds nothing.
    Adding messages is not idempotent, because messages without ids are added again.
    """
    return types.ToolAnnotations(
        title=title,
        read_only_hint=name in READ_ONLY_TOOLS,
        destructive_hint=name in _DESTRUCTIVE,
        idempotent_hint=name not in _NOT_IDEMPOTENT,
        open_world_hint=False,
    )
