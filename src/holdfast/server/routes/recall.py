"""Routes that recall memories and messages, and create context blocks."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request

from holdfast.engine import Engine
from holdfast.errors import Conflict, InvalidInput
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import merged_kinds
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Calling, needs
from holdfast.server.middleware.latency import Latency
from holdfast.server.middleware.threads import run_recall
from holdfast.server.routes.idempotency import Route
from holdfast.services import services

_OPTIONS = (
    "limit", "offset", "where", "namespace", "namespace_prefix", "now", "as_of", "min_score", "distinct", "vector", "untrusted",
)  # fmt: skip
router = APIRouter(prefix="/v1", tags=["recall"], route_class=Route)


@router.post("/recall", operation_id="recall", responses=problems(409), openapi_extra=needs("read"))
async def recall(body: requests.Recall, caller: Calling, request: Request) -> responses.Hits:
    """Recall memories and messages.

    Returns the items that are relevant to the query, best first. Each hit lists the reasons why it was found.
    """
    parts = caller.may("read", user=body.user, app=body.app, agent=body.agent)
    options: dict[str, Any] = {name: getattr(body, name) for name in _OPTIONS}
    options["kinds"] = merged_kinds(body.kind, body.kinds)

    def ask() -> responses.Hits:
        memory = caller.memory
        _check_vector(memory, body.vector)
        with _latency(request).measured():
            found = memory.recall(body.query, **options, **parts)
        return convert.hits(found)

    return await run_recall(request, ask)


@router.post("/context", operation_id="context", responses=problems(), openapi_extra=needs("read"))
async def context(body: requests.Context, caller: Calling, request: Request) -> responses.Context:
    """Create a context block.

    Returns a text for the system prompt: the pinned memories, and the items that are relevant to the query.
    """
    parts = caller.may("read", user=body.user, app=body.app, agent=body.agent)

    def ask() -> responses.Context:
        memory = caller.memory
        with _latency(request).measured():
            found = memory.context(body.query, max_tokens=body.max_tokens, untrusted=body.untrusted, **parts)
        return convert.context(found)

    return await run_recall(request, ask)


def _check_vector(memory: Engine, vector: Sequence[float] | None) -> None:
    """Raise ``Conflict`` if a vector does not match the server's embedder.

    The error is not ``InvalidInput``, because callers need not know which embedder the server uses.
    """
    if vector is not None:
        try:
            services(memory).embedding.model.given(vector)
        except InvalidInput as error:
            raise Conflict(str(error)) from error


def _latency(request: Request) -> Latency:
    latency: Latency = request.app.state.latency
    return latency
