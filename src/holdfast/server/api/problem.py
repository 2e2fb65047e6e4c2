"""Error responses in the format problem+json (RFC 9457), with the stable codes of :mod:`holdfast.errors`.

A problem is an ASGI application. Error handlers of the framework can return it, and middleware can send it directly.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from holdfast.errors import HoldfastError, ModelBusy
from holdfast.types.translatable import text_code

AsgiScope: TypeAlias = MutableMapping[str, Any]
AsgiMessage: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

MEDIA_TYPE = "application/problem+json"
STATUS: Mapping[str, int] = {
    "invalid_input": 400,
    "text_too_long": 413,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "revision_conflict": 409,
    "store_busy": 503,
    "store_closed": 503,
    "store_full": 507,
    "weights_missing": 503,
    "weights_unavailable": 503,
    "extra_missing": 503,
    "key_missing": 503,
    "model_unavailable": 503,
    "model_busy": 503,
    "no_chat_model": 503,
    "no_transcriber": 503,
    "answer_invalid": 502,
    "spend_limit": 503,
}
"""Maps error codes to HTTP statuses. Codes that are not listed have status 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error response that can be sent as an ASGI application."""

    status: int
    code: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Additional members of the JSON object, such as the ``context`` of ``no_chat_model``."""

    @property
    def content(self) -> dict[str, Any]:
        """The error response as a dictionary, to be sent as JSON."""
        title = HTTPStatus(self.status).phrase
        own = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, "code": self.code}
        code = text_code(self.detail)
        return {**self.more, **own, **({"detail_code": code} if code else {})}

    @property
    def body(self) -> bytes:
        """The error response as JSON text, encoded in UTF-8."""
        return json.dumps(self.content, ensure_ascii=False).encode("utf-8", "replace")

    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the response headers in ASGI form."""
        own = {"content-type": MEDIA_TYPE, "content-length": str(len(self.body)), **self.headers}
        if self.status == HTTPStatus.UNAUTHORIZED:
            own.setdefault("www-authenticate", "Bearer")
        return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in own.items()]

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        """Send the response."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.raw_headers()})
        await send({"type": "http.response.body", "body": b"" if scope.get("method") == "HEAD" else self.body})


class Refused(Exception):
    """Raised to reject a request for a reason that exists only in HTTP. ``problem`` is the response to send."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def problem_response(status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Problem:
    """Create an error response. ``more`` are additional members of its JSON object."""
    return Problem(status=status, code=code, detail=detail, headers=headers or {}, more=more)


def problem_of(error: HoldfastError) -> Problem:
    """Convert an exception of Holdfast to an error response."""
    headers = {}
    if isinstance(error, ModelBusy) and error.retry_after is not None:
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    return Problem(status=STATUS.get(error.code, 500), code=error.code, detail=str(error), headers=headers)
