"""The MCP tools: the tools that Holdfast's agents also have, and the tools of ``own_tools.py``."""

from collections.abc import Mapping
from typing import Any

from holdfast.agent.tools import MemoryTools, ToolResult, safe_json
from holdfast.chat import Schema, Tool
from holdfast.errors import HoldfastError, StoreBusy
from holdfast.mcp.caller import McpCaller
from holdfast.mcp.own_tools import OWN_TOOLS, OwnTools
from holdfast.mcp.schemas import OUTPUTS, READ_ONLY_TOOLS, annotations, tool_names
from holdfast.mcp.sdk import MCPError, types
from holdfast.text.clean import escape_line


class Toolbox:
    """Lists and calls the tools that one caller may use."""

    def __init__(self, caller: McpCaller) -> None:
        self._caller = caller
        self._texts = caller.texts
        self._names = tool_names(caller.memory.preset.name)
        shared = [name for name in self._names if name not in OWN_TOOLS]
        self._agent_tools = MemoryTools(
            caller.memory, names=shared, language=caller.language, owns=caller.owns, project=caller.project, **caller.parts
        )
        self._own = OwnTools(caller, self._agent_tools)

    # Listing

    def listed(self) -> list[types.Tool]:
        """List the tools that the caller may use. A caller with a read-only key gets only the tools that change nothing."""
        return [self._described(tool) for tool in self._tools() if self._caller.may_write or tool.name in READ_ONLY_TOOLS]

    def _tools(self) -> list[Tool]:
        known = {tool.name: tool for tool in self._agent_tools.definitions}
        known |= {
            name: Tool(name=name, description=self._texts[name]["description"], parameters=self._own.form(name))
            for name in self._names
            if name in OWN_TOOLS
        }
        return [known[name] for name in self._names]

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

    # Calling

    def call(self, name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Call a tool. If arguments are wrong, the result tells the model how to correct the call.

        An unknown tool is a protocol error.
        """
        if name not in self._names:
            known = ", ".join(tool.name for tool in self.listed())
            raise MCPError(types.INVALID_PARAMS, self._problem("unknown_tool", name=escape_line(name), tools=known))
        if name not in READ_ONLY_TOOLS and not self._caller.may_write:
            return _result(name, ToolResult(ok=False, text=self._problem("read_only", name=name)))
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        try:
            return _result(name, self._own.call(name, given) if name in OWN_TOOLS else self._agent_tools.call(name, given))
        except StoreBusy:
            return _result(name, ToolResult(ok=False, text=self._problem("busy", name=name)))
        except HoldfastError as error:
            problem = self._problem("failed", name=name, problem=escape_line(str(error)))
            return _result(name, ToolResult(ok=False, text=problem))

    def _problem(self, which: str, **values: str) -> str:
        text: str = self._texts["problems"][which].format(**values)
        return text


def with_defaults(tool: Tool, default_kind: str) -> dict[str, Any]:
    """Return the input schema of a tool, with the default values of optional arguments filled in.

    ``default_kind`` is the default kind of a new memory.
    """
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

    The structured content must be an object, so a list is wrapped in an object. The result of ``search_memories`` has
    one text block for each hit and for each notice.
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
