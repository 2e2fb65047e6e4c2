"""What stands before every route: a plain ASGI middleware that knows who asks and refuses what should not come in.

It goes around the whole application. Before a byte of a body is read it has looked at the address, the page the
request came from, the key, and how often its bearer asks. Routes call :func:`principal_of`; a path that is open to
strangers just does not.
"""

import asyncio
import logging
import math
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
from holdfast.server.middleware.limits import LimitedBody, Rate, RateLimiter, discard_body, too_large

__all__ = ["Policy", "Security", "check_bind", "is_loopback", "principal_of", "request_id_of"]

log = logging.getLogger("holdfast.server")

App: TypeAlias = Callable[[AsgiScope, Receive, Send], Awaitable[None]]
Identify: TypeAlias = Callable[[str | None, bool], Principal]
"""Tells who bears a key, or who comes without one over loopback; raises for a stranger."""

_INFO_KEY = "holdfast.visit"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PAGES = (b"text/html", b"text/css", b"text/javascript", b"application/javascript", b"image/", b"font/")
_CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
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
    """What a server lets in."""

    host: str = "127.0.0.1"
    """The address it listens on."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names it answers to."""
    body_limit: int = 4 << 20
    audio_limit: int = 32 << 20
    audio_paths: tuple[str, ...] = ("/chat/audio",)
    body_seconds: float = 60.0
    """How long a client may take to send a body."""
    max_headers: int = 100
    header_bytes: int = 32 << 10
    address_bytes: int = 16 << 10
    rate: Rate = field(default_factory=lambda: Rate(per_second=50, burst=200))
    """Of each key, and of each address that strangers come from."""
    keyless_rate: Rate = field(default_factory=lambda: Rate(per_second=2000, burst=5000))

    @classmethod
    def of(cls, settings: Settings, *, host: str | None = None) -> "Policy":
        """Return what the settings say; ``host`` is the address it really listens on."""
        default = cls()
        rate = default.rate
        if settings.rate_limit is not None:
            rate = Rate(per_second=settings.rate_limit, burst=4 * settings.rate_limit)
        return cls(
            host=settings.serve_host if host is None else host,
            allowed_hosts=tuple(name.strip() for name in (settings.allowed_hosts or "").split(",") if name.strip()),
            body_limit=min(default.body_limit, settings.max_body),
            audio_limit=settings.max_body,
            rate=rate,
        )

    def limit_of(self, path: str) -> int:
        """Return how large a body may be."""
        return self.audio_limit if path in self.audio_paths else self.body_limit


@dataclass(slots=True)
class _RequestInfo:
    """What is known of one request before its route is reached."""

    request_id: str
    principal: Principal | None = None
    error: HoldfastError | None = None
    """Why there is no principal."""


def principal_of(scope: AsgiScope) -> Principal:
    """Return who makes a request, from its ASGI scope; a stranger is an error."""
    visit = scope.get(_INFO_KEY)
    if not isinstance(visit, _RequestInfo):
        raise Unauthorized("Nobody has looked at who is asking.")
    if visit.principal is None:
        raise visit.error or Unauthorized("A key is needed.")
    return visit.principal


def request_id_of(scope: AsgiScope) -> str:
    """Return the id of a request, which its answer carries as ``X-Request-ID``."""
    visit = scope.get(_INFO_KEY)
    return visit.request_id if isinstance(visit, _RequestInfo) else "-"


class Security:
    """The middleware: ``Security(app, policy=..., identify=pool.identify)``."""

    def __init__(self, app: App, *, policy: Policy, identify: Identify, rates: RateLimiter | None = None) -> None:
        self._app = app
        self._policy = policy
        self._identify = identify
        self._rates = rates or RateLimiter()
        self._names = AllowedHosts(policy.host, policy.allowed_hosts)
        # Keys are looked up in a store: a slow disk must not hold up everyone's answers.
        self._readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="holdfast-gate")

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # nothing here speaks over web sockets
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        headers = _by_name(scope)
        visit = _RequestInfo(_request_id(headers))
        answer = _ResponseSender(send, visit.request_id)
        refusal = self._misdirected(scope, headers)
        if refusal is None:
            await self._inspect(visit, scope, headers)
            refusal = await self._rejection(visit, scope, headers)
        if refusal is None:
            inside = {**scope, _INFO_KEY: visit}
            await self._pass_on(inside, receive, answer)
        else:
            await answer.refuse(refusal, scope, receive)

    async def _pass_on(self, scope: AsgiScope, receive: Receive, answer: "_ResponseSender") -> None:
        body = LimitedBody(receive, limit=self._policy.limit_of(scope["path"]), seconds=self._policy.body_seconds)
        answer.body = body
        problem: Problem | None = None
        try:
            await self._app(scope, body.receive, answer.send)
        except Exception as error:  # the edge: whatever happened, the client gets an answer and no details
            if body.problem is None:
                log.exception("Request %s failed: %s", answer.request_id, type(error).__name__)
                problem = problem_response(500, "unexpected", f"Something went wrong; the log has it as {answer.request_id}.")
                if answer.started:
                    raise  # the server breaks the connection off: the answer is not whole
        problem = body.problem or problem
        if problem is not None and not answer.started:
            await answer.refuse(problem, scope, receive)

    def _misdirected(self, scope: AsgiScope, headers: Headers) -> Problem | None:
        """Refuse by what a request looks like, before anyone asks whose it is."""
        policy = self._policy
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > policy.max_headers or size > policy.header_bytes:
            return problem_response(431, "too_large", "The headers are too many or too long.")
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > policy.address_bytes:
            return problem_response(414, "too_large", "The address is too long.")
        hosts = [host.decode("latin-1") for host in headers.get(b"host", ())]
        if len(hosts) != 1 or not self._names.answers_to(hosts[0]):
            detail = "This server does not answer to that name. The setting allowed_hosts lists the names it has."
            return problem_response(421, "forbidden", detail)
        if not is_same_origin(headers, hosts[0]):
            return problem_response(403, "forbidden", "A page of another site may not use this server.")
        return None

    async def _inspect(self, info: _RequestInfo, scope: AsgiScope, headers: Headers) -> None:
        """Find out who is asking; for some paths it does not matter, so a stranger is noted, not refused."""
        try:
            given = headers.get(b"authorization", ())
            if len(given) > 1:
                raise Unauthorized("There is more than one Authorization header.")
            bearer = bearer_of(given[0].decode("latin-1") if given else None)
            info.principal = await self._identified(bearer, self._is_local(scope))
        except HoldfastError as error:
            info.error = error

    async def _identified(self, bearer: str | None, loopback: bool) -> Principal:  # noqa: FBT001  (as Identify has it)
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._identify, bearer, loopback)

    def _is_local(self, scope: AsgiScope) -> bool:
        """Tell whether both ends are this machine."""
        client = scope.get("client")
        return is_loopback(self._policy.host) and client is not None and is_loopback(client[0])

    async def _rejection(self, info: _RequestInfo, scope: AsgiScope, headers: Headers) -> Problem | None:
        """Refuse by who is asking, and how much."""
        if came_through_proxy(headers) and await self._is_keyless(info, scope):
            return problem_response(
                403,
                "forbidden",
                "This server has no keys, so it is for this machine alone, and the request came through a proxy. "
                "Make a key first: holdfast keys create --scope admin",
            )
        wait = self._rates.take(*self._caller(info, scope))
        if wait:
            seconds = math.ceil(wait)
            return problem_response(
                429, "rate_limited", f"Too many requests; go on in {seconds} s.", headers={"retry-after": str(seconds)}
            )
        limit = self._policy.limit_of(scope["path"])
        length = (headers.get(b"content-length") or (b"0",))[0]
        return too_large(limit) if length.isdigit() and int(length[:19]) > limit else None

    async def _is_keyless(self, info: _RequestInfo, scope: AsgiScope) -> bool:
        """Tell whether this server lets this machine in without a key, whatever this request came with."""
        if info.principal is not None:
            return info.principal.keyless
        try:
            return (await self._identified(None, self._is_local(scope))).keyless
        except HoldfastError:
            return False

    def _caller(self, info: _RequestInfo, scope: AsgiScope) -> tuple[str, Rate]:
        """Return whose bucket pays. A key that is not valid has none: guesses are paid for by where they come from."""
        if info.principal is None:
            return f"stranger {(scope.get('client') or ('',))[0]}", self._policy.rate
        return info.principal.name, self._policy.keyless_rate if info.principal.keyless else self._policy.rate


class _ResponseSender:
    """The way back: every answer gets its headers here, and a body that was cut off its refusal."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.body: LimitedBody | None = None
        self.started = False

    async def send(self, message: AsgiMessage) -> None:
        """Send a message of the application's, unless the client is to be told something else."""
        if not self.started and self.body is not None and self.body.problem is not None:
            return
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": _with_ours(message.get("headers", ()), self.request_id)}
        await self._send(message)

    async def refuse(self, problem: Problem, scope: AsgiScope, receive: Receive) -> None:
        """Send a refusal and close the connection, but not in the face of a client that is still sending."""
        self.started = True
        headers = [*_with_ours(problem.raw_headers(), self.request_id), (b"connection", b"close")]
        await self._send({"type": "http.response.start", "status": problem.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else problem.body
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        names = {name for name, _ in scope["headers"]}
        if names & {b"content-length", b"transfer-encoding"} and b"expect" not in names and problem.status != 408:
            await discard_body(receive)
        await self._send({"type": "http.response.body", "body": b""})


def _with_ours(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers with ours: no sharing with other sites, whatever the application says."""
    given = [(bytes(name).lower(), bytes(value)) for name, value in headers]
    kept = [(name, value) for name, value in given if name not in _ALWAYS and not name.startswith(b"access-control-")]
    kind = next((value for name, value in kept if name == b"content-type"), b"")
    if not kind.startswith(_PAGES):
        kept = [(name, value) for name, value in kept if name != b"cache-control"]
        kept.append((b"cache-control", b"no-store"))
    elif not any(name == b"cache-control" for name, _ in kept):
        kept.append((b"cache-control", b"no-cache"))
    return [*kept, *_ALWAYS.items(), (b"x-request-id", request_id.encode())]


def _by_name(scope: AsgiScope) -> Headers:
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.lower(), []).append(value)
    return found


def _request_id(headers: Headers) -> str:
    """Return the client's own id for a request, where it has a decent one."""
    given = headers.get(b"x-request-id", ())
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode()
    return new_id("req", SystemClock().now())
