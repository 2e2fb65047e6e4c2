"""Output schemas and annotations of the MCP tools."""

from collections.abc import Mapping

from mcp import types

from holdfast.chat import Schema

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_FREE: Schema = {"type": "object", "additionalProperties": True}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _object(required: str, **properties: Schema) -> Schema:
    """Return the JSON Schema of an object. ``required`` lists property names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_FOUND = _object(
    "id content type score created_at metadata",
    id=_TEXT,
    content=_TEXT,
    type=_TEXT,
    score={"type": "number", "minimum": 0, "maximum": 1},
    created_at=_TIME,
    metadata=_FREE,
    key=_TEXT,
    since_changed_to=_TEXT,
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
_BRIEF = _object("id content type", id=_TEXT, content=_TEXT, type=_TEXT)

OUTPUTS: Mapping[str, Schema] = {
    "search_memories": _object("result", result=_list(_FOUND), notices=_list(_TEXT)),
    "store_memory": _object(
        "id content type created_at", id=_TEXT, content=_TEXT, type=_TEXT, created_at=_TIME, redacted=_list(_TEXT)
    ),
    "forget_memory": _object("success id", success={"type": "boolean"}, id=_TEXT, error=_TEXT),
    "memory_context": _object(
        "text tokens memories left_out",
        text=_TEXT,
        tokens=_NUMBER,
        memories=_list(_BRIEF),
        left_out=_NUMBER,
        notices=_list(_TEXT),
    ),
    "remember": _object("id key value", id=_TEXT, key=_TEXT, value=_TEXT, redacted=_list(_TEXT)),
    "forget": _object(
        "key forgotten ids",
        key=_TEXT,
        forgotten=_NUMBER,
        ids=_list(_TEXT),
        keys=_list(_TEXT),
        near=_list(_object("id text", id=_TEXT, text=_TEXT)),
        notices=_list(_TEXT),
    ),
    "list_memories": _object("memories next_offset", memories=_list(_LISTED), next_offset={"type": ["integer", "null"]}),
}
"""Output schema of each tool. Lists are wrapped in an object as ``result``, because older clients accept only objects."""

NAMES = tuple(OUTPUTS)
"""Tool names, in the order in which they are listed."""
READ_ONLY_TOOLS = ("search_memories", "memory_context", "list_memories")
"""Tools that change nothing."""
_DESTRUCTIVE = ("forget_memory", "forget")


def annotations(name: str, title: str) -> types.ToolAnnotations:
    """Return the annotations of a tool.

    All tools are idempotent: storing the same text again only refreshes its date, and forgetting again finds nothing.
    """
    return types.ToolAnnotations(
        title=title,
        read_only_hint=name in READ_ONLY_TOOLS,
        destructive_hint=name in _DESTRUCTIVE,
        idempotent_hint=True,
        open_world_hint=False,
    )
