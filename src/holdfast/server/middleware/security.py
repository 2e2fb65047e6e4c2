"""The ASGI middleware that authenticates all requests and rejects invalid ones.

It checks the host, the origin, the access key and the rate limit before it reads the body. Routes call
:func:`principal_of` to get the authenticated principal. Routes of public paths do not call it.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

from holdfast.access.keys import Principal, bearer_of
from holdfast.config.settings import Settings
from holdfast.errors import HoldfastError, Unauthorized
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.ids import new_id
from holdfast.server.api.problem import AsgiMessage, AsgiScope, Problem, Receive, Send, problem_response
from holdfast.server.middleware.addresses import (
    AllowedHosts,
    Headers,
    came_through_proxy,
    check_bind,
    is_loopback,
    is_same_origin,
)
from holdfast.server.middleware.lanes import Lanes, QueueFull, Turn, lane_of
from holdfast.server.middleware.limits import LimitedBody, Rate, RateLimiter, discard_body, rate_limited, too_large
from holdfast.types.translatable import translatable

__all__ = ["Policy", "Security", "check_bind", "is_loopback", "principal_of", "request_id_of"]

log = logging.getLogger("holdfast.server")

App: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Identify: TypeAlias = Callable[[str | None, bool], Principal]
"""Function that returns the principal for an access key. Raises if the key is not valid.

The second argument is True if the request comes from this machine; such a request may need no key.
"""

_INFO_KEY = "holdfast.request"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PAGES = (b"text/html", b"text/css", b"text/javascript", b"application/javascript", b"image/", b"font/")
_CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_UNQUEUED = ("/health", "/metrics")
"""Paths whose requests never wait in a queue, however busy the server is."""
_ALWAYS = {
    b"content-security-policy": _CONTENT_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(self)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits that a server applies to requests, and the host names that it accepts."""

    host: str = "127.0.0.1"
    """Address that the server listens on."""
    allowed_hosts: tuple[str, ...] = ()
    """Additional host names that the server accepts."""
    challenge: str = "Bearer"
    """The ``WWW-Authenticate`` header of responses with status 401."""
    body_limit: int = 1 << 20
    file_limit: int = 32 << 20
    file_paths: tuple[str, ...] = ("/chat/audio", "/v1/import")
    """Paths that receive recordings and other files."""
    body_seconds: float = 60.0
    """Maximum time that a client may take to send a body, in seconds."""
    max_headers: int = 100
    header_bytes: int = 32 << 10
    address_bytes: int = 16 << 10
    rate: Rate = field(default_factory=lambda: Rate(per_second=50, burst=200))
    """Rate limit for each access key. Requests without a valid key are limited per IP address."""
    keyless_rate: Rate = field(default_factory=lambda: Rate(per_second=2000, burst=5000))
    tenant_rate: Rate = field(default_factory=lambda: Rate(per_second=100, burst=400))
    """Rate limit for all keys of a tenant together."""
    tenant_bytes: Rate = field(default_factory=lambda: Rate(per_second=256 << 10, burst=4 << 20))
    """Limit on the bytes of request bodies that a tenant sends: per second, and in a burst."""

    @classmethod
    def of(cls, settings: Settings, *, host: str | None = None) -> "Policy":
        """Create a policy from the settings. ``host`` overrides the address that the server listens on."""
        default = cls()
        rate = default.rate
        if settings.rate_limit is not None:
            rate = Rate(per_second=settings.rate_limit, burst=4 * settings.rate_limit)
        return cls(
            host=settings.serve_host if host is None else host,
            allowed_hosts=tuple(name.strip() for name in (settings.allowed_hosts or "").split(",") if name.strip()),
            body_limit=settings.max_request,
            file_limit=settings.max_body,
            rate=rate,
            tenant_rate=Rate(per_second=settings.tenant_rate_limit, burst=4 * settings.tenant_rate_limit),
            tenant_bytes=Rate(per_second=settings.tenant_bytes, burst=16 * settings.tenant_bytes),
        )

    def limit_of(self, path: str) -> int:
        """Return the maximum body size in bytes for a path."""
        return self.file_limit if path in self.file_paths else self.body_limit


@dataclass(slots=True)
class _RequestInfo:
    """The id of a request and the result of its authentication."""

    request_id: str
    principal: Principal | None = None
    error: HoldfastError | None = None
    """The reason why the request has no principal."""


def principal_of(scope: AsgiScope) -> Principal:
    """Return the principal of a request from its ASGI scope. Raise if the request was not authenticated."""
    info = scope.get(_INFO_KEY)
    if not isinstance(info, _RequestInfo):
        raise Unauthorized("The request was not authenticated, because it did not pass the security middleware.")
    if info.principal is None:
        raise info.error or Unauthorized(
            translatable("key.needed", "This server needs an access key. Send it as: Authorization: Bearer hf_...")
        )
    return info.principal


def request_id_of(scope: AsgiScope) -> str:
    """Return the id of a request, which the response carries as ``X-Request-ID``."""
    info = scope.get(_INFO_KEY)
    return info.request_id if isinstance(info, _RequestInfo) else "-"


class Security:
    """The middleware that authenticates requests, and rejects those that violate a :class:`Policy`.

    Usage: ``Security(app, policy=..., identify=pool.identify)``.
    """

    def __init__(
        self,
        app: App,
        *,
        policy: Policy,
        identify: Identify,
        rates: RateLimiter | None = None,
        lanes: Lanes | None = None,
    ) -> None:
        self._app = app
        self._policy = policy
        self._identify = identify
        self._rates = rates or RateLimiter()
        self._lanes = lanes or Lanes.of(computes=True)
        self._names = AllowedHosts(policy.host, policy.allowed_hosts)
        # Looking up a key reads the store. In a separate pool, a slow disk does not block other requests.
        self._readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="holdfast-gate")

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or reject it if it violates the policy. Web sockets are always rejected."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # web sockets are not supported
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        headers = _by_name(scope)
        info = _RequestInfo(_request_id(headers))
        sender = _ResponseSender(send, info.request_id, self._policy.challenge)
        refusal = self._misdirected(scope, headers)
        if refusal is None:
            await self._inspect(info, scope, headers)
            refusal = await self._rejection(info, scope, headers)
        if refusal is None:
            inside = {**scope, _INFO_KEY: info}
            await self._pass_on(info, inside, receive, sender)
        else:
            await sender.refuse(refusal, scope, receive)

    async def _pass_on(self, info: _RequestInfo, scope: AsgiScope, receive: Receive, sender: "_ResponseSender") -> None:
        """Pass the request to the application when its body is complete and its lane (queue of requests) lets it run."""

        async def take_turn(size: int) -> Problem | None:
            if sender.turn is not None:
                return None
            problem = self._charge(info.principal, size)
            turn = self._turn(info, scope, size)
            if problem is None and turn is not None:
                try:
                    await turn.enter()
                except QueueFull:
                    return rate_limited(1, "Too many requests of this tenant are waiting. Nothing was changed.")
                sender.turn = turn
            return problem

        limit, seconds = self._policy.limit_of(scope["path"]), self._policy.body_seconds
        body = LimitedBody(receive, limit=limit, seconds=seconds, when_complete=take_turn)
        sender.body = body
        if not _has_body(scope):
            body.problem = await take_turn(0)
        try:
            if body.problem is None:
                await self._run(scope, body, sender)
        finally:
            sender.leave()
        if body.problem is not None and not sender.started:
            await sender.refuse(body.problem, scope, receive)

    async def _run(self, scope: AsgiScope, body: LimitedBody, sender: "_ResponseSender") -> None:
        try:
            await self._app(scope, body.receive, sender.send)
        except Exception as error:  # the edge: any failure becomes a response without details
            if body.problem is None:
                log.exception("Request %s failed: %s", sender.request_id, type(error).__name__)
                detail = f"The server failed. The log has the details under the request id {sender.request_id}."
                body.problem = problem_response(500, "unexpected", detail)
                if sender.started:
                    raise  # the response is incomplete, so let the server abort the connection

    def _misdirected(self, scope: AsgiScope, headers: Headers) -> Problem | None:
        """Return the error response for a request with oversized headers, a long URL, a wrong host or a wrong origin.

        Otherwise return None.
        """
        policy = self._policy
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > policy.max_headers or size > policy.header_bytes:
            return problem_response(431, "too_large", "The request has too many headers, or they are too long.")
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > policy.address_bytes:
            return problem_response(414, "too_large", "The URL is too long. Send long texts in the body.")
        hosts = [host.decode("latin-1") for host in headers.get(b"host", ())]
        if len(hosts) != 1 or not self._names.answers_to(hosts[0]):
            detail = "This server does not accept this host name. Add it to the setting allowed_hosts."
            return problem_response(421, "forbidden", detail)
        if not is_same_origin(headers, hosts[0]):
            return problem_response(403, "forbidden", "Web pages of other origins may not use this server.")
        return None

    async def _inspect(self, info: _RequestInfo, scope: AsgiScope, headers: Headers) -> None:
        """Authenticate the request. A failure is only recorded, not raised, because some paths are public."""
        try:
            given = headers.get(b"authorization", ())
            if len(given) > 1:
                raise Unauthorized("The request has more than one Authorization header. Send one.")
            bearer = bearer_of(given[0].decode("latin-1") if given else None)
            info.principal = await self._identified(bearer, self._is_local(scope))
        except HoldfastError as error:
            info.error = error

    async def _identified(self, bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (signature of Identify)
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._identify, bearer, loopback)

    def _is_local(self, scope: AsgiScope) -> bool:
        """Return True if the server listens on loopback and the client connects over loopback."""
        client = scope.get("client")
        return is_loopback(self._policy.host) and client is not None and is_loopback(client[0])

    async def _rejection(self, info: _RequestInfo, scope: AsgiScope, headers: Headers) -> Problem | None:
        """Return the error response if a request must be rejected, or None.

        A request is rejected if it exceeds the rate limit or if its body is too large. A server without access keys also
        rejects requests that came through a proxy.
        """
        if came_through_proxy(headers) and await self._is_keyless(info, scope):
            return problem_response(
                403,
                "forbidden",
                "This server has no access keys, so it only accepts requests from this machine. This request came through a "
                "proxy. Create a key first: holdfast keys create --scope admin",
            )
        for caller, rate in self._callers(info, scope):
            wait = self._rates.take(caller, rate)
            if wait:
                return rate_limited(wait, "Too many requests. Nothing was changed.")
        limit = self._policy.limit_of(scope["path"])
        length = (headers.get(b"content-length") or (b"0",))[0]
        return too_large(limit) if length.isdigit() and int(length[:19]) > limit else None

    async def _is_keyless(self, info: _RequestInfo, scope: AsgiScope) -> bool:
        """Return True if the server accepts this request without an access key.

        A request with an invalid key is treated like a request without a key.
        """
        if info.principal is not None:
            return info.principal.keyless
        try:
            return (await self._identified(None, self._is_local(scope))).keyless
        except HoldfastError:
            return False

    def _callers(self, info: _RequestInfo, scope: AsgiScope) -> list[tuple[str, Rate]]:
        """Return the names and rate limits of the token buckets from which a request takes.

        A request with a valid key takes from two buckets: the bucket of the key, and the bucket of the tenant. Local callers
        without a key share one bucket. Requests that could not be authenticated share one bucket per IP address.
        """
        if info.principal is None:
            return [(f"address {(scope.get('client') or ('',))[0]}", self._policy.rate)]
        if info.principal.keyless:
            return [(info.principal.name, self._policy.keyless_rate)]
        return [(info.principal.name, self._policy.rate), (f"tenant {info.principal.tenant}", self._policy.tenant_rate)]

    def _charge(self, principal: Principal | None, size: int) -> Problem | None:
        """Count the bytes of a body. If the tenant has sent more bytes per second than allowed, return the error response."""
        if principal is None or principal.keyless:
            return None
        wait = self._rates.take(f"bytes of {principal.tenant}", self._policy.tenant_bytes, size)
        detail = f"This tenant sent more than {self._policy.tenant_bytes.per_second:,.0f} bytes per second. Nothing was changed."
        return rate_limited(wait, detail) if wait else None

    def _turn(self, info: _RequestInfo, scope: AsgiScope, size: int) -> Turn | None:
        """Return the place of a request in its lane (queue of requests), or None if the request need not wait in a lane."""
        if info.principal is None or scope["path"] in _UNQUEUED:
            return None
        return self._lanes.turn(lane_of(scope["method"], scope["path"], size), info.principal.tenant)


class _ResponseSender:
    """Sends the application's responses with the security headers added.

    If the request body was cut off (too large or too slow), an error response is sent instead.
    """

    def __init__(self, send: Send, request_id: str, challenge: str) -> None:
        self._send = send
        self._challenge = (b"www-authenticate", challenge.encode("latin-1", "replace"))
        self.request_id = request_id
        self.body: LimitedBody | None = None
        self.turn: Turn | None = None
        self.started = False

    def leave(self) -> None:
        """Let the next request run. Called when the response starts, so that slow clients do not delay other requests."""
        if self.turn is not None:
            self.turn.leave()

    async def send(self, message: AsgiMessage) -> None:
        """Send an ASGI message of the application's response. If the request body was cut off, drop the message."""
        if not self.started and self.body is not None and self.body.problem is not None:
            return
        if message["type"] == "http.response.start":
            self.started = True
            self.leave()
            headers = _with_security_headers(message.get("headers", ()), self.request_id)
            if message["status"] == 401:
                headers = [*(each for each in headers if each[0] != self._challenge[0]), self._challenge]
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, problem: Problem, scope: AsgiScope, receive: Receive) -> None:
        """Send an error response and close the connection.

        The rest of the request body is read before closing, so that the client receives the response.
        """
        self.started = True
        headers = [*_with_security_headers(problem.raw_headers(), self.request_id), (b"connection", b"close")]
        await self._send({"type": "http.response.start", "status": problem.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else problem.body
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        names = {name for name, _ in scope["headers"]}
        if names & {b"content-length", b"transfer-encoding"} and b"expect" not in names and problem.status != 408:
            await discard_body(receive)
        await self._send({"type": "http.response.body", "body": b""})


def _with_security_headers(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the response headers with the security headers added and any CORS headers removed."""
    given = [(bytes(name).lower(), bytes(value)) for name, value in headers]
    kept = [(name, value) for name, value in given if name not in _ALWAYS and not name.startswith(b"access-control-")]
    kind = next((value for name, value in kept if name == b"content-type"), b"")
    if not kind.startswith(_PAGES):
        kept = [(name, value) for name, value in kept if name != b"cache-control"]
        kept.append((b"cache-control", b"no-store"))
    elif not any(name == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-cache"))
    return [*kept, *_ALWAYS.items(), (b"x-request-id", request_id.encode())]


def _has_body(scope: AsgiScope) -> bool:
    return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _by_name(scope: AsgiScope) -> Headers:
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.lower(), []).append(value)
    return found


def _request_id(headers: Headers) -> str:
    """Return the request id that the client sent. If it is missing or malformed, return a new id."""
    given = headers.get(b"x-request-id", ())
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode()
    return new_id("req", SystemClock().now())
