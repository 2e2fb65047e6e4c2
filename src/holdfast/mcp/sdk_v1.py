"""Version 1 of the package ``mcp``, with the names and arguments of version 2."""

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

__all__ = ["MCPError", "Server", "ServerRequestContext", "types"]

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]

# The type checker knows version 2.
_package: Any = import_module("mcp")
_types: Any = import_module("mcp.types")
_lowlevel: Any = import_module("mcp.server.lowlevel")
_context: Any = import_module("mcp.shared.context")
_Error: Any = _package.McpError
ServerRequestContext: Any = _context.RequestContext


class MCPError(_Error):  # type: ignore[misc]
    """An error that is sent to the client as an error of the MCP protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(_types.ErrorData(code=code, message=message, data=data))


class _Types:
    """The types of ``mcp`` version 1. Some are wrapped, so that they accept the snake_case argument names of version 2."""

    _SNAKE_CASE = frozenset(
        "CallToolResult Completion ListResourceTemplatesResult Resource ResourceTemplate TextResourceContents Tool ToolAnnotations".split()
    )

    def __getattr__(self, name: str) -> Any:
        found = getattr(_types, name)
        return _with_snake_case(found) if name in self._SNAKE_CASE else found


@cache
def _with_snake_case(original: Any) -> Any:
    class Renamed(original):  # type: ignore[misc]
        def __init__(self, **fields: Any) -> None:
            super().__init__(**{_camel_case(name): value for name, value in fields.items()})

    Renamed.__name__ = Renamed.__qualname__ = original.__name__
    return Renamed


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


types: Any = _Types()

_REQUESTS = {
    "on_list_tools": "ListToolsRequest",
    "on_call_tool": "CallToolRequest",
    "on_list_resources": "ListResourcesRequest",
    "on_list_resource_templates": "ListResourceTemplatesRequest",
    "on_read_resource": "ReadResourceRequest",
    "on_list_prompts": "ListPromptsRequest",
    "on_get_prompt": "GetPromptRequest",
    "on_completion": "CompleteRequest",
}


def Server(name: str, *, version: str, title: str, instructions: str | None, **handlers: Handler) -> Any:  # noqa: N802  (a class in version 2)
    """Create a server of ``mcp`` version 1 from handlers written for version 2.

    ``title`` is ignored, because version 1 has no title.
    """
    del title
    server: Any = _lowlevel.Server(name, version=version, instructions=instructions)
    for event, handler in handlers.items():
        server.request_handlers[getattr(_types, _REQUESTS[event])] = _adapted(server, handler)
    return server


def _adapted(server: Any, handler: Handler) -> Callable[[Any], Awaitable[Any]]:
    async def handle(request: Any) -> Any:
        return _types.ServerResult(await handler(server.request_context, request.params))

    return handle
