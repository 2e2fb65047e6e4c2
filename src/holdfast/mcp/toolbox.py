"""The MCP tools. Five are the tools that Holdfast's agents also have.

Two more are for clients whose conversations Holdfast does not store.
"""

from collections.abc import Mapping
from typing import Any

from holdfast.agent.tools import MemoryTools, ToolResult, safe_json, types_schema
from holdfast.chat import Schema, Tool
from holdfast.errors import HoldfastError, StoreBusy
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.schemas import NAMES, OUTPUTS, READ_ONLY_TOOLS, annotations
from holdfast.mcp.sdk import MCPError, types
from holdfast.text.clean import escape_line
from holdfast.text.json.conform import conform
from holdfast.types import Hit, Memory

_OWN_TOOLS = ("memory_context", "list_memories")
_MAX_LISTED = 200
_MIN_TOKENS, _MAX_TOKENS = 50, 20_000
_MAX_TEXT_CHARACTERS = 2_000


class Toolbox:
    """Lists and calls the tools that one caller may use."""

    def __init__(self, caller: McpCaller) -> None:
        self._caller = caller
        self._texts = caller.texts
        shared = [name for name in NAMES if name not in _OWN_TOOLS]
        self._agent_tools = MemoryTools(caller.memory, names=shared, language=caller.language, owns=caller.owns, **caller.parts)

    # Listing

    def listed(self) -> list[types.Tool]:
        """List the tools. A caller with a read-only key gets the read-only tools."""
        return [self._described(tool) for tool in self._tools() if self._caller.may_write or tool.name in READ_ONLY_TOOLS]

    def _tools(self) -> list[Tool]:
        known = {tool.name: tool for tool in self._agent_tools.definitions}
        known |= {
            name: Tool(name=name, description=self._texts[name]["description"], parameters=self._form(name))
            for name in _OWN_TOOLS
        }
        return [known[name] for name in NAMES]

    def _described(self, tool: Tool) -> types.Tool:
        title = self._texts["titles"][tool.name]
        return types.Tool(
            name=tool.name,
            title=title,
            description=tool.description,
            input_schema=with_defaults(tool, self._caller.memory.preset.default_kind),
            output_schema=dict(OUTPUTS[tool.name]),
            annotations=annotations(tool.name, title),
        )

    def _form(self, name: str) -> Schema:
        texts, kinds = self._texts[name], self._caller.memory.preset.learned_kinds
        if name == "memory_context":
            properties: dict[str, Any] = {
                "query": {"type": "string", "description": texts["query"]},
                "max_tokens": {
                    "type": "integer",
                    "minimum": _MIN_TOKENS,
                    "maximum": _MAX_TOKENS,
                    "description": texts["max_tokens"],
                },
            }
            return {"type": "object", "properties": properties, "required": ["query"]}
        properties = {
            "memory_type": types_schema(texts["memory_type"], kinds),
            "key": {"type": "string", "description": texts["key"]},
            "topic": {"type": "string", "description": texts["topic"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_LISTED, "description": texts["limit"]},
            "offset": {"type": "integer", "minimum": 0, "description": texts["offset"]},
        }
        return {"type": "object", "properties": properties, "required": []}

    # Calling

    def call(self, name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Call a tool. Wrong arguments return a result that tells the model what to do; an unknown tool is a protocol error."""
        if name not in NAMES:
            known = ", ".join(tool.name for tool in self.listed())
            raise MCPError(types.INVALID_PARAMS, self._problem("unknown_tool", name=escape_line(name), tools=known))
        if name not in READ_ONLY_TOOLS and not self._caller.may_write:
            return _result(name, ToolResult(ok=False, text=self._problem("read_only", name=name)))
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        try:
            return _result(name, self._own(name, given) if name in _OWN_TOOLS else self._agent_tools.call(name, given))
        except StoreBusy:
            return _result(name, ToolResult(ok=False, text=self._problem("busy", name=name)))
        except HoldfastError as error:
            problem = self._problem("failed", name=name, problem=escape_line(str(error)))
            return _result(name, ToolResult(ok=False, text=problem))

    def _problem(self, which: str, **values: str) -> str:
        text: str = self._texts["problems"][which].format(**values)
        return text

    def _own(self, name: str, given: Mapping[str, Any]) -> ToolResult:
        try:
            fitting, flaws = conform(dict(given), self._form(name))
        except ValueError as error:
            return self._agent_tools.misused(name, str(error), self._form(name))
        if flaws:
            return self._agent_tools.misused(name, "; ".join(flaws), self._form(name))
        return self._context(**fitting) if name == "memory_context" else self._list(**fitting)

    def _context(self, query: str, max_tokens: int | None = None, **_more: Any) -> ToolResult:
        context = self._caller.memory.context(query, max_tokens=max_tokens, **self._caller.parts)
        data = {
            "text": context.text,
            "tokens": context.tokens,
            "memories": [_brief(hit) for hit in context.hits],
            "left_out": len(context.left_out),
        }
        # With a notice, an empty block does not mean that nothing relevant is stored.
        nothing = "" if context.notices else self._texts["memory_context"]["nothing"]
        text = "\n\n".join(filter(None, [context.text or nothing, *context.notices]))
        return ToolResult(text=text, data=data, notices=context.notices)

    def _list(
        self,
        memory_type: str | None = None,
        key: str | None = None,
        topic: str | None = None,
        limit: int = 20,
        offset: int = 0,
        **_more: Any,
    ) -> ToolResult:
        kinds = [memory_type] if memory_type else None
        found = self._caller.memory.memories(
            kinds=kinds, key=key, topic=topic, limit=limit + 1, offset=offset, **self._caller.parts
        )
        data = {
            "memories": [_listed(memory) for memory in found[:limit]],
            "next_offset": offset + limit if len(found) > limit else None,
        }
        return ToolResult(text=safe_json(data), data=data)


def with_defaults(tool: Tool, default_kind: str) -> dict[str, Any]:
    """Return the input schema of a tool, with the default values of optional arguments filled in."""
    all_defaults: Mapping[str, Mapping[str, Any]] = {
        "search_memories": {"limit": 5},
        "store_memory": {"memory_type": default_kind},
        "list_memories": {"limit": 20, "offset": 0},
    }
    defaults = all_defaults.get(tool.name, {})
    properties: Mapping[str, Schema] = tool.parameters["properties"]
    filled = {name: {**rule, "default": defaults[name]} if name in defaults else rule for name, rule in properties.items()}
    return {**tool.parameters, "properties": filled}


def _result(name: str, outcome: ToolResult) -> types.CallToolResult:
    """Convert a tool result to the protocol's type.

    A list becomes one text block per entry and per notice, and its structured content is wrapped in an object.
    """
    data = {"result": outcome.data} if isinstance(outcome.data, list) else outcome.data
    if data is not None and outcome.notices:
        data = {**data, "notices": list(outcome.notices)}
    texts = [outcome.text]
    if name == "search_memories" and outcome.data is not None:
        texts = [*(map(safe_json, outcome.data) if outcome.data else ["[]"]), *outcome.notices]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        structured_content=data,
        is_error=not outcome.ok,
    )


def _brief(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "content": _cut(hit.text), "type": hit.kind}


def _listed(memory: Memory) -> dict[str, Any]:
    shown = {
        "id": memory.id,
        "content": _cut(memory.text),
        "type": memory.kind,
        "created_at": memory.created_at.isoformat(),
        "metadata": dict(memory.metadata),
    }
    expires = memory.expires_at.isoformat() if memory.expires_at else None
    more = {"key": memory.key, "topic": memory.topic, "expires_at": expires}
    return shown | {name: value for name, value in more.items() if value is not None}


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARACTERS else text[: _MAX_TEXT_CHARACTERS - 1] + "…"
