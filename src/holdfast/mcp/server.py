"""The MCP server for all transports: dispatches requests to the tools, resources and prompts of the caller."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias, TypeVar

from anyio import to_thread
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.mcp import prompting
from holdfast.mcp.caller import McpCaller, mcp_words
from holdfast.mcp.library import TOPICS, ResourceReader
from holdfast.mcp.toolbox import Toolbox

R = TypeVar("R")
Ask: TypeAlias = ServerRequestContext[Any, Any]
Attend: TypeAlias = Callable[[Ask], AbstractContextManager[McpCaller]]
"""Returns a context manager with the caller of a request. It is called in a worker thread and may open an engine."""


class RequestHandlers:
    """Handlers of the protocol's requests. Each one runs in a worker thread, so that it does not block the event loop."""

    def __init__(self, attend: Attend) -> None:
        self._attend = attend

    async def _ask(self, ask: Ask, work: Callable[[McpCaller], R]) -> R:
        def run() -> R:
            try:
                with self._attend(ask) as caller:
                    return work(caller)
            except HoldfastError as error:
                is_callers_fault = isinstance(error, InvalidInput | NotFound)
                raise MCPError(types.INVALID_PARAMS if is_callers_fault else types.INTERNAL_ERROR, str(error)) from error

        return await to_thread.run_sync(run)

    async def tools(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the tools."""
        return types.ListToolsResult(tools=await self._ask(ask, lambda caller: Toolbox(caller).listed()))

    async def call(self, ask: Ask, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool."""
        return await self._ask(ask, lambda caller: Toolbox(caller).call(params.name, params.arguments))

    async def resources(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """List the resources."""
        return types.ListResourcesResult(resources=await self._ask(ask, lambda caller: ResourceReader(caller).resources()))

    async def templates(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        """List the resource templates."""
        found = await self._ask(ask, lambda caller: ResourceReader(caller).templates())
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(self, ask: Ask, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Read a resource."""
        return await self._ask(ask, lambda caller: ResourceReader(caller).read(str(params.uri)))

    async def prompts(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts."""
        return types.ListPromptsResult(prompts=await self._ask(ask, prompting.listed))

    async def prompt(self, ask: Ask, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt with its arguments filled in."""
        return await self._ask(ask, lambda caller: prompting.filled(caller, params.name, params.arguments))

    async def complete(self, ask: Ask, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete a topic name. Other arguments have no completions."""
        prefix = params.argument.value
        of_topic = isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri.startswith(TOPICS)
        found = await self._ask(ask, lambda caller: ResourceReader(caller).topic_names(prefix)) if of_topic else []
        return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


def make_server(attend: Attend, *, version: str, language: str | None = None) -> "Server[Any]":
    """Create the server. ``language`` is the language of its instructions, which are sent before the user is known."""
    handlers = RequestHandlers(attend)
    return Server(
        "holdfast",
        version=version,
        title="Holdfast",
        instructions=mcp_words(language)["instructions"],
        on_list_tools=handlers.tools,
        on_call_tool=handlers.call,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_read_resource=handlers.read,
        on_list_prompts=handlers.prompts,
        on_get_prompt=handlers.prompt,
        on_completion=handlers.complete,
    )
