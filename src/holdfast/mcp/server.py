"""One MCP server for every transport: it asks who is calling, and lets the caller's tools, pages and prompts answer."""

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
"""Says who makes a request. It is called in a thread, and may open a memory for as long as the request lasts."""


class RequestHandlers:
    """The protocol's requests, each answered in a thread: recalling and writing must not hold up the loop."""

    def __init__(self, attend: Attend) -> None:
        self._attend = attend

    async def _ask(self, ask: Ask, work: Callable[[McpCaller], R]) -> R:
        def run() -> R:
            try:
                with self._attend(ask) as caller:
                    return work(caller)
            except HoldfastError as error:
                callers_fault = isinstance(error, InvalidInput | NotFound)
                raise MCPError(types.INVALID_PARAMS if callers_fault else types.INTERNAL_ERROR, str(error)) from error

        return await to_thread.run_sync(run)

    async def tools(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the tools."""
        return types.ListToolsResult(tools=await self._ask(ask, lambda caller: Toolbox(caller).listed()))

    async def call(self, ask: Ask, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool."""
        return await self._ask(ask, lambda caller: Toolbox(caller).call(params.name, params.arguments))

    async def resources(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """List what can be read."""
        return types.ListResourcesResult(resources=await self._ask(ask, lambda caller: ResourceReader(caller).resources()))

    async def templates(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        """List the forms of addresses."""
        found = await self._ask(ask, lambda caller: ResourceReader(caller).templates())
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(self, ask: Ask, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Read a resource."""
        return await self._ask(ask, lambda caller: ResourceReader(caller).read(str(params.uri)))

    async def prompts(self, ask: Ask, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts."""
        return types.ListPromptsResult(prompts=await self._ask(ask, prompting.listed))

    async def prompt(self, ask: Ask, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Fill in a prompt."""
        return await self._ask(ask, lambda caller: prompting.filled(caller, params.name, params.arguments))

    async def complete(self, ask: Ask, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete the name of a topic; nothing else has known values."""
        wanted = params.argument.value
        of_topic = isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri.startswith(TOPICS)
        found = await self._ask(ask, lambda caller: ResourceReader(caller).topic_names(wanted)) if of_topic else []
        return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


def make_server(attend: Attend, *, version: str, language: str | None = None) -> "Server[Any]":
    """Return the server; ``language`` is that of its instructions, which clients are given before anyone is known."""
    answers = RequestHandlers(attend)
    return Server(
        "holdfast",
        version=version,
        title="Holdfast",
        instructions=mcp_words(language)["instructions"],
        on_list_tools=answers.tools,
        on_call_tool=answers.call,
        on_list_resources=answers.resources,
        on_list_resource_templates=answers.templates,
        on_read_resource=answers.read,
        on_list_prompts=answers.prompts,
        on_get_prompt=answers.prompt,
        on_completion=answers.complete,
    )
