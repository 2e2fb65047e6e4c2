"""Routes that check the caller's rights first, and that handle the ``Idempotency-Key`` header.

If a client got no response to a write, it can repeat the request with the same key. The same request returns the stored
response. A different request with the same key is a conflict.
"""

import hashlib
import json
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, TypeAlias

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from holdfast.access.idempotency import StoredResponses
from holdfast.access.keys import Principal, authorize
from holdfast.errors import InvalidInput
from holdfast.server.api.sse import EventStream
from holdfast.server.caller import RIGHT
from holdfast.server.middleware.security import principal_of
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.types import StoredResponse

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MAX_KEY_CHARACTERS = 255
_KEPT_HEADERS = ("content-type", "location")

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


class Route(APIRoute):
    """A route that checks the caller's rights before it reads the body. If a request is repeated, it returns the stored response.

    A request is repeated if it has the same idempotency key and the same content as an earlier request of the same caller.
    GET requests always run again.
    """

    def get_route_handler(self) -> Handler:
        """Return a handler that checks the caller's rights and the idempotency key before it handles a request."""
        handle = super().get_route_handler()
        right = (self.openapi_extra or {}).get(RIGHT)

        async def checked(request: Request) -> Response:
            if right is None:
                return await handle(request)
            principal = principal_of(request.scope)
            authorize(principal, right)
            key = request.headers.get(HEADER)
            if key is None or request.method in _SAFE_METHODS or not request.url.path.startswith("/v1/"):
                return await handle(request)
            return await _once(request, principal, key, handle)

        return checked


def client_id(request: Request) -> str | None:
    """Derive a message id from the request's idempotency key. Return None if the request has no such key.

    With this id, a repeated request stores its message only once, even if the response to the first request was never stored.
    """
    key = request.headers.get(HEADER)
    return None if key is None else f"idempotency-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


async def _once(request: Request, principal: Principal, key: str, handle: Handler) -> Response:
    if not key.strip() or len(key) > _MAX_KEY_CHARACTERS:
        raise InvalidInput(f"The header {HEADER} must have 1 to {_MAX_KEY_CHARACTERS} characters. Nothing was changed.")
    pool: EnginePool = request.app.state.pool
    with ExitStack() as lease:
        engine = await run_in_threadpool(lease.enter_context, pool.lease(principal.tenant))
        answers = StoredResponses(services(engine).store, services(engine).clock)
        claim = await run_in_threadpool(answers.claim, principal, key, await _fingerprint(request))
        if claim.status is not None:
            return _again(claim)
        try:
            response = await handle(request)
        except Exception:  # not a cancellation: the thread may still finish its write, so the claim stays until it expires
            await run_in_threadpool(answers.release, claim)
            raise
        if not isinstance(response, EventStream):
            await _keep(answers, claim, response, bytes(response.body))
            return response
        streaming = lease.pop_all()

    async def finish(body: bytes, complete: bool) -> None:  # noqa: FBT001  (the stream's callback)
        with streaming:
            await _keep(answers, claim, response, body if complete else None)

    response.when_done(finish)
    return response


async def _keep(answers: StoredResponses, claim: StoredResponse, response: Response, body: bytes | None) -> None:
    """Store a complete response, so that a repeated request gets the same response.

    A server error, or a response that was sent only in part, is not stored. Then the idempotency key is released, so that a
    repeated request runs again. ``claim`` is the record that reserves the idempotency key for this request. ``body`` is the body
    of the response, or None if the response was sent only in part.
    """
    if body is None or response.status_code >= 500:
        await run_in_threadpool(answers.release, claim)
        return
    headers = {name: value for name, value in response.headers.items() if name in _KEPT_HEADERS}
    await run_in_threadpool(answers.save, claim, status=response.status_code, headers=headers, body=body)


async def _fingerprint(request: Request) -> bytes:
    head = json.dumps([request.method, request.url.path, request.url.query])
    return head.encode() + b"\n" + await request.body()


def _again(known: StoredResponse) -> Response:
    response = Response(content=known.body, status_code=known.status or 200)
    response.headers.update(known.headers)
    response.headers[REPLAYED] = "true"
    return response
