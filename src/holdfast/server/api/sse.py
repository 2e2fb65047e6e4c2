"""Server-sent events (``text/event-stream``). The iterator of events is closed as soon as the client disconnects."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Finish: TypeAlias = Callable[[bytes, bool], Awaitable[None]]
"""Function that is called at the end of a stream.

It receives the bytes that were sent (about 1 MiB at most), and True if these bytes are the whole stream.
"""

_MAX_KEPT_BYTES = 1024 * 1024
MEDIA_TYPE = "text/event-stream"


def event(name: str, data: Any) -> bytes:
    """Encode one server-sent event. Its data is JSON on a single line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


def stream_content(*names: str, example: str) -> dict[str, Any]:
    """Return the OpenAPI content of a response that streams events with these names. The schema describes a single event."""
    data = {"type": "string", "contentMediaType": "application/json"}
    one = {"type": "object", "properties": {"event": {"type": "string", "enum": list(names)}, "data": data}}
    return {MEDIA_TYPE: {"schema": one, "example": example}}


def keepalive() -> bytes:
    """Return an empty server-sent comment. The comment keeps the connection open and shows if the client has disconnected."""
    return b": \n\n"


class EventStream(Response):
    """A response that streams server-sent events. The iterator of events is closed as soon as the client disconnects."""

    media_type = MEDIA_TYPE

    def __init__(self, events: AsyncGenerator[bytes, None], status_code: int = 200) -> None:
        self._events = events
        self._finish: Finish | None = None
        self.status_code = status_code
        self.background = None
        self.init_headers({"cache-control": "no-store", "x-accel-buffering": "no"})

    def when_done(self, finish: Finish) -> None:
        """Register a callback for the end of the stream. See ``Finish`` for its arguments."""
        self._finish = finish

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        """Send the events."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sent, complete = bytearray(), False
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_until_gone, receive, group.cancel_scope)
                async with aclosing(self._events):
                    async for piece in self._events:
                        if self._finish is not None and len(sent) <= _MAX_KEPT_BYTES:
                            sent += piece
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    complete = True
                group.cancel_scope.cancel()
            if complete:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if self._finish is not None:
                with anyio.CancelScope(shield=True):
                    await self._finish(bytes(sent), complete and len(sent) <= _MAX_KEPT_BYTES)


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Wait until the client disconnects, then cancel the task that sends the events."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
