"""Routes for proposals: changes that wait for a person's decision."""

from typing import Annotated

from fastapi import APIRouter, Path

from holdfast.server.api import convert, responses
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, Paged, Whose, needs
from holdfast.server.routes.idempotency import Route

router = APIRouter(prefix="/v1/proposals", tags=["memories"], route_class=Route)
_Id = Annotated[str, Path(description="The id of the proposal.", max_length=200)]


@router.get("", operation_id="list_proposals", responses=problems(), openapi_extra=needs("read"))
def proposals(caller: Calling, whose: Whose, paged: Paged) -> responses.Listed[responses.Memory]:
    """List proposals.

    Returns the changes that would supersede an explicit memory but may be based on text that the user did not write.
    The newest come first.
    """
    parts = caller.may("read", **whose.parts)
    found = caller.memory.proposals(limit=paged.limit + 1, offset=paged.offset, **parts)
    items, more = convert.page_of(map(convert.memory, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.post("/{id}/accept", operation_id="accept_proposal", responses=problems(409), openapi_extra=needs("write"))
def accept(id: _Id, caller: Calling) -> responses.Memory:
    """Accept a proposal.

    The proposal becomes a memory with full trust, and supersedes the memories that it proposed to replace.
    """
    return convert.memory(caller.memory.accept(caller.memory_found(id, "write").id))


@router.post("/{id}/dismiss", operation_id="dismiss_proposal", responses=problems(), openapi_extra=needs("write"))
def dismiss(id: _Id, caller: Calling) -> responses.Memory:
    """Dismiss a proposal.

    This can be undone for a limited time.
    """
    return convert.memory(caller.memory.dismiss(caller.memory_found(id, "write").id))
