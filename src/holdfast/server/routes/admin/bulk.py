"""Route that forgets or erases several memories."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from holdfast.by_id.erasing import erase_memories
from holdfast.forgetting.preview import losses
from holdfast.server.api import convert, responses
from holdfast.server.api.fields import Flag, Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.requests import Body
from holdfast.server.api.responses import Model
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types import Memory

router = APIRouter(prefix="/v1/memories", tags=["memories"], route_class=Route)


class Bulk(Body):
    """Several memories, and the operation to apply to them."""

    ids: Annotated[list[Name], Field(min_length=1, max_length=500, examples=[["mem_01k4zt3w9v6q2m8x5c7b1n0pda"]])]
    """The ids of the memories."""
    action: Literal["forget", "erase"]
    """`forget` hides the memories and can be undone for a limited time. `erase` removes them for good."""
    dry_run: Flag = False
    """True to only count what would be removed."""


class BulkLosses(Model):
    """The number of items that the operation removes or hides, counted before it runs."""

    memories: int
    """The number of memories that the request names."""
    derived: int
    """The number of other memories that were derived from them and are erased with them."""
    rebuilt: int
    """The number of memories that are erased and derived again from their other sources."""
    revisions: int
    """The number of stored versions of all these memories. Forgetting keeps them."""
    messages: int
    """The number of messages that are hidden, so that nothing is extracted from them again. They stay stored."""


class BulkResult(Model):
    """The result of a bulk operation."""

    dry_run: bool
    """True if nothing was changed."""
    losses: BulkLosses
    """What was removed, or would be removed."""
    changes: list[str]
    """The ids of the changes, to undo forgetting."""
    receipts: list[responses.Receipt]
    """The receipts of the erasures, one per memory. A memory that was already erased together with another one has no receipt."""


@router.post("/bulk", operation_id="bulk_memories", responses=problems(), openapi_extra=needs("write"))
def bulk(body: Bulk, caller: Calling) -> BulkResult:
    """Forget or erase several memories.

    All ids are checked first. If one is missing, nothing is changed. With `dry_run`, returns exact counts of the items
    that would be removed.
    """
    found = [caller.memory_found(id, "write") for id in dict.fromkeys(body.ids)]
    counted = losses(services(caller.memory).store, [each.id for each in found], erase=body.action == "erase")
    changes: list[str] = []
    receipts: list[responses.Receipt] = []
    if not body.dry_run:
        changes = _forget(caller, found) if body.action == "forget" else []
        erased = erase_memories(services(caller.memory), [each.id for each in found]) if body.action == "erase" else []
        receipts = [convert.receipt(each) for each in erased]
    return BulkResult(dry_run=body.dry_run, losses=BulkLosses.model_validate(counted), changes=changes, receipts=receipts)


def _forget(caller: Caller, memories: Sequence[Memory]) -> list[str]:
    """Forget memories, and return the ids of the changes. Skip memories that are already retired.

    Memories of a plain kind are forgotten too, but have no history, so no id is returned for them.
    """
    gone = [each for each in memories if caller.memory.forget(each.id) and not caller.memory.preset.kind(each.kind).plain]
    return [caller.memory.history(each.id)[-1].id for each in gone]
