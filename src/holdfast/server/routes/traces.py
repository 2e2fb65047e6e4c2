"""Routes for traces: how context blocks were built, and why a memory was not recalled."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from holdfast.access.keys import check_found
from holdfast.errors import NotFound
from holdfast.server.api import convert, requests, responses, traces
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, Paged, Whose, needs
from holdfast.server.middleware.threads import run_recall
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1", tags=["recall"], route_class=Route)
_SessionId = Annotated[str | None, Query(description="Only context blocks of this session.", max_length=512)]


@router.get("/traces", operation_id="list_traces", responses=problems(), openapi_extra=needs("read"))
def list_traces(caller: Calling, whose: Whose, paged: Paged, session: _SessionId = None) -> responses.Listed[traces.TraceEntry]:
    """List traces.

    Returns the traces of recent context blocks, newest first. A trace shows how a block was built. Traces are kept for
    a few days.
    """
    parts = caller.may("read", **whose.parts)
    found = caller.memory.traces(session=session, limit=paged.limit + 1, offset=paged.offset, **parts)
    items, more = convert.page_of(map(traces.entry, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.get("/traces/{id}", operation_id="get_trace", responses=problems(404), openapi_extra=needs("read"))
def get_trace(id: Annotated[str, Path(description="The id of the trace.", max_length=200)], caller: Calling) -> traces.Trace:
    """Retrieve a trace.

    Returns the question, the candidates with their ranking, the items in the context block, and the reasons why other
    candidates were left out.
    """
    caller.may("read")
    absent = translatable("absent.trace", "There is no trace {id}.", id=id)
    try:
        found = caller.memory.trace(id)
    except NotFound as error:
        raise NotFound(absent) from error
    check_found(caller.principal, "read", found.scope, absent=absent)
    return traces.trace(found, services(caller.memory).store, caller.sees)


@router.post("/memories/{id}/explain", operation_id="explain", responses=problems(404), openapi_extra=needs("read"))
async def explain(
    id: Annotated[str, Path(description="The id of the memory.")], body: requests.Explain, caller: Calling, request: Request
) -> traces.Explanation:
    """Explain a memory.

    Builds the context block for a question. Returns whether the memory is in the block, its rank, and the reason if it
    is left out. Nothing is stored.
    """
    parts = caller.may("read", user=body.user, app=body.app, agent=body.agent)

    def ask() -> traces.Explanation:
        memory = caller.memory_found(id, "read")
        found = caller.memory.explain(id, body.query, max_tokens=body.max_tokens, **parts)
        return traces.explanation(found, memory, services(caller.memory).store, caller.sees)

    return await run_recall(request, ask)
