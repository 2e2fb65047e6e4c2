"""The MCP server for all transports. It passes requests to the tools, resources and prompts of the caller."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias, TypeVar

from anyio import to_thread

from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.mcp import prompting
from holdfast.mcp.caller import McpCaller, mcp_texts
from holdfast.mcp.extra_tools import ExtraTool, ExtraTools
from holdfast.mcp.library import TOPICS, ResourceReader
from holdfast.mcp.sdk import MCPError, Server, ServerRequestContext, types
from holdfast.mcp.toolbox import Toolbox
from holdfast.text.clean import escape_line

R = TypeVar("R")
McpRequest: TypeAlias = ServerRequestContext[Any, Any]
CallerSource: TypeAlias = Callable[[McpRequest], AbstractContextManager[McpCaller]]
"""Function that returns a context manager with the caller of a request. It runs in a worker thread and may open an engine."""


class RequestHandlers:
    """Handlers of the protocol's requests. Each one runs in a worker thread, so that it does not block the event loop."""

    def __init__(self, caller_of: CallerSource, *, extra: ExtraTools, own_tools: bool) -> None:
        self._caller_of = caller_of
        self._extra = extra
        self._own_tools = own_tools

    async def _run(self, request: McpRequest, work: Callable[[McpCaller], R]) -> R:
        def run() -> R:
            try:
                with self._caller_of(request) as caller:
                    return work(caller)
            except HoldfastError as error:
                is_callers_fault = isinstance(error, InvalidInput | NotFound)
                raise MCPError(types.INVALID_PARAMS if is_callers_fault else types.INTERNAL_ERROR, str(error)) from error

        return await to_thread.run_sync(run)

    async def tools(self, request: McpRequest, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the tools that the caller may use."""
        own = await self._run(request, lambda caller: Toolbox(caller).listed()) if self._own_tools else []
        return types.ListToolsResult(tools=[*own, *self._extra.listed()])

    async def call(self, request: McpRequest, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool and return its result."""
        if params.name in self._extra:
            return await self._run(request, lambda _: self._extra.call(params.name, params.arguments))
        if not self._own_tools:
            known = ", ".join(self._extra.names)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {escape_line(params.name)}. The tools are: {known}.")
        return await self._run(request, lambda caller: Toolbox(caller).call(params.name, params.arguments))

    async def resources(self, request: McpRequest, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """List the resources that the caller may read."""
        return types.ListResourcesResult(resources=await self._run(request, lambda caller: ResourceReader(caller).resources()))

    async def templates(
        self, request: McpRequest, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the resource templates."""
        found = await self._run(request, lambda caller: ResourceReader(caller).templates())
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(self, request: McpRequest, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return the contents of a resource."""
        return await self._run(request, lambda caller: ResourceReader(caller).read(str(params.uri)))

    async def prompts(self, request: McpRequest, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts in the caller's language."""
        return types.ListPromptsResult(prompts=await self._run(request, prompting.list_prompts))

    async def prompt(self, request: McpRequest, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt with its arguments filled in."""
        return await self._run(request, lambda caller: prompting.fill_prompt(caller, params.name, params.arguments))

    async def complete(self, request: McpRequest, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return completions of a topic name. Other arguments have no completions."""
        prefix = params.argument.value
        of_topic = isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri.startswith(TOPICS)
        found = await self._run(request, lambda caller: ResourceReader(caller).topic_names(prefix)) if of_topic else []
        return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


def make_server(
    caller_of: CallerSource,
    *,
    version: str,
    language: str | None = None,
    extra_tools: Sequence[ExtraTool] = (),
    own_tools: bool = True,
) -> "Server[Any]":
    """Create the MCP server. ``caller_of`` returns the caller of a request, in a context manager.

    ``language`` is the language of the server's instructions, which are sent before the user is known. With
    ``own_tools=False``, only the extra tools are offered. There are then no instructions, because the instructions describe
    Holdfast's own tools.
    """
    handlers = RequestHandlers(caller_of, extra=ExtraTools(extra_tools), own_tools=own_tools)
    return Server(
        "holdfast",
        version=version,
        title="Holdfast",
        instructions=mcp_texts(language)["instructions"] if own_tools else None,
        on_list_tools=handlers.tools,
        on_call_tool=handlers.call,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_read_resource=handlers.read,
        on_list_prompts=handlers.prompts,
        on_get_prompt=handlers.prompt,
        on_completion=handlers.complete,
    )
