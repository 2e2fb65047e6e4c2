"""Tools that another program offers through the MCP server, in addition to Holdfast's own tools or instead of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from holdfast.errors import HoldfastError
from holdfast.mcp.sdk import types
from holdfast.text.clean import escape_line


class ExtraTool(Protocol):
    """Interface of a tool that a program adds to the MCP server."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """The tool's definition as MCP specifies it: a mapping with ``name``, ``description``, ``inputSchema`` and so on."""
        ...

    def run(self, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Run the tool. Return the result as text and as data. Raise ``HoldfastError`` for wrong arguments."""
        ...


class ExtraTools:
    """Lists and calls the tools that a program adds to the MCP server."""

    def __init__(self, tools: Sequence[ExtraTool] = ()) -> None:
        self._tools = {str(tool.definition["name"]): tool for tool in tools}

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return list(self._tools)

    def listed(self) -> list[types.Tool]:
        """List the tools."""
        return [types.Tool.model_validate(tool.definition) for tool in self._tools.values()]

    def call(self, name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """Call a tool. An error is returned as a result that tells the model what is wrong."""
        try:
            text, data = self._tools[name].run(arguments or {})
        except HoldfastError as error:
            problem = types.TextContent(type="text", text=escape_line(str(error)))
            return types.CallToolResult(content=[problem], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=dict(data))
