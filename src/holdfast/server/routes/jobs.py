"""Background work: what waits, what failed, and running it now."""

from typing import Annotated

from fastapi import APIRouter, Query

from holdfast.server.api import convert, responses
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.types import JobState

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=Route)


@router.get("/jobs", operation_id="list_jobs", responses=problems(), openapi_extra=needs("read"))
def jobs(
    caller: Calling, paged: Paged, state: Annotated[list[JobState] | None, Query()] = None
) -> responses.Listed[responses.Job]:
    """List background work, the oldest first; of all users, so for a key that is bound to none."""
    caller.may("read", whole=True)
    found = caller.memory.jobs(states=state, limit=paged.offset + paged.limit + 1)[paged.offset :]
    items, more = convert.page_of(map(convert.job, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.post("/jobs/{id}/rerun", operation_id="rerun_job", responses=problems(), openapi_extra=needs("admin"))
def rerun(id: str, caller: Calling) -> responses.Job:
    """Queue a job again: a dead or waiting one, or one where rules had to take over from a model."""
    caller.may("admin", whole=True)
    return convert.job(caller.memory.rerun(id))


@router.post("/work", operation_id="work", responses=problems(), openapi_extra=needs("admin"))
def work(caller: Calling) -> responses.Steps:
    """Run all queued work now, and answer when it is done."""
    caller.may("admin", whole=True)
    return responses.Steps(steps=caller.memory.drain())
