"""Routes for background jobs: list jobs, run a job again, and run all queued jobs now."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from holdfast.server.api import convert, responses
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, Paged, needs
from holdfast.server.routes.idempotency import Route
from holdfast.types import JobState

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=Route)
_Id = Annotated[str, Path(description="The id of the job.")]


@router.get("/jobs", operation_id="list_jobs", responses=problems(), openapi_extra=needs("read"))
def jobs(
    caller: Calling,
    paged: Paged,
    state: Annotated[list[JobState] | None, Query(description="Only return jobs in these states.")] = None,
) -> responses.Listed[responses.Job]:
    """List jobs.

    Returns the oldest jobs first. Jobs belong to the whole tenant, so the key must not be bound to a user, app or agent.
    """
    caller.may("read", whole=True)
    found = caller.memory.jobs(states=state, limit=paged.offset + paged.limit + 1)[paged.offset :]
    items, more = convert.page_of(map(convert.job, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.post("/jobs/{id}/rerun", operation_id="rerun_job", responses=problems(), openapi_extra=needs("admin"))
def rerun(id: _Id, caller: Calling) -> responses.Job:
    """Rerun a job.

    Queues the job again, to run now. The job must be queued or dead (failed and not retried any more). A finished
    digest can also be rerun if a problem was recorded, for example if rules were used because the chat model failed.
    """
    caller.may("admin", whole=True)
    return convert.job(caller.memory.rerun(id))


@router.post("/work", operation_id="work", responses=problems(), openapi_extra=needs("admin"))
def work(caller: Calling) -> responses.Steps:
    """Run all queued jobs now.

    Returns when the queue is empty.
    """
    caller.may("admin", whole=True)
    return responses.Steps(steps=caller.memory.drain())
